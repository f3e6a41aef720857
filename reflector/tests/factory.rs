//! Informers that are made, run and ended together.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_api::labels::Selector;
use lariat_api::{DynamicObject, Kind, Object, ObjectMeta, PartialObjectMetadata, Randomness, Resource};
use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};
use lariat_client::{Client, Config};
use lariat_fixtures::{ScriptedServer, Step};
use lariat_reflector::{
    AlreadyMade, HandlerFns, InformerFactory, InformerFactoryBuilder, InitialList, Metrics,
};
use lariat_store::{Indexers, Lister};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

const SECRETS: Kind = Kind::namespaced("", "v1", "Secret", "secrets");
const NAMESPACES: Kind = Kind::cluster("", "v1", "Namespace", "namespaces");
const WIDGETS: Kind = Kind::namespaced("example.dev", "v1", "Widget", "widgets");
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Default, Deserialize)]
struct ConfigMap {
    metadata: ObjectMeta,
    #[serde(default)]
    data: std::collections::BTreeMap<String, String>,
}

impl Object for ConfigMap {
    type Meta = ObjectMeta;

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for ConfigMap {
    const KIND: Kind = Kind::namespaced("", "v1", "ConfigMap", "configmaps");
}

fn client(server: &ApiServer) -> Client {
    let pipes = server.clone();
    let connector = move |_: &http::Uri| std::future::ready(Ok(pipes.connect()));
    let config = Config::new("http://in-process".parse().unwrap()).unwrap();
    Client::builder(config).connector(connector).build().unwrap()
}

fn builder(client: Client) -> InformerFactoryBuilder {
    InformerFactory::builder(client).randomness(Randomness::seeded(1))
}

fn put(server: &ApiServer, kind: &Kind, namespace: &str, name: &str) {
    let object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind(),
        "metadata": {"name": name, "namespace": namespace, "uid": name, "labels": {"app": name}},
        "data": {"k": "dg=="},
    });
    server.put(&kind.to_string(), object);
}

fn names<K: Object>(lister: &Lister<K>) -> Vec<String> {
    let objects = lister.list(&Selector::everything());
    let mut names: Vec<String> =
        objects.iter().map(|object| format!("{}/{}", object.namespace(), object.name())).collect();
    names.sort();
    names
}

/// The lists and watches of a resource that a server was asked for.
fn requests(server: &ApiServer, plural: &str) -> Vec<String> {
    let path = format!("/{plural}?");
    server.seen().into_iter().map(|seen| seen.target).filter(|target| target.contains(&path)).collect()
}

/// FA-1: one informer for each type, and for each resource of a type that has several.
#[tokio::test(start_paused = true)]
async fn who_asks_for_the_same_informer_gets_it() {
    let server = ApiServer::builder().build();
    put(&server, &ConfigMap::KIND, "n", "a");
    let factory = builder(client(&server)).build();
    let first = factory.informer::<ConfigMap>();
    first.add_indexers(Indexers::new().with("uid", |object: &ConfigMap, emit| emit(object.uid()))).unwrap();
    let again = factory.clone().informer_of::<ConfigMap>(ConfigMap::KIND);
    let secrets = factory.dynamic(SECRETS);
    let dynamic = factory.dynamic(ConfigMap::KIND);
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    assert_eq!(again.lister().store().by_index("uid", "a").unwrap()[0].data["k"], "dg==");
    assert_eq!(names(&factory.lister::<ConfigMap>()), ["n/a"]);
    assert_eq!(names(&dynamic.lister()), ["n/a"]);
    assert!(secrets.lister().store().is_empty());
    sleep(Duration::from_secs(1)).await;
    assert_eq!((server.watches("configmaps"), server.watches("secrets")), (2, 1));
}

/// FA-2: a start returns at once, and starts what is not started yet; FA-3: only that is waited for.
#[tokio::test(start_paused = true)]
async fn starting_again_starts_what_is_new() {
    let server = ApiServer::builder().build();
    let factory = builder(client(&server)).build();
    factory.start();
    let first = factory.informer::<ConfigMap>();
    factory.start();
    factory.start();
    let second = factory.dynamic(SECRETS);
    factory.wait_for_sync(MINUTE).await.unwrap();
    assert!(first.has_synced() && !second.has_synced());
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    assert!(second.has_synced());
    sleep(Duration::from_secs(1)).await;
    assert_eq!((server.watches("configmaps"), server.watches("secrets")), (1, 1));

    factory.shutdown().await;
    let third = factory.dynamic(NAMESPACES);
    factory.start();
    sleep(MINUTE).await;
    assert!(!third.has_synced() && requests(&server, "namespaces").is_empty());
}

