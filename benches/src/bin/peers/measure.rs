//! One program through the whole story: list, watch, list again.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lariat_benches::{Data, Server, Stage};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::process::{cpu_seconds, forget_peak, peak, resident};
use crate::program::{Answer, Program};

/// How long a program is left alone before its resident memory is read: allocators and collectors give back late.
const SETTLE: Duration = Duration::from_secs(2);

/// The longest from an expired watch to the next one: all clients back off, by up to half a minute.
const RELIST: Duration = Duration::from_secs(120);

/// The server, running on a thread of its own, and what it serves.
pub(crate) struct Bench {
    data: Arc<Data>,
    kind: &'static str,
    url: String,
    stage: watch::Sender<Stage>,
    later_watches: watch::Receiver<u64>,
}

/// Everything about one program in one round: seconds and bytes.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Measured {
    pub(crate) list: f64,
    pub(crate) list_cpu: f64,
    pub(crate) list_server_cpu: f64,
    pub(crate) list_peak: u64,
    pub(crate) list_settled: u64,
    pub(crate) list_collected: u64,
    pub(crate) list_live: u64,
    pub(crate) watch: f64,
    pub(crate) watch_cpu: f64,
    pub(crate) watch_server_cpu: f64,
    pub(crate) watch_peak: u64,
    pub(crate) watch_settled: u64,
    pub(crate) watch_collected: u64,
    pub(crate) watch_live: u64,
    pub(crate) watch_folded: u64,
    pub(crate) relist_before: u64,
    pub(crate) relist_peak: u64,
    pub(crate) relist_cpu: f64,
}

impl Bench {
    /// Must be called on a runtime of one thread, which then is the server's.
    pub(crate) fn new(server: Server, data: Arc<Data>, kind: &'static str) -> Self {
        let bench = Self {
            data,
            kind,
            url: format!("http://{}", server.address()),
            stage: server.stage(),
            later_watches: server.later_watches(),
        };
        tokio::spawn(server.run());
        bench
    }

    pub(crate) async fn measure(&self, path: &Path) -> Result<Measured> {
        let mut measured = Measured::default();
        let events = self.data.event_count;
        let (objects, count) = (self.data.first.len().to_string(), events.to_string());
        self.stage.send_replace(Stage::First);
        let mut program = Program::start(path, &[self.url.clone(), objects, count, self.kind.to_owned()])?;
        let pid = program.pid;
        program.wait_for("started").await?;
        let empty = program.ask("collect", "collected").await?.live;

        let before = Cpu::now(pid)?;
        let synced = program.ask("start", "synced").await?;
        (measured.list_cpu, measured.list_server_cpu) = before.since(pid)?;
        measured.list = synced.seconds;
        measured.list_peak = peak(pid)?;
        sleep(SETTLE).await;
        measured.list_settled = resident(pid)?;
        measured.list_live = program.ask("collect", "collected").await?.live.saturating_sub(empty);
        measured.list_collected = resident(pid)?;
        let report = program.ask("report", "report").await?;
        self.check(&report, 0, self.data.first.digest)?;

        forget_peak(pid)?;
        let before = Cpu::now(pid)?;
        self.stage.send_replace(Stage::Events);
        measured.watch = program.wait_for("watched").await?.seconds;
        (measured.watch_cpu, measured.watch_server_cpu) = before.since(pid)?;
        measured.watch_peak = peak(pid)?;
        sleep(SETTLE).await;
        measured.watch_settled = resident(pid)?;
        measured.watch_live = program.ask("collect", "collected").await?.live.saturating_sub(empty);
        measured.watch_collected = resident(pid)?;
        let report = program.ask("report", "report").await?;
        self.check(&report, events, self.data.digest)?;
        measured.watch_folded = report.folded;

        forget_peak(pid)?;
        measured.relist_before = resident(pid)?;
        let before = Cpu::now(pid)?;
        let mut watches = self.later_watches.clone();
        let opened = *watches.borrow_and_update();
        self.stage.send_replace(Stage::Later);
        timeout(RELIST, watches.wait_for(|count| *count > opened)).await.context("no relist")??;
        let want = self.data.later.digest.to_string();
        for _ in 0..RELIST.as_secs() / SETTLE.as_secs() {
            sleep(SETTLE).await;
            measured.relist_cpu = before.since(pid)?.0;
            measured.relist_peak = peak(pid)?;
            let report = program.ask("report", "report").await?;
            if report.digest == want {
                program.end().await?;
                return Ok(measured);
            }
        }
        bail!("the relist brought no cache with digest {want} in {} s", RELIST.as_secs());
    }

    /// All objects are there, in the right version, and the handler was called for all, with some updates as one perhaps.
    fn check(&self, report: &Answer, updates: u64, digest: u64) -> Result<()> {
        let objects = self.data.first.len() as u64;
        let is_right = report.objects == objects
            && report.adds == objects
            && report.updates + report.folded == updates
            && report.digest == digest.to_string();
        ensure!(is_right, "got {report:?}, want {objects} objects, {updates} updates, digest {digest}");
        Ok(())
    }
}

/// CPU seconds of a program and of this process, which is the server and waits otherwise.
struct Cpu {
    program: f64,
    server: f64,
}

impl Cpu {
    fn now(pid: u32) -> Result<Self> {
        Ok(Self { program: cpu_seconds(pid)?, server: cpu_seconds(std::process::id())? })
    }

    fn since(&self, pid: u32) -> Result<(f64, f64)> {
        let now = Self::now(pid)?;
        Ok((now.program - self.program, now.server - self.server))
    }
}
