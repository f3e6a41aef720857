//! One request to a resource, understood.

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
        match self.query.text("fieldValidation") {
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

    /// Checks that an object in a request is of the version that is asked for.
    pub(crate) fn check_version(&self, object: &Value) -> Result<(), Status> {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let wanted = self.served.api_version();
        if version.is_empty() || version == wanted {
            return Ok(());
        }
        Err(failure::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({wanted})"
        )))
    }

    /// Checks that an object in a request is of the resource, and gives it name and namespace of the path.
    pub(crate) fn check_identity(&self, object: &mut Value) -> Result<(), Status> {
        self.check_version(object)?;
        if !object["metadata"].is_null() && !object["metadata"].is_object() {
            return Err(failure::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: metadata is not an object",
                kind = self.served.kind,
                version = self.served.version,
            )));
        }
        let namespace = meta::namespace(object);
        if self.served.namespaced {
            if !namespace.is_empty() && namespace != self.namespace {
                return Err(failure::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            meta::set(object, "namespace", self.namespace.as_str());
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
            meta::set(object, "name", self.name.as_str());
        }
        Ok(())
    }
}
