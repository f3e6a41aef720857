//! Keys that a JSON object holds twice. A decoded value does not show them any more, so this reads the bytes.

use std::collections::BTreeSet;
use std::fmt::{self, Formatter, Write as _};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// How many duplicate fields are named; the server stops there, too.
const MAX_DUPLICATES: usize = 100;

/// The paths of the fields that a JSON body holds more than once, such as `spec.items[0].name`, in order.
///
/// Each path is named once. A body that is not JSON gives those that come before the damage.
///
/// # Example
///
/// ```
/// use lariat_apiserver::schema::duplicate_fields;
///
/// assert_eq!(duplicate_fields(br#"{"a": {"b": 1, "b": 2}, "a": 1}"#), ["a.b", "a"]);
/// ```
pub fn duplicate_fields(body: &[u8]) -> Vec<String> {
    let mut walk = Walk::default();
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    // An error means that the body is damaged or nested too deeply; whoever decodes it says so.
    _ = Step(&mut walk).deserialize(&mut deserializer);
    walk.found
}

#[derive(Default)]
struct Walk {
    path: String,
    found: Vec<String>,
}

struct Step<'a>(&'a mut Walk);

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self(walk) = self;
        let length = walk.path.len();
        let mut index = 0_usize;
        loop {
            _ = write!(walk.path, "[{index}]");
            let next = items.next_element_seed(Step(walk))?;
            walk.path.truncate(length);
            if next.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self(walk) = self;
        let length = walk.path.len();
        let mut seen = BTreeSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            if length > 0 {
                walk.path.push('.');
            }
            walk.path.push_str(&key);
            if !seen.insert(key) && !walk.found.contains(&walk.path) {
                walk.found.push(walk.path.clone());
                if walk.found.len() == MAX_DUPLICATES {
                    return Err(A::Error::custom("too many duplicates"));
                }
            }
            fields.next_value_seed(Step(walk))?;
            walk.path.truncate(length);
        }
        Ok(())
    }
}
