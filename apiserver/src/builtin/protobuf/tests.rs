use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::builtin::{Strategy, delete_options_from_protobuf};

/// Bodies that kubectl 1.36 sent, and those of Go's client for what kubectl sends as JSON.
fn body(name: &str) -> Vec<u8> {
    let line = include_str!("bodies.txt")
        .lines()
        .find_map(|line| line.split_once(' ').filter(|(key, _)| *key == name));
    STANDARD.decode(line.expect("a body of that name").1).expect("base64")
}

fn decoded(strategy: Strategy, name: &str) -> Value {
    let mut object = strategy.from_protobuf(&body(name)).expect("a message");
    assert_eq!(strategy.decode(&mut object), Ok(Vec::new()), "{name}");
    object
}

#[test]
fn what_kubectl_sends_is_read() {
    let meta = |name: &str| json!({"name": name});
    let namespace = decoded(Strategy::Namespace, "namespace");
    assert_eq!(namespace["metadata"]["name"], "arena");
    assert_eq!((&namespace["kind"], &namespace["apiVersion"]), (&json!("Namespace"), &json!("v1")));
    let map = decoded(Strategy::ConfigMap, "configmap");
    assert_eq!((&map["metadata"], &map["data"]), (&meta("made"), &json!({"a": "1", "b": "2"})));
    let secret = decoded(Strategy::Secret, "secret");
    assert_eq!(secret["data"], json!({"password": "c3dvcmRmaXNo"}));
    let service = decoded(Strategy::Service, "service");
    let port =
        json!({"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080, "nodePort": 30080});
    assert_eq!(service["spec"]["ports"], json!([port]));
    assert_eq!(
        (&service["spec"]["type"], &service["spec"]["selector"]),
        (&json!("NodePort"), &json!({"app": "web"}))
    );
    assert_eq!(decoded(Strategy::ServiceAccount, "serviceaccount")["metadata"], meta("worker"));
    let class = decoded(Strategy::PriorityClass, "priorityclass");
    assert_eq!((&class["value"], &class["description"]), (&json!(10), &json!("small")));
    assert_eq!(class["apiVersion"], "scheduling.k8s.io/v1");
    let access = decoded(Strategy::SelfSubjectAccessReview, "access");
    let attributes =
        json!({"namespace": "default", "verb": "create", "resource": "pods", "subresource": "status"});
    assert_eq!(access["spec"], json!({"resourceAttributes": attributes}));
    assert_eq!(decoded(Strategy::SelfSubjectRulesReview, "rules")["spec"], json!({"namespace": "default"}));
}

#[test]
fn every_type_of_the_table_is_read() {
    let pod = decoded(Strategy::Pod, "pod");
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "11111111-2222-3333-4444-555555555555",
        "controller": true,
    });
    let expected = json!({
        "name": "lobby", "labels": {"app": "lobby"}, "annotations": {"example.dev/note": ""}, "ownerReferences": [owner],
        "finalizers": ["example.dev/hold"],
    });
    assert_eq!(pod["metadata"], expected);
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["--port", "7654"]));
    let key = json!({"name": "levels", "key": "first"});
    assert_eq!(container["env"], json!([{"name": "LEVEL", "valueFrom": {"configMapKeyRef": key}}]));
    assert_eq!(container["resources"], json!({"requests": {"cpu": "250m", "memory": "64Mi"}}));
    assert_eq!(container["livenessProbe"]["httpGet"]["port"], "game");
    assert_eq!(container["securityContext"], json!({"privileged": false, "runAsUser": -1}));
    assert_eq!(pod["spec"]["securityContext"], json!({"supplementalGroups": [1, 300]}));
    assert_eq!(pod["spec"]["volumes"], json!([{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}]));
    assert_eq!(pod["spec"]["tolerations"][0]["tolerationSeconds"], 30);

    let expected = json!({
        "holderIdentity": "one", "leaseDurationSeconds": 15, "acquireTime": "2024-05-01T10:00:00.123456Z",
        "renewTime": "2024-05-01T10:00:02.123456Z", "leaseTransitions": 0,
    });
    assert_eq!(decoded(Strategy::Lease, "lease")["spec"], expected);
    let event = decoded(Strategy::Event, "event");
    assert_eq!((&event["firstTimestamp"], &event["count"]), (&json!("2024-05-01T10:00:00Z"), &json!(2)));
    assert_eq!((&event["eventTime"], &event["involvedObject"]["uid"]), (&Value::Null, &json!("u")));
    let event = decoded(Strategy::EventsEvent, "events-event");
    assert_eq!((&event["note"], &event["regarding"]["name"]), (&json!("Started the lobby"), &json!("lobby")));
    let map = decoded(Strategy::ConfigMap, "managed");
    assert_eq!(map["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:data": {"f:a": {}}}));
    assert_eq!((&map["binaryData"], &map["immutable"]), (&json!({"b": "AP8="}), &json!(true)));
    let node = decoded(Strategy::Node, "node");
    assert_eq!(node["status"]["daemonEndpoints"], json!({"kubeletEndpoint": {"Port": 10250}}));

    let options = delete_options_from_protobuf(&body("delete-options")).expect("options");
    assert_eq!(
        (&options["gracePeriodSeconds"], &options["propagationPolicy"]),
        (&json!(0), &json!("Orphan"))
    );
    assert_eq!(options["preconditions"], json!({"uid": "11111111-2222-3333-4444-555555555555"}));
}

