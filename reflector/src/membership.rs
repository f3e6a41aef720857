//! Who hears of the changes of an informer: how handlers come and go.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lariat_api::Object;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cache::Audience;
use crate::delivery::{
    AsyncHandler, Delivery, Ends, Event, Handler, Listener, Queue, Resync, Subscription, pump,
};
use crate::handler::EventHandler;
use crate::informer::{Informer, State, Tasks};
use crate::limits::MIN_RESYNC;
use crate::registration::{Registration, Stopped, SubscribeError};

impl<K: Object> Informer<K> {
    /// Adds a handler, before the start or while the informer runs.
    ///
    /// It hears of every object that is in the cache as added, and then of all changes, without gap or repetition. While it is
    /// more than 1,024 changes behind, those of one object are folded together.
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    ///
    /// # Panics
    ///
    /// If the informer runs and this is not called on its tokio runtime.
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Result<Registration, Stopped> {
        self.add_handler_with_resync_period(handler, self.0.resync)
    }

    /// Adds a handler that is told of every object again each `period`, as an update from itself to itself; zero for never.
    ///
    /// Periods under a second are a second. An informer without a [resync period](crate::InformerBuilder::resync_period) tells nobody.
    /// Before the start a shorter period than the informer's shortens how often it looks who is due; later it is lengthened
    /// to that.
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    ///
    /// # Panics
    ///
    /// If the informer runs and this is not called on its tokio runtime.
    pub fn add_handler_with_resync_period(
        &self,
        handler: impl EventHandler<K>,
        period: Duration,
    ) -> Result<Registration, Stopped> {
        self.add(Handler::Sync(Arc::new(handler)), period)
    }

