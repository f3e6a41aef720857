//! A further API among the others: what it has, and how a request gets to it.

use std::sync::Arc;

use lariat_api::Status;
use serde_json::Value;

use super::{AggregateError, AggregatedApi, AggregatedRequest, AggregatedResource, AnyApi, Verb};
use crate::context::{Place, Validation};
use crate::failure;
use crate::reply::Reply;
use crate::request::ResourcePath;
use crate::schema::shared::dns1123_subdomain;
use crate::schema::{StructuralSchema, strict_status, unknown_field};

/// One group and version of a further API.
#[derive(Clone)]
pub(crate) struct Aggregated {
    pub(crate) group: String,
    pub(crate) version: String,
    resources: Vec<(AggregatedResource, Option<StructuralSchema>)>,
    api: Arc<dyn AnyApi>,
}

impl Aggregated {
    /// The groups and versions of an API.
    pub(crate) fn all_of(api: impl AggregatedApi) -> Result<Vec<Self>, AggregateError> {
        let resources = api.resources();
        let api: Arc<dyn AnyApi> = Arc::new(api);
        let mut all: Vec<Self> = Vec::new();
        for resource in resources {
            check_names(&resource)?;
            let schema = resource.open_api().map(StructuralSchema::parse).transpose();
            let schema = schema.map_err(|reason| AggregateError::Schema {
                kind: resource.kind().kind().to_owned(),
                reason,
            })?;
            let (group, version) = (resource.kind().group().to_owned(), resource.kind().version().to_owned());
            match all.iter_mut().find(|one| one.group == group && one.version == version) {
                Some(one) if one.find(resource.kind().plural()).is_some() => {
                    return Err(one.taken());
                }
                Some(one) => one.resources.push((resource, schema)),
                None => {
                    let resources = vec![(resource, schema)];
                    all.push(Self { group, version, resources, api: api.clone() });
                }
            }
        }
        if all.is_empty() { Err(AggregateError::Empty) } else { Ok(all) }
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = &AggregatedResource> {
        self.resources.iter().map(|(resource, _)| resource)
    }

    pub(crate) fn find(&self, plural: &str) -> Option<&AggregatedResource> {
        self.resources().find(|resource| resource.kind().plural() == plural)
    }

    /// Checks that an object in a request is of the resource, and gives it kind and version, and name and namespace of the path.
    pub(crate) fn identify(
        &self,
        resource: &AggregatedResource,
        path: &ResourcePath,
        object: &mut Value,
    ) -> Result<(), Status> {
        let kind = resource.kind();
        let api_version = kind.api_version();
        let sent = object["kind"].as_str().unwrap_or_default();
        if !sent.is_empty() && sent != kind.kind() {
            let wanted = kind.kind();
            return Err(failure::bad_request(format!(
                "the object provided is unrecognized (must be of type {wanted}): {sent} in version {api_version:?}"
            )));
        }
        let place = Place {
            api_version: api_version.clone(),
            version: &self.version,
            kind: kind.kind(),
            namespaced: kind.is_namespaced(),
            namespace: &path.namespace,
            name: &path.name,
        };
        place.check(object)?;
        object["apiVersion"] = api_version.into_owned().into();
        object["kind"] = kind.kind().into();
        Ok(())
    }

    /// Drops the fields of an object that its schema does not have, a sentence each. They are an error if the client wants that.
    pub(crate) fn prune(
        &self,
        resource: &AggregatedResource,
        object: &mut Value,
        mut problems: Vec<String>,
        validation: Validation,
    ) -> Result<Vec<String>, Status> {
        let schema = self.resources.iter().find(|(known, _)| known.kind() == resource.kind());
        if let Some((_, Some(schema))) = schema {
            problems.extend(schema.prune(object).iter().map(|path| unknown_field(path)));
        }
        match validation {
            Validation::Strict if !problems.is_empty() => {
                Err(strict_status(resource.kind().kind(), &self.version, &problems))
            }
            Validation::Ignore => Ok(Vec::new()),
            Validation::Strict | Validation::Warn => Ok(problems),
        }
    }

    /// Why the group and version cannot be added.
    pub(crate) fn taken(&self) -> AggregateError {
        AggregateError::Taken { api_version: format!("{}/{}", self.group, self.version) }
    }

    /// Lets the API answer.
    pub(crate) async fn answer(
        &self,
        resource: &AggregatedResource,
        request: AggregatedRequest,
        warnings: Vec<String>,
    ) -> Result<Reply, Status> {
        let code = if request.verb == Verb::Create { 201 } else { 200 };
        let mut object = self.api.answer(request).await.map_err(|mut status| {
            if status.code == 0 {
                status.code = 500;
            }
            status
        })?;
        let Some(fields) = object.as_object_mut() else {
            return Err(failure::internal("the API answered with something that is no object"));
        };
        if !fields.contains_key("apiVersion") || !fields.contains_key("kind") {
            fields.insert("apiVersion".to_owned(), resource.kind().api_version().into_owned().into());
            fields.insert("kind".to_owned(), resource.kind().kind().into());
        }
        Ok(Reply::json(code, object).with_warnings(warnings))
    }
}

fn check_names(resource: &AggregatedResource) -> Result<(), AggregateError> {
    let kind = resource.kind();
    let is_name = |text: &str| dns1123_subdomain(text).is_empty();
    let is_kind = !kind.kind().is_empty() && kind.kind().chars().all(|letter| letter.is_ascii_alphanumeric());
    if is_name(kind.group()) && is_name(kind.version()) && is_name(kind.plural()) && is_kind {
        return Ok(());
    }
    Err(AggregateError::Name {
        api_version: kind.api_version().into_owned(),
        kind: kind.kind().to_owned(),
        plural: kind.plural().to_owned(),
    })
}
