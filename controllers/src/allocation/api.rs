//! The allocation API on an embedded API server (AL-1).

use lariat::api::{Reason, Resource, Status, StatusCause, StatusDetails};
use lariat_apiserver::{AggregatedApi, AggregatedRequest, AggregatedResource, Verb};
use serde_json::Value;

use super::{AllocateError, Allocator};
use crate::definitions::allocation_schema;
use crate::time::rfc3339;
use crate::types::GameServerAllocation;
use crate::validation::FieldError;

/// `allocation.agones.dev/v1`: who creates a `GameServerAllocation` gets it back with a server, if there is one.
///
/// # Example
///
/// ```no_run
/// use std::sync::Arc;
///
/// use lariat::api::{Randomness, SystemClock};
/// use lariat::prelude::*;
/// use lariat_apiserver::{AggregateError, ApiServer};
/// use lariat_controllers::allocation::{AllocationApi, Allocator, AllocatorSettings};
/// use lariat_controllers::events::Recorder;
/// use lariat_controllers::gameservers::{PerNodeCounter, Writes};
/// use lariat_controllers::types::GameServer;
///
/// # async fn run(server: ApiServer, client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let servers = Informer::<GameServer>::builder(Api::all(client.clone())).build();
/// let counts = PerNodeCounter::default();
/// servers.add_handler(counts.clone())?;
/// let (allocator, batches) = Allocator::new(
///     Arc::new(Writes::new(client, &servers)),
///     counts,
///     AllocatorSettings::default(),
///     &Recorder::new("allocator", |_| {}),
///     Randomness::from_os(),
///     Arc::new(SystemClock),
/// );
/// server.aggregate(AllocationApi::new(allocator))?;
/// tokio::join!(servers.run(std::future::pending()), batches.run(std::future::pending()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct AllocationApi {
    allocator: Allocator,
}

impl AllocationApi {
    /// The API, which gives servers by this allocator.
    pub fn new(allocator: Allocator) -> Self {
        Self { allocator }
    }
}

impl AggregatedApi for AllocationApi {
    fn resources(&self) -> Vec<AggregatedResource> {
        let kind = GameServerAllocation::KIND;
        vec![AggregatedResource::new(kind, [Verb::Create]).short_name("gsa").schema(allocation_schema())]
    }

    async fn answer(&self, request: AggregatedRequest) -> Result<Value, Status> {
        let is_dry_run = request.is_dry_run();
        let mut allocation: GameServerAllocation =
            serde_json::from_value(request.body).map_err(undecodable)?;
        if is_dry_run {
            let allocation = self.allocator.check(allocation).map_err(refused)?;
            return serde_json::to_value(&allocation).map_err(unencodable);
        }
        // In the answer, the name is the server's.
        let name = std::mem::take(&mut allocation.metadata.name);
        allocation.metadata.creation_timestamp = Some(rfc3339(request.now).into());
        let answered = self.allocator.allocate(allocation).await;
        let answered = answered.map_err(|error| named(refused(error), &name))?;
        serde_json::to_value(&answered).map_err(unencodable)
    }
}

fn refused(error: AllocateError) -> Status {
    match error {
        AllocateError::Invalid(errors) => invalid(&errors),
        error => failure(500, Reason::InternalError, error.to_string()),
    }
}

/// All that is wrong in one message, and each as a cause.
fn invalid(errors: &[FieldError]) -> Status {
    let kind = GameServerAllocation::KIND;
    let (group, kind) = (kind.group(), kind.kind());
    let causes = errors.iter().map(|error| StatusCause {
        reason: error.kind.as_str().into(),
        message: error.detail.clone(),
        field: error.field.clone(),
    });
    let details = StatusDetails {
        group: group.into(),
        kind: kind.into(),
        causes: causes.collect(),
        ..StatusDetails::default()
    };
    let what: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let what = match what.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let message = format!("{kind}.{group} is invalid: {what}");
    Status { details: Some(Box::new(details)), ..failure(422, Reason::Invalid, message) }
}

/// Says in a failure of which allocation it speaks.
fn named(mut status: Status, name: &str) -> Status {
    if let Some(details) = &mut status.details {
        details.name = name.into();
    }
    status
}

fn undecodable(error: serde_json::Error) -> Status {
    let kind = GameServerAllocation::KIND;
    let (version, kind) = (kind.api_version(), kind.kind());
    let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}");
    failure(400, Reason::BadRequest, message)
}

fn unencodable(error: serde_json::Error) -> Status {
    failure(500, Reason::InternalError, format!("the answer cannot be written: {error}"))
}

fn failure(code: u16, reason: Reason, message: String) -> Status {
    Status { status: "Failure".into(), message, reason_text: reason.as_str().into(), code, details: None }
}
