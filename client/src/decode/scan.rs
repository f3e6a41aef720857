//! Finds the elements of `items` in the JSON of a list, however its bytes are cut into chunks.
//!
//! The scanner knows strings, escapes and nesting, and nothing else: what an element is made of, its decoder checks, and
//! what surrounds the elements is kept and parsed at the end. An object that is whole in its chunk the scanner need not look at: its
//! decoder finds where it ends.

use std::ops::Range;

use memchr::memchr2;

/// What a chunk held, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Bytes that surround the items.
    Envelope(Range<usize>),
    /// An object begins here, as an item. It may be [passed](Scanner::pass) by who finds its end; else it comes as bytes next.
    Object(usize),
    /// Bytes of an item; `last` if the item ends with them.
    Item { bytes: Range<usize>, last: bool },
}

/// A place at which a list is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unexpected {:?} at byte {at}, where {want} was expected", char::from(*found))]
pub struct SyntaxError {
    /// The offset from the start of the body, in bytes.
    pub at: u64,
    /// The byte that was found there.
    pub found: u8,
    /// What could have stood there.
    pub want: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct Scanner {
    place: Place,
    text: Text,
    /// How many objects and arrays are open, the items array not counted; within an item, those of the item.
    depth: usize,
    /// The key that is being read at depth 1, escapes and all.
    key: Vec<u8>,
    /// Whether `items` was seen with an array or null.
    found_items: bool,
    /// Bytes of earlier chunks.
    offset: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the list's `{`.
    #[default]
    Start,
    /// Directly in the list, where a key may begin.
    Key,
    /// After a key, before its value.
    Colon { items: bool },
    /// Before the value of `items`.
    ItemsValue,
    /// In the value of any other key.
    Value,
    /// In the items array, before an element or its end.
    ItemOrEnd,
    /// In the items array, after a comma.
    NextItem,
    /// At the beginning of an element that is an object.
    Object,
    /// In an element.
    Item(Element),
    /// In the items array, after an element.
    CommaOrEnd,
    /// After the list's `}`.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    /// An object, an array or a string: it ends with a byte of its own.
    Closed,
    /// A number, true, false or null: it ends before the next byte.
    Bare,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

/// A key longer than this is not `items`, however it is escaped.
const LONGEST_KEY: usize = 64;

impl Scanner {
    /// Whether the list has been seen to its end.
    pub(super) fn is_complete(&self) -> bool {
        self.place == Place::End
    }

    /// Whether there was an `items` array, or null in its place.
    pub(super) fn found_items(&self) -> bool {
        self.found_items
    }

    /// How many bytes were seen.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes note that the object that [began](Piece::Object) was read to its end by somebody else.
    pub(super) fn pass(&mut self) {
        self.place = Place::CommaOrEnd;
    }

    /// Takes note that a chunk of this length was scanned to its end.
    pub(super) fn end_chunk(&mut self, length: usize) {
        self.offset += length as u64;
    }

    /// Scans `chunk` from `start` up to the end of the next piece; none at its end.
    pub(super) fn next(&mut self, chunk: &[u8], start: usize) -> Result<Option<Piece>, SyntaxError> {
        if start >= chunk.len() {
            return Ok(None);
        }
        match self.place {
            Place::Item(element) => return self.item(chunk, start, start, element).map(Some),
            Place::Object => {
                let element = self.open_item(b'{');
                return self.item(chunk, start, start + 1, element).map(Some);
            }
            _ => {}
        }
        let mut at = start;
        while at < chunk.len() {
            let byte = chunk[at];
            if self.text != Text::Outside {
                at = self.string(chunk, at);
                continue;
            }
            if byte.is_ascii_whitespace() {
                at += 1;
                continue;
            }
            match self.place {
                Place::ItemOrEnd | Place::NextItem if self.starts_item(byte) => {
                    // What came before belongs to the envelope, where the commas between items are left out.
                    if self.place == Place::ItemOrEnd && at > start {
                        return Ok(Some(Piece::Envelope(start..at)));
                    }
                    if byte == b'{' {
                        self.place = Place::Object;
                        return Ok(Some(Piece::Object(at)));
                    }
                    let element = self.open_item(byte);
                    return self.item(chunk, at, at + 1, element).map(Some);
                }
                Place::CommaOrEnd if byte == b',' => self.place = Place::NextItem,
                Place::CommaOrEnd | Place::ItemOrEnd if byte == b']' => {
                    let from = if self.place == Place::ItemOrEnd { start } else { at };
                    self.place = Place::Value;
                    self.depth = 1;
                    return Ok(Some(Piece::Envelope(from..at + 1)));
                }
                _ => self.envelope(byte, at)?,
            }
            at += 1;
        }
        Ok(Some(match self.place {
            // Only white space and commas were seen.
            Place::NextItem | Place::CommaOrEnd => Piece::Envelope(at..at),
            _ => Piece::Envelope(start..at),
        }))
    }

    fn starts_item(&self, byte: u8) -> bool {
        !matches!(byte, b',' | b']' | b'}' | b':')
    }

    fn open_item(&mut self, byte: u8) -> Element {
        self.depth = 0;
        match byte {
            b'{' | b'[' => self.depth = 1,
            b'"' => self.text = Text::Inside,
            _ => {
                self.place = Place::Item(Element::Bare);
                return Element::Bare;
            }
        }
        self.place = Place::Item(Element::Closed);
        Element::Closed
    }

    /// Goes on from `at` in the item whose bytes begin at `start` in this chunk.
    fn item(
        &mut self,
        chunk: &[u8],
        start: usize,
        mut at: usize,
        element: Element,
    ) -> Result<Piece, SyntaxError> {
        while at < chunk.len() {
            if self.text != Text::Outside {
                at = self.string(chunk, at);
                if self.text == Text::Outside && self.depth == 0 {
                    return Ok(self.close_item(start..at));
                }
                continue;
            }
            match chunk[at] {
                b'"' if element == Element::Closed => self.text = Text::Inside,
                b'{' | b'[' if element == Element::Closed => self.depth += 1,
                b'}' | b']' if element == Element::Closed => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Ok(self.close_item(start..at + 1));
                    }
                }
                b',' | b']' if element == Element::Bare => return Ok(self.close_item(start..at)),
                byte if element == Element::Bare && byte.is_ascii_whitespace() => {
                    return Ok(self.close_item(start..at));
                }
                b'"' | b'{' | b'[' | b'}' | b':' if element == Element::Bare => {
                    return Err(self.unexpected(chunk[at], at, "a comma or the end of items"));
                }
                _ => {}
            }
            at += 1;
        }
        Ok(Piece::Item { bytes: start..at, last: false })
    }

