use lariat_api::{Metadata, Object, ObjectKey};
use lariat_client::{Error, Patch, PatchParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::controller::{Failure, Outcome, TrackedApi};

/// Holds an object back from its deletion until something is cleaned up.
///
/// # Example
///
/// ```
/// use lariat::prelude::*;
///
/// const SHOPS: Kind = Kind::namespaced("example.dev", "v1", "Shop", "shops");
/// const FINALIZER: Finalizer = Finalizer::new("example.dev/signs");
///
/// async fn reconcile(_: ObjectKey, shop: Option<Arc<DynamicObject>>, context: Context) -> Result<Outcome, Failure> {
///     let Some(shop) = shop else { return Ok(Outcome::Done) };
///     let shops = context.api_of::<DynamicObject>(SHOPS);
///     let put_up_sign = async || Ok(Outcome::Done);
///     let take_down_sign = async || Ok(Outcome::Done);
///     FINALIZER.run(&shops, &*shop, put_up_sign, take_down_sign).await
/// }
/// # let _ = Controller::<DynamicObject>::of_kind("shops", SHOPS).reconcile(reconcile);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finalizer(&'static str);

impl Finalizer {
    /// A finalizer of a name, such as `example.dev/signs`.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.0
    }

    /// Whether it holds an object.
    pub fn holds<K: Object>(&self, object: &K) -> bool {
        object.meta().finalizers().iter().any(|name| name == self.0)
    }

    /// The whole of it: has the object be held before anything is done for it, then calls `apply`; once the object is to be deleted,
    /// calls `cleanup`, and lets the object go when that returns [`Outcome::Done`].
    ///
    /// `apply` is called only for objects that are held, so `cleanup` is for each for which it was. An object that is to be
    /// deleted and is not held is none of this finalizer's business.
    ///
    /// # Errors
    ///
    /// What either call or a write fails with. `cleanup` that fails is called again.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, `cleanup` may be called once more.
    pub async fn run<K: Object + Serialize + DeserializeOwned>(
        &self,
        api: &TrackedApi<K>,
        object: &K,
        apply: impl AsyncFnOnce() -> Result<Outcome, Failure>,
        cleanup: impl AsyncFnOnce() -> Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        match (object.meta().is_being_deleted(), self.holds(object)) {
            (false, true) => apply().await,
            (false, false) => {
                // The update that this is will be heard of, and handled.
                self.add(api, object).await?;
                Ok(Outcome::Done)
            }
            (true, true) => match cleanup().await? {
                Outcome::Done => {
                    self.remove(api, object).await?;
                    Ok(Outcome::Done)
                }
                later => Ok(later),
            },
            (true, false) => Ok(Outcome::Done),
        }
    }

    /// Has it hold an object, unless it does.
    ///
    /// # Errors
    ///
    /// A conflict if the object has another version by now, or any other [`Error`].
    pub async fn add<K: Object + Serialize + DeserializeOwned>(
        &self,
        api: &TrackedApi<K>,
        object: &K,
    ) -> Result<(), Error> {
        if self.holds(object) {
            return Ok(());
        }
        let mut names = object.meta().finalizers().to_vec();
        names.push(self.0.to_owned());
        write(api, object, &names).await
    }

    /// Lets an object go, if it is held.
    ///
    /// # Errors
    ///
    /// A conflict if the object has another version by now, or any other [`Error`]. An object that is gone is none.
    pub async fn remove<K: Object + Serialize + DeserializeOwned>(
        &self,
        api: &TrackedApi<K>,
        object: &K,
    ) -> Result<(), Error> {
        if !self.holds(object) {
            return Ok(());
        }
        let mut names = object.meta().finalizers().to_vec();
        names.retain(|name| name != self.0);
        match write(api, object, &names).await {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome,
        }
    }
}

/// Replaces the finalizers of an object in the version that is known.
async fn write<K: Object + Serialize + DeserializeOwned>(
    api: &TrackedApi<K>,
    object: &K,
    names: &[String],
) -> Result<(), Error> {
    let key = ObjectKey::new(object.namespace(), object.name());
    let metadata =
        json!({"finalizers": names, "resourceVersion": object.resource_version(), "uid": object.uid()});
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    api.patch(&key, &patch, &PatchParams::default()).await.map(drop)
}
