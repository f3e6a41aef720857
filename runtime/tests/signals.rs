//! A program that is told to stop by the operating system. The program is this test's own, started anew.

#![cfg(unix)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test fails by panicking

mod support;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use lariat::prelude::*;
use lariat::{Runnable, Stop};
use support::{Shop, cluster, key};

/// What the started program is to do; this test does nothing unless it is set.
const ROLE: &str = "LARIAT_TEST_ROLE";

/// Is the program that the other tests start.
#[test]
fn program() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match role.as_str() {
        "load" => runtime.block_on(under_load()),
        "stuck" => runtime.block_on(stuck()),
        unknown => panic!("{unknown}"),
    }
}

/// Handles keys as fast as it can, and says at the end whether one was lost.
async fn under_load() {
    let cluster = cluster();
    let signals = signals().unwrap();
    let done = Arc::new(Mutex::new(BTreeSet::new()));
    let controller = Controller::<Shop>::new("shops").workers(4).reconcile({
        let done = done.clone();
        move |key, _, _| {
            let done = done.clone();
            async move {
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                let number: u64 = key.name().parse()?;
                if number.is_multiple_of(10) {
                    return Ok(Outcome::RequeueAfter(Duration::from_secs(600)));
                }
                if number % 10 == 1 {
                    return Err(std::fmt::Error.into());
                }
                done.lock().unwrap().insert(key);
                Ok(Outcome::Done)
            }
        }
    });
    let trigger = controller.trigger();
    let asked = Arc::new(Mutex::new(BTreeSet::new()));
    let producer = Runnable::new("producer", {
        let asked = asked.clone();
        move |stop: Stop| async move {
            println!("ready");
            for number in 0_u64.. {
                let key = key(&number.to_string());
                trigger.enqueue(key.clone());
                // One that was asked for while the program began to stop may have come too late.
                if stop.is_stopped() {
                    break;
                }
                asked.lock().unwrap().insert(key);
                if number.is_multiple_of(100) {
                    tokio::task::yield_now().await;
                }
            }
            Ok(())
        }
    });
    let manager = cluster.manager();
    manager.add(controller).unwrap();
    manager.add_runnable(producer).unwrap();
    let stopped = manager.run(signals).await.unwrap();
    let left = &stopped.left[0].keys;
    let (asked, done) = (asked.lock().unwrap(), done.lock().unwrap());
    let lost = asked.iter().filter(|key| !done.contains(*key) && !left.contains(*key)).count();
    println!("asked {} done {} left {} lost {lost}", asked.len(), done.len(), left.len());
}

/// Has a handler that never ends.
async fn stuck() {
    let cluster = cluster();
    let signals = signals().unwrap();
    let controller = Controller::<Shop>::new("shops").reconcile(|_, _, _| {
        println!("ready");
        std::future::pending()
    });
    controller.trigger().enqueue(key("a"));
    let manager = cluster.manager_builder().grace(Duration::from_secs(3600)).build();
    manager.add(controller).unwrap();
    manager
        .add_runnable(Runnable::new("witness", |stop: Stop| async move {
            stop.stopped().await;
            println!("stopping");
            Ok(())
        }))
        .unwrap();
    manager.run(signals).await.unwrap();
}

struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(role: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "program", "--nocapture"])
            .env(ROLE, role)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn wait_for(&mut self, wanted: &str) {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "the program has ended without {wanted:?}"
            );
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// The exit status, and the rest of what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

/// CR-12: the first signal stops the program in order. Each key that was in the queue was handled, or is reported as left.
#[test]
fn no_key_is_lost_when_a_program_is_terminated_under_load() {
    for signal in ["-TERM", "-INT"] {
        let mut program = Program::start("load");
        program.wait_for("ready");
        program.signal(signal);
        let (code, said) = program.end();
        let report = said.lines().find(|line| line.contains("asked ")).expect(&said);
        let numbers: Vec<usize> = report.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [asked, _done, left, lost] = numbers[..] else { panic!("{report}") };
        assert!(code == Some(0) && asked > 0 && left > 0 && lost == 0, "{code:?}: {report}");
    }
}

/// CR-12: the second signal ends the program at once, with status 1, whatever hangs.
#[test]
fn a_second_signal_ends_a_program_at_once() {
    let mut program = Program::start("stuck");
    program.wait_for("ready");
    program.signal("-TERM");
    program.wait_for("stopping");
    program.signal("-TERM");
    assert_eq!(program.end().0, Some(1));
}
