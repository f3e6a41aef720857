//! A deserializer that gives up at the first thing that is not as usual.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use serde::Deserializer;
use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::numbers::{self, Number};
use super::skip::nested_end;
use super::strings::plain_end;
use crate::interned::RAW_VALUE;

/// Reads a text from its beginning.
pub(super) struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// How many more objects and arrays may be open.
    room: u8,
}

/// The text is for `serde_json` to decode.
#[derive(Debug)]
pub(super) struct GaveUp;

type Result<T> = std::result::Result<T, GaveUp>;

/// As many objects and arrays within each other as `serde_json` reads.
const DEEPEST: u8 = 127;

impl<'de> Reader<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, at: 0, room: DEEPEST }
    }

    /// How many bytes were read.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_err()
    }

    fn bytes(&self) -> &'de [u8] {
        self.text.as_bytes()
    }

    /// The next byte that is no white space.
    #[inline]
    fn peek(&mut self) -> Result<u8> {
        loop {
            match self.bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return Err(GaveUp),
            }
        }
    }

    /// Steps over a byte, which has to be the next.
    #[inline]
    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek()? != byte {
            return Err(GaveUp);
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if !self.bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(GaveUp);
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'de, str>> {
        self.expect(b'"')?;
        let start = self.at;
        let end = plain_end(self.bytes(), start).ok_or(GaveUp)?;
        if self.bytes()[end] == b'"' {
            self.at = end + 1;
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        self.escaped_string(start, end)
    }

    #[cold]
    fn escaped_string(&mut self, start: usize, at: usize) -> Result<Cow<'de, str>> {
        self.at = self.string_end(at)?;
        let quoted = &self.text[start - 1..self.at];
        serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| GaveUp)
    }

    /// Where a string ends that has been plain up to `at`: after its quote.
    fn string_end(&self, mut at: usize) -> Result<usize> {
        loop {
            match self.bytes().get(at) {
                Some(b'"') => return Ok(at + 1),
                Some(b'\\') => at = plain_end(self.bytes(), at + 2).ok_or(GaveUp)?,
                _ => return Err(GaveUp),
            }
        }
    }

    /// The text of a number, stepped over.
    fn number(&mut self) -> &'de str {
        let length = numbers::length(&self.bytes()[self.at..]);
        let text = &self.text[self.at..self.at + length];
        self.at += length;
        text
    }

    fn visit_number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        if !matches!(self.peek()?, b'-' | b'0'..=b'9') {
            return Err(GaveUp);
        }
        let text = self.number();
        match numbers::whole(text.as_bytes()) {
            Some(Number::Unsigned(value)) => visitor.visit_u64(value),
            Some(Number::Negative(value)) => visitor.visit_i64(value),
            None => {
                let mut json = serde_json::Deserializer::from_str(text);
                let value = json.deserialize_any(visitor).map_err(|_| GaveUp)?;
                json.end().map_err(|_| GaveUp)?;
                Ok(value)
            }
        }
    }

    /// The text of the next value, which is stepped over.
    fn skip(&mut self) -> Result<&'de str> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'{' | b'[' => self.at = nested_end(self.bytes(), start).ok_or(GaveUp)?,
            b'"' => {
                let end = plain_end(self.bytes(), start + 1).ok_or(GaveUp)?;
                self.at = self.string_end(end)?;
                if self.bytes()[end] != b'"' {
                    self.check(start)?;
                }
            }
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            b'-' | b'0'..=b'9' => {
                if numbers::whole(self.number().as_bytes()).is_none() {
                    self.check(start)?;
                }
            }
            _ => return Err(GaveUp),
        }
        Ok(&self.text[start..self.at])
    }

    /// Whether what was stepped over is a value to `serde_json` too.
    fn check(&self, start: usize) -> Result<()> {
        let text = &self.text[start..self.at];
        serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|_| GaveUp)
    }

    /// Reads the parts of an object or array, and its end.
    #[inline]
    fn nested<T>(&mut self, end: u8, read: impl FnOnce(Parts<'_, 'de>) -> Result<T>) -> Result<T> {
        self.at += 1;
        self.room = self.room.checked_sub(1).ok_or(GaveUp)?;
        let value = read(Parts { reader: self, end, is_first: true })?;
        self.room += 1;
        self.expect(end)?;
        Ok(value)
    }

    fn visit_array<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        self.nested(b']', |parts| visitor.visit_seq(parts))
    }

    fn visit_object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        self.nested(b'}', |parts| visitor.visit_map(parts))
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = GaveUp;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek()? {
            b'{' => self.visit_object(visitor),
            b'[' => self.visit_array(visitor),
            b'"' => self.deserialize_str(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            _ => self.visit_number(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek()? {
            b't' => self.word("true").and_then(|()| visitor.visit_bool(true)),
            b'f' => self.word("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(GaveUp),
        }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
        Err(GaveUp) // serde_json rounds to 32 bits in its own way
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit_number(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_str(&text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
        Err(GaveUp) // need not be UTF-8
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
        Err(GaveUp)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek()? {
            b'n' => self.word("null").and_then(|()| visitor.visit_none()),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.peek()?;
        self.word("null").and_then(|()| visitor.visit_unit())
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == RAW_VALUE {
            let text = self.skip()?;
            return visitor.visit_map(RawValue { text, is_read: false, is_checked: false });
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek()? {
            b'[' => self.visit_array(visitor),
            _ => Err(GaveUp),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek()? {
            b'{' => self.visit_object(visitor),
            _ => Err(GaveUp),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.peek()? {
            b'[' => self.visit_array(visitor),
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.peek()? {
            b'{' => self.nested(b'}', |parts| visitor.visit_enum(parts)),
            _ => match self.string()? {
                Cow::Borrowed(text) => visitor.visit_enum(BorrowedStrDeserializer::new(text)),
                Cow::Owned(text) => visitor.visit_enum(StrDeserializer::new(&text)),
            },
        }
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// What is within an object or array.
struct Parts<'a, 'de> {
    reader: &'a mut Reader<'de>,
    end: u8,
    is_first: bool,
}

impl Parts<'_, '_> {
    /// Steps over a comma between parts; false at the end.
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        let next = self.reader.peek()?;
        if next == self.end {
            return Ok(false);
        }
        if !std::mem::take(&mut self.is_first) {
            self.reader.expect(b',')?;
        }
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for Parts<'_, 'de> {
    type Error = GaveUp;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if self.advance()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for Parts<'_, 'de> {
    type Error = GaveUp;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if !self.advance()? {
            return Ok(None);
        }
        let key = match self.reader.string()? {
            Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key))?,
            owned => seed.deserialize(CowStrDeserializer::new(owned))?,
        };
        Ok(Some(key))
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

/// An enum as an object: its one key is the variant.
impl<'de> EnumAccess<'de> for Parts<'_, 'de> {
    type Error = GaveUp;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self)> {
        let variant = self.next_key_seed(seed)?.ok_or(GaveUp)?;
        self.reader.expect(b':')?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Parts<'_, 'de> {
    type Error = GaveUp;

    fn unit_variant(self) -> Result<()> {
        self.reader.deserialize_unit(IgnoredAny).map(drop)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value> {
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.reader.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.reader.deserialize_struct("", fields, visitor)
    }
}

/// The text of a value, as `serde_json` hands it out: in a map of one entry.
///
/// `Interned` decodes a text that it has not seen, and does not look at the key. Anybody else takes it for JSON as it is, so it has
/// to be.
struct RawValue<'de> {
    text: &'de str,
    is_read: bool,
    is_checked: bool,
}

/// Its key.
struct RawKey<'a>(&'a mut bool);

impl<'de> MapAccess<'de> for RawValue<'de> {
    type Error = GaveUp;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(None);
        }
        seed.deserialize(RawKey(&mut self.is_checked)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        if self.is_checked {
            serde_json::from_str::<IgnoredAny>(self.text).map_err(|_| GaveUp)?;
        }
        seed.deserialize(BorrowedStrDeserializer::new(self.text))
    }
}

impl<'de> Deserializer<'de> for RawKey<'_> {
    type Error = GaveUp;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        *self.0 = true;
        visitor.visit_borrowed_str(RAW_VALUE)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier
    }
}

// === impl GaveUp ===

impl Display for GaveUp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("not as usual")
    }
}

impl std::error::Error for GaveUp {}

impl Error for GaveUp {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}