/// SI-10 and better: who has not synced is named, since when it tries, and what is in its way: here, a permission.
#[tokio::test(start_paused = true)]
async fn a_refusal_is_named() {
    let plan =
        FaultPlan::seeded(1).rule(Rule::new(Fault::answer(403, "Forbidden", None)).resource("secrets"));
    let server = ApiServer::builder().faults(plan).build();
    let factory = builder(client(&server)).name_prefix("my-").build();
    let secrets = factory.dynamic(SECRETS);
    factory.informer::<ConfigMap>();
    factory.dynamic(NAMESPACES);
    factory.start();
    let began = Instant::now();
    let error = factory.wait_for_sync(Duration::from_secs(40)).await.unwrap_err();
    assert_eq!(error.waited, Duration::from_secs(40));
    assert_eq!(error.informers.len(), 1);
    let one = &error.informers[0];
    assert_eq!((one.name.as_str(), &one.kind, one.is_stopped), ("my-secrets", &SECRETS, false));
    assert_eq!(one.trying_since, Some(began));
    assert_eq!(secrets.last_error(), one.last_error);
    let last = one.last_error.as_ref().unwrap();
    assert!(last.at > began && last.text.contains("403") && last.text.contains("Forbidden"), "{}", last.text);
    let text = error.to_string();
    assert!(
        text.starts_with("1 informer has not synced after 40s: \"my-secrets\" (trying for 40s, last error ")
    );
    assert!(text.contains("GET /api/v1/secrets?") && text.contains("403"), "{text}");

    server.heal();
    factory.wait_for_sync(MINUTE).await.unwrap();
    assert_eq!(secrets.last_error(), None);
}

/// SI-10: without an error too: a server that says nothing.
#[tokio::test(start_paused = true)]
async fn silence_is_named() {
    let factory = builder(ScriptedServer::new([]).client().unwrap()).build();
    factory.dynamic(SECRETS);
    factory.metadata(SECRETS);
    factory.start();
    let error = factory.wait_for_sync(Duration::from_secs(2)).await.unwrap_err();
    let want = "2 informers have not synced after 2s: \"secrets\" (trying for 2s); \"secrets:metadata\" (trying for 2s)";
    assert_eq!(error.to_string(), want);
}

/// FA-4, SI-17: after the shutdown all handlers have heard of everything, and no task is left. It may be repeated.
#[tokio::test(start_paused = true)]
async fn shutdown_leaves_no_task() {
    let server = ApiServer::builder().build();
    sleep(Duration::from_secs(1)).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let factory = builder(client(&server)).build();
    let heard = Arc::new(AtomicUsize::new(0));
    let config_maps = factory.informer::<ConfigMap>();
    let slow = heard.clone();
    config_maps
        .add_async_handler(move |_| {
            let slow = slow.clone();
            async move {
                sleep(Duration::from_secs(1)).await;
                slow.fetch_add(1, Ordering::Relaxed);
            }
        })
        .unwrap();
    let namespaces = factory.dynamic(NAMESPACES);
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    for i in 0..5 {
        put(&server, &ConfigMap::KIND, "n", &format!("a{i}"));
    }
    sleep(Duration::from_millis(500)).await;
    tokio::join!(factory.shutdown(), factory.shutdown());
    assert_eq!(heard.load(Ordering::Relaxed), 6, "five objects, and that it has synced");
    assert!(config_maps.is_stopped() && namespaces.is_stopped());
    factory.shutdown().await;
    // The connections of client and server go once they have been idle for long.
    sleep(Duration::from_secs(200)).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
    assert_eq!(names(&config_maps.lister()).len(), 5, "the cache can still be read");
}

/// Each handle may be in a task of its own, and the tasks on threads of their own.
#[tokio::test(start_paused = true)]
async fn a_factory_is_shared_by_tasks() {
    let server = ApiServer::builder().build();
    let factory = builder(client(&server)).build();
    let users = (0..10).map(|_| {
        let factory = factory.clone();
        tokio::spawn(async move {
            let config_maps = factory.informer::<ConfigMap>();
            factory.start();
            factory.wait_for_sync(MINUTE).await.unwrap();
            assert!(config_maps.has_synced());
        })
    });
    for user in users.collect::<Vec<_>>() {
        user.await.unwrap();
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.watches("configmaps"), 1);
    let ending = factory.clone();
    tokio::spawn(async move {
        assert!(ending.stop(&ConfigMap::KIND).await);
        ending.shutdown().await;
    })
    .await
    .unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.watches("configmaps"), 0);
}

