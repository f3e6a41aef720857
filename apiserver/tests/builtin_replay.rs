//! What a real API server answered about the built-in kinds, against what [`lariat_apiserver::builtin`] makes of the same
//! requests.
//!
//! `LARIAT_BUILTIN_RECORDING` may name a further recording; every exchange in it that can be compared is.

#![allow(clippy::expect_used, reason = "a helper that cannot go on fails its test")]

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use lariat_api::{Reason, Status};
use lariat_apiserver::builtin::{self, Deletion, Resource, Strategy};
use lariat_apiserver::schema::{invalid_status, strict_status};
use lariat_fixtures::{Exchange, Recording, Target, recording_path};
use serde_json::{Value, json};

/// What is never the same twice.
const MASKED: [&str; 7] = [
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

fn recording(name: &str) -> Recording {
    Recording::open(recording_path(name)).expect("the recording can be read")
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(key, value)| match MASKED.contains(&key.as_str()) {
                true => (key.clone(), Value::Null),
                false => (key.clone(), masked(value)),
            });
            let kept = kept.filter(|(key, value)| !(value.is_null() && MASKED.contains(&key.as_str())));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        other => other.clone(),
    }
}

/// The objects as they were answered last, by path.
#[derive(Default)]
struct Replay {
    objects: BTreeMap<String, Value>,
    counter: u64,
    compared: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

/// What we answer.
#[derive(Debug, PartialEq)]
enum Answer {
    Object(Value),
    Failure(Status),
}

fn failure(status: Status) -> Answer {
    Answer::Failure(status)
}

fn bad_request(message: String) -> Answer {
    failure(Status {
        status: "Failure".into(),
        message,
        reason_text: Reason::BadRequest.as_str().into(),
        details: None,
        code: 400,
    })
}

impl Replay {
    fn run(mut self, recording: &Recording) -> Self {
        for exchange in &recording.exchanges {
            self.exchange(exchange);
        }
        self
    }

    fn exchange(&mut self, exchange: &Exchange) {
        let Some(target) = Target::parse(&exchange.request.method, &exchange.request.target) else { return };
        let Some(resource) = builtin::find(&target.resource.group, &target.resource.plural) else { return };
        if resource.strategy == Strategy::CustomResourceDefinition {
            return;
        }
        let Ok(response) = serde_json::from_slice::<Value>(&exchange.body()) else { return };
        let (path, query) = exchange.request.target.split_once('?').unwrap_or((&exchange.request.target, ""));
        let key = |name: &str| format!("{}/{}/{name}", resource.plural, target.namespace);
        let answer = match exchange.request.method.as_str() {
            "POST" if target.subresource.is_empty() && resource.strategy != Strategy::Binding => {
                Some(("create", self.create(resource, &target, exchange, query, &response)))
            }
            "POST" => self.act(resource, &target, exchange),
            "PUT" | "PATCH" => self.update(resource, &target, exchange, &response),
            _ => None,
        };
        if response["kind"] == "Table" {
            self.table(exchange, resource, &target, &response);
        }
        if let Some((what, answer)) = answer {
            self.compare(what, exchange, answer, &response);
        }
        if exchange.request.method == "DELETE" && response["status"] == "Success" {
            self.objects.remove(&key(&target.name));
        }
        if response["kind"] == resource.kind && !query.contains("dryRun") {
            let name = response["metadata"]["name"].as_str().unwrap_or_default();
            self.objects.insert(key(name), response);
        } else if let (Value::Array(items), true) =
            (&response["items"], response["kind"] == resource.list_kind)
        {
            for item in items {
                let name = item["metadata"]["name"].as_str().unwrap_or_default();
                let namespace = item["metadata"]["namespace"].as_str().unwrap_or_default();
                let mut item = item.clone();
                item["kind"] = resource.kind.into();
                item["apiVersion"] = resource.api_version().into();
                self.objects.insert(format!("{}/{namespace}/{name}", resource.plural), item);
            }
        }
        let _ = path;
    }

