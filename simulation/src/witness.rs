//! Watches the server, and says what must never be.
//!
//! * A server goes from state to state only as the original's do.
//! * One that players have is theirs until they leave or their pod fails.
//! * No two servers have one port on one node.
//! * There are never more servers than wanted, what a rolling update may add, and what players have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat::api::Randomness;
use lariat::prelude::*;
use lariat_controllers::types::{GameServer, GameServerState as State};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// As many servers as are ever wanted, and a quarter more while they are replaced, rounded up.
pub(crate) const MOST_WANTED: usize = 20;
const MOST: usize = MOST_WANTED + MOST_WANTED / 4;

#[derive(Clone)]
pub(crate) struct Witness {
    seen: Arc<Mutex<Seen>>,
    _watching: Arc<Watching>,
}

struct Watching(JoinHandle<()>);

struct Seen {
    began: Instant,
    servers: BTreeMap<String, Arc<GameServer>>,
    /// Those whose players have left, or whose end is nobody's fault.
    over: BTreeSet<String>,
    violations: Vec<String>,
}

struct Handler(Arc<Mutex<Seen>>);

impl Witness {
    pub(crate) fn start(client: Client) -> Self {
        let seen = Seen {
            began: Instant::now(),
            servers: BTreeMap::new(),
            over: BTreeSet::new(),
            violations: Vec::new(),
        };
        let seen = Arc::new(Mutex::new(seen));
        let servers =
            Informer::<GameServer>::builder(Api::all(client)).randomness(Randomness::seeded(0)).build();
        drop(servers.add_handler(Handler(seen.clone())));
        let watching = tokio::spawn(async move { servers.run(std::future::pending()).await });
        Self { seen, _watching: Arc::new(Watching(watching)) }
    }

    /// Players leave a server now, or its pod fails.
    pub(crate) fn is_over(&self, name: &str) {
        self.seen().over.insert(name.to_owned());
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.seen().violations.clone()
    }

    /// The servers that players have.
    pub(crate) fn allocated(&self) -> Vec<String> {
        let seen = self.seen();
        let allocated = seen.servers.values().filter(|server| server.status.state == State::Allocated);
        allocated.map(|server| server.metadata.name.to_string()).collect()
    }

    /// All servers.
    pub(crate) fn servers(&self) -> Vec<Arc<GameServer>> {
        self.seen().servers.values().cloned().collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl EventHandler<GameServer> for Handler {
    fn on_add(&self, server: &Arc<GameServer>, _is_in_initial_list: bool) {
        self.changed(None, server);
    }

    fn on_update(&self, old: &Arc<GameServer>, new: &Arc<GameServer>) {
        self.changed(Some(old), new);
    }

    fn on_delete(&self, deleted: &Deleted<GameServer>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let server = deleted.object();
        let name = server.metadata.name.to_string();
        let last = seen.servers.remove(&name);
        let was_theirs = last.is_some_and(|last| last.status.state == State::Allocated);
        if was_theirs && !seen.over.contains(&name) {
            seen.note(format!("{name} was lost: players had it"));
        }
    }
}

impl Handler {
    fn changed(&self, old: Option<&Arc<GameServer>>, new: &Arc<GameServer>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = new.metadata.name.to_string();
        let from = old.map_or(State::None, |old| old.status.state.clone());
        let to = &new.status.state;
        if !is_legal(&from, to, seen.over.contains(&name)) {
            seen.note(format!("{name} went from {from} to {to}"));
        }
        seen.servers.insert(name, new.clone());
        seen.check_ports(new);
        seen.check_number();
    }
}

impl Seen {
    fn note(&mut self, what: String) {
        let at = self.began.elapsed().as_secs_f64();
        self.violations.push(format!("{at:.3}: {what}"));
    }

    fn check_ports(&mut self, server: &GameServer) {
        let of = |server: &GameServer| -> BTreeSet<(String, i32)> {
            let node = &server.status.node_name;
            let ports = server.status.ports.iter().filter(|_| !node.is_empty());
            ports.map(|port| (node.clone(), port.port)).collect()
        };
        let mine = of(server);
        let others = self.servers.values().filter(|other| other.metadata.uid != server.metadata.uid);
        let clash = others
            .filter(|other| !other.status.state.is_terminal())
            .find(|other| !of(other).is_disjoint(&mine))
            .map(|other| other.metadata.name.to_string());
        if let Some(other) = clash.filter(|_| !server.status.state.is_terminal()) {
            self.note(format!("{} and {other} have one port: {mine:?}", server.metadata.name));
        }
    }

    fn check_number(&mut self) {
        let counts = |server: &&Arc<GameServer>| {
            !server.status.state.is_terminal()
                && server.status.state != State::Allocated
                && !server.metadata.is_being_deleted()
        };
        let number = self.servers.values().filter(counts).count();
        if number > MOST {
            self.note(format!("{number} servers, at most {MOST} are wanted"));
        }
    }
}

/// Section 1.7 of what the original does. A change of what is not the state is always legal.
fn is_legal(from: &State, to: &State, is_over: bool) -> bool {
    match (from, to) {
        _ if from == to => true,
        (State::None, State::PortAllocation | State::Creating)
        | (State::PortAllocation, State::Creating)
        | (State::Creating, State::Starting | State::Error)
        | (State::Starting, State::Scheduled)
        | (State::Scheduled, State::RequestReady)
        | (State::RequestReady, State::Ready)
        | (State::Ready, State::Allocated) => true,
        (State::Allocated, State::Shutdown | State::Unhealthy) => is_over,
        (State::Shutdown, _) => false,
        (State::Error | State::Unhealthy, State::Shutdown) => true,
        (State::Error | State::Unhealthy, _) => false,
        (_, State::Unhealthy | State::Shutdown) => true,
        _ => false,
    }
}
