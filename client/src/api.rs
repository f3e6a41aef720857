use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

use bytes::Bytes;
use http::{HeaderValue, Method};
use lariat_api::{Kind, Object, ObjectKey, Resource};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;

use crate::boxed::Boxed;
use crate::client::{Answering, JSON};
use crate::{
    Client, DeleteParams, Error, ListParams, ListStream, Patch, PatchParams, WatchParams, WatchStream,
};

/// The objects of one kind, in one namespace or in all.
///
/// # Cancel safety
///
/// A read that is dropped before it is done leaves nothing behind. A write that is dropped may or may not have been
/// carried out.
pub struct Api<K> {
    client: Client,
    kind: Kind,
    namespace: String,
    object: PhantomData<fn() -> K>,
}

/// Metadata only, or all of it from a server that does not know how to leave out the rest.
const PARTIAL: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");

/// The same of a list.
const PARTIAL_LIST: HeaderValue = HeaderValue::from_static(
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
);

impl<K: Resource> Api<K> {
    /// The objects in all namespaces, or of a cluster-wide kind.
    pub fn all(client: Client) -> Self {
        Self::of_kind(client, K::KIND, "")
    }

    /// The objects in one namespace.
    pub fn namespaced(client: Client, namespace: impl Into<String>) -> Self {
        Self::of_kind(client, K::KIND, namespace)
    }
}

impl<K> Api<K> {
    /// The objects of a kind that the type does not tell, in one namespace or in all (`""`).
    pub fn of_kind(client: Client, kind: Kind, namespace: impl Into<String>) -> Self {
        Self { client, kind, namespace: namespace.into(), object: PhantomData }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The kind of the objects.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The namespace, `""` for all.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    fn collection(&self, namespace: &str) -> Result<String, Error> {
        collection(&self.kind, namespace)
    }

    fn object(&self, namespace: &str, name: &str, subresource: &str) -> Result<String, Error> {
        object(&self.kind, namespace, name, subresource)
    }
}

impl<K: Object + DeserializeOwned> Api<K> {
    /// Reads an object.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if there is none, or any other [`Error`].
    pub async fn get(&self, key: &ObjectKey) -> Result<K, Error> {
        let path = self.object(key.namespace(), key.name(), "")?;
        self.read(PARTIAL, path).await?.decode().await
    }

    /// Begins a list. Its objects are decoded one by one while they arrive.
    ///
    /// # Errors
    ///
    /// If the server refuses; what happens later, the stream reports.
    pub async fn list(&self, params: &ListParams) -> Result<ListStream<K>, Error> {
        let target = params.target(self.collection(&self.namespace)?);
        Ok(ListStream::new(self.read(PARTIAL_LIST, target).await?))
    }

    /// Begins a watch.
    ///
    /// # Errors
    ///
    /// If the server refuses; what happens later, the stream reports.
    pub async fn watch(&self, params: &WatchParams) -> Result<WatchStream<K>, Error> {
        let target = params.target(self.collection(&self.namespace)?);
        Ok(WatchStream::new(self.read(PARTIAL, target).await?.events()?))
    }

    /// Changes an object and returns it as the server keeps it then.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if there is none, but for [`Patch::Apply`]; [`Error::is_conflict`] if the patch names another
    /// resourceVersion, or fields that others manage are applied without force; or any other [`Error`].
    ///
    /// # Example
    ///
    /// ```
    /// # use lariat_api::{DynamicObject, Kind, ObjectKey};
    /// # use lariat_client::{Api, Client, Error, Patch, PatchParams};
    /// # async fn run(client: Client) -> Result<(), Error> {
    /// let fleets = Kind::namespaced("agones.dev", "v1", "Fleet", "fleets");
    /// let api = Api::<DynamicObject>::of_kind(client, fleets, "");
    /// let patch = Patch::Merge(serde_json::json!({"spec": {"replicas": 3}}));
    /// api.patch(&ObjectKey::new("default", "simple"), &patch, &PatchParams::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn patch(&self, key: &ObjectKey, patch: &Patch, params: &PatchParams) -> Result<K, Error> {
        self.patch_subresource(key, "", patch, params).await
    }

    /// Changes a part of an object that has a path of its own, such as `status`.
    ///
    /// # Errors
    ///
    /// As [`patch`](Self::patch).
    pub async fn patch_subresource(
        &self,
        key: &ObjectKey,
        subresource: &str,
        patch: &Patch,
        params: &PatchParams,
    ) -> Result<K, Error> {
        let target = params.target(self.object(key.namespace(), key.name(), subresource)?);
        let body = serde_json::to_vec(patch.body()).map_err(Error::Encode)?;
        let sent = self.client.send_typed(patch.content_type(), Method::PATCH, target, body.into());
        sent.await?.decode().await
    }

