//! What kubectl asks for and sends beyond JSON objects: bodies in protobuf, tables, questions for access, and documents of what
//! there is. The expected answers are those of kube-apiserver 1.36.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod raw;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http_body_util::BodyExt as _;
use lariat_api::Randomness;
use lariat_apiserver::ApiServer;
use raw::Raw;
use serde_json::{Value, json};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// Bodies that kubectl 1.36.3 sent.
const NAMESPACE: &str = "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEh0KFQoFYXJlbmESABoAIgAqADIAOABCABIAGgIKABoAIgA=";
const SECRET: &str =
    "azhzAAoMCgJ2MRIGU2VjcmV0Ei4KEwoDa2V5EgAaACIAKgAyADgAQgASFQoIcGFzc3dvcmQSCXN3b3JkZmlzaBoAGgAiAA==";
const ACCESS: &str = "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSRQoQCgASABoAIgAqADIAOABCABInCiUKB2RlZmF1bHQSBmNyZWF0ZRoAIgAqBHBvZHMyBnN0YXR1czoAGggIABIAGgAgABoAIgA=";

/// Deletion without grace that orphans, of the object with the uid `11111111-2222-3333-4444-555555555555`.
const DELETE_OPTIONS: &str = "azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxIyCAASJgokMTExMTExMTEtMjIyMi0zMzMzLTQ0NDQtNTU1NTU1NTU1NTU1IgZPcnBoYW4aACIA";

/// The columns of each kind: `:type` if it is not a string, `=name` for the format of names, `*` for those that only `-o wide` shows.
const COLUMNS: [(&str, &str); 12] = [
    ("/api/v1/configmaps", "Name=name, Data, Age"),
    (
        "/api/v1/events",
        "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name=name*",
    ),
    ("/api/v1/namespaces", "Name=name, Status, Age"),
    (
        "/api/v1/nodes",
        "Name=name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*, Kernel-Version*, Container-Runtime*",
    ),
    (
        "/api/v1/pods",
        "Name=name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*",
    ),
    ("/api/v1/secrets", "Name=name, Type, Data, Age"),
    ("/api/v1/serviceaccounts", "Name=name, Age"),
    ("/api/v1/services", "Name=name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*"),
    ("/apis/coordination.k8s.io/v1/leases", "Name=name, Holder, Age"),
    (
        "/apis/events.k8s.io/v1/events",
        "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name=name*",
    ),
    (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        "Name=name, Value:integer, Global-Default:boolean, Age, PreemptionPolicy",
    ),
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "Name=name, Created At:date"),
];

async fn server() -> (ApiServer, Raw) {
    let server = ApiServer::builder().randomness(Randomness::seeded(1)).build();
    let raw = Raw::connect(&server).await;
    (server, raw)
}

async fn send(raw: &mut Raw, method: Method, target: &str, body: &[u8]) -> (u16, Value) {
    let response = raw.send(&method, target, PROTOBUF, body.to_vec()).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

#[tokio::test(start_paused = true)]
async fn objects_are_created_from_protobuf() {
    let (server, mut raw) = server().await;
    let (code, created) =
        send(&mut raw, Method::POST, "/api/v1/namespaces", &STANDARD.decode(NAMESPACE).unwrap()).await;
    assert_eq!((code, &created["metadata"]["name"]), (201, &json!("arena")), "{created}");
    assert_eq!(created["spec"], json!({"finalizers": ["kubernetes"]}));

    let target = "/api/v1/namespaces/arena/secrets?fieldManager=kubectl-create&fieldValidation=Strict";
    let (code, created) = send(&mut raw, Method::POST, target, &STANDARD.decode(SECRET).unwrap()).await;
    assert_eq!((code, &created["data"]), (201, &json!({"password": "c3dvcmRmaXNo"})), "{created}");
    // What the sender left empty is nobody's.
    let fields = json!({"f:data": {".": {}, "f:password": {}}, "f:type": {}});
    assert_eq!(created["metadata"]["managedFields"][0]["fieldsV1"], fields);
    assert_eq!(server.stored("secrets", "arena/key").unwrap()["type"], "Opaque");
}

#[tokio::test(start_paused = true)]
async fn options_of_deletions_are_read_from_protobuf() {
    let (server, mut raw) = server().await;
    let map = |uid: &str| json!({"metadata": {"name": "a", "namespace": "default", "uid": uid}, "data": {}});
    let target = "/api/v1/namespaces/default/configmaps/a";
    let options = STANDARD.decode(DELETE_OPTIONS).unwrap();
    server.put("configmaps", map("other"));
    let (code, refused) = send(&mut raw, Method::DELETE, target, &options).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("Conflict")), "{refused}");

    server.put("configmaps", map("11111111-2222-3333-4444-555555555555"));
    let (code, marked) = send(&mut raw, Method::DELETE, target, &options).await;
    assert_eq!((code, &marked["metadata"]["finalizers"]), (200, &json!(["orphan"])), "{marked}");

    let (code, refused) = send(&mut raw, Method::DELETE, target, b"k8s\0\xff").await;
    assert_eq!((code, &refused["message"]), (400, &json!("unexpected EOF")));
}