    fn compare(&mut self, what: &'static str, exchange: &Exchange, answer: Answer, response: &Value) {
        let status = exchange.status.unwrap_or_default();
        let reason = response["reason"].as_str().unwrap_or_default();
        // What the server itself looks after: names, storage, other objects, authorisation.
        let not_ours = matches!(status, 401 | 404 | 405 | 406 | 415 | 500)
            || (status == 403
                && !response["message"].as_str().unwrap_or_default().contains("riorityClass with"))
            || (status == 409 && what != "bind")
            || (status == 400 && response["message"].as_str().unwrap_or_default().contains("on the"))
            || (status == 422 && response["details"]["causes"].is_null())
            || (reason == "BadRequest" && exchange.request.target.contains("continue"));
        if not_ours {
            return;
        }
        *self.compared.entry(what).or_default() += 1;
        let want = match response["kind"].as_str() {
            Some("Status") if response["status"] == "Failure" => {
                Answer::Failure(serde_json::from_value(response.clone()).expect("a status"))
            }
            Some("Status") => Answer::Object(Value::Null),
            _ => Answer::Object(masked(response)),
        };
        let got = match answer {
            Answer::Object(object) => Answer::Object(masked(&object)),
            other => other,
        };
        if got != want {
            self.differences.push(format!("{} ({what})\n   got {got:?}\n  want {want:?}", exchange.name));
        }
    }

    fn create(
        &mut self,
        resource: &Resource,
        target: &Target,
        exchange: &Exchange,
        query: &str,
        response: &Value,
    ) -> Answer {
        let strategy = resource.strategy;
        let mut object = exchange.request.body.clone();
        let dropped = match strategy.decode(&mut object) {
            Ok(dropped) => dropped,
            Err(message) => return bad_request(message),
        };
        if query.contains("fieldValidation=Strict") && !dropped.is_empty() {
            return failure(strict_status(resource.kind, resource.version, &dropped));
        }
        if resource.namespaced {
            object["metadata"]["namespace"] = target.namespace.as_str().into();
        }
        if object["metadata"]["name"].is_null() && !object["metadata"]["generateName"].is_null() {
            let details = response["details"]["name"].clone();
            object["metadata"]["name"] = match &response["metadata"]["name"] {
                Value::Null => details,
                name => name.clone(),
            };
        }
        if strategy == Strategy::Pod {
            let classes: Vec<_> =
                self.objects.iter().filter(|(key, _)| key.starts_with("priorityclasses/")).collect();
            let classes = classes.iter().map(|(_, class)| *class);
            if let Err(status) = builtin::resolve_priority(&mut object, classes) {
                return failure(status);
            }
        }
        strategy.prepare_create(&mut object, now());
        let errors = strategy.validate_create(&object);
        if !errors.is_empty() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            // Events of either group are named without it.
            let group = if resource.kind == "Event" { "" } else { resource.group };
            return failure(invalid_status(group, resource.kind, name, &errors));
        }
        if strategy == Strategy::Service {
            if let Some(refused) = self.allocate(&mut object, None) {
                return refused;
            }
            take_allocations(&mut object, response);
        }
        strategy.normalise(&mut object);
        Answer::Object(object)
    }

