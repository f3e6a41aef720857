//! Which host ports servers get (reference 2.4).
//!
//! The scheduler decides which node a pod goes to, by host ports among other things. What is kept here are tables, one for each
//! node that could take a server of each port: a port may be given out as often as there are tables. When all are taken a
//! table is added: so the pod waits, and a cluster autoscaler adds a node.
//!
//! Invariant: what is taken is what live servers have in ports that were given out here, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat::api::{Object, Randomness};
use serde::Deserialize;

use crate::types::{GameServer, GameServerPort, Node};

/// A range of ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct PortRange {
    /// The first.
    pub min: i32,
    /// The last.
    pub max: i32,
}

/// Ranges that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRange {
    /// It has no port, or ports that there are not.
    #[error("port range {name:?}: {min} to {max} is no range within 1 to 65535")]
    Bounds {
        /// Its name.
        name: String,
        /// Its first port.
        min: i32,
        /// Its last port.
        max: i32,
    },
    /// Two of them have ports in common.
    #[error("port ranges {0:?} and {1:?} overlap")]
    Overlap(String, String),
}

/// Gives host ports to servers and takes them back.
#[derive(Debug)]
pub struct PortAllocator(Mutex<State>);

/// How much of a range is given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortUsage {
    /// How many ports of each table are taken.
    pub taken: Vec<usize>,
    /// How many ports a table has.
    pub size: usize,
    /// How many servers have ports of the range.
    pub servers: usize,
}

#[derive(Debug)]
struct State {
    ranges: BTreeMap<String, Range>,
    randomness: Randomness,
    /// Whether ports say which range they are from; otherwise there is one.
    by_name: bool,
}

#[derive(Debug)]
struct Range {
    bounds: PortRange,
    tables: Vec<Table>,
    /// Which ports each server has, by its uid.
    held: BTreeMap<String, Vec<Slot>>,
}

/// Which ports of one node are taken.
#[derive(Debug, Clone)]
struct Table {
    taken: Vec<bool>,
    /// How many of them.
    count: usize,
}

/// A port of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    table: usize,
    port: i32,
}

impl PortAllocator {
    /// Ranges by name, with no port given out.
    ///
    /// # Errors
    ///
    /// If a range is none, or two of them overlap. Ranges that share an end do.
    pub fn new(
        ranges: impl IntoIterator<Item = (String, PortRange)>,
        randomness: Randomness,
    ) -> Result<Self, InvalidRange> {
        let ranges: Vec<(String, PortRange)> = ranges.into_iter().collect();
        for (index, (name, range)) in ranges.iter().enumerate() {
            let PortRange { min, max } = *range;
            if min < 1 || max > 65_535 || min > max {
                return Err(InvalidRange::Bounds { name: name.clone(), min, max });
            }
            if let Some((other, _)) =
                ranges[..index].iter().find(|(_, other)| min <= other.max && other.min <= max)
            {
                return Err(InvalidRange::Overlap(other.clone(), name.clone()));
            }
        }
        let ranges = ranges
            .into_iter()
            .map(|(name, bounds)| (name, Range { bounds, tables: Vec::new(), held: BTreeMap::new() }));
        Ok(Self(Mutex::new(State { ranges: ranges.collect(), randomness, by_name: true })))
    }

    /// Takes every port from the range `default`, whatever range it names: for when the feature gate `PortRanges` is off.
    #[must_use]
    pub fn ignoring_names(self) -> Self {
        self.state().by_name = false;
        self
    }

