use std::sync::Arc;

use lariat::api::Object;

use crate::template::same_template;
use crate::types::{Fleet, GameServerSet, names};

/// The sets of a fleet: the one of its template, and all others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Children {
    /// The set of the template.
    pub active: Option<Arc<GameServerSet>>,
    /// The others, which are emptied.
    pub rest: Vec<Arc<GameServerSet>>,
}

/// Which of some sets are the fleet's, and which of them is of its template (F-2).
///
/// If several are of the template, the oldest is the active one and the others are emptied, so that none is forgotten (F-4).
pub fn children(fleet: &Fleet, sets: &[Arc<GameServerSet>]) -> Children {
    let mut children = Children::default();
    for set in sets {
        if !belongs_to(set, fleet) {
            continue;
        }
        if !same_template(&fleet.spec.template, &set.spec.template) {
            children.rest.push(set.clone());
            continue;
        }
        match &children.active {
            Some(active) if age(active) <= age(set) => children.rest.push(set.clone()),
            _ => children.rest.extend(children.active.replace(set.clone())),
        }
    }
    children
}

fn belongs_to(set: &GameServerSet, fleet: &Fleet) -> bool {
    let labelled = set.metadata.labels.get(names::FLEET).is_some_and(|name| name == fleet.name());
    let owners = &set.metadata.owner_references;
    set.namespace() == fleet.namespace()
        && labelled
        && owners.iter().any(|owner| owner.controller == Some(true) && owner.uid == fleet.uid())
}

fn age(set: &GameServerSet) -> (Option<&str>, &str) {
    (set.metadata.creation_timestamp.as_deref(), set.name())
}
