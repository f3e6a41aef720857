use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use lariat_api::{Kind, Metadata, Object, ObjectKey};
use lariat_client::{Api, DeleteParams, Error, Patch, PatchParams};
use lariat_reflector::Informer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cache::{self, Cache, Write};
use super::writes::Writes;

/// Writes objects of one kind, and lets the controller note what it wrote, so that the next run of its handler for the same key
/// reads it; [`Context::api`](crate::Context::api) makes one. One that is made [from](Self::from) an [`Api`] notes nothing.
///
/// # Cancel safety
///
/// A write that is dropped may or may not have been carried out, and is not noted.
///
/// # Example
///
/// ```
/// use lariat::prelude::*;
///
/// async fn reconcile(key: ObjectKey, _: Option<Arc<DynamicObject>>, context: Context) -> Result<Outcome, Failure> {
///     let maps = context.api_of::<DynamicObject>(Kind::namespaced("", "v1", "ConfigMap", "configmaps"));
///     let mut map = DynamicObject::default();
///     map.metadata.name = key.name().into();
///     map.metadata.namespace = key.namespace().into();
///     maps.create(&map).await?;
///     Ok(Outcome::Done)
/// }
/// # let _ = Controller::<DynamicObject>::of_kind("a", Kind::cluster("", "v1", "Node", "nodes")).reconcile(reconcile);
/// ```
pub struct TrackedApi<K> {
    api: Api<K>,
    tracker: Option<Tracker>,
}

/// Where writes are noted.
#[derive(Clone)]
pub(crate) struct Tracker {
    pub(crate) handled: ObjectKey,
    pub(crate) writes: Arc<Writes>,
    pub(crate) caches: Arc<[Arc<dyn Cache>]>,
}

/// What [`TrackedApi::create_or_update`] did.
///
/// ```
/// assert_ne!(lariat::Change::Created, lariat::Change::Unchanged);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The object was created.
    Created,
    /// It was there and is another now.
    Updated,
    /// It was as it should be; nothing was written.
    Unchanged,
}

impl<K> TrackedApi<K> {
    pub(crate) fn new(api: Api<K>, tracker: Tracker) -> Self {
        Self { api, tracker: Some(tracker) }
    }

    /// The kind of the objects.
    pub fn kind(&self) -> &Kind {
        self.api.kind()
    }

    /// Requests of which nothing is noted.
    pub fn untracked(&self) -> &Api<K> {
        &self.api
    }

    fn note(&self, write: Write) {
        if let Some(Tracker { handled, writes, caches }) = &self.tracker {
            writes.note(handled, caches, self.api.kind(), write);
        }
    }
}

impl<K: Object + DeserializeOwned> TrackedApi<K> {
    /// Reads an object from the server, past all caches.
    ///
    /// # Errors
    ///
    /// As [`Api::get`].
    pub async fn get(&self, key: &ObjectKey) -> Result<K, Error> {
        self.api.get(key).await
    }

    /// Deletes an object as it is known: one that was created under its name later stays.
    ///
    /// # Errors
    ///
    /// As [`Api::delete`].
    pub async fn delete(&self, object: &K) -> Result<(), Error> {
        let params = DeleteParams { uid: object.uid().to_owned(), ..DeleteParams::default() };
        self.delete_with(object, &params).await
    }

    /// Deletes an object in the way that the parameters say.
    ///
    /// # Errors
    ///
    /// As [`Api::delete`].
    pub async fn delete_with(&self, object: &K, params: &DeleteParams) -> Result<(), Error> {
        let key = ObjectKey::new(object.namespace(), object.name());
        self.api.delete(&key, params).await?;
        self.note(Write::Deleted { key, uid: object.uid().to_owned() });
        Ok(())
    }
}

impl<K: Object + Serialize + DeserializeOwned> TrackedApi<K> {
    /// As [`Api::create`].
    ///
    /// # Errors
    ///
    /// As [`Api::create`].
    pub async fn create(&self, object: &K) -> Result<K, Error> {
        self.api.create(object).await.map(|written| self.written(written))
    }

    /// As [`Api::update`].
    ///
    /// # Errors
    ///
    /// As [`Api::update`].
    pub async fn update(&self, object: &K) -> Result<K, Error> {
        self.api.update(object).await.map(|written| self.written(written))
    }

    /// As [`Api::update_status`].
    ///
    /// # Errors
    ///
    /// As [`Api::update`].
    pub async fn update_status(&self, object: &K) -> Result<K, Error> {
        self.api.update_status(object).await.map(|written| self.written(written))
    }

    /// As [`Api::patch`].
    ///
    /// # Errors
    ///
    /// As [`Api::patch`].
    pub async fn patch(&self, key: &ObjectKey, patch: &Patch, params: &PatchParams) -> Result<K, Error> {
        self.patch_subresource(key, "", patch, params).await
    }

    /// As [`Api::patch_subresource`].
    ///
    /// # Errors
    ///
    /// As [`Api::patch`].
    pub async fn patch_subresource(
        &self,
        key: &ObjectKey,
        subresource: &str,
        patch: &Patch,
        params: &PatchParams,
    ) -> Result<K, Error> {
        let written = self.api.patch_subresource(key, subresource, patch, params).await?;
        Ok(if params.dry_run { written } else { self.written(written) })
    }

