//! Histories that client-go's shared informer went through, in virtual time.
//!
//! What client-go does otherwise by default is an option here, and on: it tells handlers of objects that came again in the
//! same version, and of objects that were created again as of updates.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod differences;
mod script;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use differences::DIFFERENCES;
use lariat_api::{DynamicObject, Kind, Object, Randomness};
use lariat_client::{Api, Client, Config};
use lariat_fixtures::vectors::{self, Case, same};
use lariat_reflector::{Deleted, EventHandler, Informer, InitialList, ReflectorError, Registration};
use script::Script;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

/// All that one handler was told, with when.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Value>>>);

/// The handlers by name.
type Handlers = Arc<Mutex<BTreeMap<String, (Log, Registration)>>>;

/// How long a script may take. Some wait for several rounds of back-off.
const PATIENCE: Duration = Duration::from_secs(3600);

/// RF-14, RF-42, Q-2, Q-21, Q-23 and many more: errors of all kinds, tables and other kinds in a watch, deletions of what is not
/// known, resync.
#[test]
fn vectors_informer_by_list() {
    vectors::run("client-go/informer-watchlist-off", DIFFERENCES, check);
}

/// RF-4, RF-32, RF-35, RF-37 and many more: streams that are refused, break off or never complete, and what the next round
/// asks for.
#[test]
fn vectors_informer_by_streaming_list() {
    vectors::run("client-go/informer-watchlist-on", DIFFERENCES, check);
}

fn check(case: &Case) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(run(&case.input, &case.want))
}

async fn run(input: &Value, want: &Value) -> Result<(), String> {
    let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
    let handlers = Handlers::default();
    let late: Arc<Mutex<Option<Informer<DynamicObject>>>> = Arc::default();
    let script = Script::new(input, want, {
        let (handlers, late) = (handlers.clone(), late.clone());
        move |act, name| {
            let informer = late.lock().unwrap().clone().unwrap();
            match act {
                "addHandler" => add(&informer, &handlers, name),
                _ => informer.remove_handler(&handlers.lock().unwrap()[name].1),
            }
        }
    });
    let pipes = script.clone();
    let config = Config::new("http://script".parse().unwrap()).unwrap();
    let connector = move |_: &http::Uri| std::future::ready(pipes.connect());
    let client = Client::builder(config).connector(connector).build().unwrap();
    let kind = match input["path"].as_str().unwrap() {
        path if path.ends_with("/widgets") && path.contains("cluster") => {
            Kind::cluster("example.dev", "v1", "Widget", "widgets")
        }
        _ => Kind::namespaced("example.dev", "v1", "Widget", "widgets"),
    };
    let errors = Arc::new(Mutex::new(Vec::new()));
    let mut builder = Informer::builder(Api::<DynamicObject>::of_kind(client, kind, text("namespace")))
        .randomness(Randomness::seeded(1))
        .label_selector(text("labelSelector"))
        .field_selector(text("fieldSelector"))
        .resync_period(Duration::from_millis(input["resyncMs"].as_u64().unwrap_or(0)))
        .tell_unchanged(true)
        .recreation_is_update(true)
        .on_error({
            let errors = errors.clone();
            move |_, error| errors.lock().unwrap().extend(class(error))
        });
    if input["watchListClient"] == false {
        builder = builder.initial_list(InitialList::List);
    }
    let transform = text("transform");
    if !transform.is_empty() {
        builder = builder.transform(move |object: &mut DynamicObject| {
            match &*transform {
                "setValue" => object.other["spec"]["value"] = "transformed".into(),
                "clearRV" => object.metadata.resource_version = "".into(),
                fail => {
                    let name = fail.strip_prefix("fail:").unwrap();
                    if object.name() == name {
                        return Err("as the script says".into());
                    }
                }
            }
            Ok(())
        });
    }
    let informer = builder.build();
    *late.lock().unwrap() = Some(informer.clone());
    add(&informer, &handlers, "A");
    let over = async {
        if timeout(PATIENCE, script.over()).await.is_ok() {
            sleep(Duration::from_millis(95 + input["finalHoldMs"].as_u64().unwrap_or(0))).await;
        }
    };
    let (synced, handlers_synced) = {
        let mut states = (false, json!({}));
        informer
            .run(async {
                over.await;
                let handlers = handlers.lock().unwrap();
                states.0 = informer.has_synced();
                states.1 = handlers
                    .iter()
                    .map(|(name, (_, registration))| (name.clone(), registration.has_synced().into()))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
            })
            .await;
        states
    };
    *late.lock().unwrap() = None;

    requests(&script.seen(), &want["requests"])?;
    if !script.is_used_up() {
        return Err("steps are left".into());
    }
    for (name, want) in want["notifications"].as_object().unwrap() {
        let told = handlers.lock().unwrap().get(name).map(|(log, _)| log.0.lock().unwrap().clone());
        let is_streamed = input["watchListClient"] == true;
        notifications(name, &told.unwrap_or_default(), want.as_array().unwrap(), is_streamed)?;
    }
    let mut stored: Vec<Value> =
        informer.lister().store().list().iter().map(|object| shown(object)).collect();
    stored.sort_by_key(|object| object["key"].to_string());
    same("the store", &stored.into(), &want["store"])?;
    same("the version", &informer.last_sync_resource_version().into(), &want["lastSyncResourceVersion"])?;
    same("whether the informer is synced", &synced.into(), &want["hasSynced"])?;
    same("whether the handlers are synced", &handlers_synced, &want["handlerHasSynced"])?;
    let classes = |errors: &[Value]| errors.iter().map(|error| error["class"].clone()).collect::<Vec<_>>();
    let got = errors.lock().unwrap().clone();
    let want = want["watchErrors"].as_array().cloned().unwrap_or_default();
    same("the errors", &classes(&got), &classes(&want))
}

