//! How many servers each set of a fleet is to have (F-6 to F-10).

use std::sync::Arc;

use lariat::api::NotAPercentage;

use crate::defaults;
use crate::gates::{FeatureGates, Gate};
use crate::types::{Fleet, GameServerSet, RollingUpdate};

/// The sizes that the sets of a fleet are to have.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    /// That of the active set.
    pub active: i32,
    /// Those of the others that change, in the order in which they are written: place among the others, and size.
    pub rest: Vec<(usize, i32)>,
}

/// Why a fleet's sets have no sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrategyError {
    /// It is not known how old servers are replaced.
    #[error("unexpected deployment strategy type: {0:?}: want \"RollingUpdate\" or \"Recreate\"")]
    UnknownType(String),
    /// The number is none.
    #[error("spec.strategy.rollingUpdate.{field}: {error}")]
    NotAPercentage {
        /// `maxSurge` or `maxUnavailable`.
        field: &'static str,
        /// What is wrong.
        error: NotAPercentage,
    },
}

/// The sizes that a fleet's sets are to have next.
///
/// # Errors
///
/// If the fleet's strategy is none.
pub fn sizes(
    fleet: &Fleet,
    active: &GameServerSet,
    rest: &[Arc<GameServerSet>],
    gates: FeatureGates,
) -> Result<Sizes, StrategyError> {
    let replicas = fleet.spec.replicas;
    if rest.is_empty() {
        return Ok(Sizes { active: replicas.max(0), rest: Vec::new() });
    }
    if rest.iter().all(|set| set.spec.replicas == 0) {
        let busy = |set: &Arc<GameServerSet>| i64::from(set.status.reserved_replicas) + allocated(set);
        let left = i64::from(replicas) - rest.iter().map(busy).sum::<i64>();
        return Ok(Sizes { active: clamp(left), rest: Vec::new() });
    }
    match fleet.spec.strategy.kind.as_str() {
        "Recreate" => Ok(recreate(fleet, rest)),
        // A fleet that no webhook has seen.
        "RollingUpdate" | "" => rolling_update(fleet, active, rest, gates),
        other => Err(StrategyError::UnknownType(other.to_owned())),
    }
}

/// F-7: all old servers go at once, and new ones take the places that players leave.
fn recreate(fleet: &Fleet, rest: &[Arc<GameServerSet>]) -> Sizes {
    let emptied = rest.iter().enumerate().filter(|(_, set)| set.spec.replicas != 0);
    let left = i64::from(fleet.spec.replicas) - rest.iter().map(allocated).sum::<i64>();
    Sizes { active: clamp(left), rest: emptied.map(|(place, _)| (place, 0)).collect() }
}

fn rolling_update(
    fleet: &Fleet,
    active: &GameServerSet,
    rest: &[Arc<GameServerSet>],
    gates: FeatureGates,
) -> Result<Sizes, StrategyError> {
    // A fleet that no webhook has seen may lack the block, or a half of it.
    let mut update = fleet.spec.strategy.rolling_update.clone().unwrap_or_default();
    defaults::rolling_update(&mut update);
    let grown = grown(fleet, active, rest, &update)?;
    let rest = if gates.has(Gate::RollingUpdateFix) {
        shrunk(fleet, active, rest, &update)?
    } else {
        shrunk_without_fix(fleet, active, rest, &update)?
    };
    Ok(Sizes { active: grown, rest })
}

/// F-8: how large the active set is to be next.
fn grown(
    fleet: &Fleet,
    active: &GameServerSet,
    rest: &[Arc<GameServerSet>],
    update: &RollingUpdate,
) -> Result<i32, StrategyError> {
    let wanted = i64::from(fleet.spec.replicas);
    let old_allocated: i64 = rest.iter().map(allocated).sum();
    let current = i64::from(active.spec.replicas);
    if current != i64::from(active.status.replicas) {
        return Ok(clamp(current));
    }
    if wanted == 0 {
        return Ok(0);
    }
    let room = wanted - old_allocated;
    if current >= room {
        return Ok(clamp(room));
    }
    let surge = part(update, Part::Surge, wanted)?;
    let mut next = (current + surge).min(wanted);
    let total = rest.iter().map(|set| i64::from(set.status.replicas)).sum::<i64>() + next;
    let most = wanted + surge;
    if total > most {
        next = (next - (total - most)).max(0);
    }
    if next + old_allocated > wanted {
        next = room;
    }
    Ok(clamp(next))
}

/// F-9: how small the other sets are to be next. What may be missing is counted on servers that are ready.
fn shrunk(
    fleet: &Fleet,
    active: &GameServerSet,
    rest: &[Arc<GameServerSet>],
    update: &RollingUpdate,
) -> Result<Vec<(usize, i32)>, StrategyError> {
    let wanted = i64::from(fleet.spec.replicas);
    let fleet_ready = i64::from(fleet.status.ready_replicas);
    let missing = at_least_one(part(update, Part::Unavailable, fleet_ready)?).min(wanted);
    let ready = ready(active) + rest.iter().map(|set| ready(set)).sum::<i64>();
    let least = (fleet_ready - missing).min(wanted);
    let status = &active.status;
    let starting = i64::from(active.spec.replicas)
        - i64::from(status.ready_replicas)
        - i64::from(status.reserved_replicas)
        - i64::from(status.allocated_replicas)
        - i64::from(status.shutdown_replicas);
    let budget = ready - least - starting;
    if budget <= 0 {
        return Ok(Vec::new());
    }
    let busy = |set: &GameServerSet| {
        let status = &set.status;
        i64::from(status.ready_replicas)
            + i64::from(status.allocated_replicas)
            + i64::from(status.reserved_replicas)
    };
    let mut shrinking = Shrinking::new(rest);
    shrinking.trim(budget, busy);
    shrinking.take(ready - least);
    Ok(shrinking.changes)
}

