use serde_json::Value;

/// What is known of the type at one path of an object, and so how its parts are owned.
///
/// It is a node of a tree: [`TypeInfo::child`] and [`TypeInfo::item`] lead to the nodes below. A node need not know
/// whether an object, a list or a scalar is there: the value says that, and the node only says how each would be owned.
/// The defaults are those of a value without a schema, see [`Deduced`].
///
/// # Example
///
/// ```
/// use lariat_apiserver::apply::{Child, Deduced, ListType, TypeInfo, object_meta};
///
/// struct Widget;
/// struct Spec;
/// struct Items;
///
/// impl TypeInfo for Widget {
///     fn child(&self, field: &str) -> Child<'_> {
///         match field {
///             "apiVersion" | "kind" => Child::Declared(&Deduced),
///             "metadata" => Child::Declared(object_meta()),
///             "spec" => Child::Declared(&Spec),
///             _ => Child::Unknown,
///         }
///     }
/// }
///
/// impl TypeInfo for Spec {
///     fn child(&self, field: &str) -> Child<'_> {
///         if field == "items" { Child::Declared(&Items) } else { Child::Declared(&Deduced) }
///     }
/// }
///
/// impl TypeInfo for Items {
///     fn list_type(&self) -> ListType<'_> {
///         ListType::Map(vec!["name"])
///     }
/// }
/// ```
pub trait TypeInfo: Sync {
    /// Whether an object here is owned as a whole (`x-kubernetes-map-type: atomic`).
    fn is_atomic_map(&self) -> bool {
        false
    }

    /// How a list here is owned (`x-kubernetes-list-type`).
    fn list_type(&self) -> ListType<'_> {
        ListType::Atomic
    }

    /// The type of a field of an object here.
    fn child(&self, field: &str) -> Child<'_> {
        let _ = field;
        Child::Entry(&Deduced)
    }

    /// The type of the items of a list here.
    fn item(&self) -> &dyn TypeInfo {
        &Deduced
    }

    /// What a key field of a list of the type [`ListType::Map`] is in an item that leaves it out.
    fn key_default(&self, key: &str) -> Option<Value> {
        let _ = key;
        None
    }
}

/// How a list is owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListType<'a> {
    /// As a whole.
    Atomic,
    /// Item by item; an item is known by what it is.
    Set,
    /// Item by item and field by field; an item is known by these fields.
    Map(Vec<&'a str>),
}

/// The type of a field of an object.
#[derive(Clone, Copy)]
pub enum Child<'a> {
    /// A field that the schema names: the object cannot be without it, it can only be left out.
    Declared(&'a dyn TypeInfo),
    /// An entry of a map, or a field that the schema does not name but allows: it exists because somebody set it.
    Entry(&'a dyn TypeInfo),
    /// A field that the schema does not allow. To apply it is an error; elsewhere it is like an entry.
    Unknown,
}

/// The type of a value without a schema: objects are owned field by field, lists as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deduced;

impl TypeInfo for Deduced {}

impl<'a> Child<'a> {
    /// The node of the field; that of a value without a schema if the field is unknown.
    pub fn node(self) -> &'a dyn TypeInfo {
        match self {
            Self::Declared(node) | Self::Entry(node) => node,
            Self::Unknown => &Deduced,
        }
    }

    /// Whether the schema names the field.
    pub fn is_declared(self) -> bool {
        matches!(self, Self::Declared(_))
    }
}
