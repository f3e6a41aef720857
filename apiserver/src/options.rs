//! What a list or a watch selects, and from which version.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lariat_api::{Status, fields, labels};
use serde::{Deserialize, Serialize};

use crate::failure::{self, What};
use crate::request::Query;

#[derive(Debug, Clone, Default)]
pub(crate) struct ListOptions {
    pub(crate) labels: labels::Selector,
    pub(crate) fields: fields::Selector,
    /// 0 for all.
    pub(crate) limit: u64,
    pub(crate) continue_from: Option<Continue>,
    pub(crate) version: Version,
    pub(crate) exact: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct WatchOptions {
    pub(crate) labels: labels::Selector,
    pub(crate) fields: fields::Selector,
    pub(crate) version: Version,
    pub(crate) bookmarks: bool,
    pub(crate) timeout: Option<Duration>,
    /// Begin with what there is, and say where that ends.
    pub(crate) initial_events: bool,
}

/// A resourceVersion in a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Version {
    /// The newest.
    #[default]
    Unset,
    /// Any.
    Zero,
    At(u64),
}

/// Where a page of a list ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Continue {
    v: String,
    /// The revision of the list, -1 for the newest at each page.
    pub(crate) rv: i64,
    /// The first key that is not on the page, with a slash before it where the revision is fixed.
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

impl ListOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Status> {
        let version = Version::parse(query.text("resourceVersion"))
            .map_err(|message| failure::bad_request(format!("invalid resource version: {message}")))?;
        let continue_from = Continue::parse(query.text("continue"))?;
        check_match(query, false)?;
        if continue_from.is_some() && matches!(version, Version::At(_)) {
            return Err(failure::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let limit = query.text("limit").parse().unwrap_or(0);
        let exact = match query.text("resourceVersionMatch") {
            "" => limit > 0 && matches!(version, Version::At(_)),
            text => text == "Exact",
        };
        Ok(Self {
            labels: label_selector(query)?,
            fields: field_selector(query)?,
            limit,
            continue_from,
            version,
            exact,
        })
    }
}

impl WatchOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Status> {
        let initial_events = query.value("sendInitialEvents").is_some() && query.flag("sendInitialEvents");
        check_match(query, true)?;
        let version = Version::parse(query.text("resourceVersion"))
            .map_err(|message| failure::without_reason(500, message))?;
        let seconds = query.text("timeoutSeconds").parse().ok().filter(|seconds| *seconds > 0);
        Ok(Self {
            labels: label_selector(query)?,
            fields: field_selector(query)?,
            version,
            bookmarks: query.flag("allowWatchBookmarks"),
            timeout: seconds.map(Duration::from_secs),
            initial_events,
        })
    }
}

impl Version {
    /// The oldest version that a get may be answered with.
    pub(crate) fn of_get(query: &Query) -> Self {
        Self::parse(query.text("resourceVersion")).unwrap_or_default()
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Unset),
            "0" => Ok(Self::Zero),
            _ => text.parse().map(Self::At).map_err(|_| {
                format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax")
            }),
        }
    }
}

impl Continue {
    pub(crate) fn after(revision: i64, last_key: &str) -> Self {
        Self { v: TOKEN_VERSION.to_owned(), rv: revision, start: format!("/{last_key}\0") }
    }

    /// The same place in what is newest at each page.
    pub(crate) fn at_newest(&self) -> Self {
        Self { v: self.v.clone(), rv: -1, start: self.start().to_owned() }
    }

    /// The first key that may follow.
    pub(crate) fn start(&self) -> &str {
        self.start.strip_prefix('/').unwrap_or(&self.start)
    }

