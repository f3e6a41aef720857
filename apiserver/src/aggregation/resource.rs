use lariat_api::Kind;
use serde_json::{Value, json};

/// A resource of an [`AggregatedApi`](super::AggregatedApi), as clients are told of it.
///
/// # Example
///
/// ```
/// use lariat_api::Kind;
/// use lariat_apiserver::{AggregatedResource, Verb};
/// use serde_json::json;
///
/// let kind = Kind::namespaced("calculator.example.dev", "v1", "Sum", "sums");
/// let sums = AggregatedResource::new(kind, [Verb::Create, Verb::List]).short_name("sm").schema(json!({
///     "type": "object", "properties": {"spec": {"type": "object", "properties": {
///         "numbers": {"type": "array", "items": {"type": "integer"}},
///     }}},
/// }));
/// assert!(sums.allows(Verb::List) && !sums.allows(Verb::Delete));
/// ```
#[derive(Debug, Clone)]
pub struct AggregatedResource {
    pub(super) kind: Kind,
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) verbs: Vec<Verb>,
    pub(super) schema: Option<Value>,
}

/// What can be done with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verb {
    /// `POST` to the collection.
    Create,
    /// `DELETE` of an object.
    Delete,
    /// `DELETE` of the collection.
    DeleteCollection,
    /// `GET` of an object.
    Get,
    /// `GET` of the collection.
    List,
    /// `PATCH` of an object.
    Patch,
    /// `PUT` of an object.
    Update,
}

// === impl AggregatedResource ===

impl AggregatedResource {
    /// A resource with its verbs, without short names, categories and schema. For one object it is called by its kind in small
    /// letters.
    pub fn new(kind: Kind, verbs: impl IntoIterator<Item = Verb>) -> Self {
        let mut verbs: Vec<Verb> = verbs.into_iter().collect();
        verbs.sort_unstable();
        verbs.dedup();
        let singular = kind.kind().to_lowercase();
        Self { kind, singular, short_names: Vec::new(), categories: Vec::new(), verbs, schema: None }
    }

    /// Adds what people abbreviate it to.
    #[must_use]
    pub fn short_name(mut self, name: impl Into<String>) -> Self {
        self.short_names.push(name.into());
        self
    }

    /// Adds a group of resources that it belongs to, such as `all`.
    #[must_use]
    pub fn category(mut self, name: impl Into<String>) -> Self {
        self.categories.push(name.into());
        self
    }

    /// The fields of its objects, as in the definition of a custom resource. Fields that the schema does not have are dropped from
    /// objects in requests, and told of as `fieldValidation` asks; all else is for the API to check. Without a schema all fields
    /// are kept.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Whether something can be done with it.
    pub fn allows(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    /// Its entry in an `APIResourceList`.
    pub(crate) fn row(&self) -> Value {
        let mut row = json!({
            "name": self.kind.plural(), "singularName": self.singular, "namespaced": self.kind.is_namespaced(),
            "kind": self.kind.kind(), "verbs": self.verb_names(),
        });
        self.put_names(&mut row);
        row
    }

    /// Its entry in an `APIGroupDiscoveryList`.
    pub(crate) fn aggregated_row(&self) -> Value {
        let mut row = json!({
            "resource": self.kind.plural(), "singularResource": self.singular, "verbs": self.verb_names(),
            "responseKind": self.kind_value(), "scope": if self.kind.is_namespaced() { "Namespaced" } else { "Cluster" },
        });
        self.put_names(&mut row);
        row
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(crate) fn open_api(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    fn kind_value(&self) -> Value {
        json!({"group": self.kind.group(), "version": self.kind.version(), "kind": self.kind.kind()})
    }

    fn verb_names(&self) -> Vec<&'static str> {
        self.verbs.iter().map(|verb| verb.as_str()).collect()
    }

    fn put_names(&self, row: &mut Value) {
        for (field, names) in [("shortNames", &self.short_names), ("categories", &self.categories)] {
            if !names.is_empty() {
                row[field] = names.as_slice().into();
            }
        }
    }
}

// === impl Verb ===

impl Verb {
    /// The name in discovery.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        use Verb::{Create, Delete, DeleteCollection, Get, List, Patch, Update};
        [Create, Delete, DeleteCollection, Get, List, Patch, Update]
            .into_iter()
            .find(|verb| verb.as_str() == name)
    }
}
