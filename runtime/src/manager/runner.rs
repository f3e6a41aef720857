//! The order in which things start and end.

use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lariat_reflector::NotSynced;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    BoxError, Component, Left, ManagerError, Settings, Shared, Stage, Stop, Stopped, Stopper, Term, port,
};
use crate::boxed::Boxed;
use crate::controller::prepared::{Prepared, RunError, left};
use crate::controller::worker::text_of;
use crate::limits::{EVENT_FLUSH, RELEASE};

/// A manager that runs.
///
/// What takes time comes in boxes, so that it is compiled here and not for each way to be shut down.
pub(super) struct Runner {
    shared: Arc<Shared>,
    settings: Settings,
    late: mpsc::UnboundedReceiver<Component>,
    /// Controllers and runnables.
    tasks: JoinSet<Result<(), BoxError>>,
    names: HashMap<Id, String, FixedState>,
    /// What waits for the caches, and then for leadership.
    waiting: Vec<Component>,
    progress: Progress,
    stop: Stop,
    stopper: Stopper,
    ports: JoinSet<()>,
    /// What sends events, and what ends it.
    events: JoinSet<()>,
    end_events: (Stopper, Stop),
}

/// How far the start has come.
enum Progress {
    Syncing,
    Warming,
    Acquiring,
    Leads(Option<Term>),
}

/// What the next progress depends on.
enum Step {
    Synced(Result<(), NotSynced>),
    Warmed(Vec<Component>, Result<(), (String, RunError)>),
    Acquired(Result<Term, BoxError>),
    Lost(String),
}

impl Runner {
    /// Lets a manager begin, unless it has before.
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self, ManagerError> {
        let mut state = shared.state();
        let settings = state.settings.take().ok_or(ManagerError::RanBefore)?;
        let unknown = settings.selection.unknown(&state.names);
        if !unknown.is_empty() {
            let unknown = unknown.into_iter().map(str::to_owned).collect();
            state.stage = Stage::Stopped;
            return Err(ManagerError::UnknownControllers {
                unknown,
                known: state.names.iter().cloned().collect(),
            });
        }
        let (sender, late) = mpsc::unbounded_channel();
        state.late = Some(sender);
        state.stage = Stage::Starting;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        let (stopper, stop) = Stop::new();
        Ok(Self {
            shared: shared.clone(),
            settings,
            late,
            tasks: JoinSet::new(),
            names: HashMap::default(),
            waiting,
            progress: Progress::Syncing,
            stop,
            stopper,
            ports: JoinSet::new(),
            events: JoinSet::new(),
            end_events: Stop::new(),
        })
    }