/// A shutdown ends the waiting, and says of whom.
#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_waiting() {
    let factory = builder(ScriptedServer::new([]).client().unwrap()).build();
    factory.dynamic(SECRETS);
    factory.start();
    let began = Instant::now();
    let (error, ()) = tokio::join!(factory.wait_for_sync(MINUTE), async {
        sleep(Duration::from_secs(3)).await;
        factory.shutdown().await;
    });
    assert_eq!(error.unwrap_err().to_string(), "1 informer has not synced after 3s: \"secrets\" (stopped)");
    assert_eq!(began.elapsed(), Duration::from_secs(3));
}

/// Dropping the last handle ends everything.
#[tokio::test(start_paused = true)]
async fn dropping_the_factory_leaves_no_task() {
    let server = ApiServer::builder().build();
    sleep(Duration::from_secs(1)).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let factory = builder(client(&server)).build();
    let informer = factory.informer::<ConfigMap>();
    informer.add_handler(HandlerFns::new()).unwrap();
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    drop(factory.clone());
    sleep(Duration::from_secs(1)).await;
    assert!(!informer.is_stopped());
    drop(factory);
    sleep(Duration::from_secs(200)).await;
    assert!(informer.is_stopped());
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}

/// SI-3: one kind is stopped while the others go on, whatever the type; who asks for it again gets one that can be started.
#[tokio::test(start_paused = true)]
async fn one_kind_is_stopped_and_followed_again() {
    let server = ApiServer::builder().build();
    put(&server, &ConfigMap::KIND, "n", "a");
    let factory = builder(client(&server)).build();
    let (typed, dynamic) = (factory.informer::<ConfigMap>(), factory.dynamic(ConfigMap::KIND));
    let secrets = factory.dynamic(SECRETS);
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    assert!(factory.stop(&ConfigMap::KIND).await);
    assert!(!factory.stop(&ConfigMap::KIND).await, "it is forgotten");
    assert!(typed.is_stopped() && dynamic.is_stopped() && !secrets.is_stopped());
    assert!(typed.add_handler(HandlerFns::new()).is_err(), "SI-4");
    let by_uid = || Indexers::new().with("uid", |object: &ConfigMap, emit| emit(object.uid()));
    let error = typed.add_indexers(by_uid()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "informer \"configmaps\" has stopped: indexes must be added before",
        "SI-4"
    );

    put(&server, &ConfigMap::KIND, "n", "b");
    put(&server, &SECRETS, "n", "s");
    let fresh = factory.informer::<ConfigMap>();
    fresh.add_indexers(by_uid()).unwrap();
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(names(&fresh.lister()), ["n/a", "n/b"]);
    assert_eq!(names(&typed.lister()), ["n/a"]);
    assert_eq!(names(&secrets.lister()), ["n/s"]);
    assert_eq!((server.watches("configmaps"), server.watches("secrets")), (1, 1));
}

/// What is stopped is not waited for.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_stopped_is_not_missed() {
    let plan = FaultPlan::seeded(1).rule(Rule::new(Fault::answer(404, "NotFound", None)).resource("secrets"));
    let server = ApiServer::builder().faults(plan).build();
    let factory = builder(client(&server)).build();
    factory.informer::<ConfigMap>();
    factory.dynamic(SECRETS);
    factory.start();
    let (synced, stopped) = tokio::join!(factory.wait_for_sync(MINUTE), async {
        sleep(Duration::from_secs(5)).await;
        factory.stop(&SECRETS).await
    });
    assert!(stopped);
    synced.unwrap();
}

/// A stop whose future is dropped is carried out, and a shutdown waits for it.
#[tokio::test(start_paused = true)]
async fn a_stop_that_is_dropped_is_carried_out() {
    let server = ApiServer::builder().build();
    put(&server, &ConfigMap::KIND, "n", "a");
    let factory = builder(client(&server)).build();
    let informer = factory.informer::<ConfigMap>();
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    informer
        .add_async_handler(move |_| {
            let counter = counter.clone();
            async move {
                sleep(Duration::from_secs(5)).await;
                counter.fetch_add(1, Ordering::Relaxed);
            }
        })
        .unwrap();
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    let dropped = tokio::time::timeout(Duration::from_secs(1), factory.stop(&ConfigMap::KIND)).await;
    assert!(dropped.is_err() && informer.is_stopped());
    assert_eq!(heard.load(Ordering::Relaxed), 0);
    factory.shutdown().await;
    assert_eq!(heard.load(Ordering::Relaxed), 2);
}

