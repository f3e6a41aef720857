//! What happens, as a seed says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lariat::api::Randomness;
use lariat::prelude::*;
use lariat_controllers::types::{
    Fleet, FleetAutoscaler, GameServer, GameServerSet, GameServerState as State, Pod, Verbatim,
};
use serde_json::json;
use tokio::time::Instant;

use crate::faults;
use crate::report::Report;
use crate::witness::{MOST_WANTED, Witness};
use crate::world::{World, object};

/// How many servers are wanted in the end.
const IN_THE_END: i32 = 7;

pub(crate) struct Script {
    world: World,
    witness: Witness,
    randomness: Randomness,
    began: Instant,
    story: Vec<String>,
    /// The names of the rules that are in force.
    rules: Vec<&'static str>,
    struck: BTreeMap<String, usize>,
    has_autoscaler: bool,
    labels: usize,
    allocated: usize,
}

impl Script {
    pub(crate) fn new(world: World, witness: Witness, randomness: Randomness) -> Self {
        Self {
            world,
            witness,
            randomness,
            began: Instant::now(),
            story: Vec::new(),
            rules: Vec::new(),
            struck: BTreeMap::new(),
            has_autoscaler: false,
            labels: 0,
            allocated: 0,
        }
    }

    /// A fleet, which half of all seeds scale automatically, and the loops.
    pub(crate) async fn begin(&mut self) {
        let replicas = self.up_to(MOST_WANTED as u64);
        self.tell(format!("a fleet of {replicas}"));
        let scheduling = ["Packed", "Distributed"][self.up_to(1) as usize];
        let strategy = ["RollingUpdate", "Recreate"][usize::from(self.up_to(3) == 0)];
        let fleet = object::<Fleet>(json!({
            "apiVersion": "agones.dev/v1", "kind": "Fleet",
            "metadata": {"name": "simple", "namespace": "default"},
            "spec": {
                "replicas": replicas, "scheduling": scheduling,
                "strategy": {"type": strategy,
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
                "template": {"metadata": {"labels": {"game": "0"}}, "spec": {
                    "ports": [{"name": "default", "containerPort": 7654}],
                    "template": {"spec": {"containers": [{"name": "game", "image": "example.com/game:1"}]}},
                }},
            },
        }));
        if let Some(fleet) = fleet {
            drop(Api::<Fleet>::namespaced(self.world.user.clone(), "default").create(&fleet).await);
        }
        self.has_autoscaler = self.up_to(1) == 0;
        let autoscaler = object::<FleetAutoscaler>(json!({
            "apiVersion": "autoscaling.agones.dev/v1", "kind": "FleetAutoscaler",
            "metadata": {"name": "simple", "namespace": "default"},
            "spec": {
                "fleetName": "simple",
                "policy": {"type": "Buffer",
                    "buffer": {"bufferSize": 3, "minReplicas": 3, "maxReplicas": MOST_WANTED}},
                "sync": {"type": "FixedInterval", "fixedInterval": {"seconds": 10}},
            },
        }));
        if let Some(autoscaler) = autoscaler.filter(|_| self.has_autoscaler) {
            self.tell("a buffer of 3".into());
            drop(Api::namespaced(self.world.user.clone(), "default").create(&autoscaler).await);
        }
        self.world.control();
    }

    /// Something happens, after a while.
    pub(crate) async fn step(&mut self) {
        tokio::time::sleep(Duration::from_millis(self.up_to(6_000))).await;
        match self.up_to(17) {
            0 | 1 if !self.has_autoscaler => {
                let replicas = self.up_to(MOST_WANTED as u64) as i32;
                self.scale(replicas).await;
            }
            2 => self.change_label().await,
            3..=6 => {
                for _ in 0..=self.up_to(3) {
                    self.allocate().await;
                }
            }
            7 | 8 => self.leave(2).await,
            9 => self.lose_pod().await,
            10 => self.fail_pod().await,
            11 => {
                self.tell("the loops begin anew".into());
                self.world.stop().await;
                self.world.control();
            }
            12 => {
                self.tell("the loops are killed".into());
                self.world.kill();
                tokio::time::sleep(Duration::from_millis(self.up_to(15_000))).await;
                self.world.control();
            }
            13 | 14 => {
                self.note_struck();
                let (plan, names) = faults::random(&self.randomness);
                self.tell(format!("faults: {names:?}"));
                self.world.server.set_faults(plan);
                self.rules = names;
            }
            15 => {
                self.tell("no faults".into());
                self.note_struck();
                self.world.server.heal();
            }
            16 => {
                self.tell("the server forgets the past".into());
                self.world.server.compact();
            }
            _ => self.delete_server().await,
        }
    }

    /// All is well again: no faults, all players leave, the loops run, and a few servers are wanted.
    pub(crate) async fn heal(&mut self) {
        self.note_struck();
        self.world.server.heal();
        self.world.control();
        if self.has_autoscaler {
            // It would wait for more players.
            let key = ObjectKey::new("default", "simple");
            let api = Api::<FleetAutoscaler>::namespaced(self.world.user.clone(), "default");
            drop(api.delete(&key, &lariat::client::DeleteParams::default()).await);
            // Until the loop knows, it scales as it did.
            tokio::time::sleep(Duration::from_secs(120)).await;
        }
        self.scale(IN_THE_END).await;
        self.leave(usize::MAX).await;
    }

    /// Waits until there is what is wanted. Says what differs if there is not in time.
    pub(crate) async fn converge(&mut self, within: Duration) -> Result<(), String> {
        let deadline = Instant::now() + within;
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            // An answer that was lost may have given a server to players who do not know of it.
            self.leave(usize::MAX).await;
            match self.difference().await {
                None => return Ok(()),
                Some(difference) if Instant::now() > deadline => return Err(difference),
                Some(_) => {}
            }
        }
    }

