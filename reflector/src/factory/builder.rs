use std::any::{Any, TypeId};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{Kind, Object, Randomness};
use lariat_client::{Api, Client};
use serde::de::DeserializeOwned;

use super::InformerFactory;
use crate::backoff::BackoffConfig;
use crate::builder::InformerBuilder;
use crate::cache::Transform;
use crate::error::{ErrorHandler, ReflectorError, TransformError};
use crate::informer::Informer;
use crate::metrics::Metrics;
use crate::reflector::InitialList;

/// Makes an [`InformerFactory`]: what is said here holds for all of its informers.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use lariat_api::DynamicObject;
/// use lariat_reflector::InformerFactory;
///
/// # fn make(client: lariat_client::Client) -> InformerFactory {
/// InformerFactory::builder(client)
///     .namespace("games")
///     .resync_period(Duration::from_secs(30))
///     .tweak_list_options(|kind, options| {
///         if kind.plural() == "pods" {
///             options.label_selector = "agones.dev/role=gameserver".into();
///         }
///     })
///     .transform(|object: &mut DynamicObject| {
///         object.other.remove("status");
///         Ok(())
///     })
///     .build()
/// # }
/// ```
pub struct InformerFactoryBuilder {
    client: Client,
    defaults: Defaults,
}

/// What an informer's lists and watches ask for.
///
/// # Example
///
/// ```
/// let options = lariat_reflector::ListOptions::default();
/// assert_eq!((options.label_selector.as_str(), options.page_size), ("", 0));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// Only objects with matching labels; `""` for all.
    pub label_selector: String,
    /// Only objects with matching fields; `""` for all.
    pub field_selector: String,
    /// As [`InformerBuilder::page_size`]; 0 for its default.
    pub page_size: u32,
}

#[derive(Default)]
pub(super) struct Defaults {
    namespace: String,
    resync: Duration,
    options: ListOptions,
    tweak: Option<Tweak>,
    /// A [`Transform`] for each type.
    transforms: Vec<(TypeId, Box<dyn Any + Send + Sync>)>,
    name_prefix: String,
    initial_list: InitialList,
    consistent_start: bool,
    backoff: BackoffConfig,
    randomness: Option<Randomness>,
    on_error: Option<ErrorHandler>,
    metrics: Option<Arc<dyn Metrics>>,
}

type Tweak = Arc<dyn Fn(&Kind, &mut ListOptions) + Send + Sync>;

impl InformerFactoryBuilder {
    pub(super) fn new(client: Client) -> Self {
        Self { client, defaults: Defaults::default() }
    }

    /// Follows the objects of one namespace; of all if nothing is said. Kinds without namespaces are followed as a whole.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.defaults.namespace = namespace.into();
        self
    }

    /// As [`InformerBuilder::resync_period`]: never if nothing is said.
    #[must_use]
    pub fn resync_period(mut self, period: Duration) -> Self {
        self.defaults.resync = period;
        self
    }

    /// Follows only objects with matching labels.
    #[must_use]
    pub fn label_selector(mut self, selector: impl Into<String>) -> Self {
        self.defaults.options.label_selector = selector.into();
        self
    }

    /// Follows only objects with matching fields.
    #[must_use]
    pub fn field_selector(mut self, selector: impl Into<String>) -> Self {
        self.defaults.options.field_selector = selector.into();
        self
    }

    /// Changes the options of one kind after another, when its informer is made. They begin with the selectors for all kinds.
    #[must_use]
    pub fn tweak_list_options(
        mut self,
        tweak: impl Fn(&Kind, &mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.defaults.tweak = Some(Arc::new(tweak));
        self
    }

    /// Changes objects of a type before they are stored, as [`InformerBuilder::transform`]. A second one of the same type takes
    /// the place of the first.
    #[must_use]
    pub fn transform<K: Object>(
        mut self,
        transform: impl Fn(&mut K) -> Result<(), TransformError> + Send + Sync + 'static,
    ) -> Self {
        let transform: Transform<K> = Arc::new(transform);
        self.defaults.transforms.retain(|(object, _)| *object != TypeId::of::<K>());
        self.defaults.transforms.push((TypeId::of::<K>(), Box::new(transform)));
        self
    }

    /// Begins the name of each informer, which errors, logs and metrics give; the kind follows.
    #[must_use]
    pub fn name_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.defaults.name_prefix = prefix.into();
        self
    }

    /// As [`InformerBuilder::initial_list`].
    #[must_use]
    pub fn initial_list(mut self, initial_list: InitialList) -> Self {
        self.defaults.initial_list = initial_list;
        self
    }

    /// As [`InformerBuilder::backoff`].
    #[must_use]
    pub fn backoff(mut self, backoff: BackoffConfig) -> Self {
        self.defaults.backoff = backoff;
        self
    }

    /// As [`InformerBuilder::consistent_start`].
    #[must_use]
    pub fn consistent_start(mut self, is_consistent: bool) -> Self {
        self.defaults.consistent_start = is_consistent;
        self
    }

    /// As [`InformerBuilder::randomness`]. All informers draw from it.
    #[must_use]
    pub fn randomness(mut self, randomness: Randomness) -> Self {
        self.defaults.randomness = Some(randomness);
        self
    }

    /// As [`InformerBuilder::on_error`].
    #[must_use]
    pub fn on_error(mut self, f: impl Fn(&str, &ReflectorError) + Send + Sync + 'static) -> Self {
        self.defaults.on_error = Some(Arc::new(f));
        self
    }

    /// As [`InformerBuilder::metrics`].
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.defaults.metrics = Some(metrics);
        self
    }

    /// The factory. Nothing is asked of the server before it is started.
    pub fn build(self) -> InformerFactory {
        InformerFactory::with_defaults(self.client, self.defaults)
    }
}

impl Debug for InformerFactoryBuilder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerFactoryBuilder")
            .field("client", &self.client)
            .field("namespace", &self.defaults.namespace)
            .finish_non_exhaustive()
    }
}

impl Defaults {
    /// Begins an informer of a kind.
    pub(super) fn builder<K: Object + DeserializeOwned>(
        &self,
        client: Client,
        kind: Kind,
    ) -> InformerBuilder<K> {
        let mut options = self.options.clone();
        if let Some(tweak) = &self.tweak {
            tweak(&kind, &mut options);
        }
        // Two informers of a kind, one of which has metadata only, are told apart by their names.
        let suffix = if K::IS_METADATA_ONLY { ":metadata" } else { "" };
        let mut builder = Informer::builder(Api::of_kind(client, kind.clone(), self.namespace.clone()))
            .name(format!("{}{kind}{suffix}", self.name_prefix))
            .label_selector(options.label_selector)
            .field_selector(options.field_selector)
            .page_size(options.page_size)
            .resync_period(self.resync)
            .initial_list(self.initial_list)
            .consistent_start(self.consistent_start)
            .backoff(self.backoff.clone());
        if let Some(transform) = self.transform::<K>() {
            builder = builder.transform(move |object| transform(object));
        }
        if let Some(randomness) = &self.randomness {
            builder = builder.randomness(randomness.clone());
        }
        if let Some(on_error) = self.on_error.clone() {
            builder = builder.on_error(move |name, error| on_error(name, error));
        }
        if let Some(metrics) = &self.metrics {
            builder = builder.metrics(metrics.clone());
        }
        builder
    }

    fn transform<K: Object>(&self) -> Option<Transform<K>> {
        let (_, transform) = self.transforms.iter().find(|(object, _)| *object == TypeId::of::<K>())?;
        transform.downcast_ref::<Transform<K>>().cloned()
    }
}