/// A body of a kind around a message.
fn enveloped(kind: &str, raw: &[u8]) -> Vec<u8> {
    let part = |number: u8, bytes: &[u8]| {
        let length = u8::try_from(bytes.len()).expect("a short message");
        [&[number << 3 | 2, length], bytes].concat()
    };
    let meta = [part(1, b"v1"), part(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), part(1, &meta), part(2, raw)].concat()
}

#[test]
fn what_is_no_message_is_refused_in_the_words_of_the_server() {
    let refused = |body: &[u8]| Strategy::Namespace.from_protobuf(body).expect_err("no message");
    let unrecognized = "the object provided is unrecognized (must be of type Namespace): ";
    assert_eq!(refused(b""), format!("{unrecognized}empty data (<empty>)"));
    let prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    assert_eq!(refused(b"{}"), format!("{unrecognized}{prefix} ({{}})"));
    assert_eq!(refused(b"k8s\0"), format!("{unrecognized}empty body (6b387300)"));
    assert_eq!(refused(b"k8s\0\xff\xff\xff"), format!("{unrecognized}unexpected EOF (6b387300ffffff)"));
    let shown = "6b3873000a0f0a02763112094e616d657370616365121d0a150a05617265 ...";
    assert_eq!(refused(&body("namespace")[..45]), format!("{unrecognized}unexpected EOF ({shown})"));

    let not_one = "Namespace in version \"v1\" cannot be handled as a Namespace: ";
    assert_eq!(refused(&enveloped("Namespace", b"\x0a\x05")), format!("{not_one}unexpected EOF"));
    let wrong = refused(&enveloped("Namespace", b"\x08\x05"));
    assert_eq!(wrong, format!("{not_one}proto: wrong wireType = 0 for field metadata"));
    let other = Strategy::ConfigMap.from_protobuf(&body("namespace")).expect_err("another kind");
    assert_eq!(other, "Namespace in version \"v1\" cannot be handled as a ConfigMap");
    assert_eq!(delete_options_from_protobuf(b"k8s\0\xff"), Err("unexpected EOF".into()));
}

