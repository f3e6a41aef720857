//! Candidates among which the server chooses: KEP 4355, where it is switched on.

use std::time::Duration;

use lariat_api::{Kind, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a candidate tells the server, which chooses whom to give the Lease to.
///
/// A coordinated candidate never takes the Lease by itself. It renews one that it was given, and ends when the server wants another one
/// to have it (`preferredHolder`). On a server that does not coordinate it never leads.
///
/// ```
/// use lariat_leaderelection::{Coordination, ElectorConfig};
///
/// let coordination = Coordination::new("1.57.0");
/// let config = ElectorConfig { coordination: Some(coordination), ..ElectorConfig::new("pod-7f9c") };
/// # drop(config);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coordination {
    /// The version of the program, as in `1.57.0`.
    pub binary_version: String,
    /// The version as which it behaves.
    pub emulation_version: String,
    /// How the server is to choose: `OldestEmulationVersion`.
    pub strategy: String,
}

/// `coordination.k8s.io/v1beta1 LeaseCandidate`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LeaseCandidate {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// What all objects have.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Who would lead, and by which Lease.
    #[serde(default)]
    pub spec: LeaseCandidateSpec,
}

/// What a [`LeaseCandidate`] says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseCandidateSpec {
    /// The Lease.
    pub lease_name: String,
    /// The version of the program.
    pub binary_version: String,
    /// The version as which it behaves.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub emulation_version: String,
    /// How the server is to choose.
    pub strategy: String,
    /// When the server last asked whether the candidate is still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ping_time: Option<String>,
    /// When the candidate last said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_time: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How often a candidate says that it is there without being asked.
pub(crate) const ANNOUNCE_AGAIN: Duration = Duration::from_secs(5 * 60);

impl Coordination {
    /// Of a program of this version, to be chosen as Kubernetes does.
    pub fn new(version: &str) -> Self {
        Self {
            binary_version: version.to_owned(),
            emulation_version: version.to_owned(),
            strategy: "OldestEmulationVersion".to_owned(),
        }
    }

    pub(crate) fn fill(&self, spec: &mut LeaseCandidateSpec, lease: &str, now: &str) {
        spec.lease_name = lease.to_owned();
        spec.binary_version.clone_from(&self.binary_version);
        spec.emulation_version.clone_from(&self.emulation_version);
        spec.strategy.clone_from(&self.strategy);
        spec.renew_time = Some(now.to_owned());
    }
}

impl LeaseCandidateSpec {
    /// Whether the server has asked since the candidate last said that it is there. Both times are of one form, so texts compare.
    pub(crate) fn is_pinged(&self) -> bool {
        self.ping_time
            .as_ref()
            .is_some_and(|ping| self.renew_time.as_ref().is_none_or(|renewed| ping > renewed))
    }
}

impl Object for LeaseCandidate {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for LeaseCandidate {
    const KIND: Kind =
        Kind::namespaced("coordination.k8s.io", "v1beta1", "LeaseCandidate", "leasecandidates");
}
