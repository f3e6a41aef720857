//! The peer in Lariat. `benches/README.md` says what a peer is told and what it answers, and how its types differ from those of
//! the others.

mod collect;
#[allow(dead_code)] // decoded, and not read
mod gameserver;

use gameserver::{GameServerSpec, GameServerStatus};
use lariat::api::{Interned, Kind, Object, ObjectMeta, Resource};
use lariat_benches::peer::{Peer, Stateful};
use serde::Deserialize;

#[derive(Deserialize)]
struct GameServer {
    metadata: ObjectMeta,
    #[serde(default)]
    #[allow(dead_code)]
    spec: Interned<GameServerSpec>,
    #[serde(default)]
    status: GameServerStatus,
}

impl Object for GameServer {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for GameServer {
    const KIND: Kind = Kind::namespaced("agones.dev", "v1", "GameServer", "gameservers");
}

impl Stateful for GameServer {
    fn state(&self) -> &str {
        &self.status.state
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let peer = Peer::from_arguments(std::env::args().skip(1), collect::collect)?;
    let input = tokio::io::BufReader::new(tokio::io::stdin());
    peer.run::<GameServer>(input, tokio::io::stdout()).await
}