#[tokio::test(start_paused = true)]
async fn protobuf_that_is_none_or_of_no_typed_kind_is_refused() {
    let (_server, mut raw) = server().await;
    let (code, refused) = send(&mut raw, Method::POST, "/api/v1/namespaces", b"k8s\0\xff\xff\xff").await;
    let message =
        "the object provided is unrecognized (must be of type Namespace): unexpected EOF (6b387300ffffff)";
    assert_eq!((code, &refused["message"], &refused["reason"]), (400, &json!(message), &json!("BadRequest")));
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, _) = send(&mut raw, Method::POST, definitions, &STANDARD.decode(NAMESPACE).unwrap()).await;
    assert_eq!(code, 415);
    // Who accepts nothing else gets nothing.
    let (code, ..) = raw.get_as("/api/v1/namespaces", PROTOBUF).await;
    assert_eq!(code, 406);
    let (code, media_type, _) =
        raw.get_as("/api/v1/namespaces", &format!("{PROTOBUF},application/json")).await;
    assert_eq!((code, &*media_type), (200, "application/json"));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_let_in_may_do_everything() {
    let (_server, mut raw) = server().await;
    let access = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, answer) = send(&mut raw, Method::POST, access, &STANDARD.decode(ACCESS).unwrap()).await;
    assert_eq!((code, &answer["status"]), (201, &json!({"allowed": true})), "{answer}");
    assert_eq!(answer["spec"]["resourceAttributes"]["subresource"], "status");

    let review = |spec: Value| json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec});
    let pods = json!({"verb": "get", "resource": "pods"});
    let selectors =
        json!({"fieldSelector": {}, "labelSelector": {"rawSelector": "a=b", "requirements": [{"key": "a"}]}});
    let cases = [
        // The real server does not quote the null.
        (
            json!({}),
            "spec.resourceAttributes: Invalid value: \"null\": exactly one of nonResourceAttributes or resourceAttributes \
             must be specified",
        ),
        (
            json!({"resourceAttributes": pods, "nonResourceAttributes": {"path": "/x"}}),
            "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/x\",\"Verb\":\"\"}: cannot be specified in \
             combination with resourceAttributes",
        ),
        (
            json!({"resourceAttributes": selectors}),
            "[spec.resourceAttributes.fieldSelector.requirements: Required value: when \
             spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required, \
             spec.resourceAttributes.labelSelector.rawSelector: Invalid value: \"a=b\": may not specified at the same \
             time as requirements]",
        ),
    ];
    for (spec, problem) in cases {
        let (code, refused) = raw.json(Method::POST, access, &review(spec)).await;
        let message = format!(".authorization.k8s.io \"\" is invalid: {problem}");
        assert_eq!((code, &refused["message"]), (422, &json!(message)), "{refused}");
    }
    for (method, target, code) in [
        (Method::GET, access.to_owned(), 405),
        (Method::GET, format!("{access}/x"), 404),
        (Method::DELETE, access.to_owned(), 405),
    ] {
        assert_eq!(raw.json(method, &target, &Value::Null).await.0, code);
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_and_what_he_may_is_told() {
    let (server, mut raw) = server().await;
    let rules = |namespace: &str| {
        let kind = "SelfSubjectRulesReview";
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": {"namespace": namespace}})
    };
    let target = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let before = server.resource_version();
    let (code, answer) = raw.json(Method::POST, target, &rules("nowhere")).await;
    let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    assert_eq!((code, &answer["status"]["resourceRules"]), (201, &all), "{answer}");
    assert_eq!((&answer["status"]["incomplete"], &answer["spec"]), (&json!(false), &json!({})));
    let (code, refused) = raw.json(Method::POST, target, &rules("")).await;
    assert_eq!((code, &refused["message"]), (400, &json!("no namespace on request")));

    let who = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let (code, answer) =
        raw.json(Method::POST, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &who).await;
    assert_eq!((code, &answer["status"]["userInfo"]["username"]), (201, &json!("admin")), "{answer}");
    assert_eq!(server.resource_version(), before, "nothing is stored");
}

#[tokio::test(start_paused = true)]
async fn tables_have_the_columns_of_the_real_server() {
    let (_server, mut raw) = server().await;
    for (target, expected) in COLUMNS {
        let (code, _, body) = raw.get_as(target, TABLE).await;
        let table: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((code, &table["kind"]), (200, &json!("Table")), "{target}");
        let shown = table["columnDefinitions"].as_array().unwrap().iter().map(|column| {
            assert_ne!(column["description"], "");
            let kind = match column["type"].as_str().unwrap() {
                "string" => String::new(),
                other => format!(":{other}"),
            };
            let format = match column["format"].as_str().unwrap() {
                "" => String::new(),
                format => format!("={format}"),
            };
            let wide = if column["priority"] == 0 { "" } else { "*" };
            format!("{}{kind}{format}{wide}", column["name"].as_str().unwrap())
        });
        assert_eq!(shown.collect::<Vec<_>>().join(", "), expected, "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn rows_hold_as_much_of_their_objects_as_is_asked_for() {
    let (_server, mut raw) = server().await;
    for (part, kind) in
        [("", "PartialObjectMetadata"), ("Metadata", "PartialObjectMetadata"), ("Object", "Namespace")]
    {
        for target in ["/api/v1/namespaces", "/api/v1/namespaces/default"] {
            let (_, _, body) = raw.get_as(&format!("{target}?includeObject={part}"), TABLE).await;
            let table: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(table["rows"][0]["object"]["kind"], kind);
            assert_eq!(table["rows"][0]["object"]["metadata"]["name"], "default");
        }
    }
    let (_, _, body) = raw.get_as("/api/v1/namespaces?includeObject=None", TABLE).await;
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["rows"][0]["object"], Value::Null);
    let (code, _, body) = raw.get_as("/api/v1/namespaces?includeObject=x", TABLE).await;
    let message = "Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', \
                   'Object', 'None', or empty";
    assert_eq!((code, &serde_json::from_slice::<Value>(&body).unwrap()["message"]), (400, &json!(message)));
}

#[tokio::test(start_paused = true)]
async fn a_node_says_what_its_kernel_is_for() {
    let (server, mut raw) = server().await;
    let info = json!({"kernelVersion": "6.8.0", "architecture": "amd64"});
    server.put(
        "nodes",
        json!({"metadata": {"name": "a", "resourceVersion": "9"}, "status": {"nodeInfo": info}}),
    );
    let (_, _, body) = raw.get_as("/api/v1/nodes/a", TABLE).await;
    let table: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(table["rows"][0]["cells"][8], "6.8.0 (amd64)");
    assert_eq!(table["metadata"]["resourceVersion"], server.resource_version().to_string());
}

#[tokio::test(start_paused = true)]
async fn paths_of_built_in_groups_that_are_not_served_get_a_status() {
    let (_server, mut raw) = server().await;
    for target in [
        "/api/v1/nothings",
        "/api/v1/namespaces/default/pods/x/scale",
        "/api/v1/namespaces/default/pods/x/y/z",
        "/api/v2/x",
        "/apis/coordination.k8s.io/v1/nothings",
        "/apis/coordination.k8s.io/v2",
    ] {
        let (code, status) = raw.json(Method::GET, target, &Value::Null).await;
        let message = "the server could not find the requested resource";
        assert_eq!(
            (code, &status["message"], &status["details"]),
            (404, &json!(message), &json!({})),
            "{target}"
        );
    }
    for target in ["/nothing", "/apis/nothing/v1/x", "/apis/nothing/v1"] {
        let (code, media_type, body) = raw.get_as(target, "*/*").await;
        assert_eq!(
            (code, &*media_type, &body[..]),
            (404, "text/plain; charset=utf-8", &b"404 page not found\n"[..])
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_does_not_fit_is_refused_in_the_words_of_the_server() {
    let (_server, mut raw) = server().await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    raw.json(Method::POST, "/api/v1/namespaces/default/configmaps", &map).await;
    let target = "/api/v1/namespaces/default/configmaps/a";
    let patch = r#"{"data":{"a":1}}"#;
    let media_type = "application/strategic-merge-patch+json";
    let response = raw.send(&Method::PATCH, target, media_type, patch).await.unwrap();
    assert_eq!(response.status(), 422);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap();
    let problem = "Invalid value: \"map[data:map[a:1]]\": cannot convert int64 to string";
    assert_eq!(status["message"], format!(" \"\" is invalid: patch: {problem}"));
    let cause = json!({"reason": "FieldValueInvalid", "message": problem, "field": "patch"});
    assert_eq!(status["details"], json!({"causes": [cause]}));

    // Of other patches it shows what they made.
    let (code, status) = raw.json(Method::PATCH, target, &json!({"data": {"a": 1}})).await;
    let message = status["message"].as_str().unwrap();
    let begin = " \"\" is invalid: patch: Invalid value: \"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"a\\\":1},";
    let end = ": json: cannot unmarshal number into Go struct field ConfigMap.data of type string";
    assert!(code == 422 && message.starts_with(begin) && message.ends_with(end), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_applied_configuration_may_have_no_fields_that_the_kind_has_not() {
    let (_server, mut raw) = server().await;
    let mut apply = async |target: &str, config: Value| {
        let target = format!("{target}?fieldManager=m");
        let response = raw
            .send(&Method::PATCH, &target, "application/apply-patch+yaml", config.to_string())
            .await
            .unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (
            code,
            serde_json::from_slice::<Value>(&body).unwrap()["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}, "data": {"a": "b"}});
    let target = "/api/v1/namespaces/default/configmaps/a";
    let expected = "failed to create typed patch object (default/a; /v1, Kind=ConfigMap): .dta: field not declared in schema";
    assert_eq!(apply(target, map).await, (500, expected.into()));
    let container = json!({"name": "c", "image": "i", "imge": "i"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}});
    let (code, message) = apply("/api/v1/namespaces/default/pods/a", pod).await;
    assert_eq!(code, 500);
    assert!(
        message.ends_with(".spec.containers[name=\"c\"].imge: field not declared in schema"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn fields_are_told_in_both_versions_of_open_api() {
    let (server, mut raw) = server().await;
    let names = json!({"plural": "widgets", "kind": "Widget"});
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    server
        .define(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.dev"},
            "spec": {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": [version]},
        }))
        .unwrap();
    let (_, v3) = raw.json(Method::GET, "/openapi/v3/apis/example.dev/v1", &Value::Null).await;
    let widget = &v3["components"]["schemas"]["dev.example.v1.Widget"]["properties"];
    let metadata = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(widget["metadata"], json!({"allOf": [{"$ref": metadata}]}));
    let (_, v3) = raw.json(Method::GET, "/openapi/v3/apis/apiextensions.k8s.io/v1", &Value::Null).await;
    let schemas = &v3["components"]["schemas"];
    let names = "io.k8s.api.apiextensions.v1.CustomResourceDefinitionNames";
    assert_eq!(schemas[names]["required"], json!(["kind", "plural"]));

    let (_, v2) = raw.json(Method::GET, "/openapi/v2", &Value::Null).await;
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert_eq!(v2["definitions"]["io.k8s.api.core.v1.ConfigMap"]["properties"]["data"], map);
    assert_eq!(v2["definitions"]["dev.example.v1.Widget"]["properties"]["size"], json!({"type": "integer"}));
    let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (code, media_type, body) = raw.get_as("/openapi/v2", accept).await;
    assert_eq!((code, &*media_type), (200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"));
    assert!(body.starts_with(b"\x0a\x032.0"));
    let name = b"io.k8s.api.core.v1.ConfigMap";
    assert!(body.windows(name.len()).any(|part| part == name));
}
