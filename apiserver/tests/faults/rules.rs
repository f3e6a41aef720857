//! Which requests are struck, how often, and by what first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};
use serde_json::Value;
use tokio::time::Instant;

use crate::raw::Raw;
use crate::{MAPS, bytes, faulty, get, map, put, server, struck};

fn teapot() -> Fault {
    Fault::answer(418, "", None)
}

/// Which of so many equal requests are struck.
async fn strikes(plan: FaultPlan, requests: usize) -> Vec<bool> {
    let server = ApiServer::builder().faults(plan).build();
    let mut raw = Raw::connect(&server).await;
    let mut struck = Vec::new();
    for _ in 0..requests {
        struck.push(raw.json(Method::GET, MAPS, &Value::Null).await.0 == 418);
    }
    struck
}

#[tokio::test(start_paused = true)]
async fn the_seed_says_which_requests_are_struck() {
    let rule = Rule::new(teapot()).probability(0.3);
    let one = strikes(FaultPlan::seeded(1).rule(rule.clone()), 1_000).await;
    let count = one.iter().filter(|struck| **struck).count();
    assert!((230..370).contains(&count), "{count}");
    assert_eq!(strikes(FaultPlan::seeded(1).rule(rule.clone()), 1_000).await, one);
    assert_ne!(strikes(FaultPlan::seeded(2).rule(rule.clone()), 1_000).await, one);
    // A rule behind it changes nothing.
    let delayed = Rule::new(Fault::delay_between(Duration::ZERO, Duration::from_millis(1))).probability(0.5);
    assert_eq!(strikes(FaultPlan::seeded(1).rule(rule.clone()).rule(delayed), 1_000).await, one);
    assert_eq!(strikes(FaultPlan::seeded(1).rule(rule.clone().probability(0.0)), 100).await, [false; 100]);
    assert_eq!(strikes(FaultPlan::seeded(1).rule(rule.probability(1.0)), 100).await, [true; 100]);
}

#[tokio::test(start_paused = true)]
async fn the_first_are_passed_over_and_not_more_are_struck_than_said() {
    let rule = Rule::new(teapot()).after(2).times(3);
    let plan = FaultPlan::seeded(1).rule(rule.clone());
    assert_eq!(strikes(plan, 7).await, [false, false, true, true, true, false, false]);
    let plan = FaultPlan::seeded(1).rule(rule.probability(0.5));
    let struck = strikes(plan, 1_000).await;
    assert_eq!((&struck[..2], struck.iter().filter(|struck| **struck).count()), (&[false; 2][..], 3));
}

#[tokio::test(start_paused = true)]
async fn conditions_look_at_what_is_asked() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = seen.clone();
    let server = faulty(Rule::new(Fault::reset()).on(move |asking| {
        log.lock().unwrap().push(format!(
            "{} {} {}/{} {}/{}/{} {} {:?}",
            asking.method(),
            asking.verb(),
            asking.group(),
            asking.resource(),
            asking.namespace(),
            asking.name(),
            asking.subresource(),
            asking.user_agent(),
            asking.query("x"),
        ));
        assert!(asking.path().starts_with('/') && !asking.path().contains('?'));
        false
    }));
    let deployments = "/apis/apps/v1/namespaces/n/things";
    let wanted = [
        ("GET", format!("{MAPS}?x=a%20b"), "GET list /configmaps default// me Some(\"a b\")"),
        ("GET", format!("{MAPS}/m"), "GET get /configmaps default/m/ me None"),
        ("GET", format!("{MAPS}?watch=1&timeoutSeconds=1"), "GET watch /configmaps default// me None"),
        ("POST", deployments.to_owned(), "POST create apps/things n// me None"),
        ("PUT", format!("{deployments}/d/status"), "PUT update apps/things n/d/status me None"),
        ("PATCH", format!("{deployments}/d"), "PATCH patch apps/things n/d/ me None"),
        ("DELETE", format!("{deployments}/d"), "DELETE delete apps/things n/d/ me None"),
        ("DELETE", deployments.to_owned(), "DELETE deletecollection apps/things n// me None"),
        ("GET", "/version".to_owned(), "GET get / // me None"),
        ("POST", "/version".to_owned(), "POST post / // me None"),
    ];
    for (method, target, _) in &wanted {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(server.connect())).await.unwrap();
        tokio::spawn(connection);
        let request = Request::builder().method(*method).uri(target).header("user-agent", "me");
        sender.send_request(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), wanted.map(|(.., wanted)| wanted));
}

