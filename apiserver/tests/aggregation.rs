//! A further API beside the built-in kinds and custom resources.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod raw;
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use lariat_api::{Kind, Status};
use lariat_apiserver::{
    AggregateError, AggregatedApi, AggregatedRequest, AggregatedResource, ApiServer, Fault, FaultPlan, Rule,
    Verb,
};
use raw::Raw;
use serde_json::{Value, json};
use support::Server;
use tokio::time::Instant;

const SUMS: Kind = Kind::namespaced("calculator.example.dev", "v1", "Sum", "sums");
const CONSTANTS: Kind = Kind::cluster("calculator.example.dev", "v1", "Constant", "constants");
const ROOT: &str = "/apis/calculator.example.dev/v1";
const DISCOVERY: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// Adds numbers up, and knows a constant.
#[derive(Default)]
struct Calculator(Mutex<Vec<AggregatedRequest>>);

impl AggregatedApi for Calculator {
    fn resources(&self) -> Vec<AggregatedResource> {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"numbers": {"type": "array", "items": {"type": "integer"}}}},
            "status": {"type": "object", "properties": {"sum": {"type": "integer"}}},
        }});
        vec![
            AggregatedResource::new(SUMS, [Verb::Create]).short_name("sm").schema(schema),
            AggregatedResource::new(CONSTANTS, [Verb::Get, Verb::List, Verb::Patch, Verb::Delete])
                .category("maths"),
        ]
    }

    async fn answer(&self, request: AggregatedRequest) -> Result<Value, Status> {
        self.0.lock().unwrap().push(request.clone());
        match (&*request.resource, request.verb) {
            ("sums", _) => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let mut sum = request.body;
                let numbers = sum["spec"]["numbers"].as_array().cloned().unwrap_or_default();
                if numbers.is_empty() {
                    let message = "nothing to add".into();
                    return Err(Status { status: "Failure".into(), message, code: 422, ..Status::default() });
                }
                sum["status"]["sum"] = numbers.iter().filter_map(Value::as_i64).sum::<i64>().into();
                Ok(sum)
            }
            (_, Verb::List) => {
                Ok(json!({"kind": "ConstantList", "apiVersion": "calculator.example.dev/v1", "items": []}))
            }
            (_, Verb::Get) if request.name == "namespaces" => {
                let stream = request.server.connect().unwrap();
                let (mut sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
                tokio::spawn(connection);
                let asked = http::Request::get("/api/v1/namespaces")
                    .body(http_body_util::Empty::<Bytes>::new())
                    .unwrap();
                let body =
                    sender.send_request(asked).await.unwrap().into_body().collect().await.unwrap().to_bytes();
                let list: Value = serde_json::from_slice(&body).unwrap();
                Ok(json!({"value": list["items"].as_array().map_or(0, Vec::len)}))
            }
            (_, Verb::Get) => Err(Status { message: "no such constant".into(), ..Status::default() }),
            _ => Ok(json!([])),
        }
    }
}

fn server() -> (Server, Arc<Calculator>) {
    let server = Server::new(ApiServer::builder());
    let calculator = Arc::<Calculator>::default();
    server.server.aggregate(calculator.clone()).unwrap();
    (server, calculator)
}

async fn get(raw: &mut Raw, target: &str) -> Value {
    let (code, answer) = raw.json(Method::GET, target, &Value::Null).await;
    assert_eq!(code, 200, "{target}: {answer}");
    answer
}

fn sum(numbers: &Value) -> Value {
    json!({"apiVersion": "calculator.example.dev/v1", "kind": "Sum", "metadata": {"name": "a"}, "spec": {"numbers": numbers}})
}

