//! One request to a resource, understood.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use lariat_api::Status;
use serde_json::Value;

use crate::failure::{self, What};
use crate::kinds::Served;
use crate::meta;
use crate::request::{Form, Query};
use crate::storage::Key;

#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) served: Arc<Served>,
    /// `""` for all, and for resources that have none.
    pub(crate) namespace: String,
    /// `""` for the collection.
    pub(crate) name: String,
    /// `""` for the object itself.
    pub(crate) subresource: String,
    pub(crate) query: Query,
    pub(crate) form: Form,
    /// Who writes, for field management.
    pub(crate) manager: String,
    pub(crate) now: SystemTime,
}

/// What is done about fields that a kind does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validation {
    Ignore,
    Warn,
    Strict,
}

impl Context {
    /// The resource, for failures.
    pub(crate) fn what<'a>(&'a self, name: &'a str) -> What<'a> {
        What { group: &self.served.group, kind: &self.served.plural, name }
    }

    /// The same request, of the object itself.
    pub(crate) fn without_subresource(&self) -> Self {
        Self { subresource: String::new(), ..self.clone() }
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        if self.served.namespaced { format!("{}/{name}", self.namespace) } else { name.to_owned() }
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.query.values("dryRun").any(|value| value == "All")
    }

    pub(crate) fn validation(&self) -> Result<Validation, Status> {
        validation(&self.query)
    }

    /// Checks that an object in a request is of the version that is asked for.
    pub(crate) fn check_version(&self, object: &Value) -> Result<(), Status> {
        self.place().check_version(object)
    }

    /// Checks that an object in a request is of the resource, and gives it name and namespace of the path.
    pub(crate) fn check_identity(&self, object: &mut Value) -> Result<(), Status> {
        self.place().check(object)
    }

    fn place(&self) -> Place<'_> {
        Place {
            api_version: self.served.api_version(),
            version: &self.served.version,
            kind: &self.served.kind,
            namespaced: self.served.namespaced,
            namespace: &self.namespace,
            name: &self.name,
        }
    }
}

/// What a path says of the object that is sent to it.
pub(crate) struct Place<'a> {
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespaced: bool,
    /// `""` for all, and for resources that have none.
    pub(crate) namespace: &'a str,
    /// `""` for the collection.
    pub(crate) name: &'a str,
}

impl Place<'_> {
    /// Checks that an object is of the version that is asked for.
    pub(crate) fn check_version(&self, object: &Value) -> Result<(), Status> {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let wanted = &self.api_version;
        if version.is_empty() || version == *wanted {
            return Ok(());
        }
        Err(failure::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({wanted})"
        )))
    }

    /// Checks that an object belongs there, and gives it name and namespace of the path.
    pub(crate) fn check(&self, object: &mut Value) -> Result<(), Status> {
        self.check_version(object)?;
        if !object["metadata"].is_null() && !object["metadata"].is_object() {
            let Self { kind, version, .. } = self;
            return Err(failure::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: metadata is not an object",
            )));
        }
        let namespace = meta::namespace(object);
        if self.namespaced {
            if !namespace.is_empty() && namespace != self.namespace {
                return Err(failure::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            meta::set(object, "namespace", self.namespace);
        } else if namespace.is_empty() {
            meta::remove(object, "namespace");
        }
        let name = meta::name(object);
        if !self.name.is_empty() {
            if !name.is_empty() && name != self.name {
                return Err(failure::bad_request(format!(
                    "the name of the object ({name}) does not match the name on the URL ({})",
                    self.name
                )));
            }
            meta::set(object, "name", self.name);
        }
        Ok(())
    }
}

/// What a request wants to be done about fields that a kind does not have.
pub(crate) fn validation(query: &Query) -> Result<Validation, Status> {
    match query.text("fieldValidation") {
        "Ignore" => Ok(Validation::Ignore),
        "" | "Warn" => Ok(Validation::Warn),
        "Strict" => Ok(Validation::Strict),
        other => {
            let what = What { group: "meta.k8s.io", kind: "CreateOptions", name: "" };
            let message = format!(
                "Unsupported value: {other:?}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
            );
            Err(failure::invalid(what, "fieldValidation", "FieldValueNotSupported", &message))
        }
    }
}
