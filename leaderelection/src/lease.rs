use std::time::{Duration, SystemTime};

use lariat_api::{Kind, Object, ObjectMeta, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `coordination.k8s.io/v1 Lease`.
///
/// ```
/// use lariat_leaderelection::Lease;
///
/// let lease: Lease = serde_json::from_str(r#"{"spec":{"holderIdentity":"a","leaseDurationSeconds":15}}"#)?;
/// assert_eq!(lease.spec.holder(), "a");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta<Self>,
    /// What all objects have.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Who holds it, and since when.
    #[serde(default)]
    pub spec: LeaseSpec,
}

/// What a [`Lease`] says. Times are in RFC 3339 with microseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// Who holds it; nobody, if it is absent or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_identity: Option<String>,
    /// For how long after it was last seen to change others may not take it, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i32>,
    /// When the holder took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquire_time: Option<String>,
    /// When the holder last said that it still holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_time: Option<String>,
    /// How often it went from one holder to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_transitions: Option<i32>,
    /// How the server chooses among candidates, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// To whom the holder is asked to give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_holder: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// For how long a Lease that was given back says that it holds, in seconds.
const RELEASED_SECONDS: i32 = 1;

impl LeaseSpec {
    /// Who holds it; `""` for nobody.
    pub fn holder(&self) -> &str {
        self.holder_identity.as_deref().unwrap_or_default()
    }

    /// For how long it holds, in seconds; 0 if it does not say.
    pub fn seconds(&self) -> u64 {
        self.lease_duration_seconds.unwrap_or_default().try_into().unwrap_or_default()
    }

    /// How often it has changed hands.
    pub fn transitions(&self) -> i32 {
        self.lease_transitions.unwrap_or_default()
    }

    /// Whether its holder gave it back, as opposed to somebody else having removed the holder.
    pub(crate) fn is_released(&self) -> bool {
        self.holder().is_empty() && self.lease_duration_seconds == Some(RELEASED_SECONDS)
    }

    /// Gives it back.
    pub(crate) fn release(&mut self, now: SystemTime) {
        self.holder_identity = Some(String::new());
        self.lease_duration_seconds = Some(RELEASED_SECONDS);
        self.acquire_time = Some(micro_time(now));
        self.renew_time = self.acquire_time.clone();
    }
}

impl Object for Lease {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for Lease {
    const KIND: Kind = Kind::namespaced("coordination.k8s.io", "v1", "Lease", "leases");
}

/// The end of the year 9999: later times cannot be written.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// A time of day as Kubernetes' `MicroTime` is written, from 1970 to 9999.
pub(crate) fn micro_time(time: SystemTime) -> String {
    let time = time.max(SystemTime::UNIX_EPOCH).min(SystemTime::UNIX_EPOCH + LAST);
    humantime::format_rfc3339_micros(time).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::micro_time;

    #[test]
    fn a_time_has_six_digits_behind_the_point() {
        let at = |nanos| micro_time(SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos));
        assert_eq!(at(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(1_234_567_999), "1970-01-01T00:00:01.234567Z");
    }
}
