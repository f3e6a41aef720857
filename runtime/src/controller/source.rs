use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use lariat_api::{Kind, Object, ObjectKey};
use lariat_reflector::{InformerFactory, Registration, Stopped};
use lariat_workqueue::{AddOptions, LOW_PRIORITY, Queue};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::cache::Cache;
use super::watch::{Enqueue, Watch};
use crate::boxed::Boxed;
use crate::limits::MIN_RESYNC;

/// Something that a controller hears of, or reads. It becomes one of its parts when it is attached.
pub(super) struct Source(Box<dyn FnOnce(&InformerFactory) -> Part + Send>);

/// A part of a controller, once there are informers.
pub(super) struct Part {
    /// The cache behind it, if there is one.
    pub(super) cache: Option<Arc<dyn Cache>>,
    /// Begins to fill the queue; none if it never does.
    pub(super) begin: Option<Begin>,
}

type Begin = Box<dyn FnOnce(Queue<ObjectKey>) -> Result<Begun, Stopped> + Send>;

/// A part that fills the queue.
pub(super) enum Begun {
    /// As a handler of an informer, until it is removed.
    Handler { registration: Registration, remove: Box<dyn FnOnce() + Send + Sync> },
    /// As a task, until it is dropped.
    Task(Boxed<'static, ()>),
}

impl Source {
    pub(super) fn attach(self, factory: &InformerFactory) -> Part {
        (self.0)(factory)
    }

    pub(super) fn watch<K: Object + DeserializeOwned>(watch: Watch<K>, of: Kind) -> Self {
        Self(Box::new(move |factory| {
            let informer = factory.informer_of::<K>(watch.kind.clone());
            let cache: Arc<dyn Cache> = Arc::new(informer.clone());
            let begin: Begin = Box::new(move |queue| {
                let registration = informer.add_handler(Enqueue { watch, of, queue })?;
                let removed = registration.clone();
                let remove = Box::new(move || informer.remove_handler(&removed));
                Ok(Begun::Handler { registration, remove })
            });
            Part { cache: Some(cache), begin: Some(begin) }
        }))
    }

    pub(super) fn cache<K: Object + DeserializeOwned>(kind: Kind) -> Self {
        Self(Box::new(move |factory| {
            let cache: Arc<dyn Cache> = Arc::new(factory.informer_of::<K>(kind));
            Part { cache: Some(cache), begin: None }
        }))
    }

    pub(super) fn stream(keys: impl Stream<Item = ObjectKey> + Send + 'static) -> Self {
        Self::task(move |queue| {
            Box::pin(async move {
                let mut keys = pin!(keys);
                while let Some(key) = poll_fn(|cx| keys.as_mut().poll_next(cx)).await {
                    queue.add(key);
                }
            })
        })
    }

    pub(super) fn channel(mut keys: Receiver<ObjectKey>) -> Self {
        Self::task(move |queue| {
            Box::pin(async move {
                while let Some(key) = keys.recv().await {
                    queue.add(key);
                }
            })
        })
    }

    pub(super) fn timer(period: Duration, key: ObjectKey) -> Self {
        let period = period.max(Duration::from_millis(1));
        Self::task(move |queue| {
            Box::pin(async move {
                let mut ticks = interval_at(Instant::now(), period);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
                loop {
                    ticks.tick().await;
                    queue.add(key.clone());
                }
            })
        })
    }

    pub(super) fn resync<K: Object + DeserializeOwned>(kind: Kind, period: Duration) -> Self {
        let period = period.max(MIN_RESYNC);
        Self(Box::new(move |factory| {
            let store = factory.informer_of::<K>(kind).lister().store().clone();
            let begin: Begin = Box::new(move |queue| {
                Ok(Begun::Task(Box::pin(async move {
                    let mut ticks = interval_at(Instant::now() + period, period);
                    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
                    loop {
                        ticks.tick().await;
                        for key in store.keys() {
                            queue.add_with(
                                key,
                                AddOptions { priority: LOW_PRIORITY, ..AddOptions::default() },
                            );
                        }
                    }
                })))
            });
            Part { cache: None, begin: Some(begin) }
        }))
    }

    fn task(make: impl FnOnce(Queue<ObjectKey>) -> Boxed<'static, ()> + Send + 'static) -> Self {
        Self(Box::new(|_| {
            let begin: Begin = Box::new(move |queue| Ok(Begun::Task(make(queue))));
            Part { cache: None, begin: Some(begin) }
        }))
    }
}
