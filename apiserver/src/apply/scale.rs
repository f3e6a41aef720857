use super::field_set::FieldSet;
use super::managed::{ManagedEntry, ManagedFields, Operation};

/// Moves the number of replicas to whoever changed it through the subresource `scale`.
///
/// `path` is where the object has it, such as `["spec", "replicas"]`. Call it only if the number changed. The entry has no
/// time, which is how the API server leaves it, so that it comes first among the updates.
pub fn track_scale(managed: &mut ManagedFields, path: &[&str], manager: &str, api_version: &str) {
    let replicas = FieldSet::of_fields(&[path]);
    for entry in managed.entries_mut() {
        entry.fields = entry.fields.difference(&replicas);
    }
    managed.entries_mut().retain(|entry| !entry.fields.is_empty());
    if !replicas.is_empty() {
        managed.set(ManagedEntry {
            manager: manager.into(),
            operation: Operation::Update,
            api_version: api_version.into(),
            time: None,
            subresource: "scale".into(),
            fields: replicas,
        });
    }
}
