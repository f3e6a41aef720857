//! Gives servers to players (reference 6).

mod actions;
mod allocator;
#[cfg(feature = "apiserver")]
mod api;
mod batch;
mod find;

pub use actions::{ActionErrors, apply, apply_actions};
pub use allocator::{AllocateError, Allocator, AllocatorSettings};
#[cfg(feature = "apiserver")]
pub use api::AllocationApi;
pub use batch::Batches;
pub use find::{find, matches, sort};

use crate::gates::{FeatureGates, Gate};
use crate::types::{AllocationSpec, GameServerSelector, GameServerState, PlayerSelector};

/// What an allocation has where nothing was written.
pub fn defaults(spec: &mut AllocationSpec, gates: FeatureGates) {
    if spec.scheduling.is_empty() {
        "Packed".clone_into(&mut spec.scheduling);
    }
    for priority in spec.priorities.iter_mut().filter(|priority| priority.order.is_empty()) {
        "Ascending".clone_into(&mut priority.order);
    }
    if spec.selectors.is_empty() {
        selector_defaults(&mut spec.required, gates);
        for selector in &mut spec.preferred {
            selector_defaults(selector, gates);
        }
    }
    for selector in &mut spec.selectors {
        selector_defaults(selector, gates);
    }
}

fn selector_defaults(selector: &mut GameServerSelector, gates: FeatureGates) {
    selector.game_server_state.get_or_insert(GameServerState::Ready);
    if gates.has(Gate::PlayerAllocationFilter) {
        selector.players.get_or_insert_with(PlayerSelector::default);
    }
}

/// Makes selectors of what older clients ask for: what they prefer, and then what they require.
pub fn convert(spec: &mut AllocationSpec) {
    if spec.selectors.is_empty() {
        spec.selectors = spec.preferred.iter().chain([&spec.required]).cloned().collect();
    }
}