    /// Adds a closure that returns a future, which is waited for before the next call. It is told of
    /// [`Event::Synced`] too.
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    ///
    /// # Panics
    ///
    /// If the informer runs and this is not called on its tokio runtime.
    ///
    /// # Example
    ///
    /// ```no_run
    /// # use lariat_api::DynamicObject;
    /// # use lariat_reflector::{Event, Informer};
    /// # async fn write(_: Event<DynamicObject>) {}
    /// # fn add(informer: Informer<DynamicObject>) -> Result<(), lariat_reflector::Stopped> {
    /// informer.add_async_handler(|event| async move { write(event).await })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_async_handler<F>(
        &self,
        mut handler: impl FnMut(Event<K>) -> F + Send + 'static,
    ) -> Result<Registration, Stopped>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let handler: AsyncHandler<K> = Box::new(move |event| Box::pin(handler(event)));
        self.add(Handler::Async(handler), self.0.resync)
    }

    /// The changes as a stream.
    ///
    /// # Errors
    ///
    /// If the informer has stopped.
    pub fn subscribe(&self) -> Result<Subscription<K>, Stopped> {
        let mut tasks = self.0.tasks();
        if matches!(tasks.state, State::Stopped) {
            return Err(Stopped(self.0.name.to_string()));
        }
        let (_, ends, listener) = self.listener(&mut tasks, self.0.resync);
        self.listen(listener);
        Ok(Subscription::new(ends))
    }

    /// The changes as a channel that holds so many, for threads that are not on a tokio runtime. A thread fills it until the
    /// informer has stopped and all is read, or until the receiver is dropped and something changes.
    ///
    /// # Errors
    ///
    /// If the informer has stopped, or there is no thread.
    ///
    /// # Example
    ///
    /// ```no_run
    /// # fn consume(informer: lariat_reflector::Informer<lariat_api::DynamicObject>) -> Result<(), Box<dyn std::error::Error>> {
    /// let events = informer.subscribe_channel(16)?;
    /// std::thread::spawn(move || {
    ///     for event in events {
    ///         println!("{event:?}");
    ///     }
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe_channel(
        &self,
        capacity: usize,
    ) -> Result<crossbeam_channel::Receiver<Event<K>>, SubscribeError> {
        let mut tasks = self.0.tasks();
        if matches!(tasks.state, State::Stopped) {
            return Err(SubscribeError::Stopped(Stopped(self.0.name.to_string())));
        }
        let (_, ends, listener) = self.listener(&mut tasks, self.0.resync);
        let receiver = pump(ends, capacity).map_err(SubscribeError::Thread)?;
        self.listen(listener);
        Ok(receiver)
    }

    /// Removes a handler: what is in its queue it does not hear of any more. A call that has begun may still go on when this
    /// returns; [`shut_down_handler`](Self::shut_down_handler) waits for it.
    ///
    /// One that was removed before is ignored.
    pub fn remove_handler(&self, registration: &Registration) {
        self.0.cache.audience().listeners.retain(|listener| {
            let stays = listener.id != registration.id;
            if !stays {
                listener.queue.cancel();
            }
            stays
        });
    }

    /// Removes a handler and waits until the call that has begun returns. Must not be called by the handler itself, which would
    /// wait for itself.
    ///
    /// # Cancel safety
    ///
    /// The handler is removed even if the future is dropped after its first poll.
    pub async fn shut_down_handler(&self, registration: &Registration) {
        self.remove_handler(registration);
        let is_new = {
            // Before the start there is nothing to wait for.
            let mut tasks = self.0.tasks();
            match &mut tasks.state {
                State::New(waiting) => {
                    waiting.retain(|delivery| !delivery.ends.queue.is_cancelled());
                    true
                }
                State::Running(_) | State::Stopped => false,
            }
        };
        if !is_new {
            registration.finished().await;
        }
    }

    fn add(&self, handler: Handler<K>, resync: Duration) -> Result<Registration, Stopped> {
        let mut tasks = self.0.tasks();
        if matches!(tasks.state, State::Stopped) {
            return Err(Stopped(self.0.name.to_string()));
        }
        let (registration, ends, listener) = self.listener(&mut tasks, resync);
        let delivery = Delivery { ends, handler, metrics: self.0.metrics.clone() };
        match &mut tasks.state {
            State::New(waiting) => waiting.push(delivery),
            State::Running(running) => {
                // Those that were removed are forgotten here, so that they do not pile up.
                while running.try_join_next().is_some() {}
                delivery.spawn(running);
            }
            State::Stopped => {}
        }
        self.listen(listener);
        Ok(registration)
    }

    pub(crate) fn listener(
        &self,
        tasks: &mut Tasks<K>,
        resync: Duration,
    ) -> (Registration, Ends<K>, Listener<K>) {
        let id = tasks.next_id;
        tasks.next_id += 1;
        let (done, synced) = watch::channel(false);
        let queue = Queue::new();
        let ends = Ends { queue: queue.clone(), synced: done, informer: self.0.name.clone() };
        let is_new = matches!(tasks.state, State::New(_));
        let resync = self.0.cache.audience().plan_resync(resync, is_new);
        (Registration { id, synced }, ends, Listener { id, queue, resync })
    }

    /// Lets a listener hear of all that is there, and then of what changes.
    pub(crate) fn listen(&self, listener: Listener<K>) {
        let mut audience = self.0.cache.audience();
        let objects = self.0.cache.store().list();
        listener.send(objects.into_iter().map(|object| Event::Added { object, is_in_initial_list: true }));
        if *audience.synced.borrow() {
            listener.send([Event::Synced]);
        }
        audience.listeners.retain(|listener| !listener.queue.is_cancelled());
        audience.listeners.push(listener);
    }
}

// === impl Audience ===

impl<K> Audience<K> {
    /// How often a handler is told of everything again, of how often it wants to be.
    fn plan_resync(&mut self, wanted: Duration, is_new: bool) -> Option<Resync> {
        if wanted.is_zero() || self.resync_check.is_zero() {
            return None;
        }
        let wanted = wanted.max(MIN_RESYNC);
        if is_new && wanted < self.resync_check {
            self.resync_check = wanted;
        }
        Some(Resync::new(wanted.max(self.resync_check), Instant::now()))
    }
}
