//! Delays, connections that break, and answers that are no answers.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use lariat_apiserver::{Fault, FaultPlan, Rule};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep, timeout};

use crate::raw::Raw;
use crate::{MAPS, Watch, bytes, faulty, get, map, put, server, struck};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_delayed_request_is_carried_out_later() {
    let server = faulty(Rule::new(Fault::delay(Duration::from_secs(5))).verb("create"));
    let begin = Instant::now();
    assert_eq!(get(&server, MAPS).await.0, 200);
    assert!(begin.elapsed().is_zero());
    let mut raw = Raw::connect(&server).await;
    let creating = tokio::spawn(async move { raw.json(Method::POST, MAPS, &map("m", 1)).await.0 });
    sleep(Duration::from_millis(4_900)).await;
    assert!(server.stored("configmaps", "default/m").is_none());
    assert_eq!(creating.await.unwrap(), 201);
    assert_eq!(begin.elapsed(), Duration::from_secs(5));
    assert_eq!(struck(&server), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn delays_between_two_times_are_spread_over_them() {
    let (from, to) = (Duration::from_millis(100), Duration::from_millis(300));
    let server = faulty(Rule::new(Fault::delay_between(from, to)));
    let mut delays = Vec::new();
    for _ in 0..100 {
        let begin = Instant::now();
        get(&server, "/version").await;
        delays.push(begin.elapsed());
    }
    // The timer counts in whole milliseconds.
    let late = Duration::from_millis(2);
    assert!(delays.iter().all(|delay| (from..=to + late).contains(delay)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay < Duration::from_millis(150)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay > Duration::from_millis(250)), "{delays:?}");
}

#[tokio::test(start_paused = true)]
async fn connections_are_refused() {
    let server = faulty(Rule::new(Fault::refuse()).after(1).times(2));
    assert!(server.try_connect().is_ok());
    assert_eq!(server.try_connect().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let mut closed = server.connect();
    assert_eq!(closed.read(&mut [0]).await.unwrap(), 0, "it is closed at once");
    assert!(server.try_connect().is_ok());
    assert_eq!(struck(&server), (2, 2));

    let server = faulty(Rule::new(Fault::refuse()).resource("pods"));
    assert!(server.try_connect().is_ok(), "nothing is known of a connection");
    assert_eq!(struck(&server), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_reset_comes_before_any_effect_and_any_byte() {
    let server = faulty(Rule::new(Fault::reset()).verb("create").times(1));
    let mut raw = Raw::connect(&server).await;
    let body = map("m", 1).to_string();
    let error = raw.send(&Method::POST, MAPS, "application/json", body.clone()).await.unwrap_err();
    assert!(error.is_incomplete_message(), "{error:?}");
    assert!(server.stored("configmaps", "default/m").is_none());
    assert_eq!(server.seen().len(), 1, "it was read");
    let mut raw = Raw::connect(&server).await;
    assert_eq!(raw.send(&Method::POST, MAPS, "application/json", body).await.unwrap().status(), 201);

    let server = faulty(Rule::new(Fault::reset()));
    assert_eq!(bytes(&server, MAPS).await, (String::new(), Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn out_of_the_black_hole_nothing_comes() {
    let server = faulty(Rule::new(Fault::black_hole()).verb("create"));
    let mut raw = Raw::connect(&server).await;
    let body = map("m", 1).to_string();
    let mut creating =
        tokio::spawn(async move { raw.send(&Method::POST, MAPS, "application/json", body).await.is_ok() });
    assert!(timeout(24 * HOUR, &mut creating).await.is_err());
    assert_eq!(get(&server, MAPS).await.0, 200, "others go on");
    server.heal();
    assert!(timeout(24 * HOUR, &mut creating).await.is_err(), "healing does not answer it");
    assert!(server.stored("configmaps", "default/m").is_none());
    assert_eq!(struck(&server), (1, 1));
    creating.abort();
    assert!(creating.await.unwrap_err().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn the_black_hole_is_left_with_the_client() {
    let held = Arc::new(());
    let inside = Arc::downgrade(&held);
    let server = faulty(Rule::new(Fault::black_hole()).on(move |_| Arc::strong_count(&held) > 0));
    let mut raw = Raw::connect(&server).await;
    let asking = tokio::spawn(async move { raw.send(&Method::GET, MAPS, "", "").await.is_ok() });
    sleep(HOUR).await;
    drop(server);
    sleep(HOUR).await;
    assert!(inside.upgrade().is_some(), "the server is there as long as a connection");
    asking.abort();
    sleep(HOUR).await;
    assert!(inside.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn whole_answers_are_cut_to_the_byte() {
    let server = server();
    put(&server, "m", 1);
    let (_, whole) = get(&server, &format!("{MAPS}/m")).await;
    let whole = whole.to_string() + "\n";
    for cut in [0, 1, 17, whole.len() - 1] {
        server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::cut(cut))));
        let (head, body) = bytes(&server, &format!("{MAPS}/m")).await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", whole.len())), "{head}");
        assert_eq!(String::from_utf8(body).unwrap(), whole[..cut], "{cut}");
        assert_eq!(struck(&server), (1, 1));

        let mut raw = Raw::connect(&server).await;
        let answer = raw.send(&Method::GET, &format!("{MAPS}/m"), "", "").await.unwrap();
        assert!(answer.into_body().collect().await.is_err(), "a broken connection is no end");
    }
    server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::cut(whole.len()))));
    assert_eq!(get(&server, &format!("{MAPS}/m")).await.1.to_string() + "\n", whole);
    assert_eq!(struck(&server), (1, 0), "it is not longer than that");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_larger_than_the_pipe_is_cut_to_the_byte() {
    let server = faulty(Rule::new(Fault::cut(1_000_000)));
    let mut large = map("m", 1);
    large["data"]["x"] = "x".repeat(2_000_000).into();
    server.put("configmaps", large);
    assert_eq!(bytes(&server, &format!("{MAPS}/m")).await.1.len(), 1_000_000);
    let mut raw = Raw::connect(&server).await;
    let mut body = raw.send(&Method::GET, &format!("{MAPS}/m"), "", "").await.unwrap().into_body();
    // A client that is slow gets them all too.
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.into_data().unwrap().len();
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(read, 1_000_000);
}

#[tokio::test(start_paused = true)]
async fn watches_are_cut_to_the_byte() {
    let server = server();
    let from = server.resource_version();
    put(&server, "a", 1);
    put(&server, "b", 2);
    let target = format!("{MAPS}?watch=true&timeoutSeconds=1&resourceVersion={from}");
    let mut raw = Raw::connect(&server).await;
    let whole = raw.send(&Method::GET, &target, "", "").await.unwrap();
    let whole = whole.into_body().collect().await.unwrap().to_bytes();
    let line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in [0, 1, line - 1, line, line + 5] {
        server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::cut(cut)).verb("watch")));
        let mut raw = Raw::connect(&server).await;
        let mut body = raw.send(&Method::GET, &target, "", "").await.unwrap().into_body();
        let mut seen = Vec::new();
        let error = loop {
            match body.frame().await.expect("no orderly end") {
                Ok(frame) => seen.extend_from_slice(&frame.into_data().unwrap()),
                Err(error) => break error,
            }
        };
        assert_eq!(seen, whole[..cut], "{cut}");
        assert!(
            error.is_incomplete_message()
                || error.is_body_write_aborted()
                || error.to_string().contains("body"),
            "{error:?}"
        );
        // No end of the chunks.
        let (head, chunks) = bytes(&server, &target).await;
        assert!(head.contains("transfer-encoding: chunked"), "{head}");
        assert!(!chunks.ends_with(b"0\r\n\r\n"));
        assert_eq!(struck(&server), (2, 2));
    }
    tokio::task::yield_now().await;
    server.put("configmaps", map("c", 3));
    assert_eq!(server.watches("configmaps"), 0, "no watch is left");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_longer_than_the_cut_breaks_when_it_gets_there() {
    let server = faulty(Rule::new(Fault::cut(400)).verb("watch"));
    let mut watch = Watch::begin(&server, "").await;
    let first = put(&server, "a", 1);
    assert_eq!(watch.next().await, format!("ADDED a=1@{first}"));
    assert_eq!(struck(&server), (1, 0));
    for n in 0..5 {
        put(&server, "a", n);
    }
    let rest = watch.rest().await;
    assert_eq!(rest.last().unwrap(), "broken");
    assert_eq!(struck(&server), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn any_status_can_be_the_answer() {
    let server = faulty(Rule::new(Fault::answer(429, "TooManyRequests", Some(7))));
    let (head, body) = {
        let mut raw = Raw::connect(&server).await;
        let answer =
            raw.send(&Method::POST, MAPS, "application/json", map("m", 1).to_string()).await.unwrap();
        let (head, body) = answer.into_parts();
        (head, body.collect().await.unwrap().to_bytes())
    };
    assert_eq!((head.status.as_u16(), head.headers["retry-after"].to_str().unwrap()), (429, "7"));
    assert_eq!(
        serde_json::from_slice::<Value>(&body).unwrap(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Too many requests, please try again later.", "reason": "TooManyRequests",
            "details": {"retryAfterSeconds": 7}, "code": 429,
        })
    );
    assert!(server.stored("configmaps", "default/m").is_none());

    for (code, reason, sent) in [(503, "", 503), (500, "InternalError", 500), (42, "", 500), (1000, "", 500)]
    {
        server.set_faults(FaultPlan::seeded(1).rule(Rule::new(Fault::answer(code, reason, None))));
        let mut raw = Raw::connect(&server).await;
        let answer = raw.send(&Method::GET, MAPS, "", "").await.unwrap();
        assert_eq!(answer.status(), sent);
        assert!(!answer.headers().contains_key("retry-after"));
        let body: Value =
            serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        assert_eq!(body["reason"].as_str().unwrap_or_default(), reason);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_is_lost_was_done() {
    let server = faulty(Rule::new(Fault::lose_response()));
    let mut watch = Watch::begin(&server, "").await;
    let mut raw = Raw::connect(&server).await;
    let body = map("m", 1).to_string();
    let error = raw.send(&Method::POST, MAPS, "application/json", body.clone()).await.unwrap_err();
    assert!(error.is_incomplete_message(), "{error:?}");
    assert_eq!(server.stored("configmaps", "default/m").unwrap()["data"]["v"], "1");
    assert_eq!(watch.next().await, format!("ADDED m=1@{}", server.resource_version()));
    assert_eq!(struck(&server), (1, 1));
    // What fails is answered, and reads are no writes.
    let mut raw = Raw::connect(&server).await;
    assert_eq!(raw.json(Method::POST, MAPS, &map("m", 1)).await.0, 409);
    assert_eq!(get(&server, MAPS).await.0, 200);
    assert_eq!(struck(&server), (2, 1));
}