fn add(informer: &Informer<DynamicObject>, handlers: &Handlers, name: &str) {
    let log = Log::default();
    let registration = informer.add_handler(log.clone()).unwrap();
    handlers.lock().unwrap().insert(name.to_owned(), (log, registration));
}

// === what was asked ===

fn requests(seen: &[Value], want: &Value) -> Result<(), String> {
    let want = want.as_array().unwrap();
    let brief = |request: &Value| {
        format!(
            "{}[{}] rv={}",
            request["kind"].as_str().unwrap(),
            request["step"],
            request["query"]["resourceVersion"]
        )
    };
    let all = |requests: &[Value]| requests.iter().map(brief).collect::<Vec<_>>().join(", ");
    if seen.len() != want.len() {
        return Err(format!("requests: {}\n    want      {}", all(seen), all(want)));
    }
    for (number, (seen, want)) in seen.iter().zip(want).enumerate() {
        let what = |part: &str| format!("request {number}, {part}");
        for part in ["kind", "step"] {
            same(what(part), &seen[part], &want[part])?;
        }
        if !seen["query"].is_null() {
            let mut query = want["query"].clone();
            query["path"] = want["path"].clone();
            same(what("query"), &seen["query"], &query)?;
        }
        let gap = seen["gap"].as_u64();
        let fits = match want["gap"].as_str().unwrap() {
            "first" => gap.is_none(),
            "immediate" => gap.is_some_and(|gap| gap < 500),
            "backoff" => gap.is_some_and(|gap| gap >= 780),
            "httpRetry" => gap.is_some_and(|gap| gap >= 500),
            other => return Err(format!("unknown gap {other}")),
        };
        if !fits {
            return Err(format!("{}: {gap:?} ms, want {}; {}", what("gap"), want["gap"], brief(seen)));
        }
    }
    Ok(())
}

// === what was told ===

/// Compares what a handler was told. What client-go tells at random was recorded in the order of the keys.
fn notifications(name: &str, told: &[Value], want: &[Value], is_streamed: bool) -> Result<(), String> {
    let all = || -> String {
        let brief = |event: &Value| {
            format!(
                "{} {}@{}",
                event["type"].as_str().unwrap(),
                event["key"].as_str().unwrap(),
                event["rv"].as_str().unwrap()
            )
        };
        let list = |events: &[Value]| events.iter().map(brief).collect::<Vec<_>>().join(", ");
        format!("{}\n    want {}", list(told), list(want))
    };
    if told.len() != want.len() {
        return Err(format!("{name} was told {}", all()));
    }
    let mut at = 0;
    while at < want.len() {
        let length = batch(name, &want[at..]);
        let (mut got, mut wanted) = (told[at..at + length].to_vec(), want[at..at + length].to_vec());
        for event in &mut wanted {
            event.as_object_mut().unwrap().remove("relistBatch");
        }
        for event in &mut got {
            event.as_object_mut().unwrap().remove("at");
        }
        let is_delete = |event: &Value| event["type"] == "delete";
        let deletes = got.iter().take_while(|event| is_delete(event)).count();
        if length > 1
            && got.iter().skip(deletes).any(is_delete)
            && wanted.iter().any(|event| event["deletedFinalStateUnknown"] == true)
        {
            return Err(format!("{name} was told of deletions after other things: {}", all()));
        }
        let by_key = |event: &Value| event["key"].to_string();
        let is_list = want[at]["relistBatch"].is_number();
        got[..deletes].sort_by_key(by_key);
        if length > 1 && (is_streamed || !is_list) {
            got[deletes..].sort_by_key(by_key);
            wanted[deletes..].sort_by_key(by_key);
        }
        if got != wanted {
            return Err(format!(
                "{name} was told {}\n    got  {}\n    want {}",
                all(),
                Value::from(got),
                Value::from(wanted)
            ));
        }
        at += length;
    }
    Ok(())
}

