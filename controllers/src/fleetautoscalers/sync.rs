use std::sync::Arc;

use lariat::api::{Clock, Randomness};
use lariat::prelude::*;

use super::evaluate::{Situation, Verdict};
use super::policy::{PolicyError, Target};
use super::webhook::Hooks;
use crate::events::Recorder;
use crate::gameservers::{PerNodeCounter, Writes};
use crate::gates::FeatureGates;
use crate::keys::Failure;
use crate::time::{rfc3339, timestamp};
use crate::types::{Fleet, FleetAutoscaler, FleetAutoscalerStatus, GameServer, names};

/// What an autoscaler decided about its fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The autoscaler.
    pub autoscaler: ObjectKey,
    /// The fleet.
    pub fleet: ObjectKey,
    /// How many servers of the fleet have players.
    pub allocated: i32,
    /// How many servers the fleet has.
    pub current: i32,
    /// How many it is to have.
    pub desired: i32,
    /// Whether a limit of the policy kept the number from what it would have been.
    pub limited: bool,
}

/// Is told of every decision, before it is carried out.
pub type DecisionObserver = Arc<dyn Fn(&Decision) + Send + Sync>;

/// Why an autoscaler could not do its work. It is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// Its policy gives no size.
    #[error("{0}")]
    Policy(PolicyError),
    /// A write failed.
    #[error("{0}")]
    Write(lariat::client::Error),
}

impl Failure for SyncError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Write(error) if error.is_conflict())
    }
}

/// What one look at an autoscaler needs.
pub(super) struct Syncer {
    pub(super) fleets: Arc<Writes<Fleet>>,
    pub(super) autoscalers: Arc<Writes<FleetAutoscaler>>,
    pub(super) servers: Option<Lister<GameServer>>,
    pub(super) counts: PerNodeCounter,
    pub(super) hooks: Arc<Hooks>,
    pub(super) gates: FeatureGates,
    pub(super) events: Recorder,
    pub(super) randomness: Randomness,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observer: Option<DecisionObserver>,
}

/// How a look at an autoscaler ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Synced {
    Done,
    /// There is no such autoscaler any more.
    Gone,
}

impl Syncer {
    pub(super) async fn sync(&self, key: &ObjectKey) -> Result<Synced, SyncError> {
        let Some(autoscaler) = self.autoscalers.get(key) else { return Ok(Synced::Gone) };
        let name = &autoscaler.spec.fleet_name;
        let fleet_key = ObjectKey::new(key.namespace(), name);
        let Some(fleet) = self.fleets.get(&fleet_key) else {
            self.events.warning(&*autoscaler, "FailedGetFleet", format!("could not fetch fleet: {name}"));
            self.write_status(&autoscaler, unable(&autoscaler.status)).await?;
            return Ok(Synced::Done);
        };
        if fleet.meta().is_being_deleted() {
            return Ok(Synced::Done);
        }
        self.warn_of_rival(&autoscaler);
        let (target, applied) = match self.verdict(&autoscaler, &fleet).await {
            Ok(Verdict::Size(target, applied)) => (target, applied),
            Ok(Verdict::Inactive) => {
                let target = Target { replicas: fleet.spec.replicas, limited: false };
                (target, autoscaler.status.last_applied_policy.clone())
            }
            Err(error) => {
                self.tell_of_failure(&autoscaler, &error);
                self.write_status(&autoscaler, unable(&autoscaler.status)).await?;
                return Err(SyncError::Policy(error));
            }
        };
        // A webhook may ask for less than nothing (issue 2617).
        let (old, new) = (fleet.spec.replicas, target.replicas.max(0));
        if let Some(observer) = &self.observer {
            observer(&Decision {
                autoscaler: key.clone(),
                fleet: fleet_key.clone(),
                allocated: fleet.status.allocated_replicas,
                current: fleet.status.replicas,
                desired: new,
                limited: target.limited,
            });
        }
        self.tell_of_chain(&autoscaler, &applied);
        if old != new {
            self.scale(&autoscaler, &fleet, new).await?;
        }
        let status = FleetAutoscalerStatus {
            current_replicas: fleet.status.replicas,
            desired_replicas: new,
            last_scale_time: if old == new {
                autoscaler.status.last_scale_time.clone()
            } else {
                Some(rfc3339(self.clock.wall()))
            },
            able_to_scale: true,
            scaling_limited: target.limited,
            last_applied_policy: applied,
            other: autoscaler.status.other.clone(),
        };
        if status.scaling_limited && status != autoscaler.status {
            let limit = if status.current_replicas > new { "maximum" } else { "minimum" };
            let message = format!("Scaling fleet {name} was limited to {limit} size of {new}");
            self.events.warning(&*autoscaler, "ScalingLimited", message);
        }
        self.write_status(&autoscaler, status).await?;
        Ok(Synced::Done)
    }