    /// Reads what is of the form `partial`, or whole, if the type holds metadata only.
    fn read(&self, partial: HeaderValue, target: String) -> Answering<'_> {
        let accept = if K::IS_METADATA_ONLY { partial } else { JSON };
        self.client.send_accepting(accept, Method::GET, target, Bytes::new())
    }
}

impl<K: Object + Serialize + DeserializeOwned> Api<K> {
    /// Creates an object and returns it as the server keeps it. Without a namespace of its own it goes into that of the `Api`.
    ///
    /// # Errors
    ///
    /// [`Error::is_already_exists`] if there is one, or any other [`Error`].
    pub async fn create(&self, object: &K) -> Result<K, Error> {
        let namespace = match object.namespace() {
            "" => &self.namespace,
            namespace => namespace,
        };
        let path = self.collection(namespace)?;
        self.write(Method::POST, path, object).await
    }

    /// Replaces an object and returns it as the server keeps it.
    ///
    /// # Errors
    ///
    /// [`Error::is_conflict`] if it has another resourceVersion by now, or any other [`Error`].
    pub async fn update(&self, object: &K) -> Result<K, Error> {
        self.update_subresource("", object).await
    }

    /// Replaces an object's `status` and nothing else.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    pub async fn update_status(&self, object: &K) -> Result<K, Error> {
        self.update_subresource("status", object).await
    }

    /// Replaces a part of an object that has a path of its own, such as `status`.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    pub async fn update_subresource(&self, subresource: &str, object: &K) -> Result<K, Error> {
        let path = self.object(object.namespace(), object.name(), subresource)?;
        self.write(Method::PUT, path, object).await
    }

    async fn write(&self, method: Method, path: String, object: &K) -> Result<K, Error> {
        let body = serde_json::to_vec(object).map_err(Error::Encode)?;
        self.client.send(method, path, body.into()).await?.decode().await
    }
}

impl<K> Api<K> {
    /// Deletes an object, or marks it for deletion if finalizers or a grace period hold it.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if there is none, [`Error::is_conflict`] if a precondition fails, or any other [`Error`].
    pub async fn delete(&self, key: &ObjectKey, params: &DeleteParams) -> Result<(), Error> {
        delete(&self.client, self.object(key.namespace(), key.name(), "")?, params).await
    }
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self::of_kind(self.client.clone(), self.kind.clone(), self.namespace.clone())
    }
}

impl<K> Debug for Api<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { client, kind, namespace, object: _ } = self;
        f.debug_struct("Api")
            .field("client", client)
            .field("kind", &kind.to_string())
            .field("namespace", namespace)
            .finish()
    }
}

fn collection(kind: &Kind, namespace: &str) -> Result<String, Error> {
    if !namespace.is_empty() {
        segment("namespace", namespace)?;
    }
    Ok(kind.collection_path(namespace))
}

fn object(kind: &Kind, namespace: &str, name: &str, subresource: &str) -> Result<String, Error> {
    let mut path = collection(kind, namespace)?;
    path.push('/');
    path.push_str(segment("name", name)?);
    if !subresource.is_empty() {
        path.push('/');
        path.push_str(segment("subresource", subresource)?);
    }
    Ok(path)
}

fn delete<'a>(client: &'a Client, path: String, params: &DeleteParams) -> Boxed<'a, Result<(), Error>> {
    let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
    if let Some(propagation) = params.propagation {
        options["propagationPolicy"] = propagation.as_str().into();
    }
    if !params.uid.is_empty() {
        options["preconditions"]["uid"] = params.uid.as_str().into();
    }
    if !params.resource_version.is_empty() {
        options["preconditions"]["resourceVersion"] = params.resource_version.as_str().into();
    }
    if let Some(seconds) = params.grace_period_seconds {
        options["gracePeriodSeconds"] = seconds.into();
    }
    let answer = client.send(Method::DELETE, path, options.to_string().into());
    // The object or a Status; which one depends on the server's version.
    Box::pin(async move { answer.await?.decode::<IgnoredAny>().await.map(drop) })
}

/// Checks that a value can stand between two slashes and be nothing else than itself there.
fn segment<'a>(what: &'static str, value: &'a str) -> Result<&'a str, Error> {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'%' | b'?' | b'#');
    if value.is_empty() || value == "." || value == ".." || !value.bytes().all(plain) {
        return Err(Error::Path { what, value: value.to_owned() });
    }
    Ok(value)
}
