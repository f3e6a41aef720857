//! What controllers do again and again.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use lariat::client::{DeleteParams, Patch, PatchParams};
use lariat::prelude::*;
use lariat::testing::TestCluster;
use lariat::{Change, TrackedApi, WaitError, install_crd, wait_for, wait_for_crd};
use serde_json::json;
use support::{ConfigMap, Log, MAPS, SHOPS, Shop, api, cluster, definition, key, map, object, shop};
use tokio::time::{Instant, sleep};

const SIGNS: Finalizer = Finalizer::new("example.dev/signs");

/// CR-13: an object is held before anything is done for it, is cleaned up after as often as it takes, and is let go then; one that is
/// not held is none of its business.
#[tokio::test(start_paused = true)]
async fn a_finalizer_holds_an_object_until_it_is_cleaned_up() {
    let (cluster, log) = (cluster(), Log::default());
    let controller = Controller::<Shop>::new("shops").reconcile({
        let log = log.clone();
        move |_, shop, context: Context| {
            let log = log.clone();
            async move {
                let Some(shop) = shop else {
                    log.push("gone");
                    return Ok(Outcome::Done);
                };
                let held = SIGNS.holds(&*shop);
                let apply = async || {
                    log.push(format!("apply, held: {held}"));
                    Ok(Outcome::Done)
                };
                let cleanup = async || {
                    log.push("cleanup");
                    match log.lines().iter().filter(|line| *line == "cleanup").count() {
                        1 => Err(std::fmt::Error.into()),
                        2 => Ok(Outcome::RequeueAfter(Duration::from_secs(5))),
                        _ => Ok(Outcome::Done),
                    }
                };
                SIGNS.run(&context.api::<Shop>(), &*shop, apply, cleanup).await
            }
        }
    });
    let manager = cluster.manager();
    manager.add(controller).unwrap();
    let running = cluster.run(manager);
    let shops = api(&cluster, SHOPS);
    shops.create(&object(shop("a"))).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(log.take(), ["apply, held: true"]);
    assert_eq!(
        cluster.stored("shops.example.dev", "default/a").unwrap()["metadata"]["finalizers"],
        json!([SIGNS.name()])
    );
    shops.delete(&key("a"), &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    assert!(cluster.stored("shops.example.dev", "default/a").is_some());
    sleep(Duration::from_secs(10)).await;
    assert!(cluster.stored("shops.example.dev", "default/a").is_none());
    assert_eq!(log.take(), ["cleanup", "cleanup", "cleanup", "gone"]);

    // Held by somebody else only, and to be deleted.
    let mut other = shop("b");
    other["metadata"]["finalizers"] = json!(["example.dev/other"]);
    other["metadata"]["deletionTimestamp"] = "2024-05-01T00:00:00Z".into();
    cluster.put("shops.example.dev", other);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(log.take(), [] as [&str; 0]);
    running.stop().await.unwrap();
}

/// CR-13: creates what is missing, updates what is not as it should be, and writes nothing otherwise.
#[tokio::test(start_paused = true)]
async fn an_object_is_created_or_updated() {
    let cluster = cluster();
    let maps = TrackedApi::<ConfigMap>::from(Api::all(cluster.client()));
    let wanted =
        |value: &'static str| move |map: &mut ConfigMap| drop(map.data.insert("k".into(), value.into()));
    let template = || serde_json::from_value::<ConfigMap>(map("m")).unwrap();
    let (_, change) = maps.create_or_update(template(), wanted("1")).await.unwrap();
    assert_eq!(change, Change::Created);
    let writes = cluster.resource_version();
    let (_, change) = maps.create_or_update(template(), wanted("1")).await.unwrap();
    assert_eq!((change, cluster.resource_version()), (Change::Unchanged, writes));
    let (map, change) = maps.create_or_update(template(), wanted("2")).await.unwrap();
    assert_eq!((change, map.data["k"].as_str()), (Change::Updated, "2"));
}

/// Server-side apply takes what it wants, leaves the rest, and removes what it does not want any more; of the status, only that.
#[tokio::test(start_paused = true)]
async fn an_object_is_applied() {
    let cluster = cluster();
    let maps = TrackedApi::<ConfigMap>::from(Api::all(cluster.client()));
    let with = |data: &[(&str, &str)]| {
        let mut one = serde_json::from_value::<ConfigMap>(map("m")).unwrap();
        one.metadata.resource_version = "1".into(); // as from a cache; it does not count
        one.data.extend(data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        one
    };
    maps.apply(&with(&[("a", "1"), ("b", "1")]), "one").await.unwrap();
    maps.apply(&with(&[("b", "2"), ("c", "2")]), "two").await.unwrap();
    let applied = maps.apply(&with(&[]), "one").await.unwrap();
    assert_eq!(applied.data, with(&[("b", "2"), ("c", "2")]).data);

    let shops = TrackedApi::<Shop>::from(Api::all(cluster.client()));
    let mut one: Shop = serde_json::from_value(shop("a")).unwrap();
    one.spec = json!({"x": 1});
    shops.create(&one).await.unwrap();
    one.spec = json!({"x": 2});
    one.status = json!({"y": 3});
    let applied = shops.apply_status(&one, "one").await.unwrap();
    assert_eq!((applied.spec, applied.status), (json!({"x": 1}), json!({"y": 3})));
}

#[tokio::test(start_paused = true)]
async fn an_object_is_waited_for() {
    let cluster = cluster();
    let maps = Api::<DynamicObject>::of_kind(cluster.client(), MAPS, "");
    let has = |want: &'static str| {
        move |map: Option<&DynamicObject>| map.is_some_and(|map| map.other["data"]["k"] == want)
    };
    let later = tokio::spawn({
        let maps = api(&cluster, MAPS);
        async move {
            sleep(Duration::from_secs(5)).await;
            let mut one = map("m");
            one["data"] = json!({"k": "1"});
            maps.create(&object(one)).await.unwrap();
            sleep(Duration::from_secs(5)).await;
            let patch = Patch::Merge(json!({"data": {"k": "2"}}));
            maps.patch(&key("m"), &patch, &PatchParams::default()).await.unwrap();
            sleep(Duration::from_secs(5)).await;
            maps.delete(&key("m"), &DeleteParams::default()).await.unwrap();
        }
    });
    let began = Instant::now();
    let minute = Duration::from_secs(60);
    wait_for(&maps, &key("m"), minute, |map| map.is_none()).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 0);
    let found = wait_for(&maps, &key("m"), minute, has("2")).await.unwrap().unwrap();
    assert_eq!((began.elapsed().as_secs(), found.other["data"]["k"].as_str()), (10, Some("2")));
    assert!(wait_for(&maps, &key("m"), minute, |map| map.is_none()).await.unwrap().is_none());
    assert_eq!(began.elapsed().as_secs(), 15);
    let error = wait_for(&maps, &key("m"), minute, has("3")).await.unwrap_err();
    assert_eq!(error.to_string(), "configmaps \"default/m\" is not as it should be after 60s");
    later.await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(cluster.watches("configmaps"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_installed_and_waited_for() {
    let cluster = TestCluster::new();
    let client = cluster.client();
    let minute = Duration::from_secs(60);
    assert!(matches!(
        wait_for_crd(&client, "shops.example.dev", minute).await,
        Err(WaitError::TimedOut { .. })
    ));
    assert!(matches!(install_crd(&client, json!({}), minute).await, Err(WaitError::NoName)));
    install_crd(&client, definition(), minute).await.unwrap();
    install_crd(&client, definition(), minute).await.unwrap();
    api(&cluster, SHOPS).create(&object(shop("a"))).await.unwrap();
    let mut wrong = definition();
    wrong["spec"]["scope"] = "Nowhere".into();
    assert!(matches!(install_crd(&client, wrong, minute).await, Err(WaitError::Refused(_))));
}
