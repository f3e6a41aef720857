use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lariat_client::{Client, Error};
use lariat_leaderelection::{
    Elector as Candidate, ElectorConfig, EndReason, Leading, Lease, LeaseLock, Lock, Observer,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::elector::{BoxError, Elector, Term};
use crate::boxed::Boxed;
use crate::events::Recorder;

/// Leads by a Lease of the API server, which it shares with candidates in client-go: see [`leaderelection`](crate::leaderelection).
///
/// The token of its terms is a [`Leading`]. The client that a [`Context`](crate::Context) has asks it before each write, so a program
/// that was stopped or cut off does not write what the next leader may be writing.
///
/// # Example
///
/// ```no_run
/// use lariat::leaderelection::ElectorConfig;
/// use lariat::prelude::*;
/// use lariat::{LeaseElector, Manager};
///
/// # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let elector = LeaseElector::new(&client, "shops", "shop-controller", ElectorConfig::new("pod-7f9c"))?;
/// let manager = Manager::builder(client).elector(elector).build();
/// # drop(manager);
/// # Ok(())
/// # }
/// ```
pub struct LeaseElector {
    lock: LeaseLock,
    config: ElectorConfig,
    /// The candidate, from when it is asked to lead until it has given the Lease back.
    running: Mutex<Option<Running>>,
    telling: Arc<Telling>,
}

/// What the candidate tells of itself with, and whom else it tells.
struct Telling {
    manager: OnceLock<(Recorder, Box<dyn Fn() + Send + Sync>)>,
    other: Arc<dyn Observer>,
}

struct Running {
    task: OwnedTask,
    release: oneshot::Sender<()>,
}

/// A task that ends with its owner.
struct OwnedTask(JoinHandle<Result<Option<()>, EndReason>>);

impl LeaseElector {
    /// Campaigns for the Lease of this namespace and name, which need not exist.
    ///
    /// # Errors
    ///
    /// If the names are none, or a client with connections of its own cannot be made. What is wrong with the configuration is told when
    /// the manager runs.
    pub fn new(client: &Client, namespace: &str, name: &str, config: ElectorConfig) -> Result<Self, Error> {
        let lock = LeaseLock::new(client, namespace, name)?;
        let telling = Arc::new(Telling { manager: OnceLock::new(), other: config.observer.clone() });
        let config = ElectorConfig { observer: telling.clone(), ..config };
        Ok(Self { lock, config, running: Mutex::new(None), telling })
    }

    fn take(&self) -> Option<Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// All of it is inlined, so that it is compiled in the programs that elect, and only there.
impl Elector for LeaseElector {
    fn name(&self) -> &str {
        self.lock.name()
    }

    #[inline]
    fn attach(&self, events: Recorder, slow_path: Box<dyn Fn() + Send + Sync>) {
        // A second manager would be told by the first one's means, which is as good.
        let _ = self.telling.manager.set((events, slow_path));
    }

    #[inline]
    fn acquire(&self) -> Boxed<'_, Result<Term, BoxError>> {
        Box::pin(async {
            let mut candidate = Candidate::new(self.lock.clone(), self.config.clone())?;
            let (release, released) = oneshot::channel();
            let (lead, leads) = oneshot::channel();
            let mut first = Some((lead, released));
            let task = tokio::spawn(async move {
                let work = move |leading: Leading| {
                    let first = first.take();
                    async move {
                        let Some((lead, released)) = first else { return };
                        if lead.send(leading.clone()).is_err() {
                            return;
                        }
                        // All that needs the leadership has ended when it is given back, and is told by the manager when it is lost.
                        tokio::select! {
                            _ = released => {}
                            () = leading.stopping() => {}
                        }
                    }
                };
                candidate.run_once(std::future::pending(), work).await
            });
            // If this is dropped, the task ends with it.
            let running = Running { task: OwnedTask(task), release };
            let leading = leads.await.map_err(|_| "the Lease was lost before it was used")?;
            *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
            Ok(Term::with_token(leading))
        })
    }

    #[inline]
    fn lost<'a>(&'a self, term: &'a Term) -> Boxed<'a, String> {
        Box::pin(async move {
            let Some(leading) = term.token::<Leading>() else { return std::future::pending().await };
            match leading.ended().await {
                EndReason::NotRenewed => "the Lease was not renewed in time".to_owned(),
                EndReason::Taken { by } => format!("the Lease is held by {by:?}"),
                reason => format!("{reason:?}"),
            }
        })
    }

    #[inline]
    fn release(&self, _term: Term) -> Boxed<'_, ()> {
        Box::pin(async {
            if let Some(Running { mut task, release }) = self.take() {
                let _ = release.send(());
                let _ = (&mut task.0).await;
            }
        })
    }
}

impl Debug for LeaseElector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseElector")
            .field("lock", &self.lock)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Observer for Telling {
    fn new_leader(&self, lease: &str, identity: &str) {
        self.other.new_leader(lease, identity);
    }

    fn started_leading(&self, lease: &str, leading: &Leading) {
        self.other.started_leading(lease, leading);
    }

    fn stopped_leading(&self, lease: &str, reason: &EndReason) {
        self.other.stopped_leading(lease, reason);
    }

    fn slow_path(&self, lease: &str) {
        if let Some((_, slow_path)) = self.manager.get() {
            slow_path();
        }
        self.other.slow_path(lease);
    }

    fn event(&self, lease: &Lease, message: &str) {
        if let Some((events, _)) = self.manager.get() {
            events.normal(lease, "LeaderElection", message);
        }
        self.other.event(lease, message);
    }
}

impl Drop for OwnedTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
