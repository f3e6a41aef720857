//! What becomes of an object that is deleted.

use std::time::SystemTime;

use serde_json::Value;

use super::value::{at, int, items, set, text_at};
use super::{Strategy, namespace, times};
use crate::schema::shared::format_rfc3339;

/// What to do with an object that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deletion {
    /// Remove it as it is.
    Remove,
    /// Store it: it is marked now, and removed later.
    Mark,
    /// Store it and then remove it: watchers see both.
    MarkThenRemove,
    /// Leave it: it is being deleted already.
    Pending,
}

impl Strategy {
    /// Deletes an object as far as it can be deleted now.
    ///
    /// `grace` is what the request asks for, in seconds. The finalizers that the request's propagation policy adds or
    /// removes have to be on the object before.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use lariat_apiserver::builtin::{Deletion, Strategy};
    /// use serde_json::json;
    ///
    /// let mut pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}});
    /// assert_eq!(Strategy::Pod.delete(&mut pod, None, SystemTime::UNIX_EPOCH), Deletion::Mark);
    /// assert_eq!(pod["metadata"]["deletionTimestamp"], "1970-01-01T00:00:30Z");
    /// assert_eq!(Strategy::Pod.delete(&mut pod, Some(0), SystemTime::UNIX_EPOCH), Deletion::MarkThenRemove);
    /// ```
    pub fn delete(self, object: &mut Value, grace: Option<i64>, now: SystemTime) -> Deletion {
        match self {
            Self::Pod => delete_gracefully(object, grace, now),
            Self::Namespace => delete_namespace(object, now),
            _ => delete_plainly(object, now),
        }
    }

    /// Whether an object that was updated has nothing left that keeps it from being removed.
    pub fn is_finished(self, new: &Value, old: &Value) -> bool {
        let metadata_done = items(new, &["metadata", "finalizers"]).is_empty();
        match self {
            Self::Namespace => {
                let deleted = at(new, &["metadata", "deletionTimestamp"]).is_some();
                deleted && metadata_done && items(new, &["spec", "finalizers"]).is_empty()
            }
            _ => {
                let deleted = at(old, &["metadata", "deletionTimestamp"]).is_some();
                let grace = int(old, &["metadata", "deletionGracePeriodSeconds"]);
                deleted && metadata_done && grace == Some(0)
            }
        }
    }

    /// Why an object may not be deleted at all; the end of a message that begins with `namespaces "x" is forbidden: `.
    pub fn forbids_delete(self, name: &str) -> Option<&'static str> {
        let immortal = matches!(name, "default" | "kube-public" | "kube-system");
        (self == Self::Namespace && immortal).then_some("this namespace may not be deleted")
    }
}

fn has_finalizers(object: &Value) -> bool {
    !items(object, &["metadata", "finalizers"]).is_empty()
}

fn delete_plainly(object: &mut Value, now: SystemTime) -> Deletion {
    if !has_finalizers(object) {
        return Deletion::Remove;
    }
    if at(object, &["metadata", "deletionTimestamp"]).is_some() {
        return Deletion::Pending;
    }
    count_generation(object);
    mark(object, format_rfc3339(now), 0);
    Deletion::Mark
}

fn delete_namespace(namespace: &mut Value, now: SystemTime) -> Deletion {
    let fresh = at(namespace, &["metadata", "deletionTimestamp"]).is_none();
    if fresh {
        namespace::terminate(namespace, &format_rfc3339(now));
    }
    let held = has_finalizers(namespace) || !items(namespace, &["spec", "finalizers"]).is_empty();
    match (held, fresh) {
        (true, true) => Deletion::Mark,
        (true, false) => Deletion::Pending,
        (false, true) => Deletion::MarkThenRemove,
        (false, false) => Deletion::Remove,
    }
}

/// Pods get time to end, and that time can only be shortened.
fn delete_gracefully(pod: &mut Value, grace: Option<i64>, now: SystemTime) -> Deletion {
    let grace = grace.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if at(pod, &["metadata", "deletionTimestamp"]).is_some() {
        let marked = int(pod, &["metadata", "deletionGracePeriodSeconds"]);
        let (Some(marked), Some(grace)) = (marked, grace) else { return Deletion::Pending };
        if grace >= marked {
            return Deletion::Pending;
        }
        let until = text_at(pod, &["metadata", "deletionTimestamp"]);
        let Some(until) = times::shift(until, grace.saturating_sub(marked)) else { return Deletion::Pending };
        mark(pod, until, grace);
        return outcome(pod, grace);
    }
    let own = int(pod, &["spec", "terminationGracePeriodSeconds"]).unwrap_or_default();
    let scheduled = !text_at(pod, &["spec", "nodeName"]).is_empty();
    let ended = matches!(text_at(pod, &["status", "phase"]), "Failed" | "Succeeded");
    let grace = match grace.unwrap_or(own) {
        _ if !scheduled || ended => 0,
        ..0 => 1,
        grace => grace,
    };
    count_generation(pod);
    mark(pod, times::after(now, grace), grace);
    outcome(pod, grace)
}

fn outcome(pod: &Value, grace: i64) -> Deletion {
    if grace > 0 || has_finalizers(pod) { Deletion::Mark } else { Deletion::MarkThenRemove }
}

fn mark(object: &mut Value, until: String, grace: i64) {
    if let Some(metadata) = object.get_mut("metadata") {
        set(metadata, "deletionTimestamp", until);
        set(metadata, "deletionGracePeriodSeconds", grace);
    }
}

/// The mark changes what an object is for those who look after it.
fn count_generation(object: &mut Value) {
    let generation = int(object, &["metadata", "generation"]).unwrap_or_default();
    if let (true, Some(metadata)) = (generation > 0, object.get_mut("metadata")) {
        set(metadata, "generation", generation.saturating_add(1));
    }
}
