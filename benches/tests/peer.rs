//! Lariat's peer against the server: what the measurements rely on.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use lariat::api::{Kind, Object, ObjectMeta, Resource};
use lariat_benches::peer::{Peer, Stateful};
use lariat_benches::{Data, Lists, Server, Stage};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};

#[derive(Deserialize)]
struct GameServer {
    metadata: ObjectMeta,
    status: Status,
}

#[derive(Deserialize)]
struct Status {
    state: String,
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

struct Program {
    commands: DuplexStream,
    answers: Lines<BufReader<DuplexStream>>,
}

impl Program {
    async fn answer(&mut self) -> Value {
        serde_json::from_str(&self.answers.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn ask(&mut self, command: &str) -> Value {
        self.commands.write_all(format!("{command}\n").as_bytes()).await.unwrap();
        self.answer().await
    }
}

/// The digests tell a cache that missed an event, took one twice or kept an old version from one that is right.
#[tokio::test]
async fn the_cache_follows_the_server_through_list_and_watch() {
    let data = Arc::new(Data::new(1_200, 3_000).unwrap());
    let server = Server::bind(data.clone(), Lists::Classic).await.unwrap();
    let stage = server.stage();
    let url = format!("http://{}", server.address());
    let serving = tokio::spawn(server.run());

    let (commands, input) = duplex(4096);
    let (output, answers) = duplex(4096);
    let peer = Peer { url, objects: 1_200, events: 3_000, collect: || 7 };
    let running = tokio::spawn(peer.run::<GameServer>(BufReader::new(input), output));
    let mut program = Program { commands, answers: BufReader::new(answers).lines() };

    assert_eq!(program.answer().await["phase"], "started");
    assert_eq!(program.ask("collect").await["live"], 7);
    let synced = program.ask("start").await;
    assert_eq!((&synced["phase"], &synced["adds"]), (&"synced".into(), &1_200.into()));
    let report = program.ask("report").await;
    assert_eq!(report["digest"], data.first.digest.to_string());
    assert_eq!(report["complete"], true);

    stage.send_replace(Stage::Events);
    assert_eq!(program.answer().await["phase"], "watched");
    let report = program.ask("report").await;
    assert_eq!(report["digest"], data.digest.to_string());
    let heard = report["updates"].as_u64().unwrap() + report["folded"].as_u64().unwrap();
    assert_eq!(heard, 3_000, "each update was heard of, alone or with others");

    drop(program);
    running.await.unwrap().unwrap();
    serving.abort();
}
