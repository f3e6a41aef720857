//! Policies that keep some of the capacity of a counter or a list free (FAS-7).

use std::ops::Deref;

use lariat::api::IntOrString;

use super::policy::{PolicyError, Target};
use crate::gameservers::order::{NodeCounts, sort_for_deletion};
use crate::types::{AggregatedStatus, CapacityPolicy, Fleet, GameServer};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// The number of a counter.
    Counter,
    /// The entries of a list.
    List,
}

/// What a policy on a counter or a list asks for.
///
/// Scaling down is played through on the servers that a set would take away, in its order: those with players stay, so the
/// answer is one that can be reached (issue 4625). Scaling up goes by what a new server has.
///
/// # Errors
///
/// If the fleet does not have the counter or list, its servers begin full, or the buffer is none.
pub fn capacity<S: Deref<Target = GameServer> + Clone>(
    policy: &CapacityPolicy,
    counted: Counted,
    fleet: &Fleet,
    servers: &[S],
    counts: &NodeCounts,
) -> Result<Target, PolicyError> {
    let key = &policy.key;
    let kind = counted.name();
    let missing = |place| PolicyError::NoKey { kind, key: key.clone(), place };
    let template = fleet.spec.template.get()?;
    let of_status = match counted {
        Counted::Counter => &fleet.status.counters,
        Counted::List => &fleet.status.lists,
    };
    let new = match counted {
        Counted::Counter => template.spec.counters.get(key).map(|counter| (counter.count, counter.capacity)),
        Counted::List => template.spec.lists.get(key).map(|list| (list.count(), list.capacity)),
    };
    let (count, capacity) = new.ok_or_else(|| missing("spec"))?;
    let total = of_status.get(key).ok_or_else(|| missing("status"))?;
    let sizing = Sizing { policy, counted, fleet, servers, counts, count, capacity, total };
    sizing.target()
}

struct Sizing<'a, S> {
    policy: &'a CapacityPolicy,
    counted: Counted,
    fleet: &'a Fleet,
    servers: &'a [S],
    counts: &'a NodeCounts,
    /// What a new server has.
    count: i64,
    capacity: i64,
    /// What all servers have together.
    total: &'a AggregatedStatus,
}

impl<S: Deref<Target = GameServer> + Clone> Sizing<'_, S> {
    fn target(&self) -> Result<Target, PolicyError> {
        let (least, most) = (self.policy.min_capacity, self.policy.max_capacity);
        let total = self.total;
        let buffer = match &self.policy.buffer_size {
            IntOrString::Int(number) => *number,
            IntOrString::String(_) => {
                let percent = self.policy.buffer_size.without_percent_signs();
                let percent = percent.map_err(PolicyError::NotAPercentage)?;
                let taken = 100_i64.saturating_sub(percent);
                if taken <= 0 {
                    return Err(PolicyError::WholeFleet(percent));
                }
                // Nobody plays, and one server is enough.
                if total.allocated_count <= 0 && self.capacity >= least {
                    return Ok(Target { replicas: 1, limited: true });
                }
                let exact = i128::from(total.allocated_count) * 100;
                let taken = i128::from(taken);
                let all = exact.div_euclid(taken) + i128::from(exact.rem_euclid(taken) != 0);
                i64::try_from(all).unwrap_or(i64::MAX).saturating_sub(total.allocated_count)
            }
        };
        let free = total.capacity.saturating_sub(total.count);
        let same = Ok(Target { replicas: self.fleet.status.replicas, limited: false });
        if total.capacity < least {
            return self.up_to(least);
        }
        if total.capacity > most && free <= buffer {
            return Ok(self.down_to(most));
        }
        match free.cmp(&buffer) {
            std::cmp::Ordering::Equal => same,
            std::cmp::Ordering::Less => self.up(buffer, free),
            std::cmp::Ordering::Greater => Ok(self.down(buffer, free)),
        }
    }

    fn up(&self, buffer: i64, free: i64) -> Result<Target, PolicyError> {
        let each = self.capacity.saturating_sub(self.count);
        if each <= 0 {
            return Err(self.no_capacity());
        }
        let (least, most) = (self.policy.min_capacity, self.policy.max_capacity);
        let added = divided_up(buffer.saturating_sub(free), each);
        let reached = self.total.capacity.saturating_add(added.saturating_mul(self.capacity));
        if (least..=most).contains(&reached) {
            return Ok(self.more(added, false));
        }
        let room = most.saturating_sub(self.total.capacity);
        Ok(self.more(room / self.capacity, true))
    }

    /// So many more that there is the least capacity.
    fn up_to(&self, least: i64) -> Result<Target, PolicyError> {
        if self.capacity <= 0 {
            return Err(self.no_capacity());
        }
        Ok(self.more(divided_up(least.saturating_sub(self.total.capacity), self.capacity), true))
    }

    fn more(&self, added: i64, limited: bool) -> Target {
        let replicas = i64::from(self.fleet.status.replicas).saturating_add(added);
        let bound = if replicas < 0 { 0 } else { i32::MAX };
        Target { replicas: i32::try_from(replicas).unwrap_or(bound), limited }
    }

    fn down(&self, buffer: i64, mut free: i64) -> Target {
        let least = self.policy.min_capacity;
        let mut replicas = self.fleet.status.replicas;
        let mut capacity = self.total.capacity;
        if capacity == least {
            return Target { replicas, limited: true };
        }
        for server in self.removable() {
            replicas -= 1;
            if let Some((count, of_server)) = self.counted.of(&server, &self.policy.key) {
                free = free.saturating_sub(of_server.saturating_sub(count));
                capacity = capacity.saturating_sub(of_server);
            }
            if free < buffer {
                return Target { replicas: replicas + 1, limited: false };
            }
            if capacity < least {
                return Target { replicas: replicas + 1, limited: true };
            }
            if free == buffer {
                return Target { replicas, limited: false };
            }
            if capacity == least {
                return Target { replicas, limited: true };
            }
        }
        Target { replicas: replicas.max(1), limited: false }
    }

    /// So many less that there is the most capacity.
    fn down_to(&self, most: i64) -> Target {
        let mut replicas = self.fleet.status.replicas;
        let mut capacity = self.total.capacity;
        for server in self.removable() {
            if capacity <= most {
                break;
            }
            replicas -= 1;
            if let Some((_, of_server)) = self.counted.of(&server, &self.policy.key) {
                capacity = capacity.saturating_sub(of_server);
            }
        }
        Target { replicas: replicas.max(1), limited: true }
    }

    /// The servers that a set would take away, in its order.
    fn removable(&self) -> Vec<S> {
        let mut servers: Vec<S> =
            self.servers.iter().filter(|server| server.is_deletable()).cloned().collect();
        sort_for_deletion(
            &mut servers,
            &self.fleet.spec.scheduling,
            &self.fleet.spec.priorities,
            self.counts,
        );
        servers
    }

    fn no_capacity(&self) -> PolicyError {
        PolicyError::NoCapacity { kind: self.counted.name(), key: self.policy.key.clone() }
    }
}

impl Counted {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "Counter",
            Self::List => "List",
        }
    }

    /// Count and capacity of a server.
    fn of(self, server: &GameServer, key: &str) -> Option<(i64, i64)> {
        match self {
            Self::Counter => server.status.counters.get(key).map(|counter| (counter.count, counter.capacity)),
            Self::List => server.status.lists.get(key).map(|list| (list.count(), list.capacity)),
        }
    }
}

fn divided_up(number: i64, by: i64) -> i64 {
    number.div_euclid(by).saturating_add(i64::from(number.rem_euclid(by) != 0))
}
