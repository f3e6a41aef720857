use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lariat::api::Metadata;
use lariat::client::{DeleteParams, Error, Propagation};
use lariat::prelude::*;
use lariat::reflector::{AddIndexersError, Stopped};
use lariat::workqueue::Metrics;

use super::plan::{Children, children};
use super::strategy::{StrategyError, sizes};
use super::{new_set, status};
use crate::events::Recorder;
use crate::gameservers::Writes;
use crate::gates::{FeatureGates, Gate};
use crate::keys::{Failure, LateMetrics, add, queue, work};
use crate::types::game_server_owner;
use crate::types::{Fleet, GameServerSet, GameServerSetStatus, Undecodable, names};

/// The loop of fleets.
///
/// # Example
///
/// ```no_run
/// use std::sync::Arc;
/// use lariat::prelude::*;
/// use lariat_controllers::events::Recorder;
/// use lariat_controllers::fleets::Fleets;
/// use lariat_controllers::gameservers::Writes;
///
/// # async fn run(client: Client, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// let factory = InformerFactory::new(client.clone());
/// let (fleets, sets) = (factory.informer(), factory.informer());
/// let fleet_writes = Arc::new(Writes::new(client.clone(), &fleets));
/// let set_writes = Arc::new(Writes::new(client, &sets));
/// let events = Recorder::new("fleet-controller", |record| println!("{}", record.message));
/// let fleets = Fleets::new(fleets, sets, fleet_writes, set_writes, &events)?;
/// factory.start();
/// fleets.run(shutdown).await;
/// # Ok(())
/// # }
/// ```
pub struct Fleets {
    context: FleetContext,
    fleets: Informer<Fleet>,
    sets: Informer<GameServerSet>,
    queue: Queue<ObjectKey>,
    metrics: Arc<LateMetrics>,
    workers: usize,
}

/// What a look at a fleet needs.
#[derive(Debug, Clone)]
pub struct FleetContext {
    /// Which features are on.
    pub gates: FeatureGates,
    /// The fleets, and the way to write them.
    pub fleets: Arc<Writes<Fleet>>,
    /// The sets, and the way to write them. Their informer has the index of [`index_by_fleet`].
    pub sets: Arc<Writes<GameServerSet>>,
    /// Tells users.
    pub events: Recorder,
}

/// Why a look at a fleet failed. It is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A request failed.
    #[error("{0}")]
    Request(#[from] Error),
    /// Its sets have no sizes.
    #[error("{0}")]
    Strategy(#[from] StrategyError),
    /// Its template is not one.
    #[error("spec.template {0}")]
    Template(#[from] Undecodable),
}

impl Failure for FleetError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_conflict())
    }
}

/// Why the loop of fleets cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetsError {
    /// An informer has stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// The index cannot be made.
    #[error("{0}")]
    Index(#[from] AddIndexersError),
}

/// The index of sets by the fleet that they are labelled with.
const BY_FLEET: &str = "fleet";

/// How long changes of sets are gathered before their fleet is looked at.
const GATHER: Duration = Duration::from_millis(100);

const FAST: Duration = Duration::from_millis(200);
const SLOW: Duration = Duration::from_secs(3);

const DEFAULT_WORKERS: usize = 64;

/// The index of sets that a [`FleetContext`] needs, for an informer of sets.
pub fn index_by_fleet() -> Indexers<GameServerSet> {
    Indexers::new().with(BY_FLEET, |set: &GameServerSet, is_at| {
        if let Some(fleet) = set.metadata.labels.get(names::FLEET) {
            is_at(&format!("{}/{fleet}", set.namespace()));
        }
    })
}

impl FleetContext {
    /// Brings the sets of a fleet closer to what it is to be, and writes its status (F-5).
    ///
    /// # Errors
    ///
    /// If a request fails, or the fleet makes no sense.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the rest to the next look.
    pub async fn sync(&self, key: &ObjectKey) -> Result<(), FleetError> {
        let Some(fleet) = self.fleets.get(key) else { return Ok(()) };
        if fleet.metadata.is_being_deleted() {
            return Ok(());
        }
        let Children { active, rest } = children(&fleet, &self.sets.by_index(BY_FLEET, key.as_str()));
        let template = match &active {
            Some(active) => GameServerSet::clone(active),
            None => new_set(&fleet, self.gates)?,
        };
        let sizes = sizes(&fleet, &template, &rest, self.gates)?;
        let mut rest = rest;
        for (place, size) in sizes.rest {
            rest[place] = self.scale_rest(&fleet, &rest[place], size).await?;
        }
        let (empty, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|set| is_empty(set));
        for set in &empty {
            self.delete(&fleet, set).await?;
        }
        let active = match active {
            Some(active) => self.update_active(&fleet, &active, sizes.active).await?,
            None => self.create_active(&fleet, template, sizes.active).await?,
        };
        let sets: Vec<_> = std::iter::once(active).chain(empty).chain(rest).collect();
        self.write_status(key, &fleet, &sets).await
    }