    async fn verdict(&self, autoscaler: &FleetAutoscaler, fleet: &Fleet) -> Result<Verdict, PolicyError> {
        let servers = || self.servers_of(fleet);
        let request_uid =
            format!("{:016x}{:016x}", self.randomness.below(u64::MAX), self.randomness.below(u64::MAX));
        let situation = Situation {
            autoscaler: autoscaler.uid(),
            fleet,
            servers: &servers,
            counts: &self.counts.counts(),
            now: timestamp(self.clock.wall()),
            gates: self.gates,
            hooks: &self.hooks,
            request_uid: &request_uid,
        };
        situation.verdict(&autoscaler.spec.policy).await
    }

    fn servers_of(&self, fleet: &Fleet) -> Vec<Arc<GameServer>> {
        let Some(servers) = &self.servers else { return Vec::new() };
        let in_namespace = servers.namespace(fleet.namespace());
        let all = in_namespace.list(&lariat::api::labels::Selector::everything());
        let ours = |server: &Arc<GameServer>| {
            server.metadata.labels.get(names::FLEET).is_some_and(|name| name == fleet.name())
        };
        all.into_iter().filter(ours).collect()
    }

    /// Two autoscalers of one fleet undo what the other does (issue 939).
    fn warn_of_rival(&self, autoscaler: &FleetAutoscaler) {
        let is_rival = |other: &Arc<FleetAutoscaler>| {
            other.namespace() == autoscaler.namespace()
                && other.spec.fleet_name == autoscaler.spec.fleet_name
                && other.name() != autoscaler.name()
        };
        if let Some(rival) = self.autoscalers.list().into_iter().find(is_rival) {
            let message = format!(
                "Fleet {} is scaled by FleetAutoscaler {} too",
                autoscaler.spec.fleet_name,
                rival.name()
            );
            self.events.warning(autoscaler, "FleetAutoscaler", message);
        }
    }

    fn tell_of_failure(&self, autoscaler: &FleetAutoscaler, error: &PolicyError) {
        let name = autoscaler.name();
        if matches!(error, PolicyError::Chain(_) | PolicyError::EmptyChain) {
            let message =
                format!("FleetAutoscaler '{name}' failed to apply ChainPolicy | ID: Unknown | Type: ");
            self.events.warning(autoscaler, "ChainPolicy", message);
        }
        let message =
            format!("Error calculating desired fleet size on FleetAutoscaler {name}. Error: {error}");
        self.events.warning(autoscaler, "FleetAutoscaler", message);
    }

    /// Tells of another policy of a chain that is followed now.
    fn tell_of_chain(&self, autoscaler: &FleetAutoscaler, applied: &str) {
        if applied == autoscaler.status.last_applied_policy {
            return;
        }
        // The type has no colon, an id may.
        let Some((id, kind)) = applied.strip_prefix("Chain:").and_then(|entry| entry.rsplit_once(':')) else {
            return;
        };
        let name = autoscaler.name();
        let message =
            format!("FleetAutoscaler '{name}' successfully applied ChainPolicy | ID: {id} | Type: {kind}");
        self.events.normal(autoscaler, "ChainPolicy", message);
    }

    async fn scale(
        &self,
        autoscaler: &FleetAutoscaler,
        fleet: &Fleet,
        replicas: i32,
    ) -> Result<(), SyncError> {
        let (name, old) = (fleet.name(), fleet.spec.replicas);
        let mut scaled = fleet.clone();
        scaled.spec.replicas = replicas;
        match self.fleets.update(&scaled).await {
            Ok(_) => {
                let message = format!("Scaling fleet {name} from {old} to {replicas}");
                self.events.normal(autoscaler, "AutoScalingFleet", message);
                Ok(())
            }
            Err(error) => {
                if !error.is_conflict() {
                    let message =
                        format!("Error on scaling fleet {name} from {old} to {replicas}. Error: {error}");
                    self.events.warning(autoscaler, "AutoScalingFleetError", message);
                }
                Err(SyncError::Write(error))
            }
        }
    }

    async fn write_status(
        &self,
        autoscaler: &FleetAutoscaler,
        status: FleetAutoscalerStatus,
    ) -> Result<(), SyncError> {
        if status == autoscaler.status {
            return Ok(());
        }
        let written = FleetAutoscaler { status, ..autoscaler.clone() };
        self.autoscalers.update_status(&written).await.map_err(SyncError::Write)?;
        Ok(())
    }
}

/// The status of an autoscaler that cannot do its work.
fn unable(status: &FleetAutoscalerStatus) -> FleetAutoscalerStatus {
    FleetAutoscalerStatus {
        last_scale_time: status.last_scale_time.clone(),
        other: status.other.clone(),
        ..FleetAutoscalerStatus::default()
    }
}