/// FA-1: a factory may be of one namespace; kinds without are followed as a whole.
#[tokio::test(start_paused = true)]
async fn a_factory_may_be_of_one_namespace() {
    let server = ApiServer::builder().build();
    for (namespace, name) in [("n", "a"), ("n", "b"), ("m", "a")] {
        put(&server, &ConfigMap::KIND, namespace, name);
    }
    let all = builder(client(&server)).build();
    let one = builder(client(&server)).namespace("n").build();
    let (of_all, of_one) = (all.lister::<ConfigMap>(), one.lister::<ConfigMap>());
    let namespaces = one.dynamic(NAMESPACES).lister();
    for factory in [&all, &one] {
        factory.start();
        factory.wait_for_sync(MINUTE).await.unwrap();
    }
    assert_eq!(names(&of_all), ["m/a", "n/a", "n/b"]);
    assert_eq!(names(&of_one), ["n/a", "n/b"]);
    assert!(namespaces.list(&Selector::everything()).len() > 1);
}

/// FA-1: list options for all kinds and for one.
#[tokio::test(start_paused = true)]
async fn selectors_are_for_all_kinds_or_for_one() {
    let server = ApiServer::builder().build();
    for name in ["a", "b"] {
        put(&server, &ConfigMap::KIND, "n", name);
        put(&server, &SECRETS, "n", name);
    }
    let factory = builder(client(&server))
        .label_selector("app=a")
        .field_selector("metadata.namespace=n")
        .tweak_list_options(|kind, options| {
            if *kind == SECRETS {
                assert_eq!(options.label_selector, "app=a");
                options.label_selector.clear();
                options.field_selector.push_str(",metadata.name!=a");
            }
        })
        .build();
    let (config_maps, secrets) = (factory.lister::<ConfigMap>(), factory.dynamic(SECRETS).lister());
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    assert_eq!((names(&config_maps), names(&secrets)), (vec!["n/a".into()], vec!["n/b".into()]));
    let asked = requests(&server, "configmaps");
    assert!(!asked.is_empty() && asked.iter().all(|target| target.contains("labelSelector=app%3Da")));
}

/// FA-1: a transform is of a type; an informer may have a way of its own, if nobody has asked for it before.
#[tokio::test(start_paused = true)]
async fn transforms_and_customising_are_of_one_type() {
    let server = ApiServer::builder().build();
    put(&server, &ConfigMap::KIND, "n", "a");
    put(&server, &ConfigMap::KIND, "n", "b");
    let factory = builder(client(&server))
        .transform(|object: &mut ConfigMap| {
            object.data.clear();
            Ok(())
        })
        .build();
    let own =
        factory.informer_with::<ConfigMap>(|builder| builder.name("mine").label_selector("app=b")).unwrap();
    let again = factory.informer_with::<ConfigMap>(|builder| builder.name("other"));
    assert_eq!(again.unwrap_err(), AlreadyMade(ConfigMap::KIND));
    assert_eq!(factory.informer::<ConfigMap>().name(), "mine");
    let dynamic = factory.dynamic(ConfigMap::KIND);
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    assert_eq!(names(&own.lister()), ["n/b"]);
    assert!(own.lister().store().get("n/b").unwrap().data.is_empty());
    assert_eq!(names(&dynamic.lister()), ["n/a", "n/b"]);
    assert_eq!(dynamic.lister().store().get("n/b").unwrap().other["data"]["k"], "dg==");
    factory.stop(&ConfigMap::KIND).await;
    assert!(factory.informer_with::<ConfigMap>(|builder| builder).is_ok(), "it was forgotten");
}

/// What is asked for, as metadata only, of a server that can and of one that cannot, by a list and by a stream.
#[tokio::test(start_paused = true)]
async fn metadata_is_asked_for_alone() {
    for initial_list in [InitialList::List, InitialList::Streaming] {
        let server = ApiServer::builder().build();
        put(&server, &SECRETS, "n", "a");
        let factory = builder(client(&server)).initial_list(initial_list).build();
        let secrets = factory.metadata(SECRETS);
        factory.start();
        factory.wait_for_sync(MINUTE).await.unwrap();
        put(&server, &SECRETS, "n", "b");
        server.delete("secrets", "n/a");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(names(&secrets.lister()), ["n/b"]);
        assert_eq!(secrets.lister().store().get("n/b").unwrap().metadata.labels["app"], "b");
        assert_eq!(secrets.last_error(), None);
    }

    let widget = |name: &str, version: &str| {
        json!({
            "apiVersion": "example.dev/v1", "kind": "Widget", "spec": {"size": 1},
            "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": version},
        })
    };
    let added: Value = json!({"type": "ADDED", "object": widget("b", "6")});
    let server = ScriptedServer::new([Step::list("5", &[widget("a", "4")]), Step::watch(&[added]).hold()]);
    let factory = builder(server.client().unwrap()).initial_list(InitialList::List).build();
    let widgets = factory.metadata(WIDGETS);
    assert_eq!(widgets.name(), "widgets.example.dev:metadata");
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(names(&widgets.lister()), ["n/a", "n/b"]);
    let seen = server.seen();
    let accepts = |i: usize| seen[i].headers["accept"].to_str().unwrap().to_owned();
    let partial = |kind: &str| format!("application/json;as={kind};g=meta.k8s.io;v=v1,application/json");
    assert_eq!(
        (accepts(0), accepts(1)),
        (partial("PartialObjectMetadataList"), partial("PartialObjectMetadata"))
    );
}

