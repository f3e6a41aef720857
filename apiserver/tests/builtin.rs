//! What the built-in kinds do beyond what is recorded. The messages are those of a real API server, 1.36.

#![allow(clippy::expect_used, reason = "a helper that cannot go on fails its test")]

use std::time::{Duration, SystemTime};

use lariat_apiserver::builtin::{self, Deletion, Strategy};
use serde_json::{Value, json};

const ALL: [Strategy; 14] = [
    Strategy::Binding,
    Strategy::ConfigMap,
    Strategy::CustomResourceDefinition,
    Strategy::Event,
    Strategy::EventsEvent,
    Strategy::Eviction,
    Strategy::Lease,
    Strategy::Namespace,
    Strategy::Node,
    Strategy::Pod,
    Strategy::PriorityClass,
    Strategy::Secret,
    Strategy::Service,
    Strategy::ServiceAccount,
];
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                         and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
                         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// An object of a kind with more fields.
fn object(strategy: Strategy, fields: Value) -> Value {
    let resource = strategy.resource();
    let mut object =
        json!({"apiVersion": resource.api_version(), "kind": resource.kind, "metadata": {"name": "x"}});
    if resource.namespaced {
        object["metadata"]["namespace"] = "ns".into();
    }
    for (key, value) in fields.as_object().expect("fields") {
        object[key] = value.clone();
    }
    object
}

/// The object as it is stored, or the errors.
fn create(strategy: Strategy, fields: Value) -> Result<Value, String> {
    let mut object = object(strategy, fields);
    strategy.decode(&mut object)?;
    strategy.prepare_create(&mut object, now());
    let errors: Vec<_> = strategy.validate_create(&object).iter().map(ToString::to_string).collect();
    if !errors.is_empty() {
        return Err(errors.join("; "));
    }
    strategy.normalise(&mut object);
    Ok(object)
}

/// The object after an update that changes it, or the errors.
fn update(strategy: Strategy, old: &Value, change: impl FnOnce(&mut Value)) -> Result<Value, String> {
    let mut old = old.clone();
    old["metadata"]["resourceVersion"] = "1".into();
    let mut new = old.clone();
    change(&mut new);
    strategy.decode(&mut new)?;
    strategy.prepare_update(&mut new, &old);
    let mut errors: Vec<_> = strategy.validate_update(&new, &old).iter().map(ToString::to_string).collect();
    errors.dedup();
    if !errors.is_empty() {
        return Err(errors.join("; "));
    }
    strategy.normalise(&mut new);
    Ok(new)
}

fn pod(spec: Value) -> Value {
    create(Strategy::Pod, json!({"spec": spec})).expect("a pod")
}

fn container(fields: Value) -> Value {
    let mut container = json!({"name": "c", "image": "i:1"});
    for (key, value) in fields.as_object().expect("fields") {
        container[key] = value.clone();
    }
    container
}

