//! Allocations through the API of an embedded server (reference 6). A test is named after the fact that it shows.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod allocating;

use std::collections::BTreeSet;
use std::time::Duration;

use allocating::{Allocating, PATH, server};
use lariat_apiserver::{Fault, FaultPlan, Rule};
use lariat_controllers::gates::FeatureGates;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How long those who ask next wait, at most.
const WAIT: Duration = Duration::from_millis(500);

fn state(answer: &Value) -> &str {
    answer["status"]["state"].as_str().unwrap_or_default()
}

fn given(answer: &Value) -> &str {
    assert_eq!(state(answer), "Allocated", "{answer}");
    answer["status"]["gameServerName"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn al_1_an_allocation_is_created_and_nothing_else() {
    let cluster = Allocating::new([server("a", "Ready")]).await;
    let (code, answer) = cluster.send("POST", PATH, "application/json", "{}").await;
    assert_eq!((code, state(&answer)), (201, "Allocated"));
    assert_eq!(
        (&answer["kind"], &answer["apiVersion"]),
        (&json!("GameServerAllocation"), &json!("allocation.agones.dev/v1"))
    );
    assert!(answer["metadata"]["creationTimestamp"].is_string());
    let (code, answer) = cluster.send("POST", PATH, "application/yaml", "spec: {scheduling: Packed}").await;
    assert_eq!((code, state(&answer)), (201, "UnAllocated"));
    for (method, path) in [
        ("GET", PATH.to_owned()),
        ("DELETE", PATH.to_owned()),
        ("GET", format!("{PATH}/a")),
        ("PUT", format!("{PATH}/a")),
        ("DELETE", format!("{PATH}/a")),
        ("GET", format!("{PATH}?watch=true")),
        ("POST", "/apis/allocation.agones.dev/v1/gameserverallocations".to_owned()),
    ] {
        let (code, answer) = cluster.send(method, &path, "application/json", "{}").await;
        assert_eq!((code, &answer["kind"]), (405, &json!("Status")), "{method} {path}");
    }
    let (_, resources) = cluster.send("GET", "/apis/allocation.agones.dev/v1", "", "").await;
    assert_eq!(
        resources["resources"],
        json!([{"name": "gameserverallocations", "singularName": "gameserverallocation", "namespaced": true,
            "kind": "GameServerAllocation", "verbs": ["create"], "shortNames": ["gsa"]}])
    );
    for body in [
        "{",
        "[]",
        r#"{"spec": 7}"#,
        r#"{"spec": {"selectors": {}}}"#,
        r#"{"spec": {"counters": {"a": {"amount": "x"}}}}"#,
    ] {
        let (code, answer) = cluster.send("POST", PATH, "application/json", body).await;
        assert_eq!((code, &answer["reason"]), (400, &json!("BadRequest")), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn al_1_what_is_invalid_is_said_field_by_field() {
    let cluster = Allocating::new([server("a", "Ready")]).await;
    for (spec, fields) in [
        (json!({"scheduling": "Tight"}), vec!["spec.scheduling"]),
        (json!({"selectors": [{"gameServerState": "Starting"}]}), vec!["spec.selectors[0].gameServerState"]),
        (
            json!({"required": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
            vec!["spec.required.labelSelector"],
        ),
        (
            json!({"selectors": [{"counters": {"c": {"minCount": -1}}}]}),
            vec!["spec.selectors[0].counters[c].minCount"],
        ),
        (
            json!({"selectors": [{"lists": {"l": {"minAvailable": 3, "maxAvailable": 2}}}]}),
            vec!["spec.selectors[0].lists[l]"],
        ),
        (
            json!({"priorities": [{"type": "Luck", "key": ""}]}),
            vec!["spec.priorities[0]", "spec.priorities[0]"],
        ),
        (json!({"counters": {"c": {"action": "Increment"}}}), vec!["spec.counters[c]"]),
        (
            json!({"counters": {"c": {"amount": -1, "action": "Increment", "capacity": -1}}}),
            vec!["spec.counters[c].amount", "spec.counters[c].capacity"],
        ),
        (json!({"lists": {"l": {"capacity": -1}}}), vec!["spec.lists[l].capacity"]),
        (json!({"metadata": {"labels": {"-": "a"}}}), vec!["spec.metadata.labels"]),
        (json!({"multiClusterSetting": {"enabled": true}}), vec!["spec.multiClusterSetting.enabled"]),
    ] {
        let body = json!({"metadata": {"name": "mine"}, "spec": spec});
        let (code, answer) = cluster.post(&body).await;
        assert_eq!(
            (code, &answer["kind"], &answer["reason"]),
            (422, &json!("Status"), &json!("Invalid")),
            "{spec}"
        );
        let causes = answer["details"]["causes"].as_array().unwrap();
        assert_eq!(causes.iter().map(|cause| &cause["field"]).collect::<Vec<_>>(), fields, "{answer}");
        assert_eq!(
            (&answer["details"]["kind"], &answer["details"]["name"]),
            (&json!("GameServerAllocation"), &json!("mine"))
        );
    }
    let mut gates = FeatureGates::default();
    gates = "CountsAndLists=false".parse().unwrap_or(gates);
    let cluster = Allocating::with([server("a", "Ready")], gates, WAIT).await;
    let (code, answer) = cluster.post(&json!({"spec": {"counters": {"c": {"capacity": 1}}}})).await;
    assert_eq!((code, &answer["details"]["causes"][0]["field"]), (422, &json!("spec.counters")));
    assert_eq!(cluster.state_of("a"), "Ready", "nobody was given what was refused");
}

#[tokio::test(start_paused = true)]
async fn al_2_what_is_left_out_has_its_default() {
    let cluster = Allocating::new([server("a", "Allocated"), server("b", "Ready")]).await;
    let (_, answer) = cluster.post(&json!({"spec": {"priorities": [{"type": "Counter", "key": "c"}]}})).await;
    assert_eq!(given(&answer), "b", "Ready is what is asked for");
    assert_eq!(
        (&answer["spec"]["scheduling"], &answer["spec"]["priorities"][0]["order"]),
        (&json!("Packed"), &json!("Ascending"))
    );
}

#[tokio::test(start_paused = true)]
async fn al_2_older_clients_prefer_and_require() {
    let with = |name: &str, colour: &str| {
        let mut server = server(name, "Ready");
        server["metadata"]["labels"] = json!({"colour": colour, "game": "g"});
        server
    };
    let cluster = Allocating::new([with("a", "red"), with("b", "blue"), with("c", "green")]).await;
    let body = json!({"spec": {
        "required": {"matchLabels": {"game": "g"}},
        "preferred": [{"matchLabels": {"colour": "green"}}, {"matchLabels": {"colour": "blue"}}],
    }});
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(given(&cluster.post(&body).await.1).to_owned());
    }
    assert_eq!(names, ["c", "b", "a"]);
    assert_eq!(state(&cluster.post(&body).await.1), "UnAllocated");
}

#[tokio::test(start_paused = true)]
async fn al_3_the_first_selector_that_any_server_matches_is_it() {
    let with = |name: &str, count: i64, values: &Value| {
        let mut server = server(name, "Ready");
        server["status"]["counters"] = json!({"rooms": {"count": count, "capacity": 10}});
        server["status"]["lists"] = json!({"players": {"capacity": 3, "values": values}});
        server
    };
    let servers =
        [with("a", 9, &json!(["x", "y", "z"])), with("b", 5, &json!(["x"])), with("c", 0, &json!([]))];
    let cluster = Allocating::new(servers).await;
    let ask = |selectors: Value| json!({"spec": {"selectors": selectors}});
    let none = ask(
        json!([{"counters": {"rooms": {"minAvailable": 11}}}, {"lists": {"players": {"containsValue": "w"}}}, {"counters": {"other": {}}}]),
    );
    assert_eq!(state(&cluster.post(&none).await.1), "UnAllocated");
    // The first one that matches is none of the first server; a maximum of 0 is none.
    let some = ask(json!([
        {"counters": {"rooms": {"minCount": 1, "maxCount": 8, "maxAvailable": 0}}},
        {"lists": {"players": {"minAvailable": 0}}},
    ]));
    assert_eq!(given(&cluster.post(&some).await.1), "b");
    let full = ask(json!([{"lists": {"players": {"containsValue": "z", "maxAvailable": 0}}}]));
    assert_eq!(given(&cluster.post(&full).await.1), "a");
}

#[tokio::test(start_paused = true)]
async fn al_3_servers_are_of_the_namespace_that_asks() {
    let mut other = server("a", "Ready");
    other["metadata"]["namespace"] = "other".into();
    other["metadata"]["uid"] = "of-other".into();
    let cluster = Allocating::new([server("a", "Ready"), other]).await;
    let of_other = PATH.replace("default", "other");
    let (mine, theirs) = tokio::join!(
        cluster.send("POST", PATH, "application/json", "{}"),
        cluster.send("POST", &of_other, "application/json", "{}"),
    );
    assert_eq!((given(&mine.1), &mine.1["metadata"]["namespace"]), ("a", &json!("default")));
    assert_eq!((given(&theirs.1), &theirs.1["metadata"]["namespace"]), ("a", &json!("other")));
    for path in [PATH, &of_other, "/apis/allocation.agones.dev/v1/namespaces/nowhere/gameserverallocations"] {
        assert_eq!(state(&cluster.send("POST", path, "application/json", "{}").await.1), "UnAllocated");
    }
}

#[tokio::test(start_paused = true)]
async fn al_4_packed_takes_those_with_players_and_then_the_fullest_nodes() {
    let on = |name: &str, state: &str, node: &str| {
        let mut server = server(name, state);
        server["status"]["nodeName"] = node.into();
        server
    };
    let servers = [
        on("a", "Ready", "n1"),
        on("b", "Ready", "n2"),
        on("c", "Ready", "n2"),
        on("d", "Allocated", "n3"),
        on("e", "Ready", "n3"),
    ];
    let cluster = Allocating::new(servers).await;
    let any =
        json!({"spec": {"selectors": [{"gameServerState": "Allocated"}, {"gameServerState": "Ready"}]}});
    assert_eq!(given(&cluster.post(&any).await.1), "d", "one with players");
    let ready = json!({});
    let mut names = Vec::new();
    for _ in 0..4 {
        names.push(given(&cluster.post(&ready).await.1).to_owned());
    }
    assert_eq!(names, ["e", "b", "c", "a"], "the node with players, then that with more that are ready");
}

#[tokio::test(start_paused = true)]
async fn al_4_distributed_goes_by_priorities_if_there_are_any() {
    let with = |name: &str, free: i64| {
        let mut server = server(name, "Ready");
        server["status"]["counters"] = json!({"rooms": {"count": 0, "capacity": free}});
        server
    };
    let cluster = Allocating::new([with("a", 5), with("b", 9), with("c", 1), server("d", "Ready")]).await;
    let by = json!({"spec": {"scheduling": "Distributed", "priorities": [{"type": "Counter", "key": "rooms", "order": "Descending"}]}});
    let mut names = Vec::new();
    for _ in 0..4 {
        names.push(given(&cluster.post(&by).await.1).to_owned());
    }
    assert_eq!(names, ["b", "a", "c", "d"]);

    let cluster = Allocating::new((0..30).map(|number| server(&format!("gs-{number:02}"), "Ready"))).await;
    let mut names = Vec::new();
    for _ in 0..10 {
        names.push(given(&cluster.post(&json!({"spec": {"scheduling": "Distributed"}})).await.1).to_owned());
    }
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_ne!(names, sorted, "without them the order is any");
}

#[tokio::test(start_paused = true)]
async fn al_5_what_is_asked_for_is_done_to_the_server_and_cannot_keep_it_from_being_given() {
    let mut one = server("a", "Ready");
    one["status"]["counters"] = json!({"rooms": {"count": 1, "capacity": 1}});
    one["status"]["lists"] = json!({"players": {"capacity": 2, "values": ["x", "y"]}});
    let cluster = Allocating::new([one]).await;
    let body = json!({"spec": {
        "metadata": {"labels": {"mode": "duel"}, "annotations": {"map": "north"}},
        "counters": {"rooms": {"action": "Increment", "amount": 3, "capacity": 3}, "missing": {"capacity": 1}},
        "lists": {"players": {"capacity": 4, "addValues": ["y", "z"], "deleteValues": ["x"]}, "none": {"addValues": ["a"]}},
    }});
    let (code, answer) = cluster.post(&body).await;
    assert_eq!((code, given(&answer)), (201, "a"));
    let stored = cluster.stored("a");
    assert_eq!(
        (&stored["status"]["state"], &stored["metadata"]["labels"]["mode"]),
        (&json!("Allocated"), &json!("duel"))
    );
    assert_eq!(stored["metadata"]["annotations"]["map"], "north");
    assert!(stored["metadata"]["annotations"]["agones.dev/last-allocated"].is_string());
    assert_eq!(
        stored["status"]["counters"],
        json!({"rooms": {"count": 3, "capacity": 3}}),
        "the capacity first, then the count"
    );
    assert_eq!(stored["status"]["lists"], json!({"players": {"capacity": 4, "values": ["y", "z"]}}));
    assert_eq!(
        cluster.events(),
        ["Warning CounterActionError", "Warning ListActionError", "Normal Allocated"]
    );
}

#[tokio::test(start_paused = true)]
async fn al_6_those_who_ask_at_about_the_same_time_are_answered_together() {
    let cluster = Allocating::new((0..10).map(|number| server(&format!("gs-{number}"), "Ready"))).await;
    let start = Instant::now();
    let mut asking = JoinSet::new();
    for at in [0, 100, 200, 499, 700] {
        let cluster = cluster.clone();
        asking.spawn(async move {
            tokio::time::sleep(Duration::from_millis(at)).await;
            let answer = cluster.post(&json!({})).await.1;
            assert_eq!(state(&answer), "Allocated");
            (at, start.elapsed().as_millis())
        });
    }
    let mut answered = asking.join_all().await;
    answered.sort_unstable();
    assert_eq!(answered, [(0, 0), (100, 500), (200, 500), (499, 500), (700, 1_000)]);
    tokio::time::sleep(WAIT).await;
    let before = start.elapsed();
    cluster.post(&json!({})).await;
    assert_eq!(start.elapsed(), before, "after a pause nobody waits");
}

#[tokio::test(start_paused = true)]
async fn al_6_a_server_that_somebody_changed_is_left_out_until_the_cache_has_it() {
    let cluster = Allocating::new([server("a", "Ready"), server("b", "Ready")]).await;
    let conflict = Fault::answer(409, "Conflict", None);
    let rule = Rule::new(conflict).verb("update").resource("gameservers").name("a").times(1);
    cluster.api.set_faults(FaultPlan::seeded(1).rule(rule));
    assert_eq!(given(&cluster.post(&json!({})).await.1), "b");
    assert_eq!(state(&cluster.post(&json!({})).await.1), "UnAllocated", "nothing is known of a");
    let mut changed = cluster.stored("a");
    changed["metadata"]["labels"] = json!({"new": "label"});
    cluster.api.put("gameservers.agones.dev", changed);
    tokio::time::sleep(WAIT).await;
    assert_eq!(given(&cluster.post(&json!({})).await.1), "a");
}

#[tokio::test(start_paused = true)]
async fn al_6_a_server_whose_write_failed_is_as_it_was() {
    let cluster = Allocating::new([server("a", "Ready")]).await;
    let fails = Fault::answer(500, "InternalError", None);
    let rule = Rule::new(fails).verb("update").resource("gameservers").times(1);
    cluster.api.set_faults(FaultPlan::seeded(1).rule(rule));
    let body = json!({"spec": {"metadata": {"labels": {"mode": "duel"}}}});
    let answer = cluster.post(&body).await.1;
    assert_eq!((given(&answer), &cluster.stored("a")["metadata"]["labels"]["mode"]), ("a", &json!("duel")));
}

#[tokio::test(start_paused = true)]
async fn al_6_more_than_a_batch_at_once_and_orders_of_all_sorts() {
    let cluster = Allocating::new((0..250).map(|number| server(&format!("gs-{number}"), "Ready"))).await;
    let mut asking = JoinSet::new();
    for number in 0..260 {
        let cluster = cluster.clone();
        let spec = match number % 3 {
            0 => json!({}),
            1 => json!({"scheduling": "Distributed"}),
            _ => json!({"priorities": [{"type": "List", "key": "l", "order": "Descending"}]}),
        };
        asking.spawn(async move { cluster.post(&json!({"spec": spec})).await.1 });
    }
    let answers = asking.join_all().await;
    let names: BTreeSet<&str> =
        answers.iter().filter(|answer| state(answer) == "Allocated").map(given).collect();
    assert_eq!(names.len(), 250, "each once");
    assert_eq!(answers.iter().filter(|answer| state(answer) == "UnAllocated").count(), 10);
}

#[tokio::test(start_paused = true)]
async fn al_7_contention_is_bounded_and_has_a_state_of_its_own() {
    let cluster = Allocating::new((0..9).map(|number| server(&format!("gs-{number}"), "Ready"))).await;
    let conflict = Fault::answer(409, "Conflict", None);
    cluster
        .api
        .set_faults(FaultPlan::seeded(1).rule(Rule::new(conflict).verb("update").resource("gameservers")));
    let (code, answer) = cluster.post(&json!({})).await;
    assert_eq!((code, state(&answer)), (201, "Contention"));
    assert_eq!(cluster.writes(), 5, "each time another server, five times");
    cluster.api.heal();
    assert_eq!(state(&cluster.post(&json!({})).await.1), "Allocated");
}

#[tokio::test(start_paused = true)]
async fn al_7_other_errors_are_tried_again_and_then_told() {
    let cluster = Allocating::new([server("a", "Ready")]).await;
    let fails = Fault::answer(403, "Forbidden", None);
    cluster
        .api
        .set_faults(FaultPlan::seeded(1).rule(Rule::new(fails).verb("update").resource("gameservers")));
    let (code, answer) = cluster.post(&json!({})).await;
    assert_eq!((code, &answer["kind"], &answer["reason"]), (500, &json!("Status"), &json!("InternalError")));
    assert_eq!(cluster.writes(), 5);
}

#[tokio::test(start_paused = true)]
async fn al_7_without_a_match_nothing_is_tried_again() {
    let cluster =
        Allocating::new([server("a", "Starting"), server("b", "Unhealthy"), server("c", "Reserved")]).await;
    let start = Instant::now();
    let (code, answer) = cluster.post(&json!({"metadata": {"name": "mine"}})).await;
    assert_eq!((code, state(&answer), cluster.writes()), (201, "UnAllocated", 0));
    assert_eq!((start.elapsed(), &answer["status"]["gameServerName"]), (Duration::ZERO, &json!("")));
}

/// [X]: an abandoned caller can block the original's loop, and takes a server with him.
#[tokio::test(start_paused = true)]
async fn al_7_who_goes_away_takes_no_server_and_holds_up_nobody() {
    let cluster = Allocating::new([server("a", "Ready")]).await;
    // The first is answered at once, and those after it wait.
    assert_eq!(
        state(&cluster.post(&json!({"spec": {"selectors": [{"matchLabels": {"no": "such"}}]}})).await.1),
        "UnAllocated"
    );
    let mut asking = JoinSet::new();
    for _ in 0..300 {
        let cluster = cluster.clone();
        asking.spawn(async move { cluster.post(&json!({})).await });
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    asking.shutdown().await;
    tokio::time::sleep(WAIT * 2).await;
    assert_eq!(cluster.state_of("a"), "Ready");
    assert_eq!(given(&cluster.post(&json!({})).await.1), "a");
}

#[tokio::test(start_paused = true)]
async fn al_10_the_answer_tells_where_the_server_is() {
    let mut one = server("a", "Ready");
    one["metadata"]["labels"] = json!({"l": "1"});
    one["metadata"]["annotations"] = json!({"a": "2"});
    one["status"]["ports"] = json!([{"name": "default", "port": 7_654}]);
    one["status"]["address"] = "1.2.3.4".into();
    one["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.0.1"}]);
    one["status"]["nodeName"] = "node-1".into();
    one["status"]["counters"] = json!({"rooms": {"count": 1, "capacity": 2}});
    one["status"]["lists"] = json!({"players": {"capacity": 5, "values": ["x"]}});
    let cluster = Allocating::new([one.clone()]).await;
    let (_, mut answer) = cluster.post(&json!({"metadata": {"name": "mine"}})).await;
    assert_eq!(answer["metadata"]["name"], "a");
    let annotations = answer["status"]["metadata"]["annotations"].as_object_mut().unwrap();
    assert!(annotations.remove("agones.dev/last-allocated").is_some());
    assert_eq!(
        answer["status"],
        json!({
            "state": "Allocated", "gameServerName": "a", "source": "local",
            "ports": one["status"]["ports"], "address": "1.2.3.4", "addresses": one["status"]["addresses"],
            "nodeName": "node-1", "metadata": {"labels": {"l": "1"}, "annotations": {"a": "2"}},
            "counters": one["status"]["counters"], "lists": one["status"]["lists"],
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_gives_nothing() {
    let cluster = Allocating::new([server("a", "Ready")]).await;
    let (code, answer) = cluster.send("POST", &format!("{PATH}?dryRun=All"), "application/json", "{}").await;
    assert_eq!((code, state(&answer), &answer["spec"]["scheduling"]), (201, "", &json!("Packed")));
    assert_eq!(cluster.state_of("a"), "Ready");
}

#[tokio::test(start_paused = true)]
async fn no_server_is_given_twice_among_64_callers() {
    for wait in [Duration::ZERO, WAIT] {
        let servers = (0..40).map(|number| server(&format!("gs-{number}"), "Ready"));
        let cluster = Allocating::with(servers, FeatureGates::default(), wait).await;
        let answers = cluster.all_of(64, &json!({})).await;
        let names: Vec<&str> =
            answers.iter().filter(|answer| state(answer) == "Allocated").map(given).collect();
        let once: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!((names.len(), once.len()), (40, 40));
        assert_eq!(answers.iter().filter(|answer| state(answer) == "UnAllocated").count(), 24);
        assert_eq!(cluster.writes(), 40, "one write each");
    }
}

/// Issue 1856: several allocators with caches of their own went for the same servers.
#[tokio::test(start_paused = true)]
async fn issue_1856_two_allocators_give_no_server_twice_and_end_their_tries() {
    let cluster = Allocating::new((0..60).map(|number| server(&format!("gs-{number}"), "Ready"))).await;
    let other = cluster.another().await;
    let body = json!({});
    let (mine, theirs) = tokio::join!(cluster.all_of(32, &body), other.all_of(32, &body));
    let answers: Vec<&Value> = mine.iter().chain(&theirs).collect();
    let names: Vec<&str> =
        answers.iter().filter(|answer| state(answer) == "Allocated").map(|answer| given(answer)).collect();
    let once: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), once.len(), "each once");
    let allocated = (0..60).filter(|number| cluster.state_of(&format!("gs-{number}")) == "Allocated").count();
    assert_eq!(allocated, names.len(), "none is lost");
    for answer in &answers {
        assert!(matches!(state(answer), "Allocated" | "Contention" | "UnAllocated"), "{answer}");
    }
    assert!(names.len() >= 32, "they get on: {}", names.len());
    assert!(cluster.writes() <= 64 * 5, "{} writes", cluster.writes());
}

/// Issues 3992, 4142, 2788: where sessions share servers, a batch took the only server that had room away from all others.
#[tokio::test(start_paused = true)]
async fn issue_3992_those_of_a_batch_share_a_server_as_long_as_it_has_room() {
    let with_rooms = |name: &str| {
        let mut server = server(name, "Ready");
        server["status"]["counters"] = json!({"rooms": {"count": 0, "capacity": 10}});
        server
    };
    let cluster = Allocating::new([with_rooms("a"), with_rooms("b"), with_rooms("c")]).await;
    let room = json!({"rooms": {"minAvailable": 1}});
    let body = json!({"spec": {
        "selectors": [{"gameServerState": "Allocated", "counters": room}, {"gameServerState": "Ready", "counters": room}],
        "counters": {"rooms": {"action": "Increment", "amount": 1}},
    }});
    let answers = cluster.all_of(25, &body).await;
    assert!(answers.iter().all(|answer| state(answer) == "Allocated"));
    let of = |name: &str| answers.iter().filter(|answer| given(answer) == name).count();
    assert_eq!((of("a"), of("b"), of("c")), (10, 10, 5), "one is filled before the next one");
    assert_eq!(cluster.stored("a")["status"]["counters"]["rooms"]["count"], 10);
    assert_eq!(cluster.stored("c")["status"]["counters"]["rooms"]["count"], 5);
    let answers = cluster.all_of(6, &body).await;
    assert_eq!(answers.iter().filter(|answer| state(answer) == "Allocated").count(), 5);
    assert_eq!(answers.iter().filter(|answer| state(answer) == "UnAllocated").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_allocator_that_has_stopped_says_so() {
    let cluster = Allocating::new([server("a", "Ready")]).await;
    cluster.stop();
    tokio::time::sleep(WAIT).await;
    let (code, answer) = cluster.post(&json!({})).await;
    assert_eq!((code, &answer["reason"]), (500, &json!("InternalError")));
}
