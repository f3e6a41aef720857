//! What a request asks for: its path, its query, and the forms that it accepts.

use http::HeaderMap;
use http::header::ACCEPT;
use lariat_api::Status;
use percent_encoding::percent_decode_str;

use crate::failure;

/// The path of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Path {
    /// A resource, or one object of it.
    Resource(ResourcePath),
    /// Anything else, such as `/version`, in its segments.
    Other(Vec<String>),
}

/// The path of a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    /// `""` for none or all.
    pub(crate) namespace: String,
    pub(crate) resource: String,
    /// `""` for the collection.
    pub(crate) name: String,
    /// `""` for the object itself.
    pub(crate) subresource: String,
}

/// The parameters of a request, decoded, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Objects as they are.
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
    /// `Table`, with this of each object.
    Table(RowObject),
    /// The aggregated documents of discovery, of which the version is said.
    Discovery,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
}

/// What a table's row holds of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowObject {
    Metadata,
    All,
    Nothing,
}

impl Path {
    pub(crate) fn parse(path: &str) -> Self {
        let segments: Vec<String> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        ResourcePath::parse(&segments).map_or_else(|| Self::Other(segments), Self::Resource)
    }
}

impl ResourcePath {
    /// The path of no resource.
    pub(crate) const fn nothing() -> Self {
        Self {
            group: String::new(),
            version: String::new(),
            namespace: String::new(),
            resource: String::new(),
            name: String::new(),
            subresource: String::new(),
        }
    }

    fn parse(segments: &[String]) -> Option<Self> {
        let (group, version, rest) = match segments {
            [api, version, rest @ ..] if api == "api" => ("", version, rest),
            [apis, group, version, rest @ ..] if apis == "apis" => (group.as_str(), version, rest),
            _ => return None,
        };
        // A namespace's own subresources look like resources in it.
        let (namespace, rest) = match rest {
            [namespaces, namespace, resource, rest @ ..]
                if namespaces == "namespaces" && !matches!(resource.as_str(), "status" | "finalize") =>
            {
                (namespace.clone(), [std::slice::from_ref(resource), rest].concat())
            }
            rest => (String::new(), rest.to_vec()),
        };
        let mut rest = rest.into_iter();
        let path = Self {
            group: group.to_owned(),
            version: version.clone(),
            namespace,
            resource: rest.next()?,
            name: rest.next().unwrap_or_default(),
            subresource: rest.next().unwrap_or_default(),
        };
        rest.next().is_none().then_some(path)
    }
}

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let decode = |text: &str| {
            let spaced = text.replace('+', " ");
            percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(name), decode(value))
                })
                .collect(),
        )
    }

    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// The first value of a parameter.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, `""` if it is not there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.value(name).unwrap_or_default()
    }

    /// All values of a parameter.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is there and not `false` or `0`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }
}

impl Encoding {
    /// That of the first of the accepted media types that can be served.
    pub(crate) fn accepted(headers: &HeaderMap) -> Self {
        let headers = headers.get_all(ACCEPT).into_iter();
        let mut media = headers.flat_map(|header| header.to_str().unwrap_or_default().split(','));
        let kinds = media.find_map(|media| Self::of(media.split(';').next().unwrap_or_default().trim()));
        kinds.unwrap_or(Self::Json)
    }

    fn of(media_type: &str) -> Option<Self> {
        match media_type {
            "application/json" | "application/*" | "*/*" | "" => Some(Self::Json),
            "application/yaml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

impl Form {
    /// The first of the accepted forms that can be served.
    pub(crate) fn accepted(headers: &HeaderMap) -> Result<Self, Status> {
        let mut any = false;
        for header in headers.get_all(ACCEPT) {
            for media in header.to_str().unwrap_or_default().split(',') {
                any = true;
                let mut parts = media.split(';').map(str::trim);
                let kind = parts.next().unwrap_or_default();
                if Encoding::of(kind).is_none() {
                    continue;
                }
                match parts.find_map(|part| part.strip_prefix("as=")) {
                    None => return Ok(Self::Full),
                    Some("Table") => return Ok(Self::Table(RowObject::Metadata)),
                    Some("PartialObjectMetadata" | "PartialObjectMetadataList") => return Ok(Self::Metadata),
                    Some("APIGroupDiscoveryList")
                        if media.contains("v=v2") && !media.contains("v=v2beta1") =>
                    {
                        return Ok(Self::Discovery);
                    }
                    Some(_) => {}
                }
            }
        }
        if any { Err(failure::not_acceptable()) } else { Ok(Self::Full) }
    }

    /// The form with what its query says of tables.
    pub(crate) fn of_query(self, query: &Query) -> Result<Self, Status> {
        let Self::Table(_) = self else { return Ok(self) };
        match query.text("includeObject") {
            "" | "Metadata" => Ok(Self::Table(RowObject::Metadata)),
            "Object" => Ok(Self::Table(RowObject::All)),
            "None" => Ok(Self::Table(RowObject::Nothing)),
            other => Err(failure::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be \
                 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn resource(path: &str) -> [String; 6] {
        let Path::Resource(path) = Path::parse(path) else { panic!("{path} is no resource") };
        [path.group, path.version, path.namespace, path.resource, path.name, path.subresource]
    }

    #[test]
    fn paths_are_taken_apart() {
        assert_eq!(resource("/api/v1/nodes"), ["", "v1", "", "nodes", "", ""]);
        assert_eq!(resource("/api/v1/namespaces"), ["", "v1", "", "namespaces", "", ""]);
        assert_eq!(resource("/api/v1/namespaces/a"), ["", "v1", "", "namespaces", "a", ""]);
        assert_eq!(resource("/api/v1/namespaces/a/finalize"), ["", "v1", "", "namespaces", "a", "finalize"]);
        assert_eq!(resource("/api/v1/namespaces/a/pods/b/status"), ["", "v1", "a", "pods", "b", "status"]);
        assert_eq!(resource("/apis/g.dev/v1/namespaces/a/ws/b"), ["g.dev", "v1", "a", "ws", "b", ""]);
        for other in
            ["/", "/version", "/api", "/api/v1", "/apis/g", "/apis/g/v1", "/api/v1/a/b/c/d", "/openapi/v3"]
        {
            assert!(matches!(Path::parse(other), Path::Other(_)), "{other}");
        }
    }

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("watch=true&labelSelector=a%20in+(b)&x&limit=&n=0");
        assert!(query.flag("watch") && query.flag("x") && !query.flag("n") && !query.flag("missing"));
        assert_eq!((query.text("labelSelector"), query.value("limit")), ("a in (b)", Some("")));
    }

    #[test]
    fn the_first_form_that_can_be_served_is() {
        let accepted = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
            Form::accepted(&headers)
        };
        assert_eq!(
            accepted("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").unwrap(),
            Form::Table(RowObject::Metadata)
        );
        assert_eq!(accepted("application/vnd.kubernetes.protobuf, application/json").unwrap(), Form::Full);
        assert_eq!(accepted("*/*").unwrap(), Form::Full);
        assert_eq!(accepted("application/yaml").unwrap(), Form::Full);
        assert!(accepted("text/html").is_err());
        assert_eq!(Form::accepted(&HeaderMap::new()).unwrap(), Form::Full);
    }
}
