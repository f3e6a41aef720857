use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use lariat::api::Randomness;
use lariat::prelude::*;
use lariat_controllers::types::{GameServer, GameServerAllocation, GameServerState};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How many pairs of players come in a wave.
const PAIRS: usize = 9;

/// Players who come in waves, allocate servers, play and leave.
pub(super) struct Players {
    stop: watch::Sender<bool>,
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
    pub(super) fn start(client: Client, length: Duration, randomness: Randomness) -> Self {
        let (stop, stopped) = watch::channel(false);
        let played = Arc::new(Mutex::new(Played::default()));
        let game = tokio::spawn(wave(client, length, randomness, played.clone(), stopped));
        Self { stop, game, played }
    }

    pub(super) async fn stop(self) -> Played {
        self.stop.send_replace(true);
        drop(self.game.await);
        self.played.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn wave(
    client: Client,
    length: Duration,
    randomness: Randomness,
    played: Arc<Mutex<Played>>,
    mut stopped: watch::Receiver<bool>,
) {
    let pause = length / 30;
    let session = length / 2;
    let game = async {
        tokio::time::sleep(length / 6).await;
        let mut sessions = tokio::task::JoinSet::new();
        for _ in 0..PAIRS {
            sessions.spawn(pair(client.clone(), session, pause, played.clone()));
            // Nobody comes by the clock.
            tokio::time::sleep(randomness.jitter(pause, 0.1)).await;
        }
        while sessions.join_next().await.is_some() {}
    };
    tokio::select! {
        () = game => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}

/// Two players: they ask until there is a server, play, and leave.
async fn pair(client: Client, session: Duration, pause: Duration, played: Arc<Mutex<Played>>) {
    let note = |what: &dyn Fn(&mut Played)| what(&mut played.lock().unwrap_or_else(PoisonError::into_inner));
    let request = json!({
        "metadata": {"namespace": "default"},
        "spec": {"selectors": [{"matchLabels": {"agones.dev/fleet": "simple"}}]},
    });
    let Ok(request) = serde_json::from_value::<GameServerAllocation>(request) else { return };
    let allocations = Api::<GameServerAllocation>::namespaced(client.clone(), "default");
    let name = loop {
        match allocations.create(&request).await {
            Ok(answer) if answer.status.state == "Allocated" => break answer.status.game_server_name,
            Ok(_) => note(&|played| played.turned_away += 1),
            Err(error) => tracing::warn!(%error, "an allocation failed"),
        }
        tokio::time::sleep(pause).await;
    };
    note(&|played| played.allocated += 1);
    tokio::time::sleep(session).await;
    match leave(&Api::namespaced(client, "default"), &ObjectKey::new("default", &name)).await {
        Ok(true) => note(&|played| played.finished += 1),
        Ok(false) => note(&|played| played.lost.push(name.clone())),
        Err(error) => tracing::warn!(%error, server = name, "a session did not end"),
    }
}

/// Has a server shut down, as the game would by its SDK; whether it was still there for the players.
async fn leave(servers: &Api<GameServer>, key: &ObjectKey) -> Result<bool, lariat::client::Error> {
    loop {
        let mut server = match servers.get(key).await {
            Ok(server) => server,
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(error),
        };
        if server.status.state != GameServerState::Allocated {
            return Ok(false);
        }
        server.status.state = GameServerState::Shutdown;
        match servers.update(&server).await {
            Err(error) if error.is_conflict() => {}
            other => return other.map(|_| true),
        }
    }
}