    pub(crate) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn parse(token: &str) -> Result<Option<Self>, Status> {
        if token.is_empty() {
            return Ok(None);
        }
        let refuse = |why: &str| {
            failure::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD
            .decode(token.trim_end_matches('='))
            .map_err(|error| refuse(&error.to_string()))?;
        let parsed: Self = serde_json::from_slice(&bytes).map_err(|error| refuse(&error.to_string()))?;
        match (parsed.v.as_str(), parsed.rv, parsed.start.starts_with('/')) {
            (TOKEN_VERSION, -1, _) | (TOKEN_VERSION, 1.., true) => Ok(Some(parsed)),
            (TOKEN_VERSION, ..) => Err(refuse("it has no start or no version")),
            (version, ..) => {
                Err(refuse(&format!("server does not recognize this encoded version {version:?}")))
            }
        }
    }
}

fn label_selector(query: &Query) -> Result<labels::Selector, Status> {
    let text = query.text("labelSelector");
    text.parse().map_err(|error| failure::bad_request(format!("unable to parse requirement: {error}")))
}

fn field_selector(query: &Query) -> Result<fields::Selector, Status> {
    query
        .text("fieldSelector")
        .parse()
        .map_err(|error: fields::Error| failure::bad_request(error.to_string()))
}

/// Checks what may be said about the meaning of a version.
fn check_match(query: &Query, watch: bool) -> Result<(), Status> {
    const FIELD: &str = "resourceVersionMatch";
    let what = What { group: "meta.k8s.io", kind: "ListOptions", name: "" };
    let forbidden = |message: &str| {
        Err(failure::invalid(what, FIELD, "FieldValueForbidden", &format!("Forbidden: {message}")))
    };
    let matching = query.text(FIELD);
    if watch {
        return match (query.value("sendInitialEvents").is_some(), matching) {
            (true, "NotOlderThan") | (false, "") => Ok(()),
            (true, _) => forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
            (false, _) => {
                forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
            }
        };
    }
    match (matching, query.text("resourceVersion")) {
        ("", _) => Ok(()),
        ("Exact", "0") => forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""),
        ("Exact" | "NotOlderThan", "") => {
            forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")
        }
        ("Exact" | "NotOlderThan", _) if !query.text("continue").is_empty() => {
            forbidden("resourceVersionMatch is forbidden when continue is provided")
        }
        ("Exact" | "NotOlderThan", _) => Ok(()),
        (other, _) => {
            let message =
                format!("Unsupported value: {other:?}: supported values: \"Exact\", \"NotOlderThan\"");
            Err(failure::invalid(what, FIELD, "FieldValueNotSupported", &message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continue_token_has_the_real_servers_form() {
        let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTg0NTksInN0YXJ0IjoiL2NtLTAzXHUwMDAwIn0";
        let parsed = Continue::parse(token).unwrap().unwrap();
        assert_eq!((parsed.rv, parsed.start()), (18459, "cm-03\0"));
        assert_eq!(parsed, Continue::after(18459, "cm-03"));
        assert_eq!(parsed.encode(), token);
        let newest = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiY20tMDRcdTAwMDAifQ";
        assert_eq!(Continue::after(18544, "cm-04").at_newest().encode(), newest);
        assert_eq!(Continue::parse(newest).unwrap().unwrap().start(), "cm-04\0");
        for bad in ["zzz", "e30", "eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6Ii9hIn0"] {
            assert_eq!(Continue::parse(bad).unwrap_err().code, 400, "{bad}");
        }
    }

    #[test]
    fn versions_and_their_meaning_are_checked() {
        let list = |query: &str| ListOptions::parse(&Query::parse(query)).map_err(|status| status.code);
        let watch = |query: &str| WatchOptions::parse(&Query::parse(query)).map_err(|status| status.code);
        assert_eq!(list("resourceVersion=abc").err(), Some(400));
        assert_eq!(watch("resourceVersion=abc").err(), Some(500));
        assert_eq!(watch("sendInitialEvents=true").err(), Some(422));
        assert!(watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan").unwrap().initial_events);
        assert!(list("resourceVersion=5&resourceVersionMatch=Exact").unwrap().exact);
        assert!(list("resourceVersion=5&limit=1").unwrap().exact);
        assert!(!list("resourceVersion=5").unwrap().exact);
        assert_eq!(list("resourceVersionMatch=Exact").err(), Some(422));
        assert_eq!(list("labelSelector=a===b").err(), Some(400));
        assert_eq!(list("fieldSelector=a").err(), Some(400));
    }
}