#[tokio::test(start_paused = true)]
async fn discovery_shows_it_in_all_forms() {
    let (server, _) = server();
    let mut raw = Raw::connect(&server.server).await;
    let groups = get(&mut raw, "/apis").await;
    let names: Vec<_> = groups["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
    assert_eq!(**names.last().unwrap(), "calculator.example.dev");
    assert_eq!(names.iter().filter(|name| ***name == "calculator.example.dev").count(), 1);
    let group = get(&mut raw, "/apis/calculator.example.dev").await;
    assert_eq!(group["preferredVersion"]["groupVersion"], "calculator.example.dev/v1");
    let resources = get(&mut raw, ROOT).await;
    assert_eq!(
        resources["resources"],
        json!([
            {"name": "sums", "singularName": "sum", "namespaced": true, "kind": "Sum", "verbs": ["create"],
             "shortNames": ["sm"]},
            {"name": "constants", "singularName": "constant", "namespaced": false, "kind": "Constant",
             "verbs": ["delete", "get", "list", "patch"], "categories": ["maths"]},
        ])
    );
    let (code, _, body) = raw.get_as("/apis", DISCOVERY).await;
    let all: Value = serde_json::from_slice(&body).unwrap();
    let ours = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["metadata"]["name"] == "calculator.example.dev");
    let ours = &ours.unwrap()["versions"][0];
    assert_eq!(
        (code, &ours["freshness"], &ours["resources"][0]["shortNames"]),
        (200, &json!("Current"), &json!(["sm"]))
    );
    assert_eq!(ours["resources"][1]["scope"], "Cluster");
}

#[tokio::test(start_paused = true)]
async fn openapi_has_its_schemas_and_only_what_can_be_asked() {
    let (server, _) = server();
    let mut raw = Raw::connect(&server.server).await;
    let index = get(&mut raw, "/openapi/v3").await;
    let url =
        index["paths"]["apis/calculator.example.dev/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let document = get(&mut raw, &url).await;
    let collection = &document["paths"][format!("{ROOT}/namespaces/{{namespace}}/sums")];
    let methods: Vec<_> = collection.as_object().unwrap().keys().collect();
    assert_eq!(methods, ["post"]);
    let schema = &document["components"]["schemas"]["dev.example.calculator.v1.Sum"];
    assert_eq!(schema["properties"]["spec"]["properties"]["numbers"]["type"], "array");
    let v2 = get(&mut raw, "/openapi/v2").await;
    assert_eq!(v2["definitions"]["dev.example.calculator.v1.Sum"]["properties"]["status"]["type"], "object");
}

#[tokio::test(start_paused = true)]
async fn a_request_comes_parsed_and_is_answered() {
    let (server, calculator) = server();
    let mut raw = Raw::connect(&server.server).await;
    let start = Instant::now();
    let target = format!("{ROOT}/namespaces/default/sums?dryRun=All&x=a%20b");
    let (code, answer) = raw.json(Method::POST, &target, &sum(&json!([1, 2, 3]))).await;
    assert_eq!((code, &answer["status"]["sum"]), (201, &json!(6)));
    assert_eq!(start.elapsed(), Duration::from_secs(1), "time is the runtime's");
    let request = calculator.0.lock().unwrap().pop().unwrap();
    assert_eq!((request.verb, &*request.namespace, &*request.resource), (Verb::Create, "default", "sums"));
    assert_eq!(
        (&*request.user.name, request.parameter("x"), request.is_dry_run()),
        ("admin", Some("a b"), true)
    );
    assert_eq!(request.body["metadata"], json!({"name": "a", "namespace": "default"}));

    let yaml = "spec: {numbers: [4, 5]}";
    let target = format!("{ROOT}/namespaces/other/sums");
    let response = raw.send(&Method::POST, &target, "application/yaml", yaml).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&answer["kind"], &answer["metadata"]["namespace"], &answer["status"]["sum"]),
        (&json!("Sum"), &json!("other"), &json!(9))
    );

    let (code, media_type, body) = raw.get_as(&format!("{ROOT}/constants"), "application/yaml").await;
    assert_eq!((code, &*media_type), (200, "application/yaml"));
    assert_eq!(&*body, b"apiVersion: calculator.example.dev/v1\nitems: []\nkind: ConstantList\n");

    let patch = json!({"a": 1});
    let (code, answer) = raw.json(Method::PATCH, &format!("{ROOT}/constants/e"), &patch).await;
    assert_eq!((code, &answer["reason"]), (500, &json!("InternalError")), "what is no object is no answer");
    let request = calculator.0.lock().unwrap().pop().unwrap();
    assert_eq!(
        (&*request.name, &request.body, &*request.media_type),
        ("e", &patch, "application/merge-patch+json")
    );
}

