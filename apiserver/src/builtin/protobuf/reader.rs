//! The wire format of protobuf: numbered data of which only the size is known.

/// What has a number in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Datum<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A number of fixed size, or the begin or the end of a group, which none of the table's fields is.
    Other(u8),
}

/// Why bytes are no message.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("unexpected EOF")]
    End,
    #[error("proto: integer overflow")]
    Overflow,
    #[error("proto: illegal tag {0} (wire type {1})")]
    Tag(u64, u8),
    #[error("proto: illegal wireType {0}")]
    WireType(u8),
    #[error("proto: wrong wireType = {0} for field {1}")]
    WrongType(u8, String),
    #[error("proto: unexpected end of group")]
    Group,
    #[error("invalid UTF-8 in field {0}")]
    Text(String),
    #[error("the message is not in plain protobuf")]
    Encoding,
    #[error("messages are nested too deep")]
    Depth,
    #[error("a time is outside the range [0,9999] of years")]
    Time,
    #[error("a value that should be JSON is not")]
    Json,
}

/// Reads a message.
pub(super) struct Reader<'a>(&'a [u8]);

const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const LENGTH: u8 = 2;
const GROUP: u8 = 3;
const END_OF_GROUP: u8 = 4;
const FIXED_32: u8 = 5;

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next datum and its number.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Datum<'a>)>, Problem> {
        let Some((number, wire_type)) = self.tag()? else { return Ok(None) };
        let datum = match wire_type {
            VARINT => Datum::Number(self.number()?.ok_or(Problem::End)?),
            LENGTH => Datum::Bytes(self.bytes()?),
            END_OF_GROUP => return Err(Problem::Group),
            other => {
                self.skip(other)?;
                Datum::Other(other)
            }
        };
        Ok(Some((number, datum)))
    }

    /// The next number without a tag; none at the end.
    pub(super) fn number(&mut self) -> Result<Option<u64>, Problem> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Problem::End)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(Some(number));
            }
        }
        Err(Problem::Overflow)
    }

    fn tag(&mut self) -> Result<Option<(u32, u8)>, Problem> {
        let Some(tag) = self.number()? else { return Ok(None) };
        let wire_type = u8::try_from(tag & 7).unwrap_or_default();
        match u32::try_from(tag >> 3) {
            Ok(number) if number > 0 => Ok(Some((number, wire_type))),
            _ => Err(Problem::Tag(tag >> 3, wire_type)),
        }
    }

    fn bytes(&mut self) -> Result<&'a [u8], Problem> {
        let length = self.number()?.ok_or(Problem::End)?;
        self.take(usize::try_from(length).map_err(|_| Problem::Overflow)?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Problem> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Problem::End)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Goes past a datum that nobody wants: a group with all that is in it, without recursion.
    fn skip(&mut self, wire_type: u8) -> Result<(), Problem> {
        let (mut wire_type, mut groups) = (wire_type, 0_usize);
        loop {
            match wire_type {
                VARINT => drop(self.number()?.ok_or(Problem::End)?),
                FIXED_64 => drop(self.take(8)?),
                LENGTH => drop(self.bytes()?),
                GROUP => groups += 1,
                END_OF_GROUP => groups = groups.checked_sub(1).ok_or(Problem::Group)?,
                FIXED_32 => drop(self.take(4)?),
                other => return Err(Problem::WireType(other)),
            }
            if groups == 0 {
                return Ok(());
            }
            (_, wire_type) = self.tag()?.ok_or(Problem::End)?;
        }
    }
}

impl<'a> Datum<'a> {
    pub(super) fn number(self, name: &str) -> Result<u64, Problem> {
        match self {
            Self::Number(number) => Ok(number),
            other => Err(other.wrong(name)),
        }
    }

    pub(super) fn bytes(self, name: &str) -> Result<&'a [u8], Problem> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(other.wrong(name)),
        }
    }

    pub(super) fn text(self, name: &str) -> Result<String, Problem> {
        let bytes = self.bytes(name)?;
        let text = std::str::from_utf8(bytes).map_err(|_| Problem::Text(name.to_owned()))?;
        Ok(text.to_owned())
    }

    pub(super) fn wrong(self, name: &str) -> Problem {
        let wire_type = match self {
            Self::Number(_) => VARINT,
            Self::Bytes(_) => LENGTH,
            Self::Other(wire_type) => wire_type,
        };
        Problem::WrongType(wire_type, name.to_owned())
    }
}
