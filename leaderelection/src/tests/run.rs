use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use lariat_api::{Clock, ManualClock};
use lariat_fixtures::vectors::{self, Case};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::differences::DIFFERENCES;
use super::server::{Server, Window};
use crate::Elector;
use crate::config::{ElectorConfig, MissingLease};
use crate::leading::Leading;
use crate::observer::{EndReason, Observer};
use crate::time::{Sleep, Time};

/// LE-10, LE-11, LE-17 to LE-20: a whole term, in client-go's way of taking a Lease that does not exist.
#[test]
fn a_term_goes_as_with_client_go() {
    vectors::run("client-go/leaderelection-run", DIFFERENCES, |case| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(check(case))
    });
}

/// The time of tokio; the day begins when the case says so.
struct CaseTime {
    start: Instant,
    wall: ManualClock,
}

impl Time for CaseTime {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(sleep(time))
    }

    fn wall(&self) -> SystemTime {
        self.wall.wall() + self.start.elapsed()
    }
}

struct Events {
    start: Instant,
    events: Mutex<Vec<Value>>,
    stopped: Notify,
}

impl Events {
    fn ms(&self) -> u64 {
        self.start.elapsed().as_millis().try_into().unwrap()
    }

    fn note(&self, event: &str) {
        self.events.lock().unwrap().push(json!({"event": event, "ms": self.ms()}));
    }
}

impl Observer for Events {
    fn new_leader(&self, _: &str, identity: &str) {
        let event = json!({"event": "newLeader", "identity": identity, "ms": self.ms()});
        self.events.lock().unwrap().push(event);
    }

    fn started_leading(&self, _: &str, _: &Leading) {
        self.note("startedLeading");
    }

    fn stopped_leading(&self, _: &str, _: &EndReason) {
        self.note("stoppedLeading");
        self.stopped.notify_one();
    }
}

async fn check(case: &Case) -> Result<(), String> {
    let input = &case.input;
    let ms = |value: &Value| Duration::from_millis(value.as_u64().unwrap());
    let windows = input["faultWindows"].as_array().unwrap().iter().map(|window| Window {
        verb: window["verb"].as_str().unwrap().to_owned(),
        error: window["err"].as_str().unwrap().to_owned(),
        from: window["fromMs"].as_u64().unwrap(),
        to: window["toMs"].as_u64().unwrap(),
    });
    let server = Server::timed(ms(&input["apiLatencyMs"]), windows.collect());
    if !input["initialSpec"].is_null() {
        server.overwrite(&input["initialSpec"]);
    }
    let start = humantime::parse_rfc3339(input["start"].as_str().unwrap()).unwrap();
    let events = Arc::new(Events { start: Instant::now(), events: Mutex::default(), stopped: Notify::new() });
    let config = &input["config"];
    let config = ElectorConfig {
        lease_duration: ms(&config["leaseDurationMs"]),
        renew_deadline: ms(&config["renewDeadlineMs"]),
        retry_period: ms(&config["retryPeriodMs"]),
        release: config["releaseOnCancel"].as_bool().unwrap_or(false),
        missing_lease: MissingLease::NeverHeld,
        observer: events.clone(),
        time: Arc::new(CaseTime { start: Instant::now(), wall: ManualClock::new(start) }),
        ..ElectorConfig::new(config["identity"].as_str().unwrap())
    };
    let mut elector = Elector::new(server.clone(), config).unwrap();
    let handle = elector.handle();

    let thief = async {
        if let Some(steal) = input.get("steal") {
            sleep(ms(&steal["atMs"])).await;
            server.steal(steal["holder"].as_str().unwrap());
        }
    };
    // client-go runs once: it ends with the first term.
    let shutdown = async {
        tokio::select! {
            () = sleep(ms(&input["cancelAtMs"])) => {}
            () = events.stopped.notified() => {}
        }
    };
    let run = async {
        let work = async |leading: Leading| {
            leading.stopping().await;
            events.note("leaderContextDone");
        };
        elector.run(shutdown, work).await;
        events.ms()
    };
    let (returned, ()) = tokio::join!(run, thief);

    let mut seen = events.events.lock().unwrap().clone();
    seen.sort_by_key(|event| (event["ms"].as_u64(), event["event"].as_str().map(str::to_owned)));
    let mut calls = server.take_calls();
    calls.sort_by_key(|call| call["ms"].as_u64());
    let got = json!({
        "calls": calls,
        "events": seen,
        "isLeaderAfter": handle.is_leader(),
        "leaderAfter": handle.leader(),
        "lease": server.shown(),
        "runReturnedMs": returned,
    });
    for field in ["calls", "events", "isLeaderAfter", "leaderAfter", "lease", "runReturnedMs"] {
        vectors::same(field, &got[field].to_string(), &case.want[field].to_string())?;
    }
    Ok(())
}
