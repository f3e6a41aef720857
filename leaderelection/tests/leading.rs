//! An elector with the embedded API server: who leads, when, and what it may write.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // a test fails by panicking

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_api::{DynamicObject, Kind, ObjectKey};
use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};
use lariat_client::{Api, Client, Config};
use lariat_leaderelection::{
    Elector, ElectorConfig, EndReason, Leading, Lease, LeaseLock, MissingLease, Observer, run_as_leader,
};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

const CONFIG_MAPS: Kind = Kind::namespaced("", "v1", "ConfigMap", "configmaps");

fn server() -> ApiServer {
    ApiServer::builder().randomness(lariat_api::Randomness::seeded(1)).build()
}

fn client(server: &ApiServer) -> Client {
    let pipes = server.clone();
    let connector = move |_: &http::Uri| std::future::ready(pipes.try_connect());
    Client::builder(Config::new("http://in-process".parse().unwrap()).unwrap())
        .connector(connector)
        .build()
        .unwrap()
}

fn lock(server: &ApiServer) -> LeaseLock {
    LeaseLock::new(&client(server), "default", "lock").unwrap()
}

/// A candidate that does not wait where there is no Lease, since nobody deletes it.
fn config(identity: &str) -> ElectorConfig {
    ElectorConfig {
        missing_lease: MissingLease::NeverHeld,
        randomness: lariat_api::Randomness::seeded(7),
        ..ElectorConfig::new(identity)
    }
}

async fn lease(server: &ApiServer) -> Lease {
    Api::namespaced(client(server), "default").get(&ObjectKey::new("default", "lock")).await.unwrap()
}

/// What happened, and when.
#[derive(Clone)]
struct Story(Arc<Mutex<Vec<(u64, String)>>>, Instant);

impl Story {
    fn new() -> Self {
        Self(Arc::default(), Instant::now())
    }

    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push((self.1.elapsed().as_secs(), what.into()));
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(_, what)| what.clone()).collect()
    }
}

impl Observer for Story {
    fn new_leader(&self, lease: &str, identity: &str) {
        self.note(format!("{lease} is held by {identity}"));
    }

    fn stopped_leading(&self, _: &str, reason: &EndReason) {
        self.note(format!("{reason:?}"));
    }

    fn event(&self, lease: &Lease, message: &str) {
        assert_eq!(lease.metadata.name, "lock");
        self.note(format!("event: {message}"));
    }
}

/// LE-17 to LE-19, LE-22, 3.3 number 7: the work ends, then the Lease is given back, then the next one leads without a wait.
#[tokio::test(start_paused = true)]
async fn the_lease_is_given_back_after_the_work_has_ended() {
    let server = server();
    let story = Story::new();
    let (stop, stopped) = oneshot::channel::<()>();
    let first = {
        let (lock, story, server) = (lock(&server), story.clone(), server.clone());
        let config = ElectorConfig { observer: Arc::new(story.clone()), ..config("a") };
        tokio::spawn(async move {
            let work = async |leading: Leading| {
                leading.stopping().await;
                assert!(leading.check().is_ok(), "the work may write while it ends");
                sleep(Duration::from_secs(4)).await;
                assert!(leading.check().is_ok(), "the Lease is kept for the work");
                assert_eq!(lease(&server).await.spec.holder(), "a");
                story.note("work has ended");
            };
            run_as_leader(lock, config, async { drop(stopped.await) }, work).await.unwrap()
        })
    };
    sleep(Duration::from_secs(30)).await;
    stop.send(()).unwrap();
    assert_eq!(first.await.unwrap(), None);
    let want = [
        "lock is held by a",
        "event: a became leader",
        "work has ended",
        "Shutdown",
        "event: a stopped leading",
    ];
    assert_eq!(story.all(), want);
    assert_eq!(lease(&server).await.spec.holder(), "");

    let begun = Instant::now();
    let led = run_as_leader(
        lock(&server),
        ElectorConfig::new("b"),
        std::future::pending(),
        async |leading: Leading| (begun.elapsed(), leading.transitions()),
    );
    let (after, transitions) = led.await.unwrap().unwrap();
    assert!(after < Duration::from_secs(1), "a Lease that was given back is free, but it took {after:?}");
    assert_eq!(transitions, 1);
    assert_eq!(lease(&server).await.spec.holder(), "", "work that ends by itself gives the Lease back too");
}

/// 3.3, number 1: where nobody knows whether there is a leader, a lease duration passes before there is one.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_missing_may_have_been_deleted_under_a_leader() {
    let server = server();
    let begun = Instant::now();
    let lead =
        run_as_leader(lock(&server), ElectorConfig::new("a"), std::future::pending(), async |_: Leading| {
            begun.elapsed()
        });
    let after = lead.await.unwrap().unwrap();
    assert!((15..16).contains(&after.as_secs()), "{after:?}");
}

