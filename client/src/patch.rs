use std::borrow::Cow;

use serde_json::Value;

use crate::params::Target;

/// A change of an object, in one of the forms that the API knows.
///
/// # Example
///
/// ```
/// use serde_json::json;
/// use lariat_client::Patch;
///
/// let scale = Patch::Merge(json!({"spec": {"replicas": 3}}));
/// let first = Patch::Json(json!([{"op": "add", "path": "/spec/replicas", "value": 3}]));
/// # let _ = (scale, first);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Patch {
    /// JSON Patch, RFC 6902: a list of operations.
    Json(Value),
    /// JSON Merge Patch, RFC 7386: fields to set; null removes, lists are replaced.
    Merge(Value),
    /// Strategic merge patch: as a merge patch, with lists merged by their keys. Only built-in kinds know it.
    Strategic(Value),
    /// Server-side apply: the fields that the [field manager](PatchParams::field_manager) wants to be as they are here. Needs
    /// `apiVersion` and `kind`; creates the object if there is none.
    Apply(Value),
}

/// How to patch.
///
/// # Example
///
/// ```
/// let params = lariat_client::PatchParams { field_manager: "shops".into(), ..Default::default() };
/// assert!(!params.force);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchParams {
    /// Who makes the change; the server's guess by the user agent if empty. [`Patch::Apply`] needs one.
    pub field_manager: Cow<'static, str>,
    /// Whether [`Patch::Apply`] takes fields that others manage; a conflict otherwise.
    pub force: bool,
    /// Whether nothing is to be stored.
    pub dry_run: bool,
}

impl Patch {
    pub(crate) fn content_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json-patch+json",
            Self::Merge(_) => "application/merge-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
            // YAML is what the API asks for, and JSON is YAML.
            Self::Apply(_) => "application/apply-patch+yaml",
        }
    }

    pub(crate) fn body(&self) -> &Value {
        match self {
            Self::Json(value) | Self::Merge(value) | Self::Strategic(value) | Self::Apply(value) => value,
        }
    }
}

impl PatchParams {
    pub(crate) fn target(&self, path: String) -> String {
        Target::new(path)
            .with("fieldManager", &self.field_manager)
            .with("force", if self.force { "true" } else { "" })
            .with("dryRun", if self.dry_run { "All" } else { "" })
            .finish()
    }
}
