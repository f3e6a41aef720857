//! The built-in kinds: namespaces, nodes, pods, events, config maps, secrets, services, service accounts, leases and
//! priority classes, as a server must treat them.
//!
//! [`registry`] says what there is; a [`Strategy`] says how the objects of one kind behave. An object that comes in goes
//! through these, in this order:
//!
//! 1. [`Strategy::decode`]: wrong types are refused, unknown fields dropped and named, defaults filled in.
//! 2. [`Strategy::prepare_create`], [`Strategy::prepare_update`] or [`Strategy::prepare_status_update`]: what the client
//!    may not set is set or restored, and what admission adds is added.
//! 3. [`Strategy::validate_create`], [`Strategy::validate_update`] or [`Strategy::validate_status_update`].
//! 4. [`Strategy::normalise`]: the object as it is stored and answered.
//!
//! Deletion goes through [`Strategy::delete`], and after each update [`Strategy::is_finished`] says whether the object
//! has become one that is removed. [`bind`], [`evict`], [`finalize`], [`to_core`] and [`from_core`] are the rest.
//!
//! There is no I/O here, no clock and no state. What needs other objects is passed in: the addresses that are taken
//! ([`allocate`]), and the priority class of a pod ([`resolve_priority`]).
//!
//! Invariants:
//! - No input makes this panic: an object may be any JSON value. What has not been checked by [`Strategy::check_types`]
//!   is treated as missing where its type is wrong.
//! - Everything is a function of its arguments: the same object at the same time gives the same answer.
//! - Definitions of custom resources are only registered here; [`crate::schema`] knows how they behave.

mod base64;
mod config_map;
mod decode;
mod delete;
mod encode;
mod event;
mod lease;
mod meta;
mod names;
mod namespace;
mod node;
mod open_api;
mod pod;
mod priority_class;
mod protobuf;
mod quantity;
mod registry;
mod restore;
mod review;
mod secret;
mod selectors;
mod service;
mod table;
mod times;
mod types;
mod value;

use std::time::SystemTime;

use serde_json::Value;

pub use delete::Deletion;
pub use event::{from_core, to_core};
pub use namespace::finalize;
pub(crate) use open_api::Schemas;
pub use pod::{bind, evict, resolve_priority};
pub use registry::{Resource, Subresource, find, registry};
pub(crate) use review::{GROUPS, USER};
pub use service::allocate;
pub use table::{Column, Row};
pub(crate) use table::{SCALES, scale_cells};
pub(crate) use types::{Shape as FieldShape, lookup as field_table};

use crate::schema::FieldError;
use protobuf::Message;

/// How the objects of a built-in kind behave.
///
/// # Example
///
/// ```
/// use lariat_apiserver::builtin::Strategy;
/// use serde_json::json;
///
/// let mut map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {}, "dtaa": {}});
/// let warnings = Strategy::ConfigMap.decode(&mut map);
/// assert_eq!(warnings, Ok(vec![r#"unknown field "dtaa""#.to_owned()]));
/// assert_eq!(map.get("data"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// A pod's binding to a node; created, but not stored.
    Binding,
    /// A config map.
    ConfigMap,
    /// A definition of a custom resource. Only registered here: decoding keeps everything and nothing is validated.
    CustomResourceDefinition,
    /// An event in the core group. This is the form that is stored.
    Event,
    /// An event in the group `events.k8s.io`; see [`to_core`].
    EventsEvent,
    /// A pod's eviction; created, but not stored.
    Eviction,
    /// A lease.
    Lease,
    /// A namespace.
    Namespace,
    /// A node.
    Node,
    /// A pod.
    Pod,
    /// A priority class.
    PriorityClass,
    /// A secret.
    Secret,
    /// The question what its sender may do; created, but not stored.
    SelfSubjectAccessReview,
    /// The question who its sender is; created, but not stored.
    SelfSubjectReview,
    /// The question for all that its sender may do in a namespace; created, but not stored.
    SelfSubjectRulesReview,
    /// A service.
    Service,
    /// A service account.
    ServiceAccount,
}