#[test]
fn what_is_unknown_is_skipped_and_what_comes_twice_put_together() {
    let raw = |more: &[u8]| enveloped("ConfigMap", &[b"\x0a\x03\x0a\x01a", more].concat());
    let read =
        |more: &[u8]| Strategy::ConfigMap.from_protobuf(&raw(more)).map(|object| object["metadata"].clone());
    for unknown in [
        &b"\x98\x06\x01"[..],                        // a number
        b"\x99\x0612345678",                         // eight bytes
        b"\x9a\x06\x02xx",                           // bytes
        b"\x9b\x06\x9b\x06\x9c\x06\x08\x01\x9c\x06", // a group in a group
        b"\x9d\x061234",                             // four bytes
    ] {
        assert_eq!(read(unknown), Ok(json!({"name": "a"})), "{unknown:x?}");
    }
    assert_eq!(read(b"\x0a\x03\x1a\x01b"), Ok(json!({"name": "a", "namespace": "b"})));
    assert_eq!(read(b"\x0a\x03\x0a\x01b"), Ok(json!({"name": "b"})));
    for broken in [
        &b"\x9b\x06"[..],
        b"\x9c\x06",
        b"\x9b\x06\x08",
        b"\x07",
        b"\x00",
        b"\x0a\x02\x0a\xff",
        b"\x0a\x03\x0a\x01\xff",
    ] {
        assert!(read(broken).is_err(), "{broken:x?}");
    }
    // Not even ten thousand groups in each other.
    assert!(
        Strategy::ConfigMap
            .from_protobuf(&[b"k8s\0".to_vec(), [0x9b, 0x06].repeat(10_000)].concat())
            .is_err()
    );
}

/// Times that no year can be written for, and parts of seconds that are none.
#[test]
fn times_are_bounded() {
    let read = |time: &[u8]| {
        let length = u8::try_from(time.len()).expect("a short time");
        let meta = [&[0x42, length], time].concat();
        let raw = [&[0x0a, length + 2], &*meta].concat();
        Strategy::ConfigMap
            .from_protobuf(&enveloped("ConfigMap", &raw))
            .map(|map| map["metadata"]["creationTimestamp"].clone())
    };
    assert_eq!(read(b""), Ok(Value::Null));
    assert_eq!(read(b"\x08\x00"), Ok(json!("1970-01-01T00:00:00Z")));
    assert_eq!(read(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Ok(json!("1969-12-31T23:59:59Z")));
    assert!(read(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f").is_err());
    assert!(read(b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01").is_err());
    assert!(read(b"\x08\x00\x10\xff\xff\xff\xff\x0f").is_err());
    assert!(read(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").is_err());
}

#[test]
fn no_bytes_do_harm() {
    let random = fastrand::Rng::with_seed(36);
    let mut random = random;
    let strategies = [
        Strategy::Pod,
        Strategy::Node,
        Strategy::Event,
        Strategy::ConfigMap,
        Strategy::SelfSubjectAccessReview,
    ];
    for line in include_str!("bodies.txt").lines() {
        let name = line.split(' ').next().expect("a name");
        let whole = body(name);
        for end in 0..whole.len() {
            for strategy in strategies {
                let _ = strategy.from_protobuf(&whole[..end]);
            }
            let _ = delete_options_from_protobuf(&whole[..end]);
        }
        for _ in 0..2_000 {
            let mut broken = whole.clone();
            for _ in 0..random.usize(1..4) {
                let place = random.usize(..broken.len());
                match random.u8(..3) {
                    0 => broken[place] = random.u8(..),
                    1 => drop(broken.remove(place)),
                    _ => broken.insert(place, random.u8(..)),
                }
            }
            for strategy in strategies {
                if let Ok(mut object) = strategy.from_protobuf(&broken) {
                    let _ = strategy.decode(&mut object);
                }
            }
        }
    }
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..random.usize(..60)).map(|_| random.u8(..)).collect();
        for strategy in strategies {
            let _ = strategy.from_protobuf(&[b"k8s\0", &*bytes].concat());
            let _ = strategy.from_protobuf(&enveloped(strategy.resource().kind, &bytes));
        }
    }
}
