//! In which order things start and end, and what can be asked of a manager meanwhile.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::Mutex;
use std::time::Duration;

use lariat::prelude::*;
use lariat::testing::{Fault, FaultPlan, Rule, TestCluster};
use lariat::{AddError, BoxError, BoxFuture, Elector, ManagerError, Runnable, Stop, Term};
use support::{Log, NODES, Shop, cluster, key, shop};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Leads when it is told to, and not any more when it is told so.
#[derive(Clone, Default)]
struct Told {
    lead: Arc<Notify>,
    lose: Arc<Notify>,
    log: Log,
    fails: bool,
}

impl Elector for Told {
    fn name(&self) -> &str {
        "told"
    }

    fn acquire(&self) -> BoxFuture<'_, Result<Term, BoxError>> {
        Box::pin(async {
            self.log.push("acquiring");
            self.lead.notified().await;
            if self.fails { Err("broken".into()) } else { Ok(Term::with_token(7_u64)) }
        })
    }

    fn lost<'a>(&'a self, _term: &'a Term) -> BoxFuture<'a, String> {
        Box::pin(async {
            self.lose.notified().await;
            "somebody else".to_owned()
        })
    }

    fn release(&self, _term: Term) -> BoxFuture<'_, ()> {
        Box::pin(async { self.log.push("released") })
    }
}

/// Writes down when it starts and stops.
fn runnable(name: &'static str, log: &Log, takes: Duration) -> Runnable {
    let log = log.clone();
    Runnable::new(name, move |stop: Stop| async move {
        log.push(format!("{name} starts"));
        stop.stopped().await;
        sleep(takes).await;
        log.push(format!("{name} ends"));
        Ok(())
    })
}

fn controller(name: &str, log: &Log) -> Controller<Shop> {
    let _ = log;
    Controller::<Shop>::new(name)
}

fn logging(controller: Controller<Shop>, log: &Log) -> lariat::ReadyController {
    let log = log.clone();
    controller.reconcile(move |key, _, context: Context| {
        let token = context.term().and_then(|term| term.token::<u64>().copied());
        log.push(format!("{} handles {} {token:?}", context.controller(), key.name()));
        async { Ok(Outcome::Done) }
    })
}

async fn settle() {
    sleep(Duration::from_secs(1)).await;
}

