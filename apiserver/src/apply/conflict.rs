use std::collections::BTreeMap;

use lariat_api::{Reason, Status, StatusCause, StatusDetails};

use super::managed::{ManagedEntry, ManagedFieldsError, Operation};
use super::path::{Path, PathElement};

/// A field that a configuration would take from its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The owner, as the API server names it: `"kubectl" using v1`.
    pub owner: String,
    /// The field.
    pub path: Vec<PathElement>,
}

/// The fields that a configuration would take from their owners.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

/// Why a configuration is not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// It sets fields that others own, and does not force it (409).
    #[error("{}", .0.message())]
    Conflicts(Conflicts),
    /// It is no configuration for this object (400).
    #[error("{0}")]
    BadRequest(String),
    /// It does not fit the object's schema. The API server answers 500 without a reason.
    #[error("failed to create typed patch object ({object}): {}", join(.problems))]
    Schema {
        /// The object: namespace, name and kind.
        object: String,
        /// What does not fit, and where.
        problems: Vec<String>,
    },
    /// The owners of the live object cannot be read. The API server answers 500 without a reason.
    #[error("failed to decode managed fields: {0}")]
    ManagedFields(#[from] ManagedFieldsError),
}

impl Conflicts {
    /// What the API server says of the conflicts.
    pub fn message(&self) -> String {
        if let [Conflict { owner, path }] = self.0.as_slice() {
            return format!("Apply failed with 1 conflict: conflict with {owner}: {}", Path(path));
        }
        let mut by_owner: BTreeMap<&str, Vec<&[PathElement]>> = BTreeMap::new();
        for conflict in &self.0 {
            by_owner.entry(&conflict.owner).or_default().push(&conflict.path);
        }
        let mut lines = Vec::new();
        for (owner, paths) in by_owner {
            lines.push(format!("conflicts with {owner}:"));
            lines.extend(paths.into_iter().map(|path| format!("- {}", Path(path))));
        }
        format!("Apply failed with {} conflicts: {}", self.0.len(), lines.join("\n"))
    }

    /// The conflicts as the API server answers them.
    pub fn status(&self) -> Status {
        let causes = self.0.iter().map(|conflict| StatusCause {
            reason: "FieldManagerConflict".into(),
            message: format!("conflict with {}", conflict.owner),
            field: Path(&conflict.path).to_string(),
        });
        let details = StatusDetails { causes: causes.collect(), ..StatusDetails::default() };
        failure(409, Some(Reason::Conflict), self.message(), Some(details))
    }
}

impl Conflict {
    pub(crate) fn new(owner: &ManagedEntry, path: Vec<PathElement>) -> Self {
        let mut name = format!("{:?}", owner.manager);
        if !owner.subresource.is_empty() {
            name = format!("{name} with subresource {:?}", owner.subresource);
        }
        if owner.operation == Operation::Update {
            name = format!("{name} using {}", owner.api_version);
        }
        Self { owner: name, path }
    }
}

impl ApplyError {
    /// The error as the API server answers it.
    pub fn status(&self) -> Status {
        match self {
            Self::Conflicts(conflicts) => conflicts.status(),
            Self::BadRequest(message) => failure(400, Some(Reason::BadRequest), message.clone(), None),
            Self::Schema { .. } | Self::ManagedFields(_) => failure(500, None, self.to_string(), None),
        }
    }
}

/// A failure in the API server's form.
pub(crate) fn failure(
    code: u16,
    reason: Option<Reason>,
    message: String,
    details: Option<StatusDetails>,
) -> Status {
    Status {
        status: "Failure".into(),
        message,
        reason_text: reason.map_or("", Reason::as_str).into(),
        details: details.map(Box::new),
        code,
    }
}

fn join(problems: &[String]) -> String {
    match problems {
        [problem] => problem.clone(),
        _ => format!("errors:\n  {}", problems.join("\n  ")),
    }
}