impl Strategy {
    /// What the kind is called and what can be done with it.
    pub fn resource(self) -> &'static Resource {
        registry::of(self)
    }

    /// The name of the kind's struct in the table of fields.
    fn type_name(self) -> &'static str {
        match self {
            Self::EventsEvent => "EventsEvent",
            other => other.resource().kind,
        }
    }

    /// The object of a body in protobuf.
    ///
    /// # Errors
    ///
    /// The message of the server's decoder, if the body is not one of this kind. Its types are not the last word: amounts
    /// are checked by [`Strategy::check_types`].
    pub fn from_protobuf(self, body: &[u8]) -> Result<Value, String> {
        let Resource { kind: wanted, version, .. } = self.resource();
        let message = Message::open(body).map_err(|problem| {
            let shown = protobuf::shown(body);
            format!("the object provided is unrecognized (must be of type {wanted}): {problem} ({shown})")
        })?;
        let kind = if message.kind.is_empty() { wanted } else { &*message.kind };
        if kind != *wanted {
            return Err(format!("{kind} in version {version:?} cannot be handled as a {wanted}"));
        }
        let mut object = message.decode(self.type_name()).map_err(|problem| {
            format!("{kind} in version {version:?} cannot be handled as a {wanted}: {problem}")
        })?;
        object["kind"] = kind.into();
        object["apiVersion"] = match &*message.api_version {
            "" => self.resource().api_version(),
            said => said.to_owned(),
        }
        .into();
        Ok(object)
    }

    /// Checks the types of an object, fills its defaults in and makes it what a typed server has in its hands.
    ///
    /// Returns a message for each field that is dropped because the kind does not have it: warnings, or errors for
    /// [`crate::schema::strict_status`].
    ///
    /// # Errors
    ///
    /// See [`Strategy::check_types`].
    pub fn decode(self, object: &mut Value) -> Result<Vec<String>, String> {
        self.check_types(object)?;
        let dropped = self.prune(object);
        self.normalise(object);
        self.default(object);
        Ok(dropped)
    }

    /// Checks that every field has the type that the kind gives it.
    ///
    /// # Errors
    ///
    /// The message of the server's decoder for the first field that has not, in the order of the kind's fields. (The
    /// server takes the order of the document.)
    pub fn check_types(self, object: &Value) -> Result<(), String> {
        self.type_problem(object).map_err(|problem| {
            let resource = self.resource();
            let (kind, version) = (resource.kind, resource.version);
            // The group's version alone: it says `v1` for `coordination.k8s.io/v1`, too.
            format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {problem}")
        })
    }

    /// Checks that every field has the type that the kind gives it; the error says no more than what the decoder found.
    pub(crate) fn type_problem(self, object: &Value) -> Result<(), String> {
        decode::check(self.type_name(), object)
    }

    /// Checks that what a strategic merge patch made of an object is one of the kind.
    ///
    /// # Errors
    ///
    /// The first value that its field cannot hold, in the words of the server.
    pub fn check_patched(self, object: &Value) -> Result<(), String> {
        restore::check(self.type_name(), object)
    }

    /// Drops the fields that the kind does not have; a message for each.
    pub fn prune(self, object: &mut Value) -> Vec<String> {
        decode::prune(self.type_name(), object)
    }

    /// Writes the object as the server writes it: what is empty is left out or written as the kind's types say, times and
    /// amounts in their one form.
    pub fn normalise(self, object: &mut Value) {
        encode::normalise(self.type_name(), object);
    }

    /// Fills in what the API gives as defaults.
    pub fn default(self, object: &mut Value) {
        match self {
            Self::Namespace => namespace::default(object),
            Self::Node => node::default(object),
            Self::Pod => pod::default(object),
            Self::PriorityClass => priority_class::default(object),
            Self::Secret => secret::default(object),
            Self::Service => service::default(object),
            Self::Binding
            | Self::ConfigMap
            | Self::CustomResourceDefinition
            | Self::Event
            | Self::EventsEvent
            | Self::Eviction
            | Self::Lease
            | Self::SelfSubjectAccessReview
            | Self::SelfSubjectReview
            | Self::SelfSubjectRulesReview
            | Self::ServiceAccount => {}
        }
    }

    /// Makes a new object ready to be stored: clears what only the server sets, sets the time of creation, the first
    /// status and generation, and what built-in admission adds (tolerations and priority of pods, taints of nodes).
    ///
    /// The name, namespace, uid and resource version are the caller's.
    pub fn prepare_create(self, object: &mut Value, now: SystemTime) {
        meta::prepare_create(object, now);
        match self {
            Self::Namespace => namespace::prepare_create(object),
            Self::Node => node::prepare_create(object),
            Self::Pod => pod::prepare_create(object, now),
            Self::PriorityClass => meta::first_generation(object),
            Self::Service => service::prepare_create(object),
            Self::Lease => lease::prepare(object),
            _ => {}
        }
    }

    /// Makes an object ready to replace another: keeps what only the server sets, keeps the status of kinds that have
    /// it as a subresource, and counts the generation.
    pub fn prepare_update(self, new: &mut Value, old: &Value) {
        meta::prepare_update(new, old);
        match self {
            Self::Namespace => namespace::prepare_update(new, old),
            Self::Node => node::prepare_update(new, old),
            Self::Pod => pod::prepare_update(new, old),
            Self::Service => service::prepare_update(new, old),
            Self::Lease => lease::prepare(new),
            _ => {}
        }
    }

    /// Makes an object ready to replace another through `/status`: everything but the status is kept, other than
    /// labels, annotations and finalizers where the kind lets them through.
    pub fn prepare_status_update(self, new: &mut Value, old: &Value) {
        meta::prepare_update(new, old);
        match self {
            Self::Pod => pod::prepare_status_update(new, old),
            _ => value::restore(new, old, "spec"),
        }
    }

    /// What is wrong with a new object.
    pub fn validate_create(self, object: &Value) -> Vec<FieldError> {
        let name_problems = match self {
            Self::Namespace | Self::Service => names::label,
            _ => names::subdomain,
        };
        let metadata = || meta::validate_create(self.resource(), object, name_problems);
        match self {
            Self::ConfigMap => with(metadata(), config_map::validate(object)),
            Self::Event | Self::EventsEvent => event::validate_create(self, object),
            Self::Lease => with(metadata(), lease::validate(object)),
            Self::Namespace => with(metadata(), namespace::validate(object)),
            Self::Node => with(metadata(), node::validate(object)),
            Self::Pod => with(metadata(), pod::validate(object)),
            Self::PriorityClass => with(metadata(), priority_class::validate(object)),
            Self::Secret => with(metadata(), secret::validate(object)),
            Self::SelfSubjectAccessReview => review::validate(object),
            Self::Service => with(metadata(), service::validate(object)),
            Self::ServiceAccount => metadata(),
            Self::Binding
            | Self::CustomResourceDefinition
            | Self::Eviction
            | Self::SelfSubjectReview
            | Self::SelfSubjectRulesReview => Vec::new(),
        }
    }

    /// What is wrong with an object that replaces another.
    pub fn validate_update(self, new: &Value, old: &Value) -> Vec<FieldError> {
        // The server looks at the metadata twice on updates, and names each error twice among the causes.
        let metadata = || {
            let errors = meta::validate_update(self.resource(), new, old);
            with(errors.clone(), errors)
        };
        match self {
            Self::ConfigMap => {
                with(metadata(), with(config_map::validate_update(new, old), config_map::validate(new)))
            }
            Self::Event | Self::EventsEvent => event::validate_update(self, new, old),
            Self::Lease => with(metadata(), lease::validate(new)),
            Self::Namespace => metadata(),
            Self::Node => with(metadata(), node::validate_update(new, old)),
            Self::Pod => with(metadata(), pod::validate_update(new, old)),
            Self::PriorityClass => with(metadata(), priority_class::validate_update(new, old)),
            Self::Secret => with(metadata(), with(secret::validate_update(new, old), secret::validate(new))),
            Self::Service => {
                with(metadata(), with(service::validate_update(new, old), service::validate(new)))
            }
            Self::ServiceAccount => metadata(),
            Self::Binding
            | Self::CustomResourceDefinition
            | Self::Eviction
            | Self::SelfSubjectAccessReview
            | Self::SelfSubjectReview
            | Self::SelfSubjectRulesReview => Vec::new(),
        }
    }

    /// What is wrong with an object that replaces another through `/status`.
    pub fn validate_status_update(self, new: &Value, old: &Value) -> Vec<FieldError> {
        let metadata = meta::validate_update(self.resource(), new, old);
        let metadata = with(metadata.clone(), metadata);
        match self {
            Self::Namespace => with(metadata, namespace::validate_status(new)),
            Self::Pod => with(metadata, pod::validate_status(new, old)),
            Self::Service => with(metadata, service::validate_status(new)),
            Self::Node => with(metadata, node::validate_update(new, old)),
            _ => metadata,
        }
    }

    /// Whether its fields are in the table, so that protobuf of it can be read.
    pub(crate) fn is_typed(self) -> bool {
        self.typed_as().is_some()
    }

    /// The name of its type in the table, if it is there.
    pub(crate) fn typed_as(self) -> Option<&'static str> {
        Some(self.type_name()).filter(|name| types::lookup(name).is_some())
    }

    /// Whether its objects are questions, which are answered and not stored.
    pub fn is_review(self) -> bool {
        matches!(self, Self::SelfSubjectAccessReview | Self::SelfSubjectReview | Self::SelfSubjectRulesReview)
    }

    /// Puts the answer into a review: whoever asks may do everything.
    pub fn answer_review(self, review: &mut Value, now: SystemTime) {
        review::answer(self, review, now);
    }

    /// Whether an update may leave the resource version out.
    pub fn allows_unconditional_update(self) -> bool {
        self != Self::Lease
    }

    /// Whether a `PUT` creates an object that does not exist.
    pub fn allows_create_on_update(self) -> bool {
        matches!(self, Self::Event | Self::EventsEvent | Self::Lease | Self::Service)
    }
}

/// The options of a deletion in a body in protobuf.
///
/// # Errors
///
/// The message of the server's decoder.
pub fn delete_options_from_protobuf(body: &[u8]) -> Result<Value, String> {
    Message::open(body)?.decode("DeleteOptions")
}

/// What is wrong with the metadata of a new object of a resource.
pub(crate) fn validate_metadata(resource: &Resource, object: &Value) -> Vec<FieldError> {
    meta::validate_create(resource, object, names::subdomain)
}

fn with(mut errors: Vec<FieldError>, more: Vec<FieldError>) -> Vec<FieldError> {
    errors.extend(more);
    errors
}