    async fn scale_rest(
        &self,
        fleet: &Fleet,
        set: &Arc<GameServerSet>,
        size: i32,
    ) -> Result<Arc<GameServerSet>, FleetError> {
        let mut scaled = GameServerSet::clone(set);
        scaled.spec.replicas = size;
        let written = self.sets.update(&scaled).await?;
        let (name, old) = (set.name(), set.spec.replicas);
        let message = format!("Scaling inactive GameServerSet {name} from {old} to {size}");
        self.events.normal(fleet, "ScalingGameServerSet", message);
        Ok(written)
    }

    async fn delete(&self, fleet: &Fleet, set: &GameServerSet) -> Result<(), FleetError> {
        if set.metadata.is_being_deleted() {
            return Ok(());
        }
        let Ok(key) = set.key() else { return Ok(()) };
        let params = DeleteParams {
            propagation: Some(Propagation::Background),
            uid: set.metadata.uid.to_string(),
            ..DeleteParams::default()
        };
        match self.sets.api().delete(&key, &params).await {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => self.sets.deleted(set),
        }
        let message = format!("Deleting inactive GameServerSet {}", set.name());
        self.events.normal(fleet, "DeletingGameServerSet", message);
        Ok(())
    }

    async fn create_active(
        &self,
        fleet: &Fleet,
        mut set: GameServerSet,
        size: i32,
    ) -> Result<Arc<GameServerSet>, FleetError> {
        set.spec.replicas = size;
        let created = self.sets.create(&set).await?;
        let message = format!("Created GameServerSet {}", created.name());
        self.events.normal(fleet, "CreatingGameServerSet", message);
        // A set is to have a status from the start.
        let mut with_status = GameServerSet::clone(&created);
        with_status.status = GameServerSetStatus::default();
        match self.sets.update_status(&with_status).await {
            Ok(written) => Ok(written),
            // The loop of sets was quicker.
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(created),
            Err(error) => Err(error.into()),
        }
    }

    /// Everything that differs is written at once: of two writes the second would bring back what was before the first [X].
    async fn update_active(
        &self,
        fleet: &Fleet,
        active: &Arc<GameServerSet>,
        size: i32,
    ) -> Result<Arc<GameServerSet>, FleetError> {
        let (old, new) = (&active.spec, &fleet.spec);
        let scales = old.replicas != size || old.scheduling != new.scheduling;
        let reorders = self.gates.has(Gate::CountsAndLists) && old.priorities != new.priorities;
        let marks = old.allocation_overflow != new.allocation_overflow;
        if !scales && !reorders && !marks {
            return Ok(active.clone());
        }
        let mut updated = GameServerSet::clone(active);
        updated.spec.replicas = size;
        updated.spec.scheduling.clone_from(&new.scheduling);
        updated.spec.allocation_overflow.clone_from(&new.allocation_overflow);
        if reorders {
            updated.spec.priorities.clone_from(&new.priorities);
        }
        let written = self.sets.update(&updated).await?;
        let name = active.name();
        if scales {
            let message = format!("Scaling active GameServerSet {name} from {} to {size}", old.replicas);
            self.events.normal(fleet, "ScalingGameServerSet", message);
        }
        if reorders {
            let message = format!("Updated GameServerSet {name} Priorities");
            self.events.normal(fleet, "UpdatingGameServerSet", message);
        }
        if marks {
            let message = format!("Updated GameServerSet {name} AllocationOverflow");
            self.events.normal(fleet, "UpdatingGameServerSet", message);
        }
        Ok(written)
    }

