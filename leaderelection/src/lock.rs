use lariat_api::ObjectKey;
use lariat_client::{Api, Client, Error};

use crate::coordination::LeaseCandidate;
use crate::lease::Lease;

/// Where a Lease is kept: [`LeaseLock`], or something that stands in for it in a test.
///
/// Writes are conditional: `update` fails with a conflict unless the Lease still has the resourceVersion that is given.
pub trait Lock: Send + Sync + 'static {
    /// Reads the Lease.
    fn get(&self) -> impl Future<Output = Result<Lease, Error>> + Send;

    /// Creates the Lease, and returns it as it is kept. The name is not set.
    fn create(&self, lease: &Lease) -> impl Future<Output = Result<Lease, Error>> + Send;

    /// Replaces the Lease, and returns it as it is kept.
    fn update(&self, lease: &Lease) -> impl Future<Output = Result<Lease, Error>> + Send;

    /// Reads the LeaseCandidate of this name. Only for [coordinated](crate::Coordination) candidates.
    fn candidate(&self, name: &str) -> impl Future<Output = Result<LeaseCandidate, Error>> + Send;

    /// Creates a LeaseCandidate, or replaces it if it has a resourceVersion. Only for [coordinated](crate::Coordination) candidates.
    fn announce(
        &self,
        candidate: &LeaseCandidate,
    ) -> impl Future<Output = Result<LeaseCandidate, Error>> + Send;

    /// Names the Lease in logs and metrics.
    fn name(&self) -> &str;
}

/// A Lease of an API server.
///
/// ```no_run
/// # fn run(client: &lariat_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use lariat_leaderelection::LeaseLock;
///
/// let lock = LeaseLock::new(client, "agones-system", "agones-controller-lock")?;
/// # drop(lock);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LeaseLock {
    api: Api<Lease>,
    candidates: Api<LeaseCandidate>,
    key: ObjectKey,
}

impl LeaseLock {
    /// The Lease of this namespace and name, which need not exist.
    ///
    /// Requests go over connections of their own and are never sent again by the client, so that nothing else delays them.
    ///
    /// # Errors
    ///
    /// If the name or namespace cannot stand in a path, or no second client can be made.
    pub fn new(client: &Client, namespace: &str, name: &str) -> Result<Self, Error> {
        for (what, value) in [("namespace", namespace), ("name", name)] {
            if value.is_empty() || value.contains('/') {
                return Err(Error::Path { what, value: value.to_owned() });
            }
        }
        let client = client.separate().retries(0).build()?;
        let candidates = Api::namespaced(client.clone(), namespace);
        Ok(Self { api: Api::namespaced(client, namespace), candidates, key: ObjectKey::new(namespace, name) })
    }
}

impl Lock for LeaseLock {
    async fn get(&self) -> Result<Lease, Error> {
        self.api.get(&self.key).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, Error> {
        let mut lease = lease.clone();
        lease.metadata.name = self.key.name().into();
        lease.metadata.namespace = self.key.namespace().into();
        self.api.create(&lease).await
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, Error> {
        self.api.update(lease).await
    }

    async fn candidate(&self, name: &str) -> Result<LeaseCandidate, Error> {
        self.candidates.get(&ObjectKey::new(self.key.namespace(), name)).await
    }

    async fn announce(&self, candidate: &LeaseCandidate) -> Result<LeaseCandidate, Error> {
        if candidate.metadata.resource_version.is_empty() {
            return self.candidates.create(candidate).await;
        }
        self.candidates.update(candidate).await
    }

    fn name(&self) -> &str {
        self.key.name()
    }
}