#[tokio::test(start_paused = true)]
async fn what_it_refuses_is_a_status() {
    let (server, calculator) = server();
    let mut raw = Raw::connect(&server.server).await;
    let sums = format!("{ROOT}/namespaces/default/sums");
    let (code, answer) = raw.json(Method::POST, &sums, &sum(&json!([]))).await;
    assert_eq!(
        (code, &answer["kind"], &answer["message"]),
        (422, &json!("Status"), &json!("nothing to add"))
    );
    let (code, answer) = raw.json(Method::GET, &format!("{ROOT}/constants/e"), &Value::Null).await;
    assert_eq!((code, &answer["message"]), (500, &json!("no such constant")), "no code is 500");

    calculator.0.lock().unwrap().clear();
    for (method, target, body, wanted) in [
        (Method::GET, sums.clone(), Value::Null, 405),
        (Method::GET, format!("{sums}/a"), Value::Null, 405),
        (Method::GET, format!("{sums}?watch=true"), Value::Null, 405),
        (Method::DELETE, sums.clone(), Value::Null, 405),
        (Method::PUT, format!("{sums}/a"), sum(&json!([1])), 405),
        (Method::POST, format!("{ROOT}/sums"), sum(&json!([1])), 405),
        (Method::GET, format!("{ROOT}/constants?watch=true"), Value::Null, 405),
        (Method::POST, format!("{sums}/a/status"), sum(&json!([1])), 404),
        (Method::GET, format!("{ROOT}/products"), Value::Null, 404),
        (Method::GET, format!("{ROOT}/namespaces/default/constants"), Value::Null, 404),
        (Method::POST, sums.clone(), json!({"kind": "Difference"}), 400),
        (Method::POST, sums.clone(), json!({"apiVersion": "calculator.example.dev/v2"}), 400),
        (Method::POST, sums.clone(), json!({"metadata": {"namespace": "other"}}), 400),
        (Method::POST, sums.clone(), json!({"metadata": 7}), 400),
        (Method::POST, sums.clone(), json!([1]), 400),
        (Method::POST, sums.clone(), Value::Null, 400),
        (Method::POST, format!("{sums}?fieldValidation=Perhaps"), sum(&json!([1])), 422),
    ] {
        let (code, answer) = raw.json(method.clone(), &target, &body).await;
        assert_eq!((code, &answer["kind"]), (wanted, &json!("Status")), "{method} {target} {body}: {answer}");
    }
    assert!(calculator.0.lock().unwrap().is_empty(), "the API hears of none of them");
    let response =
        raw.send(&Method::POST, &sums, "application/vnd.kubernetes.protobuf", "k8s").await.unwrap();
    assert_eq!(response.status(), 415);
}

#[tokio::test(start_paused = true)]
async fn fields_that_its_schema_does_not_have_are_dropped_and_told_of() {
    let (server, calculator) = server();
    let mut raw = Raw::connect(&server.server).await;
    let mut body = sum(&json!([1]));
    body["spec"]["numbrs"] = json!([2]);
    let sums = format!("{ROOT}/namespaces/default/sums");
    let (code, answer) = raw.json(Method::POST, &format!("{sums}?fieldValidation=Strict"), &body).await;
    assert_eq!(code, 400);
    assert!(answer["message"].as_str().unwrap().contains("unknown field \"spec.numbrs\""), "{answer}");
    let response = raw.send(&Method::POST, &sums, "application/json", body.to_string()).await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers().contains_key("warning")), (201, true));
    drop(response.into_body().collect().await.unwrap());
    assert_eq!(calculator.0.lock().unwrap().pop().unwrap().body["spec"], json!({"numbers": [1]}));
    let ignore = format!("{sums}?fieldValidation=Ignore");
    let response = raw.send(&Method::POST, &ignore, "application/json", body.to_string()).await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers().contains_key("warning")), (201, false));
}

