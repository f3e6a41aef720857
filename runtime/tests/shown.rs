//! Informers and queues that no controller has, and those who are told of them too.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lariat::Runnable;
use lariat::prelude::*;
use support::{Shop, cluster, shop};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Counts what it is told.
#[derive(Default)]
struct Told {
    answers: AtomicU64,
    lists: AtomicU64,
    added: AtomicU64,
}

impl lariat::client::Metrics for Told {
    fn answered(&self, _: &http::Method, _: &str, _: Option<u16>, _: Duration) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }
}

impl lariat::reflector::Metrics for Told {
    fn listed(&self, _: &str, _: usize, _: Duration) {
        self.lists.fetch_add(1, Ordering::Relaxed);
    }
}

impl lariat::workqueue::Metrics for Told {
    fn added(&self, _: &str, _: i32) {
        self.added.fetch_add(1, Ordering::Relaxed);
    }
}

async fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A runnable's informer and queue are seen as a controller's are, and an observer is told what the manager counts.
#[tokio::test(start_paused = true)]
async fn what_a_runnable_has_is_seen() {
    let cluster = cluster();
    cluster.put("shops.example.dev", shop("a"));
    let told = Arc::new(Told::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let builder = cluster.manager_builder().observer(told.clone()).listener(listener).serve_metrics(false);
    let manager = builder.build();
    let shops = manager.informers().informer::<Shop>();
    let queue: Queue<ObjectKey> = Queue::builder().name("counters").metrics(manager.queue_metrics()).build();
    manager.show_informer(&shops);
    manager.show_queue(&queue);
    let waiting = queue.clone();
    shops
        .add_handler(HandlerFns::new().on_add(move |shop: &Arc<Shop>, _| waiting.add(shop.key().unwrap())))
        .unwrap();
    manager
        .add_runnable(Runnable::new("idle", |stop| async move {
            stop.stopped().await;
            Ok(())
        }))
        .unwrap();
    let running = cluster.run(manager.clone());
    running.ready().await;
    cluster.until(|_| !queue.is_empty()).await;

    let state = manager.debug_state();
    assert_eq!((&state["queues"][0]["name"], &state["queues"][0]["length"]), (&"counters".into(), &1.into()));
    assert_eq!(
        (&state["informers"][0]["synced"], &state["informers"][0]["objects"]),
        (&true.into(), &1.into())
    );
    let metrics = manager.metrics();
    for line in [
        r#"workqueue_depth{name="counters",controller="counters",priority="0"} 1"#,
        r#"workqueue_unfinished_work_seconds{name="counters",controller="counters"} 0"#,
        r#"informer_objects{name="shops.example.dev"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    assert!(told.answers.load(Ordering::Relaxed) > 0);
    assert_eq!((told.lists.load(Ordering::Relaxed), told.added.load(Ordering::Relaxed)), (1, 1));

    // The names that some kubelets ask by.
    let address = manager.addresses()[0];
    for (path, code) in
        [("/live", "200"), ("/ready?verbose", "200"), ("/healthz", "200"), ("/metrics", "404")]
    {
        let answer = get(address, path).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{path}: {answer}");
    }
    running.stop().await.unwrap();
}