#[test]
fn values_of_the_wrong_type_are_refused_in_the_words_of_the_decoder() {
    let pod = |spec: Value| json!({"spec": spec});
    let of = |fields: Value| json!({"spec": {"containers": [container(fields)]}});
    for (strategy, fields, want) in [
        (
            Strategy::Pod,
            of(json!({"image": 5})),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
        ),
        (
            Strategy::Pod,
            pod(json!({"containers": {}})),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            Strategy::Pod,
            pod(json!({"priority": 99_999_999_999_u64})),
            "json: cannot unmarshal number 99999999999 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            Strategy::Pod,
            pod(json!({"restartPolicy": 4})),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            Strategy::Pod,
            of(json!({"livenessProbe": {"httpGet": {"port": true}}})),
            "json: cannot unmarshal bool into Go struct field \
             HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
        (
            Strategy::Pod,
            of(json!({"resources": {"limits": {"cpu": "x"}}})),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            Strategy::ConfigMap,
            json!({"data": [1]}),
            "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (Strategy::Secret, json!({"data": {"a": "!!"}}), "illegal base64 data at input byte 0"),
        (
            Strategy::Lease,
            json!({"spec": {"renewTime": "x"}}),
            "parsing time \"x\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"x\" as \"2006\"",
        ),
        (
            Strategy::ConfigMap,
            json!({"metadata": 5}),
            "json: cannot unmarshal number into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
    ] {
        let kind = strategy.resource().kind;
        let want = format!("{kind} in version \"v1\" cannot be handled as a {kind}: {want}");
        assert_eq!(strategy.check_types(&object(strategy, fields)), Err(want));
    }
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let mut pod = object(
        Strategy::Pod,
        json!({
            "zz": 1,
            "spec": {
                "foo": 1,
                "containers": [container(json!({"foo": 1, "ports": [{"containerPort": 1, "bar": 2}]}))],
                "nodeSelector": {"any": "thing"},
                "volumes": [{"name": "v", "emptyDir": {"q": 1}}],
            },
        }),
    );
    let dropped = Strategy::Pod.decode(&mut pod).expect("the types are right");
    let dropped: Vec<_> = dropped.iter().map(|text| text.trim_start_matches("unknown field ")).collect();
    assert_eq!(
        dropped,
        [
            r#""zz""#,
            r#""spec.foo""#,
            r#""spec.volumes[0].emptyDir.q""#,
            r#""spec.containers[0].foo""#,
            r#""spec.containers[0].ports[0].bar""#
        ]
    );
    assert_eq!(pod["spec"]["nodeSelector"]["any"], "thing");
    assert_eq!(Strategy::Pod.prune(&mut pod), Vec::<String>::new());
}

#[test]
fn pods_get_defaults() {
    let pod = pod(json!({
        "hostNetwork": true,
        "serviceAccountName": "x",
        "containers": [
            container(json!({
                "image": "i:latest",
                "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "livenessProbe": {"httpGet": {"port": 80}},
                "readinessProbe": {"grpc": {"port": 5}},
                "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
            })),
            {"name": "d", "image": "r/x@sha256:aa"},
            {"name": "e", "image": "reg:5000/x"},
        ],
        "volumes": [{"name": "a"}, {"name": "b", "configMap": {"name": "q"}}, {"name": "h", "hostPath": {"path": "/x"}}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    }));
    let spec = &pod["spec"];
    let policies: Vec<_> = (0..3).map(|index| &spec["containers"][index]["imagePullPolicy"]).collect();
    assert_eq!(policies, ["Always", "IfNotPresent", "Always"]);
    assert_eq!(
        spec["containers"][0]["ports"],
        json!([
            {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
            {"containerPort": 81, "hostPort": 81, "protocol": "UDP"},
        ])
    );
    assert_eq!(spec["containers"][0]["env"][0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
    let amounts = json!({"cpu": "1", "memory": "1Gi"});
    assert_eq!(spec["containers"][0]["resources"], json!({"limits": amounts, "requests": amounts}));
    assert_eq!(
        spec["containers"][0]["livenessProbe"],
        json!({
            "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        })
    );
    assert_eq!(spec["containers"][0]["readinessProbe"]["grpc"], json!({"port": 5, "service": ""}));
    assert_eq!(spec["volumes"][0], json!({"name": "a", "emptyDir": {}}));
    assert_eq!(spec["volumes"][1]["configMap"]["defaultMode"], 420);
    assert_eq!(spec["volumes"][2]["hostPath"]["type"], "");
    assert_eq!(spec["serviceAccount"], "x");
    assert_eq!(spec["tolerations"].as_array().map(Vec::len), Some(3));
    assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "Burstable"}));
    assert_eq!(pod["metadata"]["creationTimestamp"], "2027-01-15T08:00:00Z");
}

#[test]
fn pods_that_are_not_valid_are_refused() {
    let c = || container(json!({}));
    let of = |fields: Value| json!({"containers": [container(fields)]});
    for (spec, want) in [
        (json!({}), "spec.containers: Required value"),
        (of(json!({"name": ""})), "spec.containers[0].name: Required value"),
        (
            of(json!({"image": " i"})),
            "spec.containers[0].image: Invalid value: \" i\": must not have leading or trailing whitespace",
        ),
        (json!({"containers": [c(), c()]}), "spec.containers[1].name: Duplicate value: \"c\""),
        (
            json!({"containers": [c()], "restartPolicy": "X"}),
            "spec.restartPolicy: Unsupported value: \"X\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ),
        (
            of(json!({"ports": [{"containerPort": 0}]})),
            "spec.containers[0].ports[0].containerPort: Required value",
        ),
        (
            of(json!({"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]})),
            "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//5\"",
        ),
        (
            json!({"containers": [c()], "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/a"}}]}),
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
        ),
        (
            json!({"containers": [c()], "activeDeadlineSeconds": 0}),
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        ),
        (
            of(json!({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}})),
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
        ),
        (
            of(json!({"livenessProbe": {}})),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            json!({"containers": [c()], "schedulingGates": [{"name": "a"}], "nodeName": "n"}),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
        (
            json!({"containers": [c()], "tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 3}]}),
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
    ] {
        assert_eq!(create(Strategy::Pod, json!({"spec": spec})), Err(want.into()));
    }
}

#[test]
fn little_may_change_in_a_pod() {
    let c = || container(json!({}));
    let old = pod(
        json!({"containers": [c()], "activeDeadlineSeconds": 100, "tolerations": [{"key": "z", "operator": "Exists"}]}),
    );
    let change = |change: fn(&mut Value)| update(Strategy::Pod, &old, |pod| change(&mut pod["spec"]));

    let new = change(|spec| spec["containers"][0]["image"] = "i:2".into()).expect("images may change");
    assert_eq!(new["metadata"]["generation"], 2);
    let new = change(|spec| spec["activeDeadlineSeconds"] = 50.into()).expect("deadlines may come closer");
    assert_eq!(new["metadata"]["generation"], 2);
    let new = change(|spec| spec["priority"] = Value::Null).expect("a priority that is left out stays");
    assert_eq!(new, {
        let mut old = old.clone();
        old["metadata"]["resourceVersion"] = "1".into();
        old
    });
    assert_eq!(
        change(|spec| spec["activeDeadlineSeconds"] = 200.into()).expect_err("not further away"),
        "spec.activeDeadlineSeconds: Invalid value: 200: must be less than or equal to previous value"
    );
    assert_eq!(
        change(|spec| spec["tolerations"] = json!([])).expect_err("none taken away"),
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    );
    assert_eq!(
        change(|spec| spec["containers"] = json!([{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]))
            .expect_err("none added"),
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    );
    let refused = change(|spec| {
        spec["restartPolicy"] = "Never".into();
        spec["hostname"] = "x".into();
    })
    .expect_err("anything else");
    assert!(refused.starts_with(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
    ));
    let (_, diff) = refused.split_once('\n').expect("a difference");
    assert!(diff.contains("\n- \"RestartPolicy\": \"Always\",\n+ \"RestartPolicy\": \"Never\",\n"), "{diff}");
    assert!(diff.contains("\n- \"Hostname\": \"\",\n+ \"Hostname\": \"x\",\n"), "{diff}");
    assert_eq!(diff.matches("@@ -").count(), 2, "{diff}");
    let refused = change(|spec| spec["nodeSelector"] = json!({"a": "b"})).expect_err("no selector");
    assert!(
        refused.contains("\n- \"NodeSelector\": null,\n+ \"NodeSelector\": {\n+  \"a\": \"b\"\n+ },\n"),
        "{refused}"
    );
}

#[test]
fn the_status_of_a_pod_changes_alone() {
    let mut old = pod(json!({"containers": [container(json!({}))]}));
    old["metadata"]["resourceVersion"] = "1".into();
    let mut new = old.clone();
    new["spec"]["nodeName"] = "n".into();
    new["status"] = json!({"phase": "Running"});
    new["metadata"]["labels"] = json!({"a": "b"});
    new["metadata"]["generation"] = 77.into();
    Strategy::Pod.prepare_status_update(&mut new, &old);
    assert_eq!(Strategy::Pod.validate_status_update(&new, &old), []);
    assert_eq!(new["spec"], old["spec"]);
    assert_eq!(new["status"], json!({"phase": "Running", "qosClass": "BestEffort"}));
    assert_eq!(new["metadata"]["labels"]["a"], "b");
    assert_eq!(new["metadata"]["generation"], 1);
    new["status"]["qosClass"] = "Guaranteed".into();
    let errors = Strategy::Pod.validate_status_update(&new, &old);
    assert_eq!(errors[0].to_string(), "status.qosClass: Invalid value: \"Guaranteed\": field is immutable");

    let updated = update(Strategy::Pod, &old, |pod| pod["status"]["phase"] = "Running".into());
    assert_eq!(updated.expect("valid")["status"]["phase"], "Pending");
}

#[test]
fn pods_are_bound_once() {
    let mut bound = pod(json!({"containers": [container(json!({}))]}));
    let binding = json!({"metadata": {"name": "x", "annotations": {"a": "b"}}, "target": {"kind": "Node", "name": "n"}});
    for (binding, code, message) in [
        (
            json!({"metadata": {"name": "y"}, "target": {"name": "n"}}),
            400,
            "name in URL does not match name in Binding object",
        ),
        (
            json!({"metadata": {"name": "x"}, "target": {"kind": "Pod", "name": "n"}}),
            500,
            "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\"",
        ),
        (json!({"metadata": {"name": "x"}, "target": {}}), 500, "target.name: Required value"),
    ] {
        let refused = builtin::bind(&mut bound, &binding, now()).expect_err("refused");
        assert_eq!((refused.code, refused.message.as_str()), (code, message));
    }
    builtin::bind(&mut bound, &binding, now()).expect("bound");
    assert_eq!(bound["spec"]["nodeName"], "n");
    assert_eq!(bound["metadata"]["annotations"]["a"], "b");
    assert_eq!(bound["status"]["conditions"][0]["lastTransitionTime"], "2027-01-15T08:00:00Z");
    let refused = builtin::bind(&mut bound, &binding, now()).expect_err("bound already");
    assert!(refused.is_conflict());

    let mut gated = pod(json!({"containers": [container(json!({}))], "schedulingGates": [{"name": "a"}]}));
    let row = Strategy::Pod.row(&gated, now());
    assert_eq!(row.cells[2], "SchedulingGated");
    let refused = builtin::bind(&mut gated, &binding, now()).expect_err("gated");
    assert_eq!(
        refused.message,
        "Operation cannot be fulfilled on pods/binding \"x\": pod x has non-empty .spec.schedulingGates"
    );
}

#[test]
fn pods_get_time_to_end_which_is_only_shortened() {
    let mut pod = pod(json!({"containers": [container(json!({}))], "nodeName": "n"}));
    let marks = |pod: &Value| {
        let metadata = &pod["metadata"];
        (metadata["deletionGracePeriodSeconds"].clone(), metadata["generation"].clone())
    };
    let mut unscheduled = pod.clone();
    unscheduled["spec"]["nodeName"] = Value::Null;
    assert_eq!(Strategy::Pod.delete(&mut unscheduled, Some(30), now()), Deletion::MarkThenRemove);
    let mut ended = pod.clone();
    ended["status"]["phase"] = "Succeeded".into();
    assert_eq!(Strategy::Pod.delete(&mut ended, None, now()), Deletion::MarkThenRemove);
    let mut held = pod.clone();
    held["metadata"]["finalizers"] = json!(["x/y"]);
    assert_eq!(Strategy::Pod.delete(&mut held, Some(0), now()), Deletion::Mark);
    let mut released = held.clone();
    released["metadata"]["finalizers"] = json!([]);
    assert!(Strategy::Pod.is_finished(&released, &held) && !Strategy::Pod.is_finished(&held, &held));

    assert_eq!(Strategy::Pod.delete(&mut pod, None, now()), Deletion::Mark);
    assert_eq!(marks(&pod), (json!(30), json!(2)));
    assert_eq!(pod["metadata"]["deletionTimestamp"], "2027-01-15T08:00:30Z");
    let later = now() + Duration::from_secs(5);
    assert_eq!(Strategy::Pod.delete(&mut pod, Some(50), later), Deletion::Pending);
    assert_eq!(Strategy::Pod.delete(&mut pod, None, later), Deletion::Pending);
    assert_eq!(Strategy::Pod.delete(&mut pod, Some(-3), later), Deletion::Mark);
    assert_eq!(marks(&pod), (json!(1), json!(2)));
    assert_eq!(pod["metadata"]["deletionTimestamp"], "2027-01-15T08:00:01Z");
}

#[test]
fn other_objects_are_held_by_their_finalizers_only() {
    let mut map = create(Strategy::ConfigMap, json!({})).expect("valid");
    assert_eq!(Strategy::ConfigMap.delete(&mut map, Some(30), now()), Deletion::Remove);
    map["metadata"]["finalizers"] = json!(["x/y"]);
    map["metadata"]["generation"] = 5.into();
    assert_eq!(Strategy::ConfigMap.delete(&mut map, None, now()), Deletion::Mark);
    assert_eq!(map["metadata"]["generation"], 6);
    assert_eq!(map["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(Strategy::ConfigMap.delete(&mut map, None, now()), Deletion::Pending);
    let refused =
        update(Strategy::ConfigMap, &map, |map| map["metadata"]["finalizers"] = json!(["x/y", "x/z"]));
    let want = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
                finalizers []string{\"x/z\"}";
    assert_eq!(refused, Err(want.into()));
}

#[test]
fn namespaces_are_finalised() {
    let mut namespace = create(Strategy::Namespace, json!({"spec": {"finalizers": ["x/y"]}})).expect("valid");
    assert_eq!(namespace["spec"]["finalizers"], json!(["x/y", "kubernetes"]));
    assert_eq!(namespace["metadata"]["labels"]["kubernetes.io/metadata.name"], "x");
    let updated = update(Strategy::Namespace, &namespace, |namespace| {
        namespace["spec"]["finalizers"] = json!([]);
        namespace["metadata"]["labels"] = json!({"kubernetes.io/metadata.name": "other"});
    })
    .expect("valid");
    assert_eq!(updated["spec"], namespace["spec"]);
    assert_eq!(updated["metadata"]["labels"]["kubernetes.io/metadata.name"], "x");

    assert_eq!(Strategy::Namespace.delete(&mut namespace, None, now()), Deletion::Mark);
    assert_eq!(namespace["status"]["phase"], "Terminating");
    assert_eq!(Strategy::Namespace.delete(&mut namespace, None, now()), Deletion::Pending);
    let mut last = namespace.clone();
    last["spec"] = json!({"finalizers": []});
    builtin::finalize(&mut last, &namespace);
    assert!(Strategy::Namespace.is_finished(&last, &namespace));
    assert!(!Strategy::Namespace.is_finished(&namespace, &namespace));
    assert!(Strategy::Namespace.forbids_delete("default").is_some());
    assert!(Strategy::Namespace.forbids_delete("x").is_none());
    assert_eq!(
        create(Strategy::Namespace, json!({"metadata": {"name": "a.b"}})),
        Err("metadata.name: Invalid value: \"a.b\": must not contain dots".into())
    );
}

#[test]
fn services_get_addresses() {
    let mut counter = 0;
    let mut make = |spec: Value| {
        let mut service = create(Strategy::Service, json!({"spec": spec}))?;
        builtin::allocate(&mut service, None, &mut counter, |taken| taken == "10.0.0.3")
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(service["spec"].clone())
    };
    let first = make(json!({"ports": [{"port": 80}]})).expect("valid");
    assert_eq!(first["clusterIP"], "10.0.0.2");
    assert_eq!(first["ports"], json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]));
    assert_eq!(first["internalTrafficPolicy"], "Cluster");
    let second =
        make(json!({"type": "NodePort", "ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}]}))
            .expect("valid");
    assert_eq!(second["clusterIP"], "10.0.0.4");
    assert_ne!(second["ports"][0]["nodePort"], second["ports"][1]["nodePort"]);
    let headless = make(json!({"clusterIP": "None"})).expect("valid");
    assert_eq!(
        (&headless["ipFamilyPolicy"], &headless["clusterIPs"]),
        (&json!("RequireDualStack"), &json!(["None"]))
    );
    let external = make(json!({"type": "ExternalName", "externalName": "a.b"})).expect("valid");
    assert_eq!(external, json!({"type": "ExternalName", "externalName": "a.b", "sessionAffinity": "None"}));
    for (spec, want) in [
        (json!({}), "spec.ports: Required value"),
        (
            json!({"ports": [{"port": 80}, {"port": 81}]}),
            "spec.ports[0].name: Required value; spec.ports[1].name: Required value",
        ),
        (
            json!({"ports": [{"port": 80}], "clusterIP": "1.2.3.4"}),
            "spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided network does not \
             match the current range",
        ),
        (
            json!({"ports": [{"port": 80}], "clusterIP": "10.0.0.3"}),
            "spec.clusterIPs: Invalid value: [\"10.0.0.3\"]: failed to allocate IP 10.0.0.3: provided IP is already \
             allocated",
        ),
        (
            json!({"ports": [{"port": 80, "nodePort": 30005}]}),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
    ] {
        assert_eq!(make(spec), Err(want.into()));
    }
    // Once all are taken, there is an end to looking.
    let mut service = create(Strategy::Service, json!({"spec": {"ports": [{"port": 80}]}})).expect("valid");
    assert!(builtin::allocate(&mut service, None, &mut counter, |_| true).is_err());

    service["spec"]["clusterIP"] = "10.0.0.9".into();
    service["spec"]["clusterIPs"] = json!(["10.0.0.9"]);
    assert_eq!(
        update(Strategy::Service, &service, |service| service["spec"]["clusterIP"] = "10.0.0.8".into()),
        Err("spec.clusterIPs[0]: Invalid value: [\"10.0.0.8\"]: may not change once set".into())
    );
    let kept = update(Strategy::Service, &service, |service| {
        service["spec"] = json!({"ports": [{"port": 81}]});
    });
    assert_eq!(kept.expect("valid")["spec"]["clusterIP"], "10.0.0.9");
}

#[test]
fn secrets_and_config_maps_keep_their_rules() {
    let secret = create(Strategy::Secret, json!({"stringData": {"a": "b"}, "data": {"a": "eA==", "c": ""}}))
        .expect("valid");
    assert_eq!((&secret["data"], &secret["type"]), (&json!({"a": "Yg==", "c": ""}), &json!("Opaque")));
    assert_eq!(secret.get("stringData"), None);
    assert_eq!(
        create(Strategy::Secret, json!({"type": "kubernetes.io/tls"})),
        Err("data[tls.crt]: Required value; data[tls.key]: Required value".into())
    );
    assert_eq!(
        update(Strategy::Secret, &secret, |secret| secret["type"] = "y".into()),
        Err("type: Invalid value: \"y\": field is immutable".into())
    );
    let map = create(Strategy::ConfigMap, json!({"data": {"a": "x"}, "immutable": true})).expect("valid");
    assert_eq!(
        update(Strategy::ConfigMap, &map, |map| map["data"]["a"] = "y".into()),
        Err("data: Forbidden: field is immutable when `immutable` is set".into())
    );
    assert_eq!(
        update(Strategy::ConfigMap, &map, |map| map["immutable"] = false.into()),
        Err("immutable: Forbidden: field is immutable when `immutable` is set".into())
    );
    assert_eq!(
        create(Strategy::ConfigMap, json!({"data": {"a": "x"}, "binaryData": {"a": "eA=="}})),
        Err("data[a]: Invalid value: \"a\": duplicate of key present in binaryData".into())
    );
    assert_eq!(
        create(Strategy::ConfigMap, json!({"data": {"a": "x".repeat(1_048_577)}})),
        Err("[]: Too long: may not be more than 1048576 bytes".into())
    );
    assert_eq!(create(Strategy::ConfigMap, json!({"data": {}})).expect("valid").get("data"), None);
}

#[test]
fn names_follow_the_kind() {
    let named = |strategy: Strategy, name: &str| {
        let mut metadata = json!({"name": name});
        if strategy.resource().namespaced {
            metadata["namespace"] = "ns".into();
        }
        create(strategy, json!({"metadata": metadata}))
    };
    assert_eq!(
        named(Strategy::ConfigMap, "Bad_Name"),
        Err(format!("metadata.name: Invalid value: \"Bad_Name\": {SUBDOMAIN}"))
    );
    assert!(named(Strategy::ConfigMap, "a.b").is_ok());
    let long = "a".repeat(254);
    let refused = named(Strategy::ConfigMap, &long).expect_err("too long");
    assert!(refused.ends_with("must be no more than 253 characters"), "{refused}");
    assert_eq!(
        named(Strategy::ConfigMap, ""),
        Err("metadata.name: Required value: name or generateName is required".into())
    );
}

#[test]
fn priorities_come_from_classes() {
    let class = create(Strategy::PriorityClass, json!({"value": 5, "globalDefault": true})).expect("valid");
    assert_eq!(class["metadata"]["generation"], 1);
    assert_eq!(
        update(Strategy::PriorityClass, &class, |class| class["value"] = 6.into()),
        Err("value: Forbidden: may not be changed in an update.".into())
    );
    let higher = json!({"metadata": {"name": "higher"}, "value": 7, "globalDefault": true});
    let mut pod = object(Strategy::Pod, json!({"spec": {}}));
    builtin::resolve_priority(&mut pod, [&higher, &class]).expect("the lowest default");
    assert_eq!((&pod["spec"]["priority"], &pod["spec"]["priorityClassName"]), (&json!(5), &json!("x")));
    let mut pod = object(Strategy::Pod, json!({"spec": {"priorityClassName": "nope"}}));
    let refused = builtin::resolve_priority(&mut pod, [&class]).expect_err("no such class");
    assert_eq!(refused.message, "pods \"x\" is forbidden: no PriorityClass with name nope was found");
    let mut pod = object(Strategy::Pod, json!({"spec": {"priorityClassName": "system-node-critical"}}));
    builtin::resolve_priority(&mut pod, []).expect("the system's");
    assert_eq!(pod["spec"]["priority"], 2_000_001_000);
    assert_eq!(
        create(Strategy::PriorityClass, json!({"value": 2_000_000_000})),
        Err("value: Forbidden: maximum allowed value of a user defined priority is 1000000000".into())
    );
}

#[test]
fn new_events_are_complete() {
    let fields = json!({
        "regarding": {"kind": "Pod", "name": "p", "namespace": "ns"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "a/b",
        "reportingInstance": "i",
        "action": "act",
        "reason": "re",
        "type": "Normal",
        "note": "hello",
    });
    let event = create(Strategy::EventsEvent, fields).expect("valid");
    let core = builtin::to_core(&event);
    assert_eq!((&core["message"], &core["reportingComponent"]), (&json!("hello"), &json!("a/b")));
    assert_eq!(builtin::from_core(&core), event);
    assert_eq!(
        update(Strategy::EventsEvent, &event, |event| event["note"] = "zz".into()),
        Err("message: Invalid value: \"zz\": field is immutable".into())
    );
    assert_eq!(
        create(Strategy::EventsEvent, json!({"regarding": {"namespace": "ns"}})),
        Err("eventTime: Required value; type: Invalid value: \"\": has invalid value: ".into())
    );
    assert_eq!(
        create(Strategy::Event, json!({"involvedObject": {"namespace": "other"}})),
        Err("involvedObject.namespace: Invalid value: \"other\": does not match event.namespace".into())
    );
    let row = Strategy::EventsEvent.row(&event, now());
    assert_eq!(row, Strategy::Event.row(&core, now()));
    assert_eq!(row.cells[3..6], [json!("pod/p"), json!(""), json!("a/b, i")]);
}

#[test]
fn fields_are_selected_by_what_the_kind_supports() {
    let pod = pod(json!({"containers": [container(json!({}))], "nodeName": "n"}));
    assert_eq!(Strategy::Pod.field(&pod, "spec.nodeName"), Some("n"));
    assert_eq!(Strategy::Pod.field(&pod, "spec.hostNetwork"), Some("false"));
    assert_eq!(Strategy::Pod.field(&pod, "status.podIP"), Some(""));
    assert_eq!(Strategy::Pod.unsupported("spec.foo"), "field label not supported: spec.foo");
    assert_eq!(
        Strategy::ConfigMap.unsupported("data"),
        "\"data\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
    let event = json!({"reportingComponent": "c", "involvedObject": {"uid": "u"}});
    assert_eq!(Strategy::Event.field(&event, "source"), Some("c"));
    assert_eq!(Strategy::Event.field(&event, "involvedObject.uid"), Some("u"));
    for strategy in ALL {
        for field in strategy.selectable_fields() {
            assert!(strategy.is_supported(field) && strategy.field(&json!({}), field).is_some(), "{field}");
        }
    }
}

#[test]
fn tables_say_how_pods_are() {
    let terminated = |code: i64, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason}});
    let status = |containers: Value| json!({"phase": "Running", "containerStatuses": containers});
    for (spec, status, want) in [
        (json!({}), json!({"phase": "Pending"}), "0/1 Pending 0"),
        (
            json!({}),
            status(json!([{
                "ready": true,
                "state": {"running": {}},
                "restartCount": 2,
                "lastState": {"terminated": {"finishedAt": "2027-01-15T07:54:55Z"}},
            }])),
            "1/1 Running 2 (5m5s ago)",
        ),
        (
            json!({}),
            status(json!([{"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 5}])),
            "0/1 CrashLoopBackOff 5",
        ),
        (json!({}), status(json!([{"state": terminated(0, "Completed")}])), "0/1 Completed 0"),
        (json!({}), status(json!([{"state": terminated(3, "")}])), "0/1 ExitCode:3 0"),
        (json!({}), json!({"phase": "Failed", "reason": "Evicted"}), "0/1 Evicted 0"),
        (
            json!({}),
            status(json!([{"state": terminated(0, "Completed")}, {"ready": true, "state": {"running": {}}}])),
            "1/1 NotReady 0",
        ),
        (
            json!({"initContainers": [{"name": "a"}, {"name": "b"}]}),
            json!({"phase": "Pending", "initContainerStatuses": [{"name": "a", "state": terminated(0, "")}, {"name": "b"}]}),
            "0/1 Init:1/2 0",
        ),
        (
            json!({"initContainers": [{"name": "a"}]}),
            json!({"phase": "Pending", "initContainerStatuses": [{"name": "a", "state": terminated(4, "")}]}),
            "0/1 Init:ExitCode:4 0",
        ),
        (
            json!({"initContainers": [{"name": "a", "restartPolicy": "Always"}]}),
            json!({
                "phase": "Running",
                "initContainerStatuses": [{"name": "a", "started": true, "ready": true, "restartCount": 3}],
                "containerStatuses": [{"ready": true, "state": {"running": {}}}],
            }),
            "2/2 Running 3",
        ),
    ] {
        let mut spec = spec;
        spec["containers"] = json!([{"name": "c"}]);
        let row = Strategy::Pod.row(&json!({"spec": spec, "status": status}), now());
        let cells: Vec<_> = row.cells[1..4].iter().map(|cell| cell.as_str().expect("text")).collect();
        assert_eq!(cells.join(" "), want);
    }
    let failed = Strategy::Pod.row(&json!({"status": {"phase": "Failed"}}), now());
    assert_eq!(failed.conditions[0]["reason"], "Failed");
}

#[test]
fn leases_and_nodes_keep_their_rules() {
    for (spec, want) in [
        (
            json!({"leaseDurationSeconds": 0}),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            json!({"leaseTransitions": -1}),
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ),
    ] {
        assert_eq!(create(Strategy::Lease, json!({"spec": spec})), Err(want.into()));
    }
    let lease = create(Strategy::Lease, json!({"spec": {"holderIdentity": "h", "strategy": "X"}}));
    assert_eq!(lease.expect("valid")["spec"], json!({"holderIdentity": "h"}));

    let node = create(
        Strategy::Node,
        json!({
            "spec": {"podCIDR": "10.1.0.0/24", "providerID": "a", "unschedulable": true},
            "status": {"capacity": {"cpu": "4000m"}, "conditions": [{"type": "Ready", "status": "True"}]},
        }),
    )
    .expect("valid");
    assert_eq!(node["spec"]["podCIDRs"], json!(["10.1.0.0/24"]));
    assert_eq!(
        node["spec"]["taints"],
        json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    );
    assert_eq!(node["status"]["allocatable"], json!({"cpu": "4"}));
    assert_eq!(node["status"]["conditions"][0]["lastHeartbeatTime"], Value::Null);
    assert_eq!(
        update(Strategy::Node, &node, |node| node["spec"]["providerID"] = "b".into()),
        Err("spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid"
            .into())
    );
    let updated = update(Strategy::Node, &node, |node| {
        node["status"] = json!({});
        node["metadata"]["labels"] =
            json!({"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "r2"});
    })
    .expect("valid");
    assert_eq!(updated["status"], node["status"]);
    let row = Strategy::Node.row(&updated, now());
    assert_eq!(row.cells[1..3], [json!("Ready,SchedulingDisabled"), json!("r2,worker")]);
    assert_eq!(row.cells[5..8], [json!("<none>"), json!("<none>"), json!("<unknown>")]);
}

#[test]
fn resources_make_the_quality_of_service() {
    let amounts = |cpu: &str, memory: &str| json!({"cpu": cpu, "memory": memory});
    for (resources, want) in [
        (json!({}), "BestEffort"),
        (json!({"requests": {"cpu": "0"}}), "BestEffort"),
        (json!({"limits": amounts("1", "1Gi")}), "Guaranteed"),
        (json!({"limits": amounts("1", "1Gi"), "requests": amounts("1000m", "1024Mi")}), "Guaranteed"),
        (json!({"limits": amounts("1", "1Gi"), "requests": amounts("500m", "1Gi")}), "Burstable"),
        (json!({"limits": {"cpu": "1"}}), "Burstable"),
        (json!({"requests": {"cpu": "1"}}), "Burstable"),
    ] {
        let pod = pod(json!({"containers": [container(json!({"resources": resources}))]}));
        assert_eq!(pod["status"]["qosClass"], want, "{resources}");
    }
}

#[test]
fn tables_say_where_things_are() {
    let mut pod =
        pod(json!({"containers": [container(json!({}))], "readinessGates": [{"conditionType": "x/y"}]}));
    let row = Strategy::Pod.row(&pod, now() + Duration::from_secs(200));
    assert_eq!(
        row.cells[4..],
        [json!("3m20s"), json!("<none>"), json!("<none>"), json!("<none>"), json!("0/1")]
    );
    pod["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z".into();
    assert_eq!(Strategy::Pod.row(&pod, now()).cells[2], "Terminating");
    pod["status"]["reason"] = "NodeLost".into();
    assert_eq!(Strategy::Pod.row(&pod, now()).cells[2], "Unknown");
    pod["status"] = json!({"phase": "Succeeded"});
    assert_eq!(Strategy::Pod.row(&pod, now()).cells[2], "Succeeded");

    let row = |spec: Value, status: Value| {
        let row = Strategy::Service.row(&json!({"spec": spec, "status": status}), now());
        json!([row.cells[2..5], row.cells[6]])
    };
    assert_eq!(
        row(
            json!({
                "type": "LoadBalancer",
                "clusterIPs": ["10.0.0.2"],
                "ports": [{"port": 80, "nodePort": 30001, "protocol": "TCP"}, {"port": 81, "protocol": "UDP"}],
                "selector": {"b": "c", "a": "b"},
            }),
            json!({"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}, {"hostname": "h"}]}}),
        ),
        json!([["10.0.0.2", "9.9.9.9,h", "80:30001/TCP,81/UDP"], "a=b,b=c"])
    );
    assert_eq!(
        row(json!({"type": "LoadBalancer"}), json!({})),
        json!([["<none>", "<pending>", "<none>"], "<none>"])
    );
    assert_eq!(
        row(json!({"type": "ExternalName", "externalName": "a.b"}), json!({})),
        json!([["<none>", "a.b", "<none>"], "<none>"])
    );
    for strategy in ALL {
        assert_eq!(strategy.row(&json!({}), now()).cells.len(), strategy.columns().len(), "{strategy:?}");
    }
}

/// A seeded generator of JSON that has nothing to do with what is asked for, or nearly has.
struct Junk(u64);

impl Junk {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % below
    }

    fn value(&mut self, depth: usize) -> Value {
        const TEXTS: [&str; 12] = [
            "",
            "a",
            "Always",
            "-",
            "é\u{0}",
            "9999999999999999999999999E",
            "2026-01-01T00:00:00Z",
            "-1Ki",
            "10.0.0.300",
            "LoadBalancer",
            "a/b/c",
            "0001-01-01T00:00:00.000000Z",
        ];
        match self.next(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => (self.next(2) == 0).into(),
            2 => i64::MIN.into(),
            3 => [json!(u64::MAX), json!(0), json!(1.5), json!(-1), json!(i64::MAX)][self.next(5)].clone(),
            4 | 5 => TEXTS[self.next(TEXTS.len())].into(),
            6 => (0..self.next(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        const KEYS: [&str; 40] = [
            "metadata",
            "spec",
            "status",
            "name",
            "namespace",
            "labels",
            "annotations",
            "finalizers",
            "ownerReferences",
            "generation",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "containers",
            "initContainers",
            "image",
            "resources",
            "limits",
            "requests",
            "cpu",
            "volumes",
            "tolerations",
            "ports",
            "port",
            "type",
            "clusterIP",
            "clusterIPs",
            "conditions",
            "containerStatuses",
            "state",
            "terminated",
            "data",
            "stringData",
            "eventTime",
            "series",
            "involvedObject",
            "taints",
            "target",
            "deleteOptions",
            "affinity",
            "schedulingGates",
        ];
        let mut object = json!({});
        for _ in 0..self.next(8) {
            object[KEYS[self.next(KEYS.len())]] = self.value(depth.saturating_sub(1));
        }
        object
    }
}

#[test]
fn junk_never_panics() {
    for seed in 0..4_000 {
        let mut junk = Junk(seed);
        let (one, other) = match seed % 4 {
            0 => (junk.value(5), junk.value(5)),
            _ => (junk.object(6), junk.object(6)),
        };
        for strategy in ALL {
            let mut object = one.clone();
            _ = strategy.decode(&mut object);
            for object in [&mut object, &mut one.clone()] {
                strategy.default(object);
                strategy.prepare_create(object, now());
                _ = strategy.validate_create(object);
                strategy.prepare_update(object, &other);
                _ = strategy.validate_update(object, &other);
                strategy.prepare_status_update(object, &other);
                _ = strategy.validate_status_update(object, &other);
                strategy.normalise(object);
                strategy.prune(object);
                _ = strategy.row(object, now());
                for field in strategy.selectable_fields() {
                    _ = strategy.field(object, field);
                }
                _ = strategy.is_finished(object, &other);
                _ = strategy.delete(object, Some(junk.next(3) as i64 - 1), now());
                _ = strategy.delete(object, Some(i64::MIN), now());
            }
        }
        let mut object = one.clone();
        _ = builtin::bind(&mut object, &other, now());
        _ = builtin::evict(&mut object, &other, now());
        _ = builtin::resolve_priority(&mut object, [&other]);
        let mut counter = u64::MAX;
        _ = builtin::allocate(&mut object, Some(&other), &mut counter, |_| false);
        builtin::finalize(&mut object, &other);
        _ = builtin::to_core(&builtin::from_core(&object));
    }
}