    fn close_item(&mut self, bytes: Range<usize>) -> Piece {
        self.place = Place::CommaOrEnd;
        Piece::Item { bytes, last: true }
    }

    /// Steps over one byte outside of strings and items.
    fn envelope(&mut self, byte: u8, at: usize) -> Result<(), SyntaxError> {
        match (self.place, byte) {
            (Place::Start, b'{') => {
                self.place = Place::Key;
                self.depth = 1;
            }
            (Place::Start, _) => return Err(self.unexpected(byte, at, "the { of a list")),
            (Place::Key, b'"') => {
                self.key.clear();
                self.text = Text::Inside;
            }
            (Place::Key, b'}') => self.place = Place::End,
            (Place::Key, _) => return Err(self.unexpected(byte, at, "a key or the } of the list")),
            (Place::Colon { items: true }, b':') => self.place = Place::ItemsValue,
            (Place::Colon { items: false }, b':') => self.place = Place::Value,
            (Place::Colon { .. }, _) => return Err(self.unexpected(byte, at, "a colon")),
            (Place::ItemsValue, b'[') => {
                self.found_items = true;
                self.place = Place::ItemOrEnd;
            }
            (Place::ItemsValue, b'n') => {
                self.found_items = true;
                self.place = Place::Value;
            }
            (Place::ItemsValue, _) => return Err(self.unexpected(byte, at, "an array")),
            (Place::Value, b'"') => self.text = Text::Inside,
            (Place::Value, b'{' | b'[') => self.depth += 1,
            (Place::Value, b'}' | b']') if self.depth > 1 => self.depth -= 1,
            (Place::Value, b'}') => self.place = Place::End,
            (Place::Value, b']') => return Err(self.unexpected(byte, at, "a comma or the } of the list")),
            (Place::Value, b',') if self.depth == 1 => self.place = Place::Key,
            (Place::Value | Place::Object | Place::Item(_), _) => {}
            (Place::ItemOrEnd, _) => return Err(self.unexpected(byte, at, "an item or the end of items")),
            (Place::NextItem, _) => return Err(self.unexpected(byte, at, "an item")),
            (Place::CommaOrEnd, _) => return Err(self.unexpected(byte, at, "a comma or the end of items")),
            (Place::End, _) => return Err(self.unexpected(byte, at, "the end of the body")),
        }
        Ok(())
    }

    /// Steps over bytes of a string and returns where it stopped: after its end, or at the chunk's.
    fn string(&mut self, chunk: &[u8], mut at: usize) -> usize {
        let is_key = self.place == Place::Key;
        while at < chunk.len() {
            if self.text == Text::Escaped {
                self.text = Text::Inside;
                self.remember(is_key, &chunk[at..=at]);
                at += 1;
                continue;
            }
            let Some(found) = memchr2(b'"', b'\\', &chunk[at..]) else {
                self.remember(is_key, &chunk[at..]);
                return chunk.len();
            };
            self.remember(is_key, &chunk[at..at + found]);
            at += found + 1;
            if chunk[at - 1] == b'"' {
                self.text = Text::Outside;
                if is_key {
                    self.place = Place::Colon { items: self.key_is_items() };
                }
                return at;
            }
            self.remember(is_key, b"\\");
            self.text = Text::Escaped;
        }
        at
    }

    fn remember(&mut self, is_key: bool, bytes: &[u8]) {
        if is_key && self.key.len() <= LONGEST_KEY {
            self.key.extend_from_slice(bytes);
        }
    }

    fn key_is_items(&self) -> bool {
        if !self.key.contains(&b'\\') {
            return self.key == b"items";
        }
        let quoted = [b"\"", self.key.as_slice(), b"\""].concat();
        serde_json::from_slice::<String>(&quoted).is_ok_and(|key| key == "items")
    }

    fn unexpected(&self, found: u8, at: usize, want: &'static str) -> SyntaxError {
        SyntaxError { at: self.offset + at as u64, found, want }
    }
}