    /// Begins anew with what there is: a table for each node that takes pods, and the ports of all servers.
    ///
    /// A server whose node is not known has its ports in the first table where they are free, in a further one if need be.
    pub fn sync<'a>(
        &self,
        nodes: impl IntoIterator<Item = &'a Node>,
        servers: impl IntoIterator<Item = &'a GameServer>,
    ) {
        let nodes: Vec<&str> =
            nodes.into_iter().filter(|node| !node.spec.unschedulable).map(Object::name).collect();
        let servers: Vec<&GameServer> = servers.into_iter().collect();
        let mut state = self.state();
        let by_name = state.by_name;
        for (name, range) in &mut state.ranges {
            range.sync(&Named { name, by_name }, &nodes, &servers);
        }
    }

    /// Gives a server its host ports. A port that goes over TCP and UDP becomes two with one number.
    ///
    /// A port of a range that is not known is left as it is: there is nothing to give.
    pub fn allocate(&self, server: &mut GameServer) {
        let uid = server.uid().to_owned();
        let mut state = self.state();
        let State { ranges, randomness, by_name } = &mut *state;
        for (name, range) in ranges {
            range.allocate(&Named { name, by_name: *by_name }, &uid, &mut server.spec.ports, randomness);
        }
    }

    /// Takes back all ports of a server, as often as it is said.
    pub fn deallocate(&self, uid: &str) {
        let mut state = self.state();
        for range in state.ranges.values_mut() {
            range.release(uid);
        }
    }

    /// Takes back the ports of all servers that are not among these: whatever was missed, it is right again.
    pub fn retain(&self, uids: &BTreeSet<String>) {
        let mut state = self.state();
        for range in state.ranges.values_mut() {
            let gone: Vec<String> = range.held.keys().filter(|uid| !uids.contains(*uid)).cloned().collect();
            for uid in gone {
                range.release(&uid);
            }
        }
    }

    /// How much of each range is given out.
    pub fn usage(&self) -> BTreeMap<String, PortUsage> {
        let state = self.state();
        let usage = |range: &Range| PortUsage {
            taken: range.tables.iter().map(|table| table.count).collect(),
            size: range.size(),
            servers: range.held.len(),
        };
        state.ranges.iter().map(|(name, range)| (name.clone(), usage(range))).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a range.
struct Named<'a> {
    name: &'a str,
    by_name: bool,
}

impl Named<'_> {
    /// Whether a port is given out of this range, rather than chosen by the user or from another one.
    fn has(&self, port: &GameServerPort) -> bool {
        let is_named = port.range == self.name || (port.range.is_empty() && self.name == "default");
        matches!(&*port.port_policy, "Dynamic" | "Passthrough") && (is_named || !self.by_name)
    }
}

// === impl Range ===

impl Range {
    fn size(&self) -> usize {
        usize::try_from(self.bounds.max - self.bounds.min + 1).unwrap_or_default()
    }

    fn sync(&mut self, name: &Named<'_>, nodes: &[&str], servers: &[&GameServer]) {
        self.held.clear();
        self.tables = vec![Table::new(self.size()); nodes.len()];
        let mut homeless = Vec::new();
        for server in servers {
            let table = nodes.iter().position(|node| *node == server.status.node_name);
            for port in self.ports_of(name, server) {
                match table {
                    Some(table) if self.take(table, port) => self.hold(server.uid(), Slot { table, port }),
                    _ => homeless.push((server.uid(), port)),
                }
            }
        }
        for (uid, port) in homeless {
            let free = (0..self.tables.len()).find(|table| self.take(*table, port));
            let table = free.unwrap_or_else(|| {
                self.tables.push(Table::new(self.size()));
                let table = self.tables.len() - 1;
                self.take(table, port);
                table
            });
            self.hold(uid, Slot { table, port });
        }
        self.sort();
    }

