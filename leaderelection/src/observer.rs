use crate::leading::Leading;
use crate::lease::Lease;

/// Is told what an elector sees and does, for logs, events and metrics. Every method does nothing if it is not written, and must not
/// block.
///
/// ```
/// use lariat_leaderelection::Observer;
///
/// struct Log;
///
/// impl Observer for Log {
///     fn new_leader(&self, lease: &str, identity: &str) {
///         println!("{identity} leads by {lease}");
///     }
/// }
/// # Log.new_leader("a", "b");
/// ```
#[doc(alias = "LeaderCallbacks")]
pub trait Observer: Send + Sync + 'static {
    /// Another candidate holds the Lease, or this one, or nobody (`""`). Told of the first one that is seen too.
    #[doc(alias = "OnNewLeader")]
    fn new_leader(&self, lease: &str, identity: &str) {
        let _ = (lease, identity);
    }

    /// This candidate leads from now on. client-go's gauge `leader_election_master_status` is 1.
    #[doc(alias = "OnStartedLeading")]
    fn started_leading(&self, lease: &str, leading: &Leading) {
        let _ = (lease, leading);
    }

    /// This candidate leads no more, and its work has ended. client-go's gauge `leader_election_master_status` is 0.
    #[doc(alias = "OnStoppedLeading")]
    fn stopped_leading(&self, lease: &str, reason: &EndReason) {
        let _ = (lease, reason);
    }

    /// A renewal had to read the Lease first: client-go's counter `leader_election_slowpath_total`.
    fn slow_path(&self, lease: &str) {
        let _ = lease;
    }

    /// Something that is told in an event on the Lease, with the reason `LeaderElection`: "became leader" or "stopped leading" behind
    /// the identity.
    fn event(&self, lease: &Lease, message: &str) {
        let _ = (lease, message);
    }
}

/// Why a candidate leads no more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// Its work is done.
    Finished,
    /// It was told to end.
    Shutdown,
    /// No renewal succeeded for as long as the renew deadline.
    NotRenewed,
    /// Another one holds the Lease, or is to have it by the server's choice.
    Taken {
        /// Its identity.
        by: String,
    },
}

/// Nobody.
impl Observer for () {}
