use std::future::Future;
use std::sync::Arc;

use lariat::api::{Randomness, SystemClock};
use lariat::prelude::*;
use lariat_apiserver::ApiServer;
use lariat_controllers::allocation::{AllocationApi, Allocator, AllocatorSettings};
use lariat_controllers::events::{EventWriter, Recorder};
use lariat_controllers::gameservers::{PerNodeCounter, Writes};
use lariat_controllers::types::GameServer;
use tokio::task::JoinHandle;

/// The allocation API of an embedded server, with the cache that it gives servers from.
pub(super) struct Allocations(JoinHandle<()>);

impl Allocations {
    /// Serves the API until `shutdown` is ready.
    pub(super) fn start(
        server: &ApiServer,
        client: &Client,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let servers = Informer::<GameServer>::builder(Api::all(client.clone())).build();
        let counts = PerNodeCounter::default();
        servers.add_handler(counts.clone())?;
        let writes = Arc::new(Writes::new(client.clone(), &servers));
        let clock = Arc::new(SystemClock);
        let (writer, events): (EventWriter, Recorder) =
            EventWriter::new(client.clone(), "lariat", clock.clone());
        let settings = AllocatorSettings::default();
        let (allocator, batches) =
            Allocator::new(writes, counts, settings, &events, Randomness::from_os(), clock);
        server.aggregate(AllocationApi::new(allocator))?;
        let task = async move {
            let (stop_cache, cache_stopped) = tokio::sync::oneshot::channel::<()>();
            let (stop_events, events_stopped) = tokio::sync::oneshot::channel::<()>();
            let give = async {
                batches.run(shutdown).await;
                drop((stop_cache, stop_events));
            };
            let follow = servers.run(async { drop(cache_stopped.await) });
            tokio::join!(give, follow, writer.run(async { drop(events_stopped.await) }));
        };
        Ok(Self(tokio::spawn(task)))
    }

    /// Waits until those who were being given a server have been told.
    pub(super) async fn ended(self) {
        drop(self.0.await);
    }
}
