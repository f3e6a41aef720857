//! Whatever is sent: the server answers with a status, an object or a page that is not there, and goes on.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod raw;

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use lariat_api::Randomness;
use lariat_apiserver::ApiServer;
use lariat_fixtures::{Recording, recording_path};
use raw::Raw;
use serde_json::{Value, json};

const METHODS: [&str; 8] = ["GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "NONSENSE"];
const TYPES: [&str; 9] = [
    "application/yaml",
    "application/json",
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
    "application/json; charset=utf-8",
];
const PARAMETERS: [&str; 14] = [
    "limit=-1",
    "limit=2",
    "continue=zzz",
    "resourceVersion=1",
    "resourceVersion=18446744073709551615",
    "resourceVersionMatch=Exact",
    "labelSelector=a%20in%20(b",
    "fieldSelector=metadata.name%3Dx",
    "fieldSelector=%00",
    "dryRun=All",
    "fieldManager=f&force=true",
    "fieldValidation=Strict",
    "watch=true&timeoutSeconds=1",
    "propagationPolicy=Orphan&gracePeriodSeconds=-5",
];

/// Values that are seldom where one stands.
fn odd(random: &mut fastrand::Rng) -> Value {
    let odd = [
        Value::Null,
        json!({}),
        json!([]),
        json!([null, {}]),
        json!(""),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!(true),
        json!("\u{0}é\u{10ffff}"),
        json!({"": {"": [[[]]]}}),
    ];
    random.choice(odd).unwrap_or_default()
}

/// Puts something odd somewhere.
fn spoil(value: &mut Value, random: &mut fastrand::Rng) {
    match value {
        Value::Object(fields) if !fields.is_empty() && random.u8(..) > 30 => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = random.choice(keys).unwrap();
            match random.u8(..8) {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert("extra".into(), odd(random))),
                _ => spoil(&mut fields[&key], random),
            }
        }
        Value::Array(items) if !items.is_empty() && random.u8(..) > 30 => {
            let index = random.usize(..items.len());
            if random.u8(..8) == 0 {
                let item = items[index].clone();
                items.push(item);
            } else {
                spoil(&mut items[index], random);
            }
        }
        _ => *value = odd(random),
    }
}

fn target(known: &str, random: &mut fastrand::Rng) -> String {
    let path = known.split('?').next().unwrap_or_default();
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    match random.u8(..8) {
        0 => {
            segments.push(random.choice(["status", "scale", "binding", "eviction", "x", ""]).unwrap().into());
        }
        1 => drop(segments.pop()),
        2 => {
            let index = random.usize(1..segments.len());
            segments[index] = random.choice(["%2e%2e", "%ff", "a%20b", "v2", "UPPER", "-"]).unwrap().into();
        }
        _ => {}
    }
    let mut target = segments.join("/");
    if !target.starts_with('/') {
        target.insert(0, '/');
    }
    let parameters: Vec<&str> = (0..random.usize(..3)).map(|_| random.choice(PARAMETERS).unwrap()).collect();
    if parameters.is_empty() { target } else { format!("{target}?{}", parameters.join("&")) }
}

/// What the real server, too, has no better code for than 500: a watch from a version that is no number, a strategic patch that
/// does not fit.
const HONEST: &[&str] = &[
    "resourceVersion",
    "declared merge key",
    "without merge key",
    "patch type",
    "cannot yet be specified",
    "not identical",
    "$setElementOrder",
    "but received a",
];

#[tokio::test(start_paused = true)]
async fn every_request_gets_a_valid_answer() {
    let recorded: Vec<_> = ["api-protocol", "api-objects"]
        .into_iter()
        .flat_map(|name| Recording::open(recording_path(name)).unwrap().exchanges)
        .collect();
    let mut random = fastrand::Rng::with_seed(7);
    let server = ApiServer::builder().randomness(Randomness::seeded(7)).build();
    let mut raw = Raw::connect(&server).await;
    for name in ["namespace create", "definition create"] {
        let exchange = recorded.iter().find(|exchange| exchange.name == name).unwrap();
        assert_eq!(raw.json(Method::POST, &exchange.request.target, &exchange.request.body).await.0, 201);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut codes = std::collections::BTreeMap::<u16, u32>::new();
    for round in 0..30_000 {
        let exchange = random.choice(&recorded).unwrap();
        let method: Method = match random.u8(..3) {
            0 => random.choice(METHODS).unwrap().parse().unwrap(),
            _ => exchange.request.method.parse().unwrap(),
        };
        let target = target(&exchange.request.target, &mut random);
        let content_type = random.choice(TYPES).unwrap();
        let mut body = exchange.request.body.clone();
        for _ in 0..random.usize(..3) {
            spoil(&mut body, &mut random);
        }
        let mut body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        match random.u8(..20) {
            0 => body.truncate(random.usize(..=body.len())),
            1 => body = vec![b'['; 5_000],
            2 => body = b"a: &a [*a, *a, !!binary x]\nb: {? [c] : d}\n".to_vec(),
            3 => body = "- ".repeat(2_000).into_bytes(),
            _ => {}
        }
        let what =
            format!("round {round}: {method} {target} {content_type} {}", String::from_utf8_lossy(&body));
        let response = raw.send(&method, &target, content_type, body).await.expect(&what);
        let code = response.status().as_u16();
        *codes.entry(code).or_default() += 1;
        let body = response.into_body().collect().await.expect(&what).to_bytes();
        if method == Method::HEAD {
            continue;
        }
        if body == "404 page not found\n" || body == "ok" {
            continue;
        }
        if code == 500 {
            let message = serde_json::from_slice::<Value>(&body).expect(&what)["message"].to_string();
            assert!(HONEST.iter().any(|words| message.contains(words)), "{what}: {message}");
        }
        for value in serde_json::Deserializer::from_slice(&body).into_iter::<Value>() {
            match value {
                Ok(value) => {
                    let object =
                        value.get("object").filter(|_| value.get("type").is_some()).unwrap_or(&value);
                    let is_object = object["kind"].is_string() || object["major"].is_string();
                    assert!(is_object && (code < 400 || object["code"] == code), "{what}\n{value}");
                }
                Err(_) => assert!(body == "404 page not found\n" || body == "ok", "{what}\n{body:?}"),
            }
        }
    }
    assert!(codes.len() > 6 && codes.get(&200).is_some_and(|count| *count > 1_000), "{codes:?}");
}