/// 3.3, numbers 1, 2 and 8: without an answer a leader ends at the renew deadline, and what it writes then is not sent.
#[tokio::test(start_paused = true)]
async fn a_leader_that_hears_nothing_writes_nothing() {
    let server = server();
    let story = Story::new();
    let observed = ElectorConfig { observer: Arc::new(story.clone()), ..config("a") };
    let work_client = client(&server);
    let (begun, faults) = (Instant::now(), server.clone());
    let run =
        run_as_leader(lock(&server), observed, sleep(Duration::from_secs(60)), async |leading: Leading| {
            let maps = Api::<DynamicObject>::of_kind(
                work_client.fenced(Arc::new(leading.clone())),
                CONFIG_MAPS,
                "default",
            );
            let map = |name: &str| serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            maps.create(&map("one")).await.unwrap();
            sleep(Duration::from_secs(5)).await;
            faults.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::black_hole()).resource("leases")));
            leading.stopping().await;
            let after = begun.elapsed();
            assert!((13..=16).contains(&after.as_secs()), "the last renewal was sent after 4 s: {after:?}");
            let error = maps.create(&map("two")).await.unwrap_err();
            assert!(error.is_fenced(), "{error}");
            assert_eq!(
                error.to_string(),
                "POST /api/v1/namespaces/default/configmaps was not sent: a does not lead any more"
            );
            assert!(maps.get(&ObjectKey::new("default", "one")).await.is_ok(), "reads are not asked for");
            // Work that does not end is dropped before others may lead.
            std::future::pending::<()>().await;
        });
    assert_eq!(run.await.unwrap(), None);
    assert!(story.all().contains(&"NotRenewed".to_owned()), "{:?}", story.all());
    let (stopped, _) = story.0.lock().unwrap().iter().find(|(_, what)| what == "NotRenewed").unwrap().clone();
    assert!(stopped <= 4 + 15 + 10, "{stopped}");
    let posts =
        server.seen().into_iter().filter(|seen| seen.method == "POST" && seen.target.ends_with("configmaps"));
    assert_eq!(posts.count(), 1);
}

/// 3.3, number 3: another holder ends the term with the next renewal. LE-20: it campaigns again without a restart.
#[tokio::test(start_paused = true)]
async fn another_holder_ends_the_term_at_once() {
    let server = server();
    let story = Story::new();
    let observed = ElectorConfig { observer: Arc::new(story.clone()), ..config("a") };
    let thief = server.clone();
    let tokens: Mutex<Vec<Leading>> = Mutex::default();
    let run = run_as_leader(lock(&server), observed, std::future::pending(), async |leading: Leading| {
        tokens.lock().unwrap().push(leading.clone());
        if tokens.lock().unwrap().len() == 2 {
            return;
        }
        sleep(Duration::from_secs(5)).await;
        let mut lease = lease(&thief).await;
        lease.spec.holder_identity = Some("thief".into());
        Api::<Lease>::namespaced(client(&thief), "default").update(&lease).await.unwrap();
        let stolen = Instant::now();
        leading.stopping().await;
        assert!(stolen.elapsed() <= Duration::from_secs(2), "{:?}", stolen.elapsed());
        assert!(leading.check().is_err());
    });
    timeout(Duration::from_secs(60), run).await.expect("the thief does not renew").unwrap();
    assert!(story.all().contains(&r#"Taken { by: "thief" }"#.to_owned()), "{:?}", story.all());
    let tokens = tokens.into_inner().unwrap();
    assert!(tokens[0] < tokens[1] && tokens[0].transitions() < tokens[1].transitions());
    assert!(tokens.iter().all(|token| token.check().is_err()));
}

/// A run that is dropped leaves no valid token behind.
#[tokio::test(start_paused = true)]
async fn a_token_ends_with_its_run() {
    let server = server();
    let kept = Mutex::new(None);
    let run = run_as_leader(lock(&server), config("a"), std::future::pending(), async |leading: Leading| {
        *kept.lock().unwrap() = Some(leading);
        std::future::pending::<()>().await;
    });
    assert!(timeout(Duration::from_secs(3), run).await.is_err(), "it runs on");
    let token = kept.lock().unwrap().take().unwrap();
    assert!(token.check().is_err());
    assert_eq!(token.remaining(), Duration::ZERO);
    token.stopping().await;
}

/// LE-4, LE-21, LE-23: what others see of an elector, and what it leaves of a Lease that has more than it knows.
#[tokio::test(start_paused = true)]
async fn a_handle_tells_who_leads_and_whether_all_is_well() {
    let server = server();
    let labelled =
        ElectorConfig { labels: [("app".to_owned(), "controller".to_owned())].into(), ..config("a") };
    let mut elector = Elector::new(lock(&server), labelled).unwrap();
    let handle = elector.handle();
    assert_eq!((handle.leader(), handle.is_leader()), (None, false));
    let mut leaders = handle.leaders();
    let watched = async {
        leaders.wait_for(|leader| leader.as_deref() == Some("a")).await.unwrap();
        assert!(handle.is_leader());
        sleep(Duration::from_secs(10)).await;
        assert_eq!(handle.check(Duration::ZERO), Ok(()));
        server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::black_hole()).resource("leases")));
        sleep(Duration::from_secs(16)).await;
        assert!(handle.check(Duration::from_secs(20)).is_ok());
        let error = handle.check(Duration::ZERO).unwrap_err().to_string();
        assert!(error.starts_with(r#"a holds Lease "lock" and has not renewed it for "#), "{error}");
        server.set_faults(FaultPlan::seeded(1));
        sleep(Duration::from_secs(20)).await;
        assert_eq!(handle.check(Duration::ZERO), Ok(()));
    };
    let run = elector.run(std::future::pending(), async |leading: Leading| leading.stopping().await);
    tokio::select! {
        _ = run => panic!("nobody ends it"),
        () = watched => {}
    }
    let lease = lease(&server).await;
    assert_eq!(lease.metadata.labels["app"], "controller");
}

#[tokio::test]
async fn names_that_are_none_are_refused() {
    let client = client(&server());
    for (namespace, name, want) in
        [("", "a", "namespace \"\""), ("a", "", "name \"\""), ("a", "b/c", "name \"b/c\"")]
    {
        let error = LeaseLock::new(&client, namespace, name).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    }
}
