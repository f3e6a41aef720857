//! Leadership of `lariat controller`: of several processes one works, and the others stand by.

use std::sync::{Arc, OnceLock};

use lariat::LeaseElector;
use lariat::api::Randomness;
use lariat::client::{Client, Fence, Fenced};
use lariat::leaderelection::{ElectorConfig, Leading, Observer};

use super::args::boolean;

/// The Lease that the Agones controller has.
const LEASE: &str = "agones-controller-lock";

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Several processes")]
pub(crate) struct Leadership {
    /// Whether to work only while leading: of several processes with this flag one does
    #[arg(long, env = "LEADER_ELECTION", default_value = "false", value_parser = boolean, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    leader_election: bool,

    /// The namespace of the Lease agones-controller-lock
    #[arg(long, env = "POD_NAMESPACE", default_value = "agones-system", value_name = "NAMESPACE")]
    pod_namespace: String,

    /// What to do while another process leads: keep the caches filled, or nothing, as the original does
    #[arg(long, env = "STANDBY", default_value = "hot", value_name = "KIND")]
    standby: Standby,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Standby {
    Hot,
    Cold,
}

pub(super) type Candidate = (LeaseElector, Arc<dyn Fence>);

/// Lets nothing be written before there is a token, and then what the token allows.
#[derive(Default)]
struct LeaderFence(OnceLock<Leading>);

impl Leadership {
    /// A candidate, if there is an election, what allows writes while it leads, and a client by which requests are known as its own.
    pub(super) fn candidate(&self, client: Client) -> anyhow::Result<(Client, Option<Candidate>)> {
        if !self.leader_election {
            return Ok((client, None));
        }
        let identity = identity(&Randomness::from_os());
        // Requests tell which of the processes sent them.
        let client = client.with_user_agent(&format!("lariat/{} ({identity})", env!("CARGO_PKG_VERSION")))?;
        tracing::info!(namespace = self.pod_namespace, lease = LEASE, identity, standby = ?self.standby, "campaigns");
        let fence = Arc::new(LeaderFence::default());
        let config = ElectorConfig { observer: fence.clone(), ..ElectorConfig::new(identity) };
        let elector = LeaseElector::new(&client, &self.pod_namespace, LEASE, config)?;
        Ok((client, Some((elector, fence))))
    }

    /// The namespace of the Lease, if there is an election.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.leader_election.then_some(&*self.pod_namespace)
    }

    /// Whether a process that stands by does nothing.
    pub(super) fn is_cold(&self) -> bool {
        self.leader_election && self.standby == Standby::Cold
    }
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

impl Observer for LeaderFence {
    fn started_leading(&self, _lease: &str, leading: &Leading) {
        // A process leads once.
        let _ = self.0.set(leading.clone());
    }
}
