use std::fmt::{self, Debug, Formatter};

use http::header::USER_AGENT;
use http::{HeaderMap, Method};

use crate::request::{Path, Query, ResourcePath};

/// A request as the conditions of a [`Rule`](crate::Rule) see it.
///
/// # Example
///
/// ```
/// use lariat_apiserver::{Fault, Rule};
///
/// let rule = Rule::new(Fault::reset()).on(|asking| {
///     asking.verb() == "list" && asking.resource() == "pods" && asking.query("labelSelector").is_none()
/// });
/// # let _ = rule;
/// ```
pub struct Asking<'a> {
    pub(crate) method: &'a Method,
    pub(crate) raw_path: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) query: &'a Query,
    pub(crate) headers: &'a HeaderMap,
}

static NOTHING: ResourcePath = ResourcePath::nothing();

impl<'a> Asking<'a> {
    /// The HTTP method, in capitals.
    pub fn method(&self) -> &'a str {
        self.method.as_str()
    }

    /// The path as it was sent, without the query.
    pub fn path(&self) -> &'a str {
        self.raw_path
    }

    /// The first value of a parameter of the query, decoded; `""` if it has none.
    pub fn query(&self, name: &str) -> Option<&'a str> {
        self.query.value(name)
    }

    /// What is asked for: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; of what
    /// is no resource, such as `/version`, `get`, `post`, `put`, `patch` or `delete`. `""` for other methods.
    pub fn verb(&self) -> &'static str {
        let (is_resource, is_collection) = match self.path {
            Path::Resource(path) => (true, path.name.is_empty()),
            Path::Other(_) => (false, false),
        };
        let is_watch = is_resource && self.resource_path().subresource.is_empty() && self.query.flag("watch");
        match *self.method {
            Method::GET if is_watch => "watch",
            Method::GET if is_collection => "list",
            Method::GET => "get",
            Method::POST if is_resource => "create",
            Method::POST => "post",
            Method::PUT if is_resource => "update",
            Method::PUT => "put",
            Method::PATCH => "patch",
            Method::DELETE if is_collection => "deletecollection",
            Method::DELETE => "delete",
            _ => "",
        }
    }

    /// The group of the resource, `""` for the core group and what is no resource.
    pub fn group(&self) -> &'a str {
        &self.resource_path().group
    }

    /// The plural of the resource, `""` for what is no resource.
    pub fn resource(&self) -> &'a str {
        &self.resource_path().resource
    }

    /// The namespace of the path, `""` for none and all. A namespace itself is in none.
    pub fn namespace(&self) -> &'a str {
        &self.resource_path().namespace
    }

    /// The name of the object in the path, `""` for a collection.
    pub fn name(&self) -> &'a str {
        &self.resource_path().name
    }

    /// The subresource, such as `status`; `""` for the object itself.
    pub fn subresource(&self) -> &'a str {
        &self.resource_path().subresource
    }

    /// What the client says that it is, `""` if it does not.
    pub fn user_agent(&self) -> &'a str {
        self.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    fn resource_path(&self) -> &'a ResourcePath {
        match self.path {
            Path::Resource(path) => path,
            Path::Other(_) => &NOTHING,
        }
    }
}

impl Debug for Asking<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking")
            .field("verb", &self.verb())
            .field("path", &self.raw_path)
            .finish_non_exhaustive()
    }
}
