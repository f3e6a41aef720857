//! The recorded life of a custom resource, from its definition on, answered by the schemas instead of a server.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use lariat_api::Status;
use lariat_apiserver::schema::{
    CustomResource, CustomResourceDefinition, ListType, Segment, apply_scale, duplicate_field,
    duplicate_fields, invalid_status, scale, strict_status, unknown_field,
};
use lariat_fixtures::{Exchange, Recording, recording_path};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.dev/v1/namespaces/rec/widgets";

/// What the rest of a server answers: no schema has a part in it.
const NOT_OURS: [&str; 10] = [
    "list before the definition exists",
    "list after the definition is gone",
    "widgets watch by selectable field", // 429, the storage is being initialized
    "widgets watch",
    "widget get",
    "widget strategic patch is refused",
    "widget update without resourceVersion",
    "widget update of one that does not exist",
    "widget uid differs",
    "all widgets",
];

struct World {
    definition: CustomResourceDefinition,
    objects: BTreeMap<String, Value>,
}

fn exchanges() -> Vec<Exchange> {
    let recording = Recording::open(recording_path("api-objects")).expect("the recording is there");
    let words = ["widget", "definition", "wrong kind in body"];
    let ours = |exchange: &Exchange| words.iter().any(|word| exchange.name.contains(word));
    recording.exchanges.into_iter().filter(ours).collect()
}

fn body(exchange: &Exchange) -> Value {
    serde_json::from_slice(&exchange.body()).expect("the answer is JSON")
}

/// Takes away what the schemas do not decide.
fn masked(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace"] {
            metadata.remove(field);
        }
    }
    object
}

fn time(text: &Value) -> SystemTime {
    // All recorded times are of one day.
    let text = text.as_str().expect("a time");
    let clock =
        text.strip_prefix("2026-11-29T").and_then(|rest| rest.strip_suffix('Z')).expect("a time of that day");
    let seconds = clock.split(':').fold(0, |sum, part| sum * 60 + part.parse::<u64>().expect("a number"));
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_910_400 + seconds)
}

impl World {
    fn widgets(&self) -> CustomResource {
        CustomResource::compile(&self.definition, "v1").expect("it compiles").expect("v1 is there")
    }

    /// What a server answers to a new object, and the warnings.
    fn create(&mut self, target: &str, body: &Value) -> (Result<Value, Status>, Vec<String>) {
        let widgets = self.widgets();
        let mut object = body.clone();
        let bytes = serde_json::to_vec(body).expect("JSON can be written");
        let mut problems: Vec<_> =
            duplicate_fields(&bytes).iter().map(|path| duplicate_field(path)).collect();
        problems.extend(widgets.decode(&mut object).iter().map(|path| unknown_field(path)));
        if target.contains("fieldValidation=Strict") && !problems.is_empty() {
            return (Err(strict_status("Widget", "v1", &problems)), Vec::new());
        }
        widgets.prepare_for_create(&mut object);
        let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
        let errors = widgets.validate_create(&object);
        if !errors.is_empty() {
            // The answer names the kind that the client sent.
            let kind = object["kind"].as_str().expect("a kind");
            return (Err(invalid_status("example.dev", kind, &name, &errors)), problems);
        }
        self.objects.insert(name, object.clone());
        (Ok(object), problems)
    }

    fn update(&mut self, name: &str, mut object: Value, subresource: &str) -> Result<Value, Status> {
        let widgets = self.widgets();
        let old = self.objects.get(name).expect("it was created before").clone();
        widgets.decode(&mut object);
        let errors = if subresource == "status" {
            widgets.prepare_for_status_update(&mut object, &old);
            widgets.validate_status_update(&object, &old)
        } else {
            widgets.prepare_for_update(&mut object, &old);
            widgets.validate_update(&object, &old)
        };
        if !errors.is_empty() {
            return Err(invalid_status("example.dev", "Widget", name, &errors));
        }
        self.objects.insert(name.to_owned(), object.clone());
        Ok(object)
    }
}

fn merge(into: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) => fields.iter().for_each(|(key, field)| merge(&mut into[key], field)),
        scalar => *into = scalar.clone(),
    }
}

#[track_caller]
fn compare(exchange: &Exchange, answer: Result<Value, Status>) {
    let code = exchange.status.expect("it was answered");
    match answer {
        Ok(object) => {
            assert!((200..300).contains(&code), "{}: accepted here, recorded {code}", exchange.name);
            assert_eq!(masked(object), masked(body(exchange)), "{}", exchange.name);
        }
        Err(status) => assert_eq!(status, Status::from_response(code, &exchange.body()), "{}", exchange.name),
    }
}