    /// Opens the ports, and starts what is neither a controller nor a cache.
    pub(super) fn open(&mut self) -> Boxed<'_, Result<(), ManagerError>> {
        Box::pin(async move {
            if let Err(error) = self.listen().await {
                self.enter(Stage::Stopped);
                return Err(error);
            }
            let (shared, end) = (self.shared.clone(), self.end_events.1.clone());
            let send: Boxed<'static, ()> =
                Box::pin(async move { shared.env.broadcaster.run(end.stopped()).await });
            self.events.spawn(send);

            if let Some(elector) = &self.settings.elector {
                let (env, name) = (&self.shared.env, elector.name().to_owned());
                let metrics = env.metrics.clone();
                elector.attach(env.recorder(&name), Box::new(move || metrics.slow_path(&name)));
            }
            Ok(())
        })
    }

    /// Ends everything, for a reason or because it is asked for.
    pub(super) fn close(
        mut self,
        cause: Option<ManagerError>,
    ) -> Boxed<'static, Result<Stopped, ManagerError>> {
        Box::pin(async move {
            if let Some(error) = &cause {
                tracing::error!(%error, "stopping");
            }
            let is_lost = matches!(cause, Some(ManagerError::LeadershipLost { .. }));
            let stopped = self.stop(is_lost).await;
            self.ports.shutdown().await;
            if let Some(elector) = &self.settings.elector {
                self.shared.env.metrics.leads(elector.name(), false);
                if let Progress::Leads(Some(term)) = std::mem::replace(&mut self.progress, Progress::Syncing)
                    && !is_lost
                    && timeout(RELEASE, elector.release(term)).await.is_err()
                {
                    tracing::warn!(
                        elector = elector.name(),
                        "the leadership could not be given back; it ends by itself"
                    );
                }
            }
            self.end_events.0.stop();
            let flushed = async { while self.events.join_next().await.is_some() {} };
            if timeout(EVENT_FLUSH, flushed).await.is_err() {
                tracing::warn!("some events could not be sent before the end");
            }
            self.enter(Stage::Stopped);
            match cause {
                None => Ok(stopped),
                Some(error) => Err(error),
            }
        })
    }

    async fn listen(&mut self) -> Result<(), ManagerError> {
        let mut listeners = std::mem::take(&mut self.settings.listeners);
        for address in std::mem::take(&mut self.settings.listen) {
            let listener = TcpListener::bind(address).await;
            listeners.push(listener.map_err(|cause| ManagerError::Listen { address, cause })?);
        }
        for listener in listeners {
            if let Ok(address) = listener.local_addr() {
                tracing::info!(%address, "serving health, metrics and state");
                self.shared.state().addresses.push(address);
            }
            let serve: Boxed<'static, ()> = Box::pin(port::serve(self.shared.clone(), listener));
            self.ports.spawn(serve);
        }
        Ok(())
    }

    /// Starts one thing after another; returns why it cannot go on.
    pub(super) fn drive(&mut self) -> Boxed<'_, ManagerError> {
        Box::pin(async move {
            let shared = self.shared.clone();
            shared.factory.start();
            let within = self.settings.cache_sync_timeout;
            let mut next: Boxed<'static, Step> =
                Box::pin(async move { Step::Synced(shared.factory.wait_for_sync(within).await) });
            loop {
                tokio::select! {
                    biased;
                    ended = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => {
                        if let Some(error) = ended.and_then(|ended| self.ended(ended)) {
                            return error;
                        }
                    }
                    component = self.late.recv() => if let Some(component) = component {
                        self.shared.factory.start();
                        self.place(component);
                    },
                    step = &mut next => match self.advance(step) {
                        Ok(following) => next = following,
                        Err(error) => return error,
                    },
                }
            }
        })
    }

    /// Goes on after a step; returns the next one.
    fn advance(&mut self, step: Step) -> Result<Boxed<'static, Step>, ManagerError> {
        match step {
            Step::Synced(Err(error)) => Err(ManagerError::NotSynced(error)),
            Step::Synced(Ok(())) => {
                tracing::info!("caches have synced");
                self.enter(Stage::Started);
                self.progress = Progress::Warming;
                let (mut warming, mut waiting) = (Vec::new(), Vec::new());
                for component in std::mem::take(&mut self.waiting) {
                    match component {
                        Component::Controller(prepared)
                            if prepared.warm_up && self.needs_to_lead(prepared.needs_leadership) =>
                        {
                            warming.push(Component::Controller(prepared));
                        }
                        component => waiting.push(component),
                    }
                }
                waiting.into_iter().for_each(|component| self.place(component));
                Ok(Box::pin(async move {
                    let warmed = warm_up(&mut warming).await;
                    Step::Warmed(warming, warmed)
                }))
            }
            Step::Warmed(_, Err((name, cause))) => Err(ManagerError::Failed { name, cause: cause.into() }),
            Step::Warmed(warmed, Ok(())) => {
                self.waiting.extend(warmed);
                self.progress = Progress::Acquiring;
                let Some(elector) = self.settings.elector.clone() else {
                    self.lead(None);
                    return Ok(Box::pin(std::future::pending()));
                };
                self.shared.env.metrics.leads(elector.name(), false);
                Ok(Box::pin(async move { Step::Acquired(elector.acquire().await) }))
            }
            Step::Acquired(Err(cause)) => Err(ManagerError::Elector { name: self.elector_name(), cause }),
            Step::Acquired(Ok(term)) => {
                let Some(elector) = self.settings.elector.clone() else {
                    return Ok(Box::pin(std::future::pending()));
                };
                tracing::info!(elector = elector.name(), "this process leads");
                self.shared.env.metrics.leads(elector.name(), true);
                self.lead(Some(term.clone()));
                Ok(Box::pin(async move { Step::Lost(elector.lost(&term).await) }))
            }
            Step::Lost(reason) => Err(ManagerError::LeadershipLost { name: self.elector_name(), reason }),
        }
    }

    /// Starts what waited for leadership.
    fn lead(&mut self, term: Option<Term>) {
        self.shared.state().leads = true;
        self.progress = Progress::Leads(term);
        for component in std::mem::take(&mut self.waiting) {
            self.place(component);
        }
    }

    /// Starts a component, or lets it wait for its turn.
    fn place(&mut self, component: Component) {
        let may_start = match &self.progress {
            Progress::Syncing => false,
            Progress::Warming | Progress::Acquiring => !self.needs_to_lead(component.needs_leadership()),
            Progress::Leads(_) => true,
        };
        if !may_start {
            return self.waiting.push(component);
        }
        let term = match &self.progress {
            Progress::Leads(term) if component.needs_leadership() => term.clone(),
            _ => None,
        };
        let (name, stop) = (component.name().to_owned(), self.stop.clone());
        let handle = match component {
            Component::Controller(prepared) => {
                let run: Boxed<'static, Result<(), BoxError>> =
                    Box::pin(
                        async move { Prepared::run(*prepared, term, stop).await.map_err(BoxError::from) },
                    );
                self.tasks.spawn(run)
            }
            Component::Runnable(runnable) => self.tasks.spawn((runnable.run)(stop)),
        };
        self.names.insert(handle.id(), name);
    }

    fn needs_to_lead(&self, needs: bool) -> bool {
        needs && self.settings.elector.is_some()
    }

    /// What it means that a task has ended: nothing, if it ended well.
    fn ended(&mut self, ended: Result<(Id, Result<(), BoxError>), JoinError>) -> Option<ManagerError> {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let name = self.names.remove(&id).unwrap_or_default();
        match ended {
            Ok((_, Ok(()))) => None,
            Ok((_, Err(cause))) => Some(ManagerError::Failed { name, cause }),
            Err(error) => {
                let panic = error
                    .try_into_panic()
                    .map_or_else(|_| "was cancelled".to_owned(), |cause| text_of(&*cause));
                Some(ManagerError::Panicked { name, panic })
            }
        }
    }

    /// Ends everything that runs, in time if there is any, and then the caches.
    async fn stop(&mut self, at_once: bool) -> Stopped {
        self.enter(Stage::Stopping);
        self.shared.state().late = None;
        self.stopper.stop();
        let began = Instant::now();
        let deadline = began.checked_add(if at_once { Duration::ZERO } else { self.settings.grace });
        let mut overdue = Vec::new();
        while !self.tasks.is_empty() {
            let ended = match deadline {
                _ if at_once => None,
                Some(deadline) => timeout_at(deadline, self.tasks.join_next_with_id()).await.ok().flatten(),
                None => self.tasks.join_next_with_id().await,
            };
            let Some(ended) = ended else { break };
            if let Some(error) = self.ended(ended) {
                tracing::error!(%error, "failed while stopping");
            }
        }
        if !self.tasks.is_empty() {
            overdue.extend(self.names.values().cloned());
            overdue.sort_unstable();
            if !at_once {
                tracing::error!(names = overdue.join(", "), "did not stop in time");
            }
            self.tasks.shutdown().await;
        }
        self.names.clear();
        // What waits to be started will not be.
        self.waiting.clear();
        self.late.close();
        while self.late.recv().await.is_some() {}

        let caches = self.shared.factory.shutdown();
        // The handlers of controllers are gone; what is left to hear is somebody else's, and quick.
        let rest = deadline
            .map_or(self.settings.grace, |deadline| deadline.saturating_duration_since(Instant::now()));
        if timeout(rest.max(Duration::from_secs(1)), caches).await.is_err() {
            tracing::warn!("some event handlers did not end in time");
        }
        let desks = self.shared.env.desks();
        let mut stopped = Stopped { left: Vec::new(), overdue };
        for desk in desks {
            let keys = left(&desk).await;
            if !keys.is_empty() {
                tracing::info!(controller = &*desk.name, keys = keys.len(), "keys were left");
                stopped.left.push(Left::new(&desk.name, keys));
            }
        }
        stopped
    }

    fn elector_name(&self) -> String {
        self.settings.elector.as_ref().map(|elector| elector.name().to_owned()).unwrap_or_default()
    }

    fn enter(&self, stage: Stage) {
        self.shared.state().stage = stage;
    }
}

/// Fills the queues of controllers.
async fn warm_up(components: &mut [Component]) -> Result<(), (String, RunError)> {
    for component in components {
        let name = component.name().to_owned();
        if let Component::Controller(prepared) = component {
            prepared.begin().await.map_err(|error| (name, error))?;
        }
    }
    Ok(())
}
