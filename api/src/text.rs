//! Short strings and small maps of strings, as metadata is made of them.

use std::fmt::{self, Debug, Formatter};
use std::ops::Index;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::Interned;

/// An immutable string that needs no memory of its own up to 23 bytes, and whose clones share it beyond.
///
/// It derefs to `str` and is made from one: `metadata.name = "a".into()`.
pub type Text = smol_str::SmolStr;

/// A map from strings to strings in the order of the keys, made for few entries: it takes room for what it holds and no more,
/// shares its keys, and looks for them one by one.
///
/// # Example
///
/// ```
/// use lariat_api::TextMap;
///
/// let mut map: TextMap = [("b", "2"), ("a", "1")].into();
/// assert_eq!(map.insert("a", "3").as_deref(), Some("1"));
/// assert_eq!((map.get("a"), &map["b"], map.get("c")), (Some("3"), "2", None));
/// assert_eq!(serde_json::to_string(&map)?, r#"{"a":"3","b":"2"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TextMap(Box<[(Interned<String>, Text)]>);

impl TextMap {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| **known == key).map(|(_, value)| value.as_str())
    }

    /// Whether there is a value of a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets the value of a key and returns the former one.
    pub fn insert(&mut self, key: &str, value: impl Into<Text>) -> Option<Text> {
        match self.place(key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value.into())),
            Err(at) => {
                let mut entries = std::mem::take(&mut self.0).into_vec();
                entries.insert(at, (Interned::text(key), value.into()));
                self.0 = entries.into();
                None
            }
        }
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Text> {
        let at = self.place(key).ok()?;
        let mut entries = std::mem::take(&mut self.0).into_vec();
        let (_, value) = entries.remove(at);
        self.0 = entries.into();
        Some(value)
    }

    /// The entries, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(key))
    }

    /// Of entries with one key the last one counts.
    fn of(mut entries: Vec<(Interned<String>, Text)>) -> Self {
        if !entries.is_sorted_by(|(a, _), (b, _)| **a < **b) {
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            entries.dedup_by(|later, first| {
                let is_same = later.0 == first.0;
                if is_same {
                    std::mem::swap(later, first);
                }
                is_same
            });
        }
        Self(entries.into())
    }
}

impl Debug for TextMap {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Panics if there is no such key.
impl Index<&str> for TextMap {
    type Output = str;

    #[allow(clippy::expect_used)] // as every map's index
    fn index(&self, key: &str) -> &str {
        self.get(key).expect("no such key")
    }
}

impl<K: AsRef<str>, V: Into<Text>> FromIterator<(K, V)> for TextMap {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (Interned::text(key.as_ref()), value.into()));
        Self::of(entries.collect())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for TextMap {
    fn from(entries: [(&str, &str); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl Serialize for TextMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor;

        impl<'de> Visitor<'de> for MapVisitor {
            type Value = TextMap;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a map from strings to strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextMap, A::Error> {
                let mut entries = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    entries.push((key, value));
                }
                Ok(TextMap::of(entries))
            }
        }

        deserializer.deserialize_map(MapVisitor)
    }
}

/// A key, shared with other maps.
struct Key(Interned<String>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, key: &str) -> Result<Key, E> {
                Ok(Key(Interned::text(key)))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}
