//! The peer in kube-rs: a reflector whose stream is followed, as an operator would. `benches/README.md` says what a peer is
//! told and what it answers.

#[allow(dead_code)] // decoded, and not read
mod gameserver;

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use futures::StreamExt;
use gameserver::{GameServerSpec, GameServerStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::NamespaceResourceScope;
use kube::runtime::reflector::store::{self, Store};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Config, Resource};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct GameServer {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: GameServerSpec,
    #[serde(default)]
    status: GameServerStatus,
}

impl Resource for GameServer {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "GameServer".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "agones.dev".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "gameservers".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[derive(Default)]
struct Counts {
    adds: AtomicU64,
    updates: AtomicU64,
}

enum Happened {
    Synced(Instant),
    Watched { first: Instant, last: Instant },
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, objects, events, list_kind] = arguments.as_slice() else {
        return Err("usage: peer-kube-rs URL OBJECTS EVENTS classic|streaming".into());
    };
    let (objects, events): (u64, u64) = (objects.parse()?, events.parse()?);
    let client = Client::try_from(Config::new(url.parse()?))?;
    let mut commands = BufReader::new(tokio::io::stdin()).lines();
    say(json!({"phase": "started"}));
    loop {
        match commands.next_line().await?.as_deref() {
            Some("collect") => say(collected()),
            Some("start") => break,
            other => return Err(format!("got {other:?}, want start").into()),
        }
    }

    let start = Instant::now();
    let (reader, writer) = store::store();
    let config = match list_kind.as_str() {
        "streaming" => watcher::Config::default().streaming_lists(),
        _ => watcher::Config::default(),
    };
    let counts = Arc::new(Counts::default());
    let (happened, mut happenings) = mpsc::unbounded_channel();
    let follow = {
        let counts = counts.clone();
        let stream = reflector(writer, watcher(Api::<GameServer>::all(client), config)).default_backoff();
        async move {
            let mut stream = std::pin::pin!(stream);
            let (mut first, mut synced) = (None, false);
            while let Some(event) = stream.next().await {
                match event {
                    Ok(watcher::Event::InitApply(_)) => drop(counts.adds.fetch_add(1, Relaxed)),
                    Ok(watcher::Event::InitDone) if !synced => {
                        synced = true;
                        let _ = happened.send(Happened::Synced(Instant::now()));
                    }
                    Ok(watcher::Event::Apply(_)) => {
                        let first = *first.get_or_insert_with(Instant::now);
                        if counts.updates.fetch_add(1, Relaxed) + 1 == events {
                            let _ = happened.send(Happened::Watched { first, last: Instant::now() });
                        }
                    }
                    Ok(_) => {}
                    Err(error) => eprintln!("peer-kube-rs: {error}"),
                }
            }
        }
    };
    tokio::spawn(follow);

    loop {
        tokio::select! {
            Some(happened) = happenings.recv() => match happened {
                Happened::Synced(at) => say(json!({
                    "phase": "synced",
                    "seconds": (at - start).as_secs_f64(),
                    "adds": counts.adds.load(Relaxed),
                })),
                Happened::Watched { first, last } => {
                    say(json!({"phase": "watched", "seconds": (last - first).as_secs_f64()}));
                }
            },
            command = commands.next_line() => match command?.as_deref() {
                Some("collect") => say(collected()),
                Some("report") => say(report(&reader, &counts, objects)),
                _ => return Ok(()),
            },
        }
    }
}

fn collected() -> serde_json::Value {
    // SAFETY: both calls take no pointers and may be made at any time.
    let live = unsafe {
        libc::malloc_trim(0);
        let heap = libc::mallinfo2();
        heap.uordblks + heap.hblkhd
    };
    json!({"phase": "collected", "live": live})
}

fn say(line: serde_json::Value) {
    println!("{line}");
}

fn report(reader: &Store<GameServer>, counts: &Counts, objects: u64) -> serde_json::Value {
    let held = reader.state();
    let digest = held.iter().fold(0_u64, |sum, object| {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let version = object.metadata.resource_version.as_deref().unwrap_or_default();
        sum.wrapping_add(fnv1a(&format!("{name} {version} {}", object.status.state)))
    });
    json!({
        "phase": "report",
        "complete": held.len() as u64 == objects,
        "objects": held.len(),
        "adds": counts.adds.load(Relaxed),
        "updates": counts.updates.load(Relaxed),
        "digest": digest.to_string(),
    })
}

fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
