use std::sync::Arc;
use std::time::Duration;

use lariat_api::{DynamicObject, Kind, Object, ObjectKey};
use lariat_client::{Api, Client, Error, Patch, PatchParams};
use lariat_reflector::{Event, Informer};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

const DEFINITIONS: Kind =
    Kind::cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");

/// Why a wait has ended without what was waited for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// It took too long.
    #[error("{what} is not as it should be after {waited:?}{}", .last_error.as_ref().map(|error| format!(": {error}")).unwrap_or_default())]
    TimedOut {
        /// The object.
        what: String,
        /// For how long it was waited.
        waited: Duration,
        /// What went wrong last while the object was watched.
        last_error: Option<String>,
    },
    /// The server refused the definition.
    #[error("{0}")]
    Refused(Error),
    /// The definition has no name.
    #[error("definition has no metadata.name")]
    NoName,
}

/// Waits until an object is as `holds` wants it, or gone if it wants none, and returns it. It is watched, not polled, and what goes
/// wrong meanwhile is tried again.
///
/// # Errors
///
/// If it takes longer than `within`.
///
/// # Cancel safety
///
/// A call that is dropped leaves nothing behind.
///
/// # Example
///
/// ```no_run
/// use std::time::Duration;
/// use lariat::prelude::*;
/// use lariat::wait_for;
///
/// # async fn run(client: Client) -> Result<(), lariat::WaitError> {
/// let nodes = Api::<DynamicObject>::of_kind(client, Kind::cluster("", "v1", "Node", "nodes"), "");
/// let is_gone = |node: Option<&DynamicObject>| node.is_none();
/// wait_for(&nodes, &ObjectKey::new("", "a"), Duration::from_secs(60), is_gone).await?;
/// # Ok(())
/// # }
/// ```
pub async fn wait_for<K: Object + DeserializeOwned>(
    api: &Api<K>,
    key: &ObjectKey,
    within: Duration,
    mut holds: impl FnMut(Option<&K>) -> bool,
) -> Result<Option<Arc<K>>, WaitError> {
    let one = Api::of_kind(api.client().clone(), api.kind().clone(), key.namespace());
    let informer = Informer::builder(one).field_selector(format!("metadata.name={}", key.name())).build();
    let what = || format!("{} \"{key}\"", api.kind());
    let Ok(mut events) = informer.subscribe() else {
        return Err(WaitError::TimedOut { what: what(), waited: Duration::ZERO, last_error: None });
    };
    let mut current = None;
    let watched = async {
        let mut is_complete = false;
        while let Some(event) = events.next().await {
            match event {
                Event::Added { object, .. } => current = Some(object),
                Event::Updated { new, .. } => current = Some(new),
                Event::Deleted(_) => current = None,
                _ => is_complete = true,
            }
            // That there is none is only known after the whole list.
            if (is_complete || current.is_some()) && holds(current.as_deref()) {
                return true;
            }
        }
        false
    };
    let is_found = tokio::select! {
        biased;
        found = timeout(within, watched) => found.unwrap_or(false),
        () = informer.run(std::future::pending()) => false,
    };
    if is_found {
        return Ok(current);
    }
    let last_error = informer.last_error().map(|error| error.text);
    Err(WaitError::TimedOut { what: what(), waited: within, last_error })
}

/// Waits until a custom resource is served: its definition, such as `shops.example.dev`, is there and established.
///
/// # Errors
///
/// If it takes longer than `within`.
///
/// # Cancel safety
///
/// A call that is dropped leaves nothing behind.
///
/// # Example
///
/// ```no_run
/// # async fn run(client: lariat::Client) -> Result<(), lariat::WaitError> {
/// lariat::wait_for_crd(&client, "shops.example.dev", std::time::Duration::from_secs(30)).await?;
/// # Ok(())
/// # }
/// ```
#[inline] // with an informer of its own, which is compiled where somebody calls it, and only there
pub fn wait_for_crd(
    client: &Client,
    name: &str,
    within: Duration,
) -> impl Future<Output = Result<(), WaitError>> + Send {
    let definitions = Api::<DynamicObject>::of_kind(client.clone(), DEFINITIONS, "");
    let key = ObjectKey::new("", name);
    async move {
        let is_served = |definition: Option<&DynamicObject>| definition.is_some_and(is_established);
        wait_for(&definitions, &key, within, is_served).await.map(drop)
    }
}

/// Has a definition of a custom resource be as it is here, by server-side apply, and waits until the resource is served.
///
/// # Errors
///
/// If the server refuses it, or it takes longer than `within`.
///
/// # Example
///
/// ```no_run
/// # async fn run(client: lariat::Client, definition: serde_json::Value) -> Result<(), lariat::WaitError> {
/// lariat::install_crd(&client, definition, std::time::Duration::from_secs(30)).await?;
/// # Ok(())
/// # }
/// ```
#[inline] // as `wait_for_crd`
pub fn install_crd(
    client: &Client,
    definition: Value,
    within: Duration,
) -> impl Future<Output = Result<(), WaitError>> + Send {
    let client = client.clone();
    async move {
        let name = definition["metadata"]["name"].as_str().ok_or(WaitError::NoName)?.to_owned();
        let definitions = Api::<DynamicObject>::of_kind(client.clone(), DEFINITIONS, "");
        let params = PatchParams { field_manager: "lariat".into(), force: true, dry_run: false };
        let (key, patch) = (ObjectKey::new("", &name), Patch::Apply(definition));
        definitions.patch(&key, &patch, &params).await.map_err(WaitError::Refused)?;
        wait_for_crd(&client, &name, within).await
    }
}

fn is_established(definition: &DynamicObject) -> bool {
    let conditions = definition.other.get("status").and_then(|status| status["conditions"].as_array());
    let holds = |kind: &str| {
        let is_so = |condition: &Value| condition["type"] == kind && condition["status"] == "True";
        conditions.is_some_and(|conditions| conditions.iter().any(is_so))
    };
    holds("Established") && holds("NamesAccepted")
}