/// U-18: informers do not wait for each other: no requests are held back.
#[tokio::test(start_paused = true)]
async fn many_informers_list_at_once() {
    let server = ScriptedServer::new((0..100).map(|_| Step::list("5", &[])));
    let factory = builder(server.client().unwrap()).initial_list(InitialList::List).build();
    for i in 0..100 {
        factory.metadata(Kind::new("example.dev", "v1", format!("Widget{i}"), format!("widgets{i}"), true));
    }
    factory.start();
    sleep(Duration::from_millis(1)).await;
    let lists = server.seen().into_iter().filter(|seen| !seen.target.contains("watch=true"));
    let at: Vec<Duration> = lists.map(|seen| seen.at).collect();
    assert_eq!((at.len(), at.iter().max()), (100, Some(&Duration::ZERO)));
}

#[derive(Default)]
struct Listed(Mutex<Vec<String>>);

impl Metrics for Listed {
    fn listed(&self, informer: &str, objects: usize, _took: Duration) {
        self.0.lock().unwrap().push(format!("{informer} {objects}"));
    }
}

/// FA-1: names, metrics, errors and the resync period are those of the factory.
#[tokio::test(start_paused = true)]
async fn all_informers_are_made_in_one_way() {
    let plan = FaultPlan::seeded(1)
        .rule(Rule::new(Fault::answer(500, "InternalError", None)).resource("secrets").times(1));
    let server = ApiServer::builder().faults(plan).build();
    put(&server, &ConfigMap::KIND, "n", "a");
    let (metrics, errors) = (Arc::new(Listed::default()), Arc::new(Mutex::new(Vec::new())));
    let failed = errors.clone();
    let factory = builder(client(&server))
        .name_prefix("games/")
        .initial_list(InitialList::List)
        .resync_period(Duration::from_secs(10))
        .metrics(metrics.clone())
        .on_error(move |name, error| failed.lock().unwrap().push(format!("{name}: {error}")))
        .build();
    let resynced = Arc::new(AtomicUsize::new(0));
    let counter = resynced.clone();
    let handler = HandlerFns::<ConfigMap>::new().on_update(move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    factory.informer::<ConfigMap>().add_handler(handler).unwrap();
    factory.informer_of::<PartialObjectMetadata>(SECRETS);
    factory.start();
    factory.wait_for_sync(MINUTE).await.unwrap();
    let mut listed = metrics.0.lock().unwrap().clone();
    listed.sort();
    assert_eq!(listed, ["games/configmaps 1", "games/secrets:metadata 0"]);
    let errors = errors.lock().unwrap().clone();
    assert!(
        errors.len() == 1 && errors[0].starts_with("games/secrets:metadata: list failed: "),
        "{errors:?}"
    );
    sleep(Duration::from_secs(25)).await;
    assert_eq!(resynced.load(Ordering::Relaxed), 2);
}

/// An informer of another owner: the text says that nobody started it.
#[tokio::test(start_paused = true)]
async fn one_informer_is_waited_for_in_the_same_way() {
    let plan =
        FaultPlan::seeded(1).rule(Rule::new(Fault::answer(403, "Forbidden", None)).resource("secrets"));
    let server = ApiServer::builder().faults(plan).build();
    let factory = builder(client(&server)).build();
    let secrets: lariat_reflector::Informer<DynamicObject> = factory.dynamic(SECRETS);
    let error = secrets.wait_for_sync_within(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "1 informer has not synced after 1s: \"secrets\" (not started)");
    factory.start();
    let error = secrets.wait_for_sync_within(Duration::from_secs(1)).await.unwrap_err();
    assert!(error.to_string().contains("403"));
    server.heal();
    secrets.wait_for_sync_within(MINUTE).await.unwrap();
}
