//! The loop that gives a fleet its sets, and replaces the servers of an old template (reference 4).

mod plan;
mod run;
mod status;
pub mod strategy;

use lariat::api::{Interned, Object};

use crate::gameserversets::owner_reference;
use crate::gates::{FeatureGates, Gate};
use crate::types::{Fleet, GameServerSet, Undecodable, names};

pub use plan::{Children, children};
pub use run::{FleetContext, FleetError, Fleets, FleetsError, index_by_fleet};
pub use status::status;

/// A set of a fleet, as it is posted, without servers yet (F-3).
///
/// # Errors
///
/// If the fleet's template is not one.
pub fn new_set(fleet: &Fleet, gates: FeatureGates) -> Result<GameServerSet, Undecodable> {
    let template = fleet.spec.template.get()?;
    let mut set = GameServerSet::default();
    let meta = &mut set.metadata;
    meta.labels = template.metadata.labels.clone();
    meta.annotations = template.metadata.annotations.clone();
    meta.generate_name = format!("{}-", fleet.name()).as_str().into();
    meta.namespace = fleet.metadata.namespace.clone();
    meta.labels.insert(names::FLEET.to_owned(), fleet.name().to_owned());
    meta.owner_references = vec![owner_reference(fleet)].into();
    set.spec.template = Interned::clone(&fleet.spec.template);
    set.spec.scheduling.clone_from(&fleet.spec.scheduling);
    set.spec.allocation_overflow.clone_from(&fleet.spec.allocation_overflow);
    if gates.has(Gate::CountsAndLists) {
        set.spec.priorities.clone_from(&fleet.spec.priorities);
    }
    Ok(set)
}
