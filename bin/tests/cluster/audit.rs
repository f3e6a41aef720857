//! Who asked an API server for what, as its audit log has it.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use serde_json::{Value, json};

const LOG: &str = "audit.log";
const POLICY: &str = "audit-policy.json";

/// How many requests of one user there were, by verb, resource and code.
#[derive(Debug, Default)]
pub(crate) struct Audit(BTreeMap<(String, String, i64), usize>);

/// The name and the text of the file that says what an API server writes to the log.
pub(crate) fn policy() -> (&'static str, String) {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}],
        "omitStages": ["RequestReceived", "ResponseStarted"],
    });
    (POLICY, policy.to_string())
}

/// What an API server is told so that it writes the log.
pub(crate) fn arguments() -> [String; 2] {
    [format!("--audit-policy-file={POLICY}"), format!("--audit-log-path={LOG}")]
}

impl Audit {
    pub(crate) fn read(folder: &Path, user: &str) -> Self {
        let mut audit = Self::default();
        for line in std::fs::read_to_string(folder.join(LOG)).unwrap().lines() {
            // The last line may be being written.
            let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
            if event["user"]["username"] != user {
                continue;
            }
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let object = &event["objectRef"];
            let mut resource = text(&object["resource"]);
            if let Some(subresource) = object["subresource"].as_str() {
                resource = format!("{resource}/{subresource}");
            }
            let code = event["responseStatus"]["code"].as_i64().unwrap_or_default();
            *audit.0.entry((text(&event["verb"]), resource, code)).or_default() += 1;
        }
        audit
    }

    /// All of them.
    pub(crate) fn requests(&self) -> usize {
        self.0.values().sum()
    }

    /// Those for anything but Leases, whose candidate may find that a write which took too long was carried out.
    pub(crate) fn with_code(&self, code: i64) -> usize {
        let has_it = |(_, resource, found): &(String, String, i64)| *found == code && resource != "leases";
        self.0.iter().filter(|(request, _)| has_it(request)).map(|(_, count)| count).sum()
    }
}

impl Display for Audit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", self.requests())?;
        for ((verb, resource, code), count) in &self.0 {
            write!(f, "\n  {verb} {resource} {code}: {count}")?;
        }
        Ok(())
    }
}
