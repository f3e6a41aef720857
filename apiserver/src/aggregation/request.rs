use std::time::SystemTime;

use serde_json::Value;

use super::{Loopback, Verb};

/// A request to an [`AggregatedApi`](super::AggregatedApi), after it was let in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AggregatedRequest {
    /// What is to be done.
    pub verb: Verb,
    /// The resource's group.
    pub group: String,
    /// The resource's version.
    pub version: String,
    /// The resource, as it stands in paths.
    pub resource: String,
    /// `""` for all namespaces, and for resources that have none.
    pub namespace: String,
    /// `""` for the collection.
    pub name: String,
    /// The parameters, decoded, in the order in which they came.
    pub query: Vec<(String, String)>,
    /// The media type of the body, without its parameters; of patches it says how they are meant.
    pub media_type: String,
    /// The object of a create or an update, which has the kind and the version of the resource, and namespace and name of the path;
    /// the patch; the options of a deletion. Null if there is none.
    pub body: Value,
    /// Who asks.
    pub user: User,
    /// How the client calls itself.
    pub user_agent: String,
    /// The server's time of day.
    pub now: SystemTime,
    /// The server itself, for what the answer needs from it.
    pub server: Loopback,
}

/// Who sends a request. A server here has one user only: whoever is let in may do everything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// The name.
    pub name: String,
    /// Told apart by this from earlier users of the name.
    pub uid: String,
    /// The groups that the user belongs to.
    pub groups: Vec<String>,
}

impl AggregatedRequest {
    /// The first value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether all is to be answered as usual, and nothing to be done.
    pub fn is_dry_run(&self) -> bool {
        self.query.iter().any(|(name, value)| name == "dryRun" && value == "All")
    }
}