    /// For how long nobody may write, now that there is what is wanted.
    pub(crate) async fn stays_quiet(&self, time: Duration) -> Result<(), String> {
        // What was put off may still be written: events, and a status.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let (before, requests) = (self.world.server.resource_version(), self.world.server.seen().len());
        tokio::time::sleep(time).await;
        let after = self.world.server.resource_version();
        let seen = self.world.server.seen();
        let writes: Vec<String> = seen[requests..]
            .iter()
            .filter(|seen| seen.method != "GET")
            .map(|seen| format!("{} {}", seen.method, seen.target))
            .collect();
        if before != after || !writes.is_empty() {
            return Err(format!("{} changes while nothing was to do: {writes:?}", after - before));
        }
        self.difference().await.map_or(Ok(()), Err)
    }

    pub(crate) async fn report(self, seed: u64, mut violations: Vec<String>) -> Report {
        let clashes = (self.world.clashes)();
        if clashes > 0 {
            violations.push(format!("{clashes} pods were on a node whose port another pod had"));
        }
        Report {
            seed,
            story: self.story,
            violations,
            requests: self.world.server.seen().len(),
            faults: self.struck,
            allocated: self.allocated,
        }
    }

    /// What is not as it is wanted.
    async fn difference(&self) -> Option<String> {
        let fleets: Vec<Fleet> = self.world.list().await;
        let sets: Vec<GameServerSet> = self.world.list().await;
        let servers: Vec<GameServer> = self.world.list().await;
        let pods: Vec<Pod> = self.world.list().await;
        let Some(Fleet { status, .. }) = fleets.first() else { return Some("there is no fleet".into()) };
        let wanted = IN_THE_END;
        let states: Vec<String> = servers
            .iter()
            .map(|server| format!("{} {}", server.metadata.name, server.status.state))
            .collect();
        if (status.replicas, status.ready_replicas, status.allocated_replicas) != (wanted, wanted, 0) {
            let counts = (status.replicas, status.ready_replicas, status.allocated_replicas);
            let sets: Vec<_> = sets.iter().map(set_in_words).collect();
            return Some(format!("the fleet says {counts:?}, sets: {sets:?}, servers: {states:?}"));
        }
        if sets.len() != 1 || sets[0].spec.replicas != wanted {
            return Some(format!("sets: {:?}", sets.iter().map(set_in_words).collect::<Vec<_>>()));
        }
        if servers.len() != wanted as usize || !servers.iter().all(|it| it.status.state == State::Ready) {
            return Some(format!("servers: {states:?}"));
        }
        let label = self.labels.to_string();
        if servers.iter().any(|server| server.metadata.labels.get("game") != Some(&label)) {
            return Some("servers of an old template".into());
        }
        let named = |name: &str| name.to_owned();
        let of_servers: BTreeSet<String> = servers.iter().map(|it| named(&it.metadata.name)).collect();
        let of_pods: BTreeSet<String> = pods.iter().map(|it| named(&it.metadata.name)).collect();
        if of_servers != of_pods {
            return Some(format!("servers {of_servers:?}, pods {of_pods:?}"));
        }
        let watched: BTreeSet<String> =
            self.witness.servers().iter().map(|it| named(&it.metadata.name)).collect();
        (watched != of_servers).then(|| format!("a cache has {watched:?}, the server {of_servers:?}"))
    }

