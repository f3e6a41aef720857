use std::sync::Arc;
use std::time::SystemTime;

use lariat::api::Clock;
use lariat::prelude::*;

use super::policy::{PolicyError, target};
use crate::types::{Fleet, FleetAutoscaler, FleetAutoscalerStatus};

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

/// What one look at an autoscaler needs.
pub(super) struct Syncer {
    pub(super) fleets: Lister<Fleet>,
    pub(super) autoscalers: Lister<FleetAutoscaler>,
    pub(super) fleet_api: Api<Fleet>,
    pub(super) autoscaler_api: Api<FleetAutoscaler>,
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
        let Ok(autoscaler) = self.autoscalers.get(key) else { return Ok(Synced::Gone) };
        let fleet_key = ObjectKey::new(key.namespace(), &autoscaler.spec.fleet_name);
        let Ok(fleet) = self.fleets.get(&fleet_key) else {
            tracing::warn!(reason = "FailedGetFleet", autoscaler = %key, fleet = %fleet_key, "fleet does not exist");
            self.write_status(&autoscaler, unable(&autoscaler.status)).await?;
            return Ok(Synced::Done);
        };
        if fleet.meta().is_being_deleted() {
            return Ok(Synced::Done);
        }
        let target = match target(&autoscaler.spec.policy, &fleet) {
            Ok(target) => target,
            Err(error) => {
                tracing::warn!(reason = "FleetAutoscaler", autoscaler = %key, fleet = %fleet_key, %error);
                self.write_status(&autoscaler, unable(&autoscaler.status)).await?;
                return Err(SyncError::Policy(error));
            }
        };
        if let Some(observer) = &self.observer {
            observer(&Decision {
                autoscaler: key.clone(),
                fleet: fleet_key.clone(),
                allocated: fleet.status.allocated_replicas,
                current: fleet.status.replicas,
                desired: target.replicas,
                limited: target.limited,
            });
        }

        let (old, new) = (fleet.spec.replicas, target.replicas);
        if old != new {
            self.scale(&fleet, new).await?;
            tracing::info!(reason = "AutoScalingFleet", autoscaler = %key, fleet = %fleet_key, from = old, to = new);
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
            last_applied_policy: autoscaler.spec.policy.kind.clone(),
            other: autoscaler.status.other.clone(),
        };
        if status.scaling_limited && status != autoscaler.status {
            let limit = if status.current_replicas > new { "maximum" } else { "minimum" };
            tracing::warn!(reason = "ScalingLimited", autoscaler = %key, fleet = %fleet_key, limit, replicas = new);
        }
        self.write_status(&autoscaler, status).await?;
        Ok(Synced::Done)
    }

    async fn scale(&self, fleet: &Fleet, replicas: i32) -> Result<(), SyncError> {
        let mut scaled = fleet.clone();
        scaled.spec.replicas = replicas;
        match self.fleet_api.update(&scaled).await {
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::warn!(reason = "AutoScalingFleetError", fleet = %fleet.name(), replicas, %error);
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
        self.autoscaler_api.update_status(&written).await.map_err(SyncError::Write)?;
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

/// Whole seconds in UTC, as Kubernetes writes times.
fn rfc3339(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