    fn update(
        &mut self,
        resource: &Resource,
        target: &Target,
        exchange: &Exchange,
        response: &Value,
    ) -> Option<(&'static str, Answer)> {
        let strategy = resource.strategy;
        let old =
            self.objects.get(&format!("{}/{}/{}", resource.plural, target.namespace, target.name))?.clone();
        let old = match (strategy, old["apiVersion"] == "v1") {
            (Strategy::EventsEvent, true) => builtin::from_core(&old),
            (Strategy::Event, false) => builtin::to_core(&old),
            _ => old,
        };
        let mut object = patched(exchange, &old)?;
        if let Err(message) = strategy.decode(&mut object) {
            return Some(("update", bad_request(message)));
        }
        let metadata = &mut object["metadata"];
        if resource.namespaced {
            metadata["namespace"] = target.namespace.as_str().into();
        }
        if metadata["resourceVersion"].is_null() && strategy.allows_unconditional_update() {
            metadata["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        }
        let (what, errors) = match target.subresource.as_str() {
            "finalize" => {
                builtin::finalize(&mut object, &old);
                ("finalize", Vec::new())
            }
            "status" => {
                strategy.prepare_status_update(&mut object, &old);
                ("status", strategy.validate_status_update(&object, &old))
            }
            _ => {
                strategy.prepare_update(&mut object, &old);
                ("update", strategy.validate_update(&object, &old))
            }
        };
        if !errors.is_empty() {
            let group = if resource.kind == "Event" { "" } else { resource.group };
            return Some((what, failure(invalid_status(group, resource.kind, &target.name, &errors))));
        }
        if strategy == Strategy::Service {
            if let Some(refused) = self.allocate(&mut object, Some(&old)) {
                return Some((what, refused));
            }
            take_allocations(&mut object, response);
        }
        strategy.normalise(&mut object);
        Some((what, Answer::Object(object)))
    }

    fn allocate(&mut self, service: &mut Value, old: Option<&Value>) -> Option<Answer> {
        let services = self.objects.iter().filter(|(key, _)| key.starts_with("services/"));
        let taken: Vec<_> = services.map(|(_, service)| service["spec"]["clusterIP"].clone()).collect();
        let given =
            builtin::allocate(service, old, &mut self.counter, |wanted| taken.iter().any(|ip| ip == wanted));
        let error = given.err()?;
        let name = service["metadata"]["name"].as_str().unwrap_or_default();
        Some(failure(invalid_status("", "Service", name, &[error])))
    }

    fn act(
        &mut self,
        resource: &Resource,
        target: &Target,
        exchange: &Exchange,
    ) -> Option<(&'static str, Answer)> {
        let body = &exchange.request.body;
        let name = match resource.strategy {
            Strategy::Binding => body["metadata"]["name"].as_str().unwrap_or_default(),
            _ => target.name.as_str(),
        };
        let key = format!("pods/{}/{name}", target.namespace);
        let mut pod = self.objects.get(&key)?.clone();
        let (what, done) = match target.subresource.as_str() {
            "eviction" => ("evict", builtin::evict(&mut pod, body, now()).map(drop)),
            _ => ("bind", builtin::bind(&mut pod, body, now())),
        };
        let answer = match done {
            Ok(()) => {
                if !exchange.request.target.contains("dryRun") {
                    self.objects.insert(key, pod);
                }
                Answer::Object(Value::Null)
            }
            Err(status) => failure(status),
        };
        Some((what, answer))
    }

    fn table(&mut self, exchange: &Exchange, resource: &Resource, target: &Target, response: &Value) {
        *self.compared.entry("table").or_default() += 1;
        let columns = resource.strategy.columns();
        let got: Vec<_> = columns
            .iter()
            .map(|column| {
                json!({
                    "name": column.name,
                    "type": column.column_type,
                    "format": column.format,
                    "priority": column.priority,
                })
            })
            .collect();
        let want = response["columnDefinitions"].as_array().expect("columns");
        // What is said of a column may be ours.
        let want: Vec<_> = want
            .iter()
            .map(|column| {
                let mut column = column.clone();
                column.as_object_mut().expect("a column").remove("description");
                column
            })
            .collect();
        if got != want {
            self.differences.push(format!("{} (columns)\n   got {got:?}\n  want {want:?}", exchange.name));
        }
        for row in response["rows"].as_array().into_iter().flatten() {
            let metadata = &row["object"]["metadata"];
            let namespace = metadata["namespace"].as_str().unwrap_or(&target.namespace);
            let name = metadata["name"].as_str().unwrap_or_default();
            let Some(object) = self.objects.get(&format!("{}/{namespace}/{name}", resource.plural)) else {
                continue;
            };
            let got = json!(resource.strategy.row(object, now()).cells);
            let ages = columns
                .iter()
                .map(|column| matches!(column.name, "Age" | "Last Seen" | "First Seen" | "Restarts"));
            let without_ages = |cells: &Value| {
                let cells = cells.as_array().into_iter().flatten().zip(ages.clone());
                cells.filter(|(_, age)| !age).map(|(cell, _)| cell.clone()).collect::<Vec<_>>()
            };
            if without_ages(&got) != without_ages(&row["cells"]) {
                self.differences
                    .push(format!("{} (row)\n   got {got}\n  want {}", exchange.name, row["cells"]));
            }
        }
    }

    fn check(self, least: &[(&str, usize)]) {
        assert!(
            self.differences.is_empty(),
            "{} differ:\n{}",
            self.differences.len(),
            self.differences.join("\n")
        );
        for (what, least) in least {
            let found = self.compared.get(what).copied().unwrap_or_default();
            assert!(found >= *least, "only {found} of {least} exchanges compared: {what}");
        }
    }
}

/// Addresses and ports are given by chance there.
fn take_allocations(service: &mut Value, response: &Value) {
    if response["kind"] != "Service" || response["spec"]["clusterIP"] == "None" {
        return;
    }
    for field in ["clusterIP", "clusterIPs"] {
        assert_eq!(service["spec"].get(field).is_some(), response["spec"].get(field).is_some(), "{field}");
        if let Some(given) = response["spec"].get(field) {
            service["spec"][field] = given.clone();
        }
    }
    let ports = service["spec"]["ports"].as_array_mut().into_iter().flatten();
    for (port, given) in ports.zip(response["spec"]["ports"].as_array().into_iter().flatten()) {
        if given.get("nodePort").is_some() {
            assert!(port["nodePort"].as_u64().is_some_and(|port| (30_000..32_768).contains(&port)));
            port["nodePort"] = given["nodePort"].clone();
        }
    }
}

/// The body of an update, patches applied; `None` for patches that are not for a test to apply.
fn patched(exchange: &Exchange, old: &Value) -> Option<Value> {
    let body = &exchange.request.body;
    if exchange.request.method == "PUT" {
        return Some(body.clone());
    }
    let mut object = old.clone();
    let kind = exchange.request.headers.get("content-type")?;
    match kind.as_str() {
        "application/merge-patch+json" => merge(&mut object, body, false),
        "application/strategic-merge-patch+json" => merge(&mut object, body, true),
        "application/json-patch+json" => {
            for step in body.as_array()? {
                let place = step["path"].as_str()?;
                match step["op"].as_str()? {
                    "replace" => *object.pointer_mut(place)? = step["value"].clone(),
                    "remove" => {
                        let (parent, key) = place.rsplit_once('/')?;
                        object.pointer_mut(parent)?.as_object_mut()?.remove(key)?;
                    }
                    _ => return None,
                }
            }
        }
        _ => return None,
    }
    Some(object)
}

fn merge(object: &mut Value, patch: &Value, by_key: bool) {
    let (Some(fields), Some(patch)) = (object.as_object_mut(), patch.as_object()) else {
        *object = patch.clone();
        return;
    };
    for (key, value) in patch {
        match (fields.get_mut(key), value) {
            (_, Value::Null) => _ = fields.remove(key),
            (Some(Value::Array(items)), Value::Array(added)) if by_key => merge_items(items, added),
            (Some(field), Value::Object(_)) => merge(field, value, by_key),
            (None, Value::Object(_)) => {
                let mut field = json!({});
                merge(&mut field, value, by_key);
                fields.insert(key.clone(), field);
            }
            (_, value) => _ = fields.insert(key.clone(), value.clone()),
        }
    }
}

/// New items stand before those that were there.
fn merge_items(items: &mut Vec<Value>, added: &[Value]) {
    for (index, item) in added.iter().enumerate() {
        let key = if item.get("type").is_some() { "type" } else { "name" };
        match items.iter_mut().find(|known| known[key] == item[key]) {
            Some(known) => merge(known, item, true),
            None => items.insert(index, item.clone()),
        }
    }
}

#[test]
fn replay_of_objects() {
    Replay::default().run(&recording("api-objects")).check(&[
        ("create", 16),
        ("update", 3),
        ("status", 4),
        ("bind", 2),
        ("evict", 1),
    ]);
}

#[test]
fn replay_of_the_protocol() {
    Replay::default().run(&recording("api-protocol")).check(&[("create", 14), ("update", 5), ("table", 1)]);
}

#[test]
fn replay_of_a_further_recording() {
    if let Some(path) = std::env::var_os("LARIAT_BUILTIN_RECORDING") {
        Replay::default().run(&Recording::open(path).expect("the recording can be read")).check(&[]);
    }
}

/// Every object of a built-in kind that is in a recording, from answers, lists and watches.
fn every_object(name: &str) -> Vec<(Strategy, Value)> {
    let mut found = Vec::new();
    for exchange in recording(name).exchanges {
        let Some(target) = Target::parse(&exchange.request.method, &exchange.request.target) else {
            continue;
        };
        let Some(resource) = builtin::find(&target.resource.group, &target.resource.plural) else { continue };
        let body = exchange.body();
        for value in serde_json::Deserializer::from_slice(&body).into_iter::<Value>().map_while(Result::ok) {
            if let Some(items) = value["items"].as_array().filter(|_| value["kind"] == resource.list_kind) {
                for item in items {
                    let mut item = item.clone();
                    item["kind"] = resource.kind.into();
                    item["apiVersion"] = resource.api_version().into();
                    found.push((resource.strategy, item));
                }
            }
            for object in [&value, &value["object"]] {
                let whole = object["kind"] == resource.kind && object["apiVersion"] == resource.api_version();
                // Bookmarks have nothing but a version.
                if whole && object["metadata"]["name"].is_string() {
                    found.push((resource.strategy, object.clone()));
                }
            }
        }
    }
    found
}

#[test]
fn replay_of_stored_objects_changes_nothing() {
    let mut kinds = BTreeMap::new();
    for name in ["agones-buffer-autoscale", "api-objects", "api-protocol", "api-expiry-and-restart"] {
        for (strategy, object) in every_object(name) {
            if strategy == Strategy::CustomResourceDefinition {
                continue;
            }
            let mut decoded = object.clone();
            assert_eq!(strategy.decode(&mut decoded), Ok(Vec::new()), "{object}");
            assert_eq!(decoded, object, "decoding");
            strategy.normalise(&mut decoded);
            assert_eq!(decoded, object, "writing");
            *kinds.entry(strategy.resource().plural).or_insert(0) += 1;
        }
    }
    for (plural, least) in [("configmaps", 100), ("events", 400), ("nodes", 3), ("pods", 100), ("leases", 2)]
    {
        assert!(kinds.get(plural).is_some_and(|count| *count >= least), "{plural}: {kinds:?}");
    }
}

#[test]
fn replay_of_discovery() {
    let exchanges = recording("api-protocol").exchanges;
    let body = |name: &str| {
        let exchange = exchanges.iter().find(|exchange| exchange.name == name).expect("an exchange");
        serde_json::from_slice::<Value>(&exchange.body()).expect("JSON")
    };
    let core = body("discovery core");
    let recorded = core["resources"].as_array().expect("resources");
    let ours: Vec<_> =
        builtin::registry().filter(|known| known.group.is_empty()).flat_map(Resource::discovery).collect();
    // What we serve is there in the same order and form.
    let theirs: Vec<_> = recorded
        .iter()
        .filter(|theirs| ours.iter().any(|ours| ours["name"] == theirs["name"]))
        .cloned()
        .collect();
    assert_eq!(ours, theirs);

    let aggregated = body("aggregated discovery");
    for resource in builtin::registry().filter(|known| !known.group.is_empty()) {
        let groups = aggregated["items"].as_array().expect("groups");
        let group =
            groups.iter().find(|group| group["metadata"]["name"] == resource.group).expect("the group");
        let resources = group["versions"][0]["resources"].as_array().expect("resources");
        let recorded = resources.iter().find(|found| found["resource"] == resource.plural);
        assert_eq!(Some(&resource.aggregated_discovery()), recorded);
    }
}

#[test]
fn replay_of_events_in_both_groups() {
    let exchanges = recording("api-objects").exchanges;
    let body = |name: &str| {
        let exchange = exchanges.iter().find(|exchange| exchange.name == name).expect("an exchange");
        serde_json::from_slice::<Value>(&exchange.body()).expect("JSON")
    };
    let (core, other) = (body("event patch count"), body("same event through events.k8s.io"));
    assert_eq!(builtin::from_core(&core), other);
    assert_eq!(builtin::to_core(&other), core);
}

#[test]
fn replay_of_deletions() {
    let exchanges = recording("api-objects").exchanges;
    let find = |name: &str| exchanges.iter().find(|exchange| exchange.name == name).expect("an exchange");
    let body = |name: &str| serde_json::from_slice::<Value>(&find(name).body()).expect("JSON");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_955_006);
    // 2026-11-29T12:23:26Z, when the pod was deleted.
    let versionless = |mut object: Value| {
        object["metadata"].as_object_mut().expect("metadata").remove("resourceVersion");
        object
    };

    let mut pod = body("pod label patch");
    assert_eq!(Strategy::Pod.delete(&mut pod, Some(30), time), Deletion::Mark);
    assert_eq!(versionless(pod.clone()), versionless(body("pod delete with grace marks")));
    assert_eq!(Strategy::Pod.delete(&mut pod, Some(0), time), Deletion::MarkThenRemove);
    assert_eq!(versionless(pod), versionless(body("pod delete with grace 0 removes")));

    let mut namespace = body("namespace create");
    let time = time + Duration::from_secs(26);
    assert_eq!(Strategy::Namespace.delete(&mut namespace, None, time), Deletion::Mark);
    assert_eq!(versionless(namespace), versionless(body("namespace delete")));
}