/// CR-1: caches first, then what needs no leadership, then warm-up, then leadership, then the rest; what is added later starts at
/// once in its group. CR-2: all end, then the leadership is given back. CR-4: with warm-up the queue is full before.
#[tokio::test(start_paused = true)]
async fn things_start_and_end_in_order() {
    let cluster = cluster();
    cluster.put("shops.example.dev", shop("a"));
    let elector = Told::default();
    let log = elector.log.clone();
    let manager = cluster.manager_builder().elector(elector.clone()).build();
    manager.add(logging(controller("cold", &log), &log)).unwrap();
    manager.add(logging(controller("warm", &log).warm_up(true), &log)).unwrap();
    manager.add(logging(controller("free", &log).needs_leadership(false), &log)).unwrap();
    manager.add_runnable(runnable("leading", &log, Duration::ZERO)).unwrap();
    manager.add_runnable(runnable("anywhere", &log, Duration::ZERO).needs_leadership(false)).unwrap();

    let running = cluster.run(manager.clone());
    running.ready().await;
    settle().await;
    let mut lines = log.take();
    assert_eq!(lines.pop().unwrap(), "free handles a None");
    lines.sort();
    assert_eq!(lines, ["acquiring", "anywhere starts"]);
    let queue = |name: &str| {
        let state = manager.debug_state();
        let controllers = state["controllers"].as_array().unwrap().clone();
        controllers.iter().find(|one| one["name"] == name).unwrap()["queue"]["length"].as_u64().unwrap()
    };
    assert_eq!((queue("warm"), queue("cold")), (1, 0));
    manager.add_runnable(runnable("late", &log, Duration::ZERO)).unwrap();
    manager.add_runnable(runnable("late anywhere", &log, Duration::ZERO).needs_leadership(false)).unwrap();
    settle().await;
    assert_eq!(log.take(), ["late anywhere starts"]);
    assert!(manager.metrics().contains(r#"leader_election_master_status{name="told"} 0"#));

    elector.lead.notify_one();
    settle().await;
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["cold handles a Some(7)", "late starts", "leading starts", "warm handles a Some(7)"]);
    assert!(manager.metrics().contains(r#"leader_election_master_status{name="told"} 1"#));

    assert!(matches!(
        manager.add_runnable(runnable("late", &log, Duration::ZERO)),
        Err(AddError::Duplicate(_))
    ));
    running.stop().await.unwrap();
    let mut lines = log.take();
    assert_eq!(lines.pop().unwrap(), "released");
    lines.sort();
    assert_eq!(lines, ["anywhere ends", "late anywhere ends", "late ends", "leading ends"]);
    assert!(matches!(manager.add(logging(controller("x", &log), &log)), Err(AddError::Stopped(_))));
    assert!(matches!(manager.run(async {}).await, Err(ManagerError::RanBefore)));
}

/// CR-2: what does not stop in time is ended then, and named; the first error of anything stops everything.
#[tokio::test(start_paused = true)]
async fn the_time_of_grace_is_kept() {
    let (cluster, log) = (cluster(), Log::default());
    let manager = cluster.manager();
    manager.add_runnable(runnable("quick", &log, Duration::from_secs(29))).unwrap();
    manager.add_runnable(runnable("slow", &log, Duration::from_secs(31))).unwrap();
    let running = cluster.run(manager);
    running.ready().await;
    settle().await;
    let began = Instant::now();
    let stopped = running.stop().await.unwrap();
    assert_eq!((stopped.overdue, began.elapsed().as_secs()), (vec!["slow".to_owned()], 30));
    assert_eq!(log.take()[2..], ["quick ends"]);

    for grace in [Duration::ZERO, Duration::MAX] {
        let manager = cluster.manager_builder().grace(grace).build();
        manager.add_runnable(runnable("slow", &log, Duration::from_secs(3000))).unwrap();
        let running = cluster.run(manager);
        running.ready().await;
        settle().await;
        let began = Instant::now();
        let stopped = running.stop().await.unwrap();
        let want = if grace.is_zero() { (1, 0) } else { (0, 3000) };
        assert_eq!((stopped.overdue.len(), began.elapsed().as_secs()), want);
    }
}

/// CR-2: the first error of a runnable, or its panic, stops everything.
#[tokio::test(start_paused = true)]
async fn the_first_error_stops_everything() {
    let (cluster, log) = (cluster(), Log::default());
    let fail = |how: &'static str| {
        Runnable::new("fails", move |_| async move {
            settle().await;
            assert_eq!(how, "error");
            Err("broken".into())
        })
    };
    for (how, want) in [("error", "fails: broken"), ("panic", "fails panicked: assertion")] {
        let manager = cluster.manager();
        manager.add_runnable(runnable("well", &log, Duration::ZERO)).unwrap();
        manager.add_runnable(fail(how)).unwrap();
        let error = cluster.run(manager).ended().await.unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
        assert_eq!(log.take(), ["well starts", "well ends"]);
    }
}

/// CR-3: who has lost the leadership ends at once, without grace and without giving back what is not its own.
#[tokio::test(start_paused = true)]
async fn lost_leadership_is_the_end_at_once() {
    let cluster = cluster();
    let elector = Told::default();
    let manager = cluster.manager_builder().elector(elector.clone()).build();
    manager.add_runnable(runnable("leading", &elector.log, Duration::from_secs(5))).unwrap();
    elector.lead.notify_one();
    let running = cluster.run(manager.clone());
    running.ready().await;
    settle().await;
    elector.lose.notify_one();
    let began = Instant::now();
    let error = running.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "leadership of \"told\" was lost: somebody else");
    assert!(began.elapsed() < Duration::from_millis(100));
    assert_eq!(elector.log.take(), ["acquiring", "leading starts"]);
    assert!(manager.metrics().contains(r#"leader_election_master_status{name="told"} 0"#));

    let elector = Told { fails: true, ..Told::default() };
    let manager = cluster.manager_builder().elector(elector.clone()).build();
    elector.lead.notify_one();
    let error = cluster.run(manager).ended().await.unwrap_err();
    assert_eq!(error.to_string(), "elector \"told\": broken");
}

/// Leadership is given back after an error of something else.
#[tokio::test(start_paused = true)]
async fn leadership_is_given_back_after_an_error() {
    let cluster = cluster();
    let elector = Told::default();
    let manager = cluster.manager_builder().elector(elector.clone()).build();
    manager.add_runnable(Runnable::new("fails", |_| async { Err("broken".into()) })).unwrap();
    elector.lead.notify_one();
    assert!(cluster.run(manager).ended().await.is_err());
    assert_eq!(elector.log.take(), ["acquiring", "released"]);
}

/// CR-4: caches that do not sync in time end the manager, with the reason.
#[tokio::test(start_paused = true)]
async fn caches_that_do_not_sync_are_named() {
    let cluster = TestCluster::new(); // nobody has defined shops
    let log = Log::default();
    let manager = cluster.manager();
    manager.add(logging(controller("shops", &log), &log)).unwrap();
    let began = Instant::now();
    let running = cluster.run(manager.clone());
    sleep(Duration::from_secs(60)).await;
    assert!(!manager.is_ready());
    let error = running.ended().await.unwrap_err();
    assert_eq!(began.elapsed().as_secs(), 120);
    let error = error.to_string();
    assert!(
        matches!(error.as_str(), text if text.contains("shops.example.dev") && text.contains("404")),
        "{error}"
    );
}

/// CR-6: a kind that comes to exist later is followed then.
#[tokio::test(start_paused = true)]
async fn a_kind_may_come_later() {
    let (cluster, log) = (TestCluster::new(), Log::default());
    let manager = cluster.manager();
    manager.add(logging(controller("shops", &log), &log)).unwrap();
    let running = cluster.run(manager);
    sleep(Duration::from_secs(60)).await;
    cluster.define(support::definition());
    cluster.put("shops.example.dev", shop("a"));
    running.ready().await;
    settle().await;
    assert_eq!(log.take(), ["shops handles a None"]);
    running.stop().await.unwrap();
}

/// What is not selected costs no cache, and a name that is no controller's is an error.
#[tokio::test(start_paused = true)]
async fn controllers_are_selected_by_name() {
    let (cluster, log) = (cluster(), Log::default());
    cluster.put("shops.example.dev", shop("a"));
    let nodes = || {
        Controller::<DynamicObject>::of_kind("nodes", NODES).reconcile(|_, _, _| async { Ok(Outcome::Done) })
    };
    let manager = cluster.manager_builder().select("*,-nodes".parse().unwrap()).build();
    manager.add(logging(controller("shops", &log), &log)).unwrap();
    manager.add(nodes()).unwrap();
    let running = cluster.run(manager);
    running.ready().await;
    settle().await;
    assert_eq!(log.take(), ["shops handles a None"]);
    assert_eq!(cluster.watches("nodes"), 0);
    running.stop().await.unwrap();

    let manager = cluster.manager_builder().select("shops,-noodles".parse().unwrap()).build();
    manager.add(logging(controller("shops", &log), &log)).unwrap();
    manager.add(nodes()).unwrap();
    let error = manager.run(async {}).await.unwrap_err();
    assert_eq!(error.to_string(), "no controllers noodles: there are nodes, shops");
}

#[test]
fn selections_are_read_and_written() {
    for (text, on, off, shown) in [
        ("*", "abc", "", "*"),
        ("a, b", "ab", "c", "a,b"),
        ("-a", "bc", "a", "*,-a"),
        ("a,-b", "a", "bc", "a,-b"),
        ("*,-a,a", "abc", "", "*,a"),
        ("a,-a", "bc", "a", "*,-a"),
    ] {
        let selection: lariat::Selection = text.parse().unwrap();
        let selects = |name: char| selection.selects(&name.to_string());
        assert!(on.chars().all(selects) && !off.chars().any(selects), "{text}");
        assert_eq!(selection.to_string(), shown, "{text}");
        assert_eq!(selection.to_string().parse::<lariat::Selection>().unwrap(), selection);
    }
    for text in ["", "a,,b", "--a", "-", "-*"] {
        assert!(text.parse::<lariat::Selection>().is_err(), "{text}");
    }
}

async fn get(address: std::net::SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// CR-10, CR-11: the port answers for health, readiness, metrics under their Go names, and the state.
#[tokio::test]
async fn a_port_tells_how_things_are() {
    let cluster = cluster();
    cluster.put("shops.example.dev", shop("a"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let manager = cluster.manager_builder().listener(listener).build();
    let hold = Arc::new(Notify::new());
    manager
        .add(Controller::<Shop>::new("shops").reconcile({
            let hold = hold.clone();
            move |_, _, _| {
                let hold = hold.clone();
                async move {
                    hold.notified().await;
                    Err(std::fmt::Error.into())
                }
            }
        }))
        .unwrap();
    let well = Arc::new(Mutex::new(Ok(())));
    manager.add_ready_check("till", {
        let well = well.clone();
        move || well.lock().unwrap().clone()
    });
    let running = cluster.run(manager.clone());
    running.ready().await;
    let address = manager.addresses()[0];

    assert_eq!(get(address, "/healthz").await, (200, "ok".into()));
    assert_eq!(get(address, "/livez/ping").await, (200, "ok".into()));
    let (code, body) = get(address, "/readyz?verbose").await;
    assert_eq!(
        (code, body.as_str()),
        (200, "[+]ping ok\n[+]till ok\n[+]informers ok\nreadyz check passed\n")
    );
    *well.lock().unwrap() = Err("empty".to_owned());
    assert_eq!(get(address, "/readyz").await.0, 500);
    assert_eq!(get(address, "/readyz?exclude=till").await.0, 200);
    assert_eq!(get(address, "/nothing").await.0, 404);

    cluster.until(|_| manager.debug_state()["controllers"][0]["workers"][0]["key"] == "default/a").await;
    let (_, state) = get(address, "/debug/state").await;
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["informers"][0]["kind"], "shops.example.dev");
    assert_eq!(
        (&state["informers"][0]["objects"], &state["informers"][0]["synced"]),
        (&1.into(), &true.into())
    );
    assert!(!state["informers"][0]["resourceVersion"].as_str().unwrap().is_empty());
    assert!(state["informers"][0]["silentSeconds"].as_f64().is_some(), "{state}");
    hold.notify_one();
    cluster.until(|_| manager.debug_state()["controllers"][0]["pending"][0]["failures"] == 1).await;
    let (_, metrics) = get(address, "/metrics").await;
    for name in [
        "controller_runtime_reconcile_total",
        "controller_runtime_reconcile_errors_total",
        "controller_runtime_terminal_reconcile_errors_total",
        "controller_runtime_reconcile_panics_total",
        "controller_runtime_reconcile_timeouts_total",
        "controller_runtime_reconcile_time_seconds",
        "controller_runtime_max_concurrent_reconciles",
        "controller_runtime_active_workers",
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_retries_total",
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "rest_client_requests_total",
        "rest_client_request_duration_seconds",
        "informer_store_resource_version",
        "informer_queued_items",
    ] {
        assert!(metrics.contains(&format!("# TYPE {name} ")), "{name} is not in\n{metrics}");
    }
    assert!(
        metrics.contains(r#"rest_client_requests_total{code="200",method="GET",host="test-cluster"}"#),
        "{metrics}"
    );
    hold.notify_waiters();
    running.stop().await.unwrap();
}

/// A server that is away for a while is waited for.
#[tokio::test(start_paused = true)]
async fn a_server_may_be_away_at_the_start() {
    let (cluster, log) = (cluster(), Log::default());
    cluster.put("shops.example.dev", shop("a"));
    cluster.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::refuse())));
    let manager = cluster.manager();
    manager.add(logging(controller("shops", &log), &log)).unwrap();
    let running = cluster.run(manager);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(log.len(), 0);
    cluster.heal();
    running.ready().await;
    settle().await;
    assert_eq!(log.take(), ["shops handles a None"]);
    running.stop().await.unwrap();
}

/// What was queued, delayed or begun when a manager stops is reported.
#[tokio::test(start_paused = true)]
async fn keys_that_are_left_are_reported() {
    let cluster = cluster();
    let manager = cluster.manager_builder().grace(Duration::from_secs(5)).build();
    let controller = Controller::<Shop>::new("shops").workers(2).reconcile(|key, _, _| async move {
        match key.name() {
            "delayed" => Ok(Outcome::RequeueAfter(Duration::from_secs(600))),
            "fails" => Err(std::fmt::Error.into()),
            "hangs" => std::future::pending().await,
            "slow" => {
                sleep(Duration::from_secs(4)).await;
                Ok(Outcome::Done)
            }
            _ => Ok(Outcome::Done),
        }
    });
    let trigger = controller.trigger();
    manager.add(controller).unwrap();
    let running = cluster.run(manager);
    running.ready().await;
    for name in ["delayed", "done", "fails"] {
        trigger.enqueue(key(name));
    }
    settle().await;
    for name in ["hangs", "slow", "queued-1", "queued-2"] {
        trigger.enqueue(key(name));
    }
    settle().await;
    let stopped = running.stop().await.unwrap();
    assert_eq!(stopped.overdue, ["shops"]);
    let left: Vec<&str> = stopped.left[0].keys.iter().map(ObjectKey::name).collect();
    assert_eq!(
        (stopped.left[0].controller.as_str(), left),
        ("shops", vec!["delayed", "fails", "hangs", "queued-1", "queued-2"])
    );
}

/// What handlers hold is let go when they end, be it the manager itself.
#[tokio::test(start_paused = true)]
async fn what_handlers_hold_is_let_go() {
    let cluster = cluster();
    let held = Arc::new(());
    let manager = cluster.manager();
    let controller = Controller::<Shop>::new("shops").reconcile({
        let (held, manager) = (held.clone(), manager.clone());
        move |_, _, _| {
            let _ = (&held, &manager);
            async { Ok(Outcome::Done) }
        }
    });
    manager.add(controller).unwrap();
    let running = cluster.run(manager);
    running.ready().await;
    running.stop().await.unwrap();
    assert_eq!(Arc::strong_count(&held), 1);
}