    /// The fullest table first, so that new servers fill it up.
    fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.tables.len()).collect();
        order.sort_by_key(|table| std::cmp::Reverse(self.tables[*table].count));
        let place = |old: usize| order.iter().position(|table| *table == old).unwrap_or(old);
        for slot in self.held.values_mut().flatten() {
            slot.table = place(slot.table);
        }
        self.tables = order.iter().map(|table| self.tables[*table].clone()).collect();
    }

    /// The numbers that a server got in this range; one that goes over TCP and UDP is counted once.
    fn ports_of(&self, name: &Named<'_>, server: &GameServer) -> BTreeSet<i32> {
        let ours = |port: &&GameServerPort| {
            name.has(port) && (self.bounds.min..=self.bounds.max).contains(&port.host_port)
        };
        server.spec.ports.iter().filter(ours).map(|port| port.host_port).collect()
    }

    fn allocate(
        &mut self,
        name: &Named<'_>,
        uid: &str,
        ports: &mut Vec<GameServerPort>,
        randomness: &Randomness,
    ) {
        let wanted = ports.iter().filter(|port| name.has(port)).count();
        self.held.entry(uid.to_owned()).or_default();
        if wanted == 0 {
            return;
        }
        let slots = self.find(wanted, randomness);
        let mut twins = Vec::new();
        for (port, slot) in ports.iter_mut().filter(|port| name.has(port)).zip(&slots) {
            port.host_port = slot.port;
            if port.port_policy == "Passthrough" {
                port.container_port = slot.port;
            }
            if port.protocol == "TCPUDP" {
                twins.push(split(port));
            }
        }
        ports.append(&mut twins);
        for slot in slots {
            self.take(slot.table, slot.port);
            self.hold(uid, slot);
        }
    }

    /// So many free ports, from the first tables on; with further tables if there are not enough.
    fn find(&mut self, wanted: usize, randomness: &Randomness) -> Vec<Slot> {
        let mut found: Vec<Slot> = Vec::with_capacity(wanted);
        // All of them are on one node in the end, where a number can be had once. The original may give one twice.
        let can_differ = wanted <= self.size();
        for table in 0.. {
            if table == self.tables.len() {
                self.tables.push(Table::new(self.size()));
            }
            let min = self.bounds.min;
            let port_at = |place: usize| min + i32::try_from(place).unwrap_or_default();
            let is_had = |place: usize| can_differ && found.iter().any(|slot| slot.port == port_at(place));
            let free = self.tables[table].taken.iter().enumerate();
            let free = free.filter(|(place, taken)| !**taken && !is_had(*place));
            let mut free: Vec<usize> = free.map(|(place, _)| place).collect();
            let take = free.len().min(wanted - found.len());
            for at in 0..take {
                let left = free.len() - at;
                let other = at + usize::try_from(randomness.below(left as u64)).unwrap_or_default();
                free.swap(at, other);
                found.push(Slot { table, port: port_at(free[at]) });
            }
            if found.len() == wanted {
                break;
            }
        }
        found
    }

    fn hold(&mut self, uid: &str, slot: Slot) {
        self.held.entry(uid.to_owned()).or_default().push(slot);
    }

    fn release(&mut self, uid: &str) {
        for slot in self.held.remove(uid).unwrap_or_default() {
            let place = usize::try_from(slot.port - self.bounds.min).unwrap_or_default();
            self.tables[slot.table].free(place);
        }
    }

    /// Takes a port; whether it was free.
    fn take(&mut self, table: usize, port: i32) -> bool {
        let Ok(place) = usize::try_from(port - self.bounds.min) else { return false };
        self.tables[table].take(place)
    }
}

/// Makes of a port over TCP and UDP one over TCP, and returns its twin over UDP.
pub(super) fn split(port: &mut GameServerPort) -> GameServerPort {
    let twin =
        GameServerPort { name: format!("{}-udp", port.name), protocol: "UDP".to_owned(), ..port.clone() };
    port.name.push_str("-tcp");
    "TCP".clone_into(&mut port.protocol);
    twin
}

// === impl Table ===

impl Table {
    fn new(size: usize) -> Self {
        Self { taken: vec![false; size], count: 0 }
    }

    fn take(&mut self, place: usize) -> bool {
        let is_free = !self.taken[place];
        if is_free {
            self.taken[place] = true;
            self.count += 1;
        }
        is_free
    }

    fn free(&mut self, place: usize) {
        if std::mem::replace(&mut self.taken[place], false) {
            self.count -= 1;
        }
    }
}