#[tokio::test(start_paused = true)]
async fn it_reaches_its_server_without_a_token_which_others_need() {
    let server = ApiServer::builder().token("secret").build();
    server.aggregate(Calculator::default()).unwrap();
    let mut raw = Raw::connect(&server).await;
    let (code, _) = raw.json(Method::GET, &format!("{ROOT}/constants"), &Value::Null).await;
    assert_eq!(code, 401);
    let loopback = server.loopback();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(loopback.connect().unwrap())).await.unwrap();
    tokio::spawn(connection);
    let target = format!("{ROOT}/constants/namespaces");
    let asked = http::Request::get(target).body(http_body_util::Empty::<Bytes>::new()).unwrap();
    let body = sender.send_request(asked).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&answer["kind"], &answer["value"]), (&json!("Constant"), &json!(4)), "{answer}");
    drop((server, sender, raw));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(loopback.connect().is_err(), "it does not keep the server");
}

#[tokio::test(start_paused = true)]
async fn faults_strike_it_as_any_other_resource() {
    let (server, _) = server();
    let refuse = Fault::answer(503, "ServiceUnavailable", None);
    server.server.set_faults(FaultPlan::seeded(1).rule(Rule::new(refuse).resource("sums").times(1)));
    let mut raw = Raw::connect(&server.server).await;
    let sums = format!("{ROOT}/namespaces/default/sums");
    assert_eq!(raw.json(Method::POST, &sums, &sum(&json!([1]))).await.0, 503);
    assert_eq!(raw.json(Method::POST, &sums, &sum(&json!([1]))).await.0, 201);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_added_is_not() {
    struct Of(Vec<AggregatedResource>);
    impl AggregatedApi for Of {
        fn resources(&self) -> Vec<AggregatedResource> {
            self.0.clone()
        }
        async fn answer(&self, _request: AggregatedRequest) -> Result<Value, Status> {
            Ok(json!({}))
        }
    }
    let (server, _) = server();
    server.define_widgets().await;
    let add = |kinds: &[Kind]| {
        let resources = kinds.iter().map(|kind| AggregatedResource::new(kind.clone(), [Verb::Get])).collect();
        server.server.aggregate(Of(resources))
    };
    let other = Kind::namespaced("other.example.dev", "v1", "Other", "others");
    assert_eq!(add(&[]), Err(AggregateError::Empty));
    let taken = |api_version: &str| Err(AggregateError::Taken { api_version: api_version.to_owned() });
    assert_eq!(add(&[other.clone(), SUMS]), taken("calculator.example.dev/v1"));
    assert_eq!(add(&[Kind::namespaced("example.dev", "v1", "Gadget", "gadgets")]), taken("example.dev/v1"));
    assert_eq!(add(&[other.clone(), other.clone()]), taken("other.example.dev/v1"));
    for kind in [
        Kind::namespaced("", "v1", "Other", "others"),
        Kind::namespaced("a.dev", "v1", "Other", "others/x"),
        Kind::namespaced("a.dev", "v/1", "Other", "others"),
        Kind::namespaced("a.dev", "v1", "", "others"),
    ] {
        assert!(matches!(add(&[kind]), Err(AggregateError::Name { .. })));
    }
    let broken = AggregatedResource::new(other.clone(), [Verb::Get]).schema(json!({"type": 7}));
    assert!(matches!(server.server.aggregate(Of(vec![broken])), Err(AggregateError::Schema { .. })));
    assert_eq!(add(&[other]), Ok(()), "nothing of what was refused stayed");
}
