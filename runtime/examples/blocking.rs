//! A consumer without async, on threads of its own: `cargo run -p lariat --example blocking`.
//!
//! The runtime follows the server on one thread; the program reads changes from a channel and keys from a queue, with plain calls
//! that block.

#![allow(clippy::print_stdout)] // it speaks

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use lariat::prelude::*;
use lariat::testing::TestCluster;
use lariat::workqueue::WorkerThreads;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

const NAMESPACES: Kind = Kind::cluster("", "v1", "Namespace", "namespaces");

/// Counts how often it has heard of each object, until it is dropped.
pub(crate) struct Census {
    seen: Arc<Mutex<BTreeMap<String, u32>>>,
    queue: Queue<ObjectKey>,
    stop: Option<oneshot::Sender<()>>,
    threads: Vec<thread::JoinHandle<()>>,
    workers: Option<WorkerThreads>,
}

impl Census {
    pub(crate) fn take(client: Client, runtime: Runtime) -> Result<Self, Box<dyn std::error::Error>> {
        let informer = Informer::<DynamicObject>::builder(Api::of_kind(client, NAMESPACES, "")).build();
        let changes = informer.subscribe_channel(64)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let follows = thread::spawn(move || runtime.block_on(informer.run(async { drop(stopped.await) })));

        let queue = Queue::builder().name("census").build();
        let keys = queue.clone();
        let listens = thread::spawn(move || {
            for change in changes {
                change.key().into_iter().for_each(|key| keys.add(key));
            }
            keys.shut_down();
        });

        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let counts = seen.clone();
        let workers = Workers::new(queue.clone(), 2).run_blocking(move |key: ObjectKey| {
            let mut counts = counts.lock().map_err(|_| "somebody has panicked")?;
            *counts.entry(key.to_string()).or_default() += 1;
            Ok::<_, &str>(())
        })?;
        Ok(Self { seen, queue, stop: Some(stop), threads: vec![follows, listens], workers: Some(workers) })
    }

    /// How often it has heard of an object.
    pub(crate) fn count(&self, key: &str) -> u32 {
        self.seen.lock().map_or(0, |seen| seen.get(key).copied().unwrap_or(0))
    }
}

impl Drop for Census {
    fn drop(&mut self) {
        // The informer ends, so the channel does, so the queue does, so the workers do.
        drop(self.stop.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.queue.shut_down();
        self.workers.take().into_iter().for_each(WorkerThreads::join);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let cluster = runtime.block_on(async { TestCluster::new() });
    let census = Census::take(cluster.client(), runtime)?;
    while census.count("kube-system") == 0 {
        thread::yield_now();
    }
    println!("heard of kube-system");
    Ok(())
}