#[tokio::test(start_paused = true)]
async fn conditions_that_are_ready_all_have_to_hold() {
    let rules: [(Rule, &[&str]); 6] = [
        (Rule::new(teapot()).verb("list"), &["list", "other"]),
        (Rule::new(teapot()).group(""), &["list", "get", "other"]),
        (Rule::new(teapot()).resource("configmaps").namespace("default"), &["list", "get"]),
        (Rule::new(teapot()).name("m").subresource(""), &["get"]),
        (Rule::new(teapot()).user_agent("x"), &[]),
        (Rule::new(teapot()), &["list", "get", "other", "version"]),
    ];
    let server = server();
    put(&server, "m", 1);
    for (rule, wanted) in rules {
        server.set_faults(FaultPlan::seeded(1).rule(rule.clone()));
        let one = format!("{MAPS}/m");
        let targets =
            [("list", MAPS), ("get", one.as_str()), ("other", "/api/v1/nodes"), ("version", "/version")];
        let mut struck = Vec::new();
        for (name, target) in targets {
            if get(&server, target).await.0 == 418 {
                struck.push(name);
            }
        }
        assert_eq!(struck, wanted, "{rule:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn several_rules_strike_one_request_in_one_order() {
    let delay = || Rule::new(Fault::delay(Duration::from_secs(1)));
    let plan = FaultPlan::seeded(1)
        .rule(Rule::new(Fault::cut(3)))
        .rule(delay())
        .rule(Rule::new(teapot()))
        .rule(Rule::new(Fault::answer(503, "", None)))
        .rule(Rule::new(Fault::cut(5)))
        .rule(delay());
    let server = server();
    server.set_faults(plan);
    let begin = Instant::now();
    let (head, body) = bytes(&server, MAPS).await;
    assert!(head.starts_with("HTTP/1.1 418 "), "{head}");
    assert_eq!((body.len(), begin.elapsed()), (3, Duration::from_secs(2)));
    let chosen: Vec<u64> = server.faults_struck().iter().map(|struck| struck.chosen).collect();
    assert_eq!(chosen, [1, 1, 1, 0, 0, 1], "rules that cannot matter are not asked");

    server.set_faults(
        FaultPlan::seeded(1).rule(Rule::new(Fault::reset())).rule(Rule::new(Fault::cut(0))).rule(delay()),
    );
    let begin = Instant::now();
    assert_eq!(bytes(&server, MAPS).await, (String::new(), Vec::new()));
    assert_eq!(begin.elapsed(), Duration::from_secs(1));
    let happened: Vec<u64> = server.faults_struck().iter().map(|struck| struck.happened).collect();
    assert_eq!(happened, [1, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn healing_and_other_plans_end_a_plan() {
    let server = faulty(Rule::new(teapot()));
    assert_eq!(get(&server, MAPS).await.0, 418);
    server.heal();
    assert_eq!(get(&server, MAPS).await.0, 200);
    assert_eq!(struck(&server), (1, 1), "what happened is still known");
    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::answer(503, "", None))));
    assert_eq!(struck(&server), (0, 0));
    assert_eq!(get(&server, MAPS).await.0, 503);
    server.set_faults(FaultPlan::seeded(1));
    assert_eq!(get(&server, MAPS).await.0, 200);
    assert!(server.faults_struck().is_empty());

    // A delay that has begun ends.
    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::delay(Duration::from_secs(9)))));
    let (begin, mut raw) = (Instant::now(), Raw::connect(&server).await);
    let creating = tokio::spawn(async move { raw.json(Method::POST, MAPS, &map("m", 1)).await.0 });
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.heal();
    assert_eq!(creating.await.unwrap(), 201);
    assert_eq!(begin.elapsed(), Duration::from_secs(9));
}
