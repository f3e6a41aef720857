//! Lariat's informer behind the commands that every program of a comparison understands.
//!
//! Commands are lines: `start` makes the informer and runs it, `collect` gives back what memory can be given back and tells
//! how much is in use, `report` looks at the whole cache. Answers are lines of JSON with a `phase`: `started`, `synced`,
//! `watched`, `collected` and `report`. Any other command, and the end of the input, ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lariat::api::{Object, Resource};
use lariat::client::{Api, Client, Config};
use lariat::reflector::{EventHandler, Informer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::digest_of;

/// What is measured with.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Where the server is.
    pub url: String,
    /// How many objects it has.
    pub objects: u64,
    /// How many events it sends.
    pub events: u64,
    /// Gives memory back to the system and returns how many bytes are in use.
    pub collect: fn() -> u64,
}

/// An object of which the state is known.
pub trait Stateful {
    /// `status.state`.
    fn state(&self) -> &str;
}

/// Counts what it hears of.
struct Counter {
    adds: AtomicU64,
    updates: AtomicU64,
    /// Told of the time of the first update.
    first_update: mpsc::UnboundedSender<Instant>,
}

/// How often it is looked whether the handler has heard of everything. An update that was folded into another counts as heard of.
const LOOK: Duration = Duration::from_millis(1);

impl Peer {
    /// Reads the arguments `URL OBJECTS EVENTS`; more may follow.
    ///
    /// # Errors
    ///
    /// If one is missing or is no number.
    pub fn from_arguments(mut arguments: impl Iterator<Item = String>, collect: fn() -> u64) -> Result<Self> {
        let mut next = || arguments.next().context("usage: PROGRAM URL OBJECTS EVENTS");
        let (url, objects, events) = (next()?, next()?.parse()?, next()?.parse()?);
        Ok(Self { url, objects, events, collect })
    }

    /// Carries out commands until the input ends.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or the input is not as it should be.
    pub async fn run<K>(
        self,
        input: impl AsyncBufRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
    ) -> Result<()>
    where
        K: Resource + Stateful + DeserializeOwned,
    {
        let client = Client::new(Config::new(self.url.parse()?)?)?;
        let mut commands = input.lines();
        say(&mut output, json!({"phase": "started"})).await?;
        loop {
            match commands.next_line().await?.as_deref() {
                Some("collect") => say(&mut output, self.collected()).await?,
                Some("start") => break,
                other => bail!("got {other:?}, want start"),
            }
        }

        let start = Instant::now();
        let (first_update, mut first_updates) = mpsc::unbounded_channel();
        let counter = Arc::new(Counter { adds: 0.into(), updates: 0.into(), first_update });
        let informer = Informer::<K>::builder(Api::all(client)).build();
        let registration = informer.add_handler(Handler(counter.clone()))?;
        let running = informer.clone();
        let running = tokio::spawn(async move { running.run(std::future::pending()).await });
        registration.wait_for_sync().await;
        let seconds = start.elapsed().as_secs_f64();
        let adds = counter.adds.load(Ordering::Relaxed);
        say(&mut output, json!({"phase": "synced", "seconds": seconds, "adds": adds})).await?;

        loop {
            let answer = tokio::select! {
                Some(first) = first_updates.recv() => {
                    while counter.updates.load(Ordering::Relaxed) + informer.coalesced() < self.events {
                        sleep(LOOK).await;
                    }
                    json!({"phase": "watched", "seconds": first.elapsed().as_secs_f64()})
                }
                command = commands.next_line() => match command?.as_deref() {
                    Some("collect") => self.collected(),
                    Some("report") => self.report(&informer, &counter),
                    _ => break,
                },
            };
            say(&mut output, answer).await?;
        }
        running.abort();
        Ok(())
    }

    fn collected(&self) -> Value {
        json!({"phase": "collected", "live": (self.collect)()})
    }

    fn report<K: Object + Stateful + DeserializeOwned>(
        &self,
        informer: &Informer<K>,
        counter: &Counter,
    ) -> Value {
        let held = informer.lister().store().list();
        let digest = held.iter().fold(0_u64, |sum, object| {
            sum.wrapping_add(digest_of(object.name(), object.resource_version(), object.state()))
        });
        json!({
            "phase": "report",
            "complete": held.len() as u64 == self.objects,
            "objects": held.len(),
            "adds": counter.adds.load(Ordering::Relaxed),
            "updates": counter.updates.load(Ordering::Relaxed),
            "folded": informer.coalesced(),
            "digest": digest.to_string(),
        })
    }
}

async fn say(output: &mut (impl AsyncWrite + Unpin), line: Value) -> Result<()> {
    output.write_all(format!("{line}\n").as_bytes()).await?;
    Ok(output.flush().await?)
}

// === impl Counter ===

struct Handler(Arc<Counter>);

impl<K: Send + Sync + 'static> EventHandler<K> for Handler {
    fn on_add(&self, _: &Arc<K>, _: bool) {
        self.0.adds.fetch_add(1, Ordering::Relaxed);
    }

    fn on_update(&self, _: &Arc<K>, _: &Arc<K>) {
        if self.0.updates.fetch_add(1, Ordering::Relaxed) == 0 {
            let _ = self.0.first_update.send(Instant::now());
        }
    }
}