/// Plays all exchanges up to the one where `stop` says so, comparing each.
fn play(mut each: impl FnMut(&World, &Exchange)) -> usize {
    let mut world = World { definition: CustomResourceDefinition::default(), objects: BTreeMap::new() };
    let mut compared = 0;
    for exchange in exchanges() {
        let (method, target) = (exchange.request.method.as_str(), exchange.request.target.as_str());
        let path = target.split('?').next().unwrap_or_default();
        let request = &exchange.request.body;
        let name = path.strip_prefix(WIDGETS).unwrap_or_default().trim_start_matches('/');
        let (name, subresource) = name.split_once('/').unwrap_or((name, ""));
        if NOT_OURS.contains(&exchange.name.as_str()) {
            continue;
        }
        each(&world, &exchange);
        compared += 1;
        match (method, exchange.name.as_str()) {
            ("POST", _) if path == DEFINITIONS => {
                world.definition = serde_json::from_value(request.clone()).expect("it is a definition");
                world.definition.metadata.insert("generation".into(), 1.into());
                world.definition.prepare_for_create();
                assert_eq!(world.definition.validate(), []);
                compare(&exchange, Ok(serde_json::to_value(&world.definition).expect("it can be written")));
            }
            (_, "definition established") => {
                let now = time(&body(&exchange)["metadata"]["creationTimestamp"]);
                assert!(world.definition.accept_names([], now), "it changed");
                assert!(!world.definition.accept_names([], now), "it does not change again");
                compare(&exchange, Ok(serde_json::to_value(&world.definition).expect("it can be written")));
            }
            (_, "definition delete ends watches") => {
                let answer = body(&exchange);
                let now = time(&answer["metadata"]["deletionTimestamp"]);
                let message =
                    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
                world.definition.set_condition("Terminating", true, "InstanceDeletionPending", message, now);
                for field in ["deletionTimestamp", "finalizers"] {
                    world.definition.metadata.insert(field.into(), answer["metadata"][field].clone());
                }
                compare(&exchange, Ok(serde_json::to_value(&world.definition).expect("it can be written")));
            }
            ("POST", _) => {
                let (answer, warnings) = world.create(target, request);
                compare(&exchange, answer);
                let warning = warnings.first().map(|text| format!("299 - {text:?}"));
                assert_eq!(exchange.headers.get("warning"), warning.as_ref(), "{}", exchange.name);
            }
            ("PUT", _) if subresource == "scale" => {
                let paths = world.widgets().scale.expect("there is a scale");
                let mut object = world.objects[name].clone();
                apply_scale(&paths, &mut object, request).expect("there is a place for it");
                let object = world.update(name, object, "").expect("it is valid");
                compare(&exchange, Ok(scale(&paths, &object).expect("there is a scale")));
            }
            ("GET", _) if subresource == "scale" => {
                let paths = world.widgets().scale.expect("there is a scale");
                compare(&exchange, Ok(scale(&paths, &world.objects[name]).expect("there is a scale")));
            }
            ("PUT", _) => compare(&exchange, world.update(name, request.clone(), subresource)),
            ("PATCH", _) if exchange.request.headers["content-type"].contains("merge-patch") => {
                let mut object = world.objects[name].clone();
                merge(&mut object, request);
                compare(&exchange, world.update(name, object, subresource));
            }
            // Applied for the first time, it is created; later, the list is merged by the key that the schema names.
            ("PATCH", "widget apply") => compare(&exchange, world.create(target, request).0),
            ("PATCH", _) => {
                let mut object = body(&exchange);
                let items = [Segment::Field("spec"), Segment::Field("items")];
                let widgets = world.widgets();
                let list = widgets.schema.at(&items).expect("it is in the schema");
                assert_eq!(
                    (list.list_type(), list.list_map_keys()),
                    (ListType::Map, &["name".to_owned()][..])
                );
                object["metadata"]["generation"] = json!(0);
                compare(&exchange, world.update(name, object, ""));
            }
            ("GET", "widgets by selectable field") => {
                let widgets = world.widgets();
                assert_eq!(widgets.selectable_fields().collect::<Vec<_>>(), ["spec.colour"]);
                let is_green =
                    |object: &&Value| widgets.field_values(object) == [("spec.colour", "green".to_owned())];
                let found: Vec<_> = world.objects.values().filter(is_green).cloned().map(masked).collect();
                let items = body(&exchange)["items"].as_array().expect("a list").clone();
                assert_eq!(found, items.into_iter().map(masked).collect::<Vec<_>>());
            }
            ("GET", "widgets as table") => {
                let (widgets, answer) = (world.widgets(), body(&exchange));
                // What is said of names and ages may be ours.
                let plain = |columns: &Value| {
                    let mut columns = columns.clone();
                    for column in columns.as_array_mut().expect("columns") {
                        if matches!(column["name"].as_str(), Some("Name" | "Age")) {
                            column["description"].take();
                        }
                    }
                    columns
                };
                assert_eq!(plain(&json!(widgets.columns.definitions())), plain(&answer["columnDefinitions"]));
                let rows = answer["rows"].as_array().expect("rows");
                assert_eq!(rows.len(), world.objects.len());
                for (row, object) in rows.iter().zip(world.objects.values()) {
                    let mut object = object.clone();
                    object["metadata"]["creationTimestamp"] =
                        row["object"]["metadata"]["creationTimestamp"].clone();
                    let now = time(&object["metadata"]["creationTimestamp"]) + Duration::from_millis(1500);
                    assert_eq!(json!(widgets.cells(&object, now)), row["cells"]);
                }
            }
            (method, name) => panic!("{name}: nothing is compared for this {method}"),
        }
    }
    compared
}

