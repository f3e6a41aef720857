use serde_json::Value;

use super::collect::{fields_of, with_declared};
use super::compare::compare;
use super::conflict::{Conflict, Conflicts};
use super::field_set::FieldSet;
use super::managed::{ManagedEntry, ManagedFields};
use super::merge::merge;
use super::remove::{drop_emptied, without};
use super::types::TypeInfo;

/// What nobody can own, because the server sets it or because it says which object it is.
const NEVER_TRACKED: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// The rules by which fields change hands; who asks and when is not its business.
pub(crate) struct Updater<'a> {
    pub(crate) types: &'a dyn TypeInfo,
    pub(crate) reset: &'a FieldSet,
}

impl Updater<'_> {
    /// The owners after an update, and the fields that it changed and which are therefore its own now.
    pub(crate) fn update(
        &self,
        live: &Value,
        new: &Value,
        mut managed: ManagedFields,
    ) -> (ManagedFields, FieldSet) {
        let changes = compare(self.types, live, new).without(self.reset);
        let changed = changes.changed();
        disown(&mut managed, &changed.union(&changes.removed), |_| true);
        (managed, changed.difference(&FieldSet::of_fields(NEVER_TRACKED)))
    }

    /// The object with a configuration applied, and its owners then. `own` says whose configuration it is.
    pub(crate) fn apply(
        &self,
        live: &Value,
        config: &Value,
        mut managed: ManagedFields,
        own: &ManagedEntry,
        force: bool,
    ) -> Result<(Value, ManagedFields), Conflicts> {
        let previous = managed.find_mut(own).map(|entry| (entry.fields.clone(), entry.time.clone()));
        let (last, time) = previous.unwrap_or_default();
        let fields = fields_of(self.types, config).difference_below(self.reset);
        managed.set(ManagedEntry { fields, time, ..own.clone() });

        let merged = merge(self.types, live, config);
        let mut object = self.prune(&merged, &managed, &last);
        let changes = compare(self.types, live, &object).without(self.reset);
        let changed = changes.changed();
        if !force {
            let conflicts = self.conflicts(&managed, own, &changed);
            if !conflicts.0.is_empty() {
                return Err(conflicts);
            }
        }
        disown(&mut managed, &changed.union(&changes.removed), |entry| !entry.is_same_manager(own));
        if let Some(own) = managed.find_mut(own) {
            own.fields = own.fields.difference(&FieldSet::of_fields(NEVER_TRACKED));
        }
        disown(&mut managed, &FieldSet::new(), |_| false);
        // Only now: whoever owns an object as such keeps it when its last part goes.
        drop_emptied(&merged, &mut object);
        Ok((object, managed))
    }

    fn conflicts(&self, managed: &ManagedFields, own: &ManagedEntry, changed: &FieldSet) -> Conflicts {
        let mut others: Vec<_> =
            managed.entries().iter().filter(|entry| !entry.is_same_manager(own)).collect();
        others.sort_by(|left, right| left.rank().cmp(&right.rank()));
        let conflicts = others.into_iter().flat_map(|entry| {
            let paths = entry.fields.intersection(changed).paths();
            paths.into_iter().map(|path| Conflict::new(entry, path))
        });
        Conflicts(conflicts.collect())
    }

    /// Takes out of an object what the manager set the last time, sets no more, and nobody else owns.
    fn prune(&self, merged: &Value, managed: &ManagedFields, last: &FieldSet) -> Value {
        if last.is_empty() {
            return merged.clone();
        }
        let last = with_declared(self.types, last);
        let pruned = without(self.types, merged, &last);

        // Back comes what somebody owns, the manager itself included: its new fields are in `managed`.
        let owned = managed.entries().iter().fold(FieldSet::new(), |owned, entry| owned.union(&entry.fields));
        let owned = with_declared(self.types, &owned);
        let all = with_declared(self.types, &fields_of(self.types, merged));
        let left = with_declared(self.types, &fields_of(self.types, &pruned));
        let pruned = without(self.types, merged, &all.difference(&left.union(&owned)));

        // And back comes what nobody owns, as long as the manager did not set it.
        let left = with_declared(self.types, &fields_of(self.types, &pruned));
        without(self.types, merged, &all.difference(&left).intersection(&last))
    }
}

/// Takes fields from some entries, and drops the entries that have none.
fn disown(managed: &mut ManagedFields, fields: &FieldSet, from: impl Fn(&ManagedEntry) -> bool) {
    let entries = managed.entries_mut();
    for entry in entries.iter_mut().filter(|entry| from(entry)) {
        entry.fields = entry.fields.difference(fields);
    }
    entries.retain(|entry| !entry.fields.is_empty());
}
