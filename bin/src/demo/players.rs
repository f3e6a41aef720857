use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use lariat::api::{Randomness, SystemClock};
use lariat::prelude::*;
use lariat_controllers::allocation::Allocator;
use lariat_controllers::events::Recorder;
use lariat_controllers::gameservers::{PerNodeCounter, Writes};
use lariat_controllers::gates::FeatureGates;
use lariat_controllers::types::{GameServer, GameServerAllocation, GameServerState};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How many pairs of players come in a wave.
const PAIRS: usize = 9;

/// Players who come in waves, allocate servers, play and leave.
pub(super) struct Players {
    stop: watch::Sender<bool>,
    caches: JoinHandle<()>,
    game: JoinHandle<()>,
    played: Arc<Mutex<Played>>,
}

/// What players saw.
#[derive(Debug, Clone, Default)]
pub(super) struct Played {
    /// How many servers they got.
    pub(super) allocated: usize,
    /// How often there was none.
    pub(super) turned_away: usize,
    /// How many sessions came to their end.
    pub(super) finished: usize,
    /// Servers that went away while players were on them.
    pub(super) lost: Vec<String>,
}

impl Players {
    /// Players for a demonstration of this length: a wave in its first third, who leave in its last.
    pub(super) fn start(client: Client, length: Duration, randomness: Randomness) -> anyhow::Result<Self> {
        let servers = Informer::<GameServer>::builder(Api::all(client.clone())).build();
        let counts = PerNodeCounter::default();
        servers.add_handler(counts.clone())?;
        let writes = Arc::new(Writes::new(client, &servers));
        let events = Recorder::new("players", |_| {});
        let clock = Arc::new(SystemClock);
        let gates = FeatureGates::default();
        let allocator = Allocator::new(writes.clone(), counts, gates, &events, randomness, clock);
        let (stop, stopped) = watch::channel(false);
        let played = Arc::new(Mutex::new(Played::default()));
        let mut of_caches = stopped.clone();
        let caches = tokio::spawn(async move {
            servers.run(async move { drop(of_caches.wait_for(|stopped| *stopped).await) }).await;
        });
        let game = tokio::spawn(wave(Arc::new(allocator), writes, length, played.clone(), stopped));
        Ok(Self { stop, caches, game, played })
    }

    pub(super) async fn stop(self) -> Played {
        self.stop.send_replace(true);
        drop(self.game.await);
        drop(self.caches.await);
        self.played.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn wave(
    allocator: Arc<Allocator>,
    servers: Arc<Writes<GameServer>>,
    length: Duration,
    played: Arc<Mutex<Played>>,
    mut stopped: watch::Receiver<bool>,
) {
    let pause = length / 30;
    let session = length / 2;
    let game = async {
        tokio::time::sleep(length / 6).await;
        let mut sessions = tokio::task::JoinSet::new();
        for _ in 0..PAIRS {
            sessions.spawn(pair(allocator.clone(), servers.clone(), session, pause, played.clone()));
            tokio::time::sleep(pause).await;
        }
        while sessions.join_next().await.is_some() {}
    };
    tokio::select! {
        () = game => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}

/// Two players: they ask until there is a server, play, and leave.
async fn pair(
    allocator: Arc<Allocator>,
    servers: Arc<Writes<GameServer>>,
    session: Duration,
    pause: Duration,
    played: Arc<Mutex<Played>>,
) {
    let note = |what: &dyn Fn(&mut Played)| what(&mut played.lock().unwrap_or_else(PoisonError::into_inner));
    let request = json!({
        "metadata": {"namespace": "default"},
        "spec": {"selectors": [{"matchLabels": {"agones.dev/fleet": "simple"}}]},
    });
    let name = loop {
        let Ok(request) = serde_json::from_value::<GameServerAllocation>(request.clone()) else { return };
        match allocator.allocate(request).await {
            Ok(answer) if answer.status.state == "Allocated" => break answer.status.game_server_name,
            Ok(_) => note(&|played| played.turned_away += 1),
            Err(error) => tracing::warn!(%error, "an allocation failed"),
        }
        tokio::time::sleep(pause).await;
    };
    note(&|played| played.allocated += 1);
    tokio::time::sleep(session).await;
    let key = ObjectKey::new("default", &name);
    match servers.get(&key).filter(|server| server.status.state == GameServerState::Allocated) {
        None => note(&|played| played.lost.push(name.clone())),
        Some(server) => {
            let mut over = GameServer::clone(&server);
            over.status.state = GameServerState::Shutdown;
            match servers.update(&over).await {
                Ok(_) => note(&|played| played.finished += 1),
                Err(error) => tracing::warn!(%error, server = name, "a session did not end"),
            }
        }
    }
}
