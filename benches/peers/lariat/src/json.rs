//! The peer in Lariat without declared types: all but the metadata is kept as JSON values.

mod collect;

use lariat::api::{Kind, Object, ObjectMeta, Resource};
use lariat_benches::peer::{Peer, Stateful};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct GameServer {
    metadata: ObjectMeta,
    #[allow(dead_code)]
    spec: Value,
    status: Value,
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
        self.status["state"].as_str().unwrap_or_default()
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let peer = Peer::from_arguments(std::env::args().skip(1), collect::collect)?;
    let input = tokio::io::BufReader::new(tokio::io::stdin());
    peer.run::<GameServer>(input, tokio::io::stdout()).await
}