    async fn write_status(
        &self,
        key: &ObjectKey,
        looked_at: &Fleet,
        sets: &[Arc<GameServerSet>],
    ) -> Result<(), FleetError> {
        let Some(fleet) = self.fleets.get(key).filter(|fleet| fleet.uid() == looked_at.uid()) else {
            return Ok(());
        };
        let status = status(&fleet, sets, self.gates);
        if status == fleet.status {
            return Ok(());
        }
        let written = Fleet { status, ..Fleet::clone(&fleet) };
        match self.fleets.update_status(&written).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether nothing of a set is left.
fn is_empty(set: &GameServerSet) -> bool {
    set.status.replicas == 0 && set.status.shutdown_replicas == 0
}

// === impl Fleets ===

impl Fleets {
    /// A loop on two informers, which are run by somebody else and have not started yet.
    ///
    /// # Errors
    ///
    /// If an informer has stopped, or has another index of the same name.
    pub fn new(
        fleets: Informer<Fleet>,
        sets: Informer<GameServerSet>,
        fleet_writes: Arc<Writes<Fleet>>,
        set_writes: Arc<Writes<GameServerSet>>,
        events: &Recorder,
    ) -> Result<Self, FleetsError> {
        sets.add_indexers(index_by_fleet())?;
        let metrics = Arc::default();
        let queue = queue("fleet", FAST, SLOW, &metrics);
        fleets.add_handler(OnFleets { queue: queue.clone(), writes: fleet_writes.clone() })?;
        sets.add_handler(OnSets { queue: queue.clone() })?;
        let events = events.of("fleet-controller");
        let context =
            FleetContext { gates: FeatureGates::default(), fleets: fleet_writes, sets: set_writes, events };
        Ok(Self { context, fleets, sets, queue, metrics, workers: DEFAULT_WORKERS })
    }

    /// Has these features on; the default ones if nothing is given.
    #[must_use]
    pub fn gates(mut self, gates: FeatureGates) -> Self {
        self.context.gates = gates;
        self
    }

    /// Looks at this many fleets at once; 64 if nothing is given.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Counts what happens in the queues with `metrics`; nobody does if nothing is given.
    #[must_use]
    pub fn queue_metrics(self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics.tell(metrics);
        self
    }

    /// The queues, for those who want to know how they are.
    pub fn queues(&self) -> Vec<Queue<ObjectKey>> {
        vec![self.queue.clone()]
    }

    /// Works until `shutdown` is ready, then returns when what was begun is finished.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the work where it is.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { context, fleets, sets, queue, workers, .. } = self;
        let mut shutdown = std::pin::pin!(shutdown);
        let synced = async {
            fleets.wait_for_sync().await;
            sets.wait_for_sync().await;
        };
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            () = synced => {}
        }
        let workers = work(&queue, workers, move |key: ObjectKey| {
            let context = context.clone();
            async move { context.sync(&key).await }
        });
        shutdown.await;
        queue.shut_down();
        workers.await;
    }
}

impl std::fmt::Debug for Fleets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleets").field("workers", &self.workers).finish_non_exhaustive()
    }
}

struct OnFleets {
    queue: Queue<ObjectKey>,
    writes: Arc<Writes<Fleet>>,
}

impl EventHandler<Fleet> for OnFleets {
    fn on_add(&self, fleet: &Arc<Fleet>, _is_in_initial_list: bool) {
        add(&self.queue, &**fleet);
    }

    fn on_update(&self, old: &Arc<Fleet>, new: &Arc<Fleet>) {
        // Its own status is no news to the loop.
        let is_resync = old.resource_version() == new.resource_version();
        if is_resync
            || old.spec != new.spec
            || old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        {
            add(&self.queue, &**new);
        }
    }

    fn on_delete(&self, deleted: &Deleted<Fleet>) {
        self.writes.deleted(deleted.object());
    }
}

struct OnSets {
    queue: Queue<ObjectKey>,
}

impl OnSets {
    fn changed(&self, set: &GameServerSet) {
        if let Some((fleet, _)) = game_server_owner(&set.metadata, "Fleet") {
            self.queue.add_after(ObjectKey::new(set.namespace(), fleet), GATHER);
        }
    }
}

impl EventHandler<GameServerSet> for OnSets {
    fn on_add(&self, set: &Arc<GameServerSet>, _is_in_initial_list: bool) {
        self.changed(set);
    }

    fn on_update(&self, old: &Arc<GameServerSet>, new: &Arc<GameServerSet>) {
        if old.resource_version() != new.resource_version() {
            self.changed(new);
        }
    }

    /// One that somebody else deleted has to be made again.
    fn on_delete(&self, deleted: &Deleted<GameServerSet>) {
        self.changed(deleted.object());
    }
}