#[test]
fn the_life_of_a_custom_resource_is_replayed() {
    assert_eq!(play(|_, _| ()), 33);
}

#[test]
fn what_a_server_stored_stays_as_it_is_in_replay() {
    let mut seen = 0;
    play(|world, exchange| {
        if world.definition.spec.versions.is_empty() || exchange.status.is_none_or(|code| code > 299) {
            return;
        }
        let answer = body(exchange);
        let items = answer.get("items").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![answer]);
        for item in items.into_iter().filter(|item| item["kind"] == "Widget") {
            let mut again = item.clone();
            let widgets = world.widgets();
            assert_eq!(widgets.decode(&mut again), [""; 0], "{}", exchange.name);
            assert_eq!(again, item, "{}", exchange.name);
            assert_eq!(widgets.validate_create(&again), [], "{}", exchange.name);
            seen += 1;
        }
    });
    assert!(seen >= 10, "{seen} objects");
}

#[test]
fn a_definition_survives_a_round_trip_in_replay() {
    for exchange in exchanges().iter().filter(|exchange| exchange.request.target.starts_with(DEFINITIONS)) {
        let answer = body(exchange);
        let definition: CustomResourceDefinition =
            serde_json::from_value(answer.clone()).expect("it is a definition");
        assert_eq!(
            serde_json::to_value(&definition).expect("it can be written"),
            answer,
            "{}",
            exchange.name
        );
        assert_eq!(definition.validate(), [], "{}", exchange.name);
    }
}

/// All objects of a kind in the answers of a recording, from single objects, lists and watches.
fn objects_of_kind(recording: &Recording, kind: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    for exchange in &recording.exchanges {
        let bytes = exchange.body();
        for value in serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>().map_while(Result::ok) {
            let items = value.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
            let event = value.get("object").cloned();
            objects.extend(
                items.into_iter().chain(event).chain([value]).filter(|object| object["kind"] == kind),
            );
        }
    }
    objects
}

#[test]
fn the_fleets_of_agones_are_valid_in_replay() {
    let protocol = Recording::open(recording_path("api-protocol")).expect("the recording is there");
    let find = |name: &str| {
        protocol.exchanges.iter().find(|exchange| exchange.name == name).expect("it is recorded")
    };
    let answer = body(find("crd get"));
    let definition: CustomResourceDefinition =
        serde_json::from_value(answer.clone()).expect("it is a definition");
    assert_eq!(serde_json::to_value(&definition).expect("it can be written"), answer);
    assert_eq!(definition.validate(), []);
    let fleets = CustomResource::compile(&definition, "v1").expect("it compiles").expect("v1 is there");

    let buffer = Recording::open(recording_path("agones-buffer-autoscale")).expect("the recording is there");
    let mut objects = objects_of_kind(&buffer, "Fleet");
    objects.extend(objects_of_kind(&protocol, "Fleet"));
    assert!(objects.len() > 20, "{} fleets", objects.len());
    // A bookmark is an object of the kind, too, but only in name.
    for object in objects.into_iter().filter(|object| object.get("spec").is_some()) {
        let mut again = object.clone();
        assert_eq!(fleets.decode(&mut again), [""; 0]);
        assert_eq!(again, object);
        assert_eq!(fleets.validate_create(&again), []);
    }

    let invalid = find("fleet invalid by schema");
    let mut object = invalid.request.body.clone();
    fleets.decode(&mut object);
    let status = invalid_status("agones.dev", "Fleet", "badfleet", &fleets.validate_create(&object));
    assert_eq!(status, Status::from_response(422, &invalid.body()));
}