/// F-10: as it was before.
fn shrunk_without_fix(
    fleet: &Fleet,
    active: &GameServerSet,
    rest: &[Arc<GameServerSet>],
    update: &RollingUpdate,
) -> Result<Vec<(usize, i32)>, StrategyError> {
    let wanted = i64::from(fleet.spec.replicas);
    let missing = at_least_one(part(update, Part::Unavailable, wanted)?).min(wanted);
    let least = wanted - missing;
    let all =
        i64::from(active.spec.replicas) + rest.iter().map(|set| i64::from(set.spec.replicas)).sum::<i64>();
    let starting = i64::from(active.spec.replicas)
        - i64::from(active.status.ready_replicas)
        - i64::from(active.status.allocated_replicas);
    let budget = all - least - starting;
    if budget <= 0 {
        return Ok(Vec::new());
    }
    let ready_all = ready(active) + rest.iter().map(|set| ready(set)).sum::<i64>();
    let mut shrinking = Shrinking::new(rest);
    if shrinking.trim(budget, ready) {
        shrinking.take(ready_all - least);
    }
    Ok(shrinking.changes)
}

/// The sizes of the other sets while they are made smaller.
struct Shrinking<'a> {
    rest: &'a [Arc<GameServerSet>],
    sizes: Vec<i64>,
    changes: Vec<(usize, i32)>,
}

impl<'a> Shrinking<'a> {
    fn new(rest: &'a [Arc<GameServerSet>]) -> Self {
        let sizes = rest.iter().map(|set| i64::from(set.spec.replicas)).collect();
        Self { rest, sizes, changes: Vec::new() }
    }

    /// First those go that are of no use, since they do not run.
    ///
    /// Whether the numbers fit together: a set that has more servers than it is to have is still on its way, and what is known of
    /// it is not what is.
    fn trim(&mut self, budget: i64, useful: impl Fn(&GameServerSet) -> i64) -> bool {
        let mut trimmed = 0;
        for (place, set) in self.rest.iter().enumerate() {
            if trimmed >= budget {
                break;
            }
            let size = self.sizes[place];
            let useful = useful(set);
            if size <= 0 || size == useful {
                continue;
            }
            if useful > size {
                return false;
            }
            let excess = (size - useful).min(budget - trimmed);
            self.set(place, size - excess);
            trimmed += excess;
        }
        true
    }

    /// Then those that run, one set after the other.
    fn take(&mut self, most: i64) {
        let mut taken = 0;
        for (place, set) in self.rest.iter().enumerate() {
            if taken >= most {
                break;
            }
            let size = self.sizes[place];
            if size <= 0 {
                continue;
            }
            if size != i64::from(set.status.replicas) {
                // Servers of this set are still on their way out.
                break;
            }
            if set.status.shutdown_replicas != 0 {
                continue;
            }
            let number = size.min(most - taken);
            if set.status.replicas == set.status.allocated_replicas {
                self.set(place, 0);
            } else {
                self.set(place, size - number);
            }
            taken += number;
        }
    }

    fn set(&mut self, place: usize, size: i64) {
        self.sizes[place] = size;
        self.changes.push((place, clamp(size)));
    }
}

/// A part that is rounded down to nothing would never let anything happen.
fn at_least_one(number: i64) -> i64 {
    if number == 0 { 1 } else { number }
}

enum Part {
    Surge,
    Unavailable,
}

/// A part of a number: surges are rounded up, and what may be missing is rounded down. A text without `%` is a percentage too.
fn part(update: &RollingUpdate, part: Part, of: i64) -> Result<i64, StrategyError> {
    let (field, value, round_up) = match part {
        Part::Surge => ("maxSurge", &update.max_surge, true),
        Part::Unavailable => ("maxUnavailable", &update.max_unavailable, false),
    };
    let Some(value) = value else { return Ok(0) };
    let error = |error| StrategyError::NotAPercentage { field, error };
    let number = value.without_percent_signs().map_err(error)?;
    Ok(match value {
        lariat::api::IntOrString::Int(_) => number,
        lariat::api::IntOrString::String(_) => {
            let exact = i128::from(number) * i128::from(of);
            let floor = exact.div_euclid(100);
            let rounded = floor + i128::from(round_up && exact.rem_euclid(100) != 0);
            i64::try_from(rounded).unwrap_or(i64::MAX)
        }
    })
}

fn ready(set: &GameServerSet) -> i64 {
    set.status.ready_replicas.into()
}

fn allocated(set: &Arc<GameServerSet>) -> i64 {
    set.status.allocated_replicas.into()
}

/// Never less than nothing (issues 2617, 2509).
fn clamp(number: i64) -> i32 {
    i32::try_from(number.max(0)).unwrap_or(i32::MAX)
}
