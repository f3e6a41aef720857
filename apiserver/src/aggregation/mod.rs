//! Further APIs beside the built-in kinds and custom resources, in the manner of Kubernetes' API aggregation.

mod loopback;
mod request;
mod resource;
mod serve;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use lariat_api::Status;
use serde_json::Value;

use crate::schema::SchemaError;

pub use loopback::Loopback;
pub use request::{AggregatedRequest, User};
pub use resource::{AggregatedResource, Verb};
pub(crate) use serve::Aggregated;

/// An API that a server answers for, but does not store: its resources are whatever the implementation makes of them.
///
/// Clients see no difference. The resources stand in discovery and OpenAPI, requests are checked as those to other resources, and
/// [faults](crate::FaultPlan) strike them, too. What there is no room for here: watches, subresources and tables (kubectl makes
/// its own of what it is answered).
///
/// # Cancel safety
///
/// An answer is dropped where it waits when its client goes away. What must go on after that belongs in a task.
///
/// # Example
///
/// ```
/// use lariat_api::{Kind, Status};
/// use lariat_apiserver::{AggregatedApi, AggregatedRequest, AggregatedResource, ApiServer, Verb};
/// use serde_json::{Value, json};
///
/// /// Adds numbers up.
/// struct Sums;
///
/// impl AggregatedApi for Sums {
///     fn resources(&self) -> Vec<AggregatedResource> {
///         let kind = Kind::namespaced("calculator.example.dev", "v1", "Sum", "sums");
///         vec![AggregatedResource::new(kind, [Verb::Create])]
///     }
///
///     async fn answer(&self, request: AggregatedRequest) -> Result<Value, Status> {
///         let mut sum = request.body;
///         let numbers = sum["spec"]["numbers"].as_array().into_iter().flatten().filter_map(Value::as_i64);
///         sum["status"] = json!({"sum": numbers.sum::<i64>()});
///         Ok(sum)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lariat_apiserver::AggregateError> {
/// let server = ApiServer::builder().build();
/// server.aggregate(Sums)?;
/// # Ok(())
/// # }
/// ```
pub trait AggregatedApi: Send + Sync + 'static {
    /// What it answers for. Asked once, when the API is added to a server.
    fn resources(&self) -> Vec<AggregatedResource>;

    /// Answers a request to one of the resources: with an object or a list, or with why not.
    ///
    /// The answer to [`Verb::Create`] has the code 201, all others 200. `apiVersion` and `kind` are put in where the object has none.
    ///
    /// # Errors
    ///
    /// What the client is to be answered; a status without a code is answered with 500.
    fn answer(&self, request: AggregatedRequest) -> impl Future<Output = Result<Value, Status>> + Send;
}

impl<A: AggregatedApi> AggregatedApi for Arc<A> {
    fn resources(&self) -> Vec<AggregatedResource> {
        A::resources(self)
    }

    fn answer(&self, request: AggregatedRequest) -> impl Future<Output = Result<Value, Status>> + Send {
        A::answer(self, request)
    }
}

/// An API cannot be added to a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// It answers for nothing.
    #[error("the API has no resources")]
    Empty,
    /// A name is none that could stand in a path.
    #[error(
        "the API cannot have a resource {plural:?} of kind {kind:?} in {api_version:?}: want names of letters, digits, '-' and '.', and a group"
    )]
    Name {
        /// Group and version.
        api_version: String,
        /// The kind.
        kind: String,
        /// The resource.
        plural: String,
    },
    /// Somebody answers for this group and version already.
    #[error("{api_version} is served already: an API has its group and version to itself")]
    Taken {
        /// Group and version.
        api_version: String,
    },
    /// A schema is none.
    #[error("the schema of {kind} cannot be used: {reason}")]
    Schema {
        /// The kind.
        kind: String,
        /// What is wrong with it.
        reason: SchemaError,
    },
}

/// An answer that is on its way.
type Answering<'a> = Pin<Box<dyn Future<Output = Result<Value, Status>> + Send + 'a>>;

/// An API of any type.
pub(crate) trait AnyApi: Send + Sync {
    fn answer(&self, request: AggregatedRequest) -> Answering<'_>;
}

impl<A: AggregatedApi> AnyApi for A {
    fn answer(&self, request: AggregatedRequest) -> Answering<'_> {
        Box::pin(AggregatedApi::answer(self, request))
    }
}