    /// Server-side apply: has the fields of `object` be as they are there, and leaves all others alone. Takes fields from other
    /// managers, as a controller should that knows what it wants. Creates the object if there is none.
    ///
    /// `apiVersion` and `kind` are filled in; what only the server may set is left out.
    ///
    /// # Errors
    ///
    /// As [`Api::patch`].
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat::prelude::*;
    /// # async fn run(context: Context, map: DynamicObject) -> Result<(), Failure> {
    /// let maps = context.api_of::<DynamicObject>(Kind::namespaced("", "v1", "ConfigMap", "configmaps"));
    /// maps.apply(&map, "shops").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn apply(&self, object: &K, field_manager: &str) -> Result<K, Error> {
        let key = ObjectKey::new(object.namespace(), object.name());
        let patch = Patch::Apply(self.applied(object)?);
        self.patch(&key, &patch, &applying(field_manager)).await
    }

    /// [`apply`](Self::apply) of the `status`, and of nothing else in `object`.
    ///
    /// # Errors
    ///
    /// As [`Api::patch`].
    pub async fn apply_status(&self, object: &K, field_manager: &str) -> Result<K, Error> {
        let key = ObjectKey::new(object.namespace(), object.name());
        let mut applied = self.applied(object)?;
        if let Value::Object(fields) = &mut applied {
            fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
            let identity = serde_json::json!({"name": object.name(), "namespace": object.namespace()});
            fields.insert("metadata".into(), identity);
        }
        self.patch_subresource(&key, "status", &Patch::Apply(applied), &applying(field_manager)).await
    }

    /// Sees to it that there is an object which is as `mutate` makes it: `template`, which has at least a name, is created after
    /// `mutate`, or what is there is updated if `mutate` changes it. What is there is read from the controller's cache if it has
    /// one of this type and kind, and else from the server.
    ///
    /// # Errors
    ///
    /// As [`Api::create`] and [`Api::update`]; a conflict if somebody else wrote meanwhile.
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat::prelude::*;
    /// # async fn run(context: Context, map: DynamicObject) -> Result<(), Failure> {
    /// let maps = context.api_of::<DynamicObject>(Kind::namespaced("", "v1", "ConfigMap", "configmaps"));
    /// let (map, change) = maps.create_or_update(map, |map| {
    ///     map.other.insert("data".into(), serde_json::json!({"colour": "red"}));
    /// }).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "CreateOrUpdate")]
    pub async fn create_or_update(
        &self,
        template: K,
        mut mutate: impl FnMut(&mut K) + Send,
    ) -> Result<(K, Change), Error>
    where
        K: Clone,
    {
        let key = ObjectKey::new(template.namespace(), template.name());
        let existing = match self.cached().and_then(|informer| informer.lister().get(&key).ok()) {
            Some(cached) => Some(K::clone(&cached)),
            None => self.read(&key).await?,
        };
        let Some(existing) = existing else {
            let mut new = template;
            mutate(&mut new);
            return self.create(&new).await.map(|created| (created, Change::Created));
        };
        let mut wanted = existing.clone();
        mutate(&mut wanted);
        if json(&existing)? == json(&wanted)? {
            return Ok((existing, Change::Unchanged));
        }
        self.update(&wanted).await.map(|updated| (updated, Change::Updated))
    }

    async fn read(&self, key: &ObjectKey) -> Result<Option<K>, Error> {
        match self.api.get(key).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn cached(&self) -> Option<Informer<K>> {
        self.tracker.as_ref().and_then(|tracker| cache::find(&tracker.caches, self.api.kind()))
    }

    /// An object as the server may be asked to apply it.
    fn applied(&self, object: &K) -> Result<Value, Error> {
        let mut value = json(object)?;
        value["apiVersion"] = self.kind().api_version().into();
        value["kind"] = self.kind().kind().into();
        if let Some(metadata) = value["metadata"].as_object_mut() {
            for set_by_server in
                ["resourceVersion", "uid", "generation", "creationTimestamp", "deletionTimestamp", "selfLink"]
            {
                metadata.remove(set_by_server);
            }
        }
        Ok(value)
    }

    fn written(&self, object: K) -> K {
        let meta = object.meta();
        let is_let_go = meta.is_being_deleted() && meta.finalizers().is_empty();
        let key = ObjectKey::new(object.namespace(), object.name());
        let version = object.resource_version().to_owned();
        self.note(match is_let_go {
            true => Write::LetGo { key, uid: object.uid().to_owned(), version },
            false => Write::Written { key, version },
        });
        object
    }
}

fn applying(field_manager: &str) -> PatchParams {
    PatchParams { field_manager: field_manager.to_owned().into(), force: true, dry_run: false }
}

fn json<K: Serialize>(object: &K) -> Result<Value, Error> {
    serde_json::to_value(object).map_err(Error::Encode)
}

impl<K> From<Api<K>> for TrackedApi<K> {
    fn from(api: Api<K>) -> Self {
        Self { api, tracker: None }
    }
}

impl<K> Clone for TrackedApi<K> {
    fn clone(&self) -> Self {
        Self { api: self.api.clone(), tracker: self.tracker.clone() }
    }
}

impl<K> Debug for TrackedApi<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrackedApi").field("api", &self.api).finish_non_exhaustive()
    }
}