/// How many of the first notifications came at once, in an order that is not laid down.
fn batch(handler: &str, want: &[Value]) -> usize {
    let first = &want[0];
    let is_resync =
        |event: &Value| event["type"] == "update" && event["rv"] != "" && event["oldRV"] == event["rv"];
    let length = want
        .iter()
        .take_while(|event| {
            if first["relistBatch"].is_number() {
                event["relistBatch"] == first["relistBatch"]
            } else if handler != "A" && first["isInInitialList"] == true {
                event["isInInitialList"] == true
            } else {
                is_resync(first) && is_resync(event)
            }
        })
        .count();
    length.max(1)
}

impl Log {
    fn tell(&self, mut event: Value) {
        event["at"] = (Instant::now().elapsed().as_millis() as u64).into();
        self.0.lock().unwrap().push(event);
    }
}

impl EventHandler<DynamicObject> for Log {
    fn on_add(&self, object: &Arc<DynamicObject>, is_in_initial_list: bool) {
        let mut event = shown(object);
        event["type"] = "add".into();
        event["isInInitialList"] = is_in_initial_list.into();
        self.tell(event);
    }

    fn on_update(&self, old: &Arc<DynamicObject>, new: &Arc<DynamicObject>) {
        let mut event = shown(new);
        event["type"] = "update".into();
        if !old.resource_version().is_empty() {
            event["oldRV"] = old.resource_version().into();
        }
        event["oldUID"] = old.uid().into();
        self.tell(event);
    }

    fn on_delete(&self, deleted: &Deleted<DynamicObject>) {
        let mut event = shown(deleted.object());
        event["type"] = "delete".into();
        event["deletedFinalStateUnknown"] = deleted.is_tombstone().into();
        self.tell(event);
    }
}

fn shown(object: &DynamicObject) -> Value {
    json!({
        "key": object.key().unwrap().as_str(), "rv": object.resource_version(), "uid": object.uid(),
        "value": object.other.get("spec").map_or("", |spec| spec["value"].as_str().unwrap_or_default()),
    })
}

// === what went wrong ===

/// The class of an error that client-go's handler is told of, which is not told of what comes within a stream.
fn class(error: &ReflectorError) -> Option<Value> {
    let cause = match error {
        ReflectorError::List(cause) => cause,
        ReflectorError::WatchOpen(cause) if error.causes_relist() => cause,
        _ => return None,
    };
    let class = match cause.status() {
        Some(status) if status.is_too_large_resource_version() => "resourceVersionTooLarge",
        Some(status) if status.reason().is_some_and(|reason| reason.as_str() == "Gone") => "gone",
        Some(status) if status.is_gone() => "expired",
        Some(status) if status.is_too_many_requests() => "tooManyRequests",
        Some(status) if status.is_not_found() => "notFound",
        Some(status) if status.is_forbidden() => "forbidden",
        Some(status) if status.is_unauthorized() => "unauthorized",
        Some(status) if status.is_invalid() => "invalid",
        Some(status) if status.is_internal_error() => "internalError",
        Some(status) if status.is_service_unavailable() => "serviceUnavailable",
        Some(status) if status.is_timeout() => "timeout",
        // client-go gives these a reason of its own.
        Some(status) if status.reason().is_none() && status.code >= 500 => "internalError",
        None if cause.is_connection_refused() => "connectionRefused",
        None if matches!(cause, lariat_client::Error::Transport { .. }) => "eof",
        _ => "other",
    };
    Some(json!({"class": class}))
}
