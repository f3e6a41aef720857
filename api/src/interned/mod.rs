//! Values that many objects have in common, each kept once.

mod table;

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::json;

/// A value that is decoded once for all who have it.
///
/// The pods of a deployment differ in a few fields; templates, owners and labels are the same in all. Wrapped in this type, such a
/// part is looked up by its JSON text before it is decoded: if the same text was decoded before and somebody still has the value,
/// it is shared. That saves the memory and most of the time. A clone shares the value too; what is changed is copied first.
///
/// What is looked up is forgotten once nobody has it, and the table for it is bounded: about 4,000 values of up to 16 KiB of
/// text, each of which must have come twice. Beyond that, and from anything but JSON text, values are decoded as if this
/// type were not there.
///
/// Use it for what is large or frequent, and seldom unique. A unique value costs a look-up in vain.
///
/// # Example
///
/// ```
/// use std::collections::BTreeMap;
/// use lariat_api::Interned;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Server {
///     name: String,
///     labels: Interned<BTreeMap<String, String>>,
/// }
///
/// let decode = |name: &str| -> Result<Server, _> {
///     serde_json::from_str(&format!(r#"{{"name":"{name}","labels":{{"fleet":"simple"}}}}"#))
/// };
/// let (_first, a, mut b) = (decode("first")?, decode("a")?, decode("b")?);
/// assert!(Interned::is_shared(&a.labels, &b.labels));
/// b.labels.insert("fleet".into(), "other".into());
/// assert_eq!((&*a.labels["fleet"], &*b.labels["fleet"]), ("simple", "other"));
/// # assert_eq!(a.name, "a");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct Interned<T>(
    /// None is the default value, of which there may be one for each field of each object.
    Option<Arc<T>>,
);

impl<T: Send + Sync + 'static> Interned<T> {
    /// A value of its own, shared with its clones only.
    pub fn new(value: T) -> Self {
        Self(Some(Arc::new(value)))
    }

    /// Whether both are one value in memory.
    pub fn is_shared(one: &Self, other: &Self) -> bool {
        match (&one.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl<T: Clone + Default> Interned<T> {
    /// The value, out of its wrapping; copied if it is shared.
    pub fn into_inner(this: Self) -> T {
        this.0.map(Arc::unwrap_or_clone).unwrap_or_default()
    }
}

impl Interned<String> {
    /// A string, shared with those who have the same and got it in this way.
    pub fn text(text: &str) -> Self {
        if text.is_empty() {
            return Self(None);
        }
        // Marked with another type, so that it is not taken for JSON.
        match table::find_or_make::<String, str, std::convert::Infallible>(text, || Ok(text.to_owned())) {
            Ok(value) => Self(Some(value)),
            Err(never) => match never {},
        }
    }
}

impl<T> Clone for Interned<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Default + Send + Sync + 'static> Deref for Interned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => table::default_of(),
        }
    }
}

/// The value is copied if it is shared.
impl<T: Clone + Default + Send + Sync + 'static> DerefMut for Interned<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl<T: Default + PartialEq + Send + Sync + 'static> PartialEq for Interned<T> {
    fn eq(&self, other: &Self) -> bool {
        Self::is_shared(self, other) || **self == **other
    }
}

impl<T: Default + Eq + Send + Sync + 'static> Eq for Interned<T> {}

impl<T: Default + Debug + Send + Sync + 'static> Debug for Interned<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Send + Sync + 'static> From<T> for Interned<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl From<&str> for Interned<String> {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl<T: FromIterator<I> + Send + Sync + 'static, I> FromIterator<I> for Interned<T> {
    fn from_iter<A: IntoIterator<Item = I>>(items: A) -> Self {
        Self::new(items.into_iter().collect())
    }
}

impl<'a, T: Default + Send + Sync + 'static> IntoIterator for &'a Interned<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        (**self).into_iter()
    }
}

impl<T: Default + Serialize + Send + Sync + 'static> Serialize for Interned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// The name by which `serde_json` is asked for the text of a value. Any other deserializer, and a `serde_json` that has another
/// name for it, takes it for that of a newtype, which is decoded as usual.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

impl<'de, T: DeserializeOwned + Send + Sync + 'static> Deserialize<'de> for Interned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW_VALUE, InternedVisitor(PhantomData))
    }
}

struct InternedVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned + Send + Sync + 'static> Visitor<'de> for InternedVisitor<T> {
    type Value = Interned<T>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Interned<T>, D::Error> {
        T::deserialize(deserializer).map(|value| Interned(Some(Arc::new(value))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Interned<T>, A::Error> {
        match map.next_key::<IgnoredAny>()? {
            Some(IgnoredAny) => map.next_value_seed(TextSeed(PhantomData)),
            None => Err(A::Error::custom("a value without its text")),
        }
    }
}

/// Takes the text of a value.
struct TextSeed<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned + Send + Sync + 'static> serde::de::DeserializeSeed<'de> for TextSeed<T> {
    type Value = Interned<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Interned<T>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T: DeserializeOwned + Send + Sync + 'static> Visitor<'_> for TextSeed<T> {
    type Value = Interned<T>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the text of a value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Interned<T>, E> {
        table::find_or_make::<T, T, _>(text, || json::from_str(text).map_err(E::custom))
            .map(|value| Interned(Some(value)))
    }
}

/// Labels, annotations and the like from pairs.
impl<const N: usize> From<[(&str, &str); N]> for Interned<BTreeMap<String, String>> {
    fn from(pairs: [(&str, &str); N]) -> Self {
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }
}