    async fn scale(&mut self, replicas: i32) {
        self.tell(format!("scaled to {replicas}"));
        self.world.change_fleet(|fleet| fleet.spec.replicas = replicas).await;
    }

    async fn change_label(&mut self) {
        self.labels += 1;
        let label = self.labels.to_string();
        self.tell(format!("template {label}"));
        let change = |fleet: &mut Fleet| {
            let Ok(mut template) = fleet.spec.template.get().cloned() else { return };
            template.metadata.labels.insert("game".to_owned(), label.clone());
            if let Ok(template) = Verbatim::of(template) {
                fleet.spec.template = template.into();
            }
        };
        self.world.change_fleet(change).await;
    }

    async fn allocate(&mut self) {
        if let Some(name) = self.world.allocate().await {
            self.allocated += 1;
            self.tell(format!("players get {name}"));
        }
    }

    /// Players leave so many servers.
    async fn leave(&mut self, most: usize) {
        for name in self.witness.allocated().into_iter().take(most) {
            self.witness.is_over(&name);
            self.tell(format!("players leave {name}"));
            let change = |server: &mut GameServer| {
                let is_theirs = server.status.state == State::Allocated;
                server.status.state = State::Shutdown;
                is_theirs
            };
            self.world.change_server(&name, change).await;
        }
    }

    async fn lose_pod(&mut self) {
        let Some(name) = self.any_server(|_| true) else { return };
        self.tell(format!("the pod of {name} vanishes"));
        self.witness.is_over(&name);
        self.world.server.delete("pods", &format!("default/{name}"));
    }

    async fn fail_pod(&mut self) {
        let Some(name) = self.any_server(|_| true) else { return };
        self.tell(format!("the pod of {name} fails"));
        self.witness.is_over(&name);
        let api = Api::<Pod>::namespaced(self.world.user.clone(), "default");
        while let Ok(mut pod) = api.get(&ObjectKey::new("default", &name)).await {
            "Failed".clone_into(&mut pod.status.phase);
            match api.update_status(&pod).await {
                Err(error) if error.is_conflict() => {}
                _ => return,
            }
        }
    }

    /// Somebody deletes a server that nobody plays on.
    async fn delete_server(&mut self) {
        let Some(name) = self.any_server(|server| server.status.state != State::Allocated) else { return };
        self.tell(format!("somebody deletes {name}"));
        self.witness.is_over(&name);
        let api = Api::<GameServer>::namespaced(self.world.user.clone(), "default");
        let key = ObjectKey::new("default", &name);
        drop(api.delete(&key, &lariat::client::DeleteParams::default()).await);
    }

    fn any_server(&self, which: impl Fn(&GameServer) -> bool) -> Option<String> {
        let servers: Vec<_> = self.witness.servers().into_iter().filter(|server| which(server)).collect();
        let last = (servers.len() as u64).checked_sub(1)?;
        Some(servers[self.up_to(last) as usize].metadata.name.to_string())
    }

    fn note_struck(&mut self) {
        for (name, struck) in
            std::mem::take(&mut self.rules).into_iter().zip(self.world.server.faults_struck())
        {
            *self.struck.entry(name.to_owned()).or_default() += struck.happened as usize;
        }
    }

    fn tell(&mut self, what: String) {
        let at = self.began.elapsed().as_secs_f64();
        self.story.push(format!("{at:8.3} {what}"));
    }

    fn up_to(&self, most: u64) -> u64 {
        self.randomness.below(most + 1)
    }
}

fn set_in_words(set: &GameServerSet) -> String {
    let status = &set.status;
    let counts =
        (status.replicas, status.ready_replicas, status.allocated_replicas, status.shutdown_replicas);
    format!("{} wants {}, has {counts:?}", set.metadata.name, set.spec.replicas)
}
