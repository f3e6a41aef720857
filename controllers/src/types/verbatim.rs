use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, OnceLock};

use lariat::api::Interned;
use serde::de::{DeserializeOwned, Deserializer};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A part of an object that is written back as it was read, byte for byte, and decoded when it is first looked at.
///
/// Wrapped in [`Interned`], text and decoded value are shared between all objects that have the same one, which is how the
/// servers of one set share their pod template.
///
/// # Example
///
/// ```
/// use lariat_controllers::types::Verbatim;
///
/// let text = r#"{"number": 1.50}"#;
/// let part: Verbatim<serde_json::Value> = serde_json::from_str(text)?;
/// assert_eq!(part.get()?["number"], 1.5);
/// assert_eq!(serde_json::to_string(&part)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Verbatim<T> {
    text: Option<Arc<RawValue>>,
    decoded: OnceLock<Result<Arc<T>, Undecodable>>,
}

/// A part of an object that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot be decoded: {0}")]
pub struct Undecodable(pub String);

impl<T: DeserializeOwned + Default> Verbatim<T> {
    /// The decoded value; the default where there is none.
    ///
    /// # Errors
    ///
    /// If the text is not such a value.
    pub fn get(&self) -> Result<&T, Undecodable> {
        let decoded = self.decoded.get_or_init(|| match &self.text {
            None => Ok(Arc::default()),
            Some(text) => serde_json::from_str::<Option<T>>(text.get())
                .map(|value| Arc::new(value.unwrap_or_default()))
                .map_err(|error| Undecodable(error.to_string())),
        });
        decoded.as_deref().map_err(Clone::clone)
    }
}

impl<T: Serialize> Verbatim<T> {
    /// A value in the text that it is written in.
    ///
    /// # Errors
    ///
    /// If the value cannot be written as JSON, such as a map with keys that are no strings.
    pub fn of(value: T) -> Result<Self, serde_json::Error> {
        let text = serde_json::value::to_raw_value(&value)?;
        Ok(Self { text: Some(text.into()), decoded: OnceLock::from(Ok(Arc::new(value))) })
    }
}

impl<T> Verbatim<T> {
    /// The text, if there is any.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref().map(RawValue::get)
    }

    pub(crate) fn is_absent(this: &Interned<Self>) -> bool
    where
        T: Send + Sync + 'static,
    {
        this.text.is_none()
    }
}

impl<T> Default for Verbatim<T> {
    fn default() -> Self {
        Self { text: None, decoded: OnceLock::new() }
    }
}

impl<T> Clone for Verbatim<T> {
    fn clone(&self) -> Self {
        Self { text: self.text.clone(), decoded: self.decoded.clone() }
    }
}

/// By text: what is written otherwise is not the same.
impl<T> PartialEq for Verbatim<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl<T> Debug for Verbatim<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().unwrap_or("absent"))
    }
}

impl<T> Serialize for Verbatim<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.as_deref().serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Verbatim<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self { text: Some(text.into()), decoded: OnceLock::new() })
    }
}
