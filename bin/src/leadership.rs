//! Leadership of `lariat controller`: of several processes one works, and the others stand by.

use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, bail};
use lariat::api::Randomness;
use lariat::client::{Client, Fence, Fenced};
use lariat::leaderelection::{Elector, ElectorConfig, Leading, LeaseLock};
use lariat_controllers::controllers::{Controllers, ControllersError, Settings};
use tokio::sync::{Notify, watch};

use crate::signals::is_set;

/// The Lease that the Agones controller has.
const LEASE: &str = "agones-controller-lock";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Leadership {
    /// Whether to work only while leading: of several processes with this flag one does
    #[arg(long, env = "LEADER_ELECTION")]
    pub(crate) leader_election: bool,

    /// The namespace of the Lease agones-controller-lock
    #[arg(long, env = "POD_NAMESPACE", default_value = "agones-system", value_name = "NAMESPACE")]
    pod_namespace: String,

    /// What to do while another process leads: keep the caches filled, or nothing
    #[arg(long, env = "STANDBY", default_value = "hot")]
    standby: Standby,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Standby {
    Hot,
    Cold,
}

/// Lets nothing be written before there is a token, and then what the token allows.
#[derive(Default)]
struct LeaderFence(OnceLock<Leading>);

impl Leadership {
    /// Campaigns, works while it leads, and gives the Lease back when the work has ended. A loss of the Lease is an error: the process
    /// ends, and is to be started again.
    pub(crate) async fn follow(
        &self,
        client: Client,
        settings: Settings,
        stop: watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        let identity = identity(&Randomness::from_os());
        // Requests tell which of the processes sent them.
        let client = client.with_user_agent(&format!("lariat/{} ({identity})", env!("CARGO_PKG_VERSION")))?;
        let lock = LeaseLock::new(&client, &self.pod_namespace, LEASE)?;
        tracing::info!(namespace = self.pod_namespace, lease = LEASE, identity, standby = ?self.standby, "campaigns");
        let mut elector = Elector::new(lock, ElectorConfig::new(identity))?;

        let fence = Arc::new(LeaderFence::default());
        let controllers = Controllers::new(client.fenced(fence.clone()), settings);
        let (leads, ends) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let cold = self.standby == Standby::Cold;
        let (finish, finished) = watch::channel(false);
        let loops = {
            let (leads, ends) = (leads.clone(), ends.clone());
            async move {
                let _finish = Finish(finish);
                if cold {
                    tokio::select! {
                        () = leads.notified() => {}
                        () = ends.notified() => return Ok(()),
                    }
                    controllers.run(ends.notified()).await?;
                } else {
                    controllers.run_after(leads.notified(), ends.notified()).await?;
                }
                Ok(())
            }
        };
        let loops = tokio::spawn(loops);
        let shutdown = async {
            tokio::select! {
                () = is_set(stop) => {}
                () = is_set(finished.clone()) => {}
            }
        };
        let term = elector.run_once(shutdown, |leading| {
            let _ = fence.0.set(leading.clone());
            leads.notify_one();
            let (ends, finished) = (ends.clone(), finished.clone());
            async move {
                tokio::select! {
                    () = is_set(finished.clone()) => {}
                    () = leading.stopping() => ends.notify_one(),
                }
                is_set(finished).await;
            }
        });
        if let Err(reason) = term.await {
            loops.abort();
            bail!("the Lease {LEASE} was lost: {reason:?}");
        }
        ends.notify_one();
        flat(loops.await)
    }
}

/// Says that the loops have ended, in whatever way.
struct Finish(watch::Sender<bool>);

impl Drop for Finish {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

fn flat(ended: Result<Result<(), ControllersError>, tokio::task::JoinError>) -> anyhow::Result<()> {
    Ok(ended.context("the loops have panicked")??)
}

/// A random UUID, as the Agones controller has it.
fn identity(randomness: &Randomness) -> String {
    let bits = |count: u32| randomness.below(1 << count);
    format!("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", bits(32), bits(16), bits(12), 0x8000 | bits(14), bits(48))
}

impl Fence for LeaderFence {
    fn check(&self) -> Result<(), Fenced> {
        match self.0.get() {
            Some(leading) => Fence::check(leading),
            None => Err(Fenced::new("this process stands by")),
        }
    }
}
