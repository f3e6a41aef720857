//! The formats of strings that the API server checks. Others are ignored, `int32` and `int64` too.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::time;

/// A format that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    Mac,
    Password,
    RgbColor,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
}

/// Labels may have letters and symbols of any script; the last one has at least two characters.
const HOSTNAME: &str = concat!(
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)",
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}",
    r"([a-zA-Z0-9\p{S}\p{L}])(-?[a-zA-Z0-9\p{S}\p{L}]){1,62})$",
);

impl Format {
    /// The format of a name. Dashes do not count.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "creditcard" => Self::CreditCard,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hexcolor" => Self::HexColor,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "mac" => Self::Mac,
            "password" => Self::Password,
            "rgbcolor" => Self::RgbColor,
            "ssn" => Self::Ssn,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            _ => return None,
        })
    }

    pub(crate) fn is_valid(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => text.len() == 24 && is_hex(text),
            Self::Byte => is_base64(text),
            Self::Cidr => is_cidr(text),
            Self::CreditCard => is_credit_card(text),
            Self::Date => time::is_date(text),
            Self::DateTime => time::is_date_time(text),
            Self::Duration => is_duration(text),
            Self::Email => is_email(text),
            Self::HexColor => {
                let digits = text.strip_prefix('#').unwrap_or(text);
                matches!(digits.len(), 3 | 6) && is_hex(digits)
            }
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.contains('.') && is_ip(text),
            Self::Ipv6 => text.contains(':') && is_ip(text),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::Mac => is_mac(text),
            Self::Password => true,
            Self::RgbColor => is_rgb_color(text),
            Self::Ssn => is_ssn(text),
            Self::Uri => is_request_uri(text),
            Self::Uuid => uuid(text).is_some(),
            Self::Uuid3 => uuid(text).is_some_and(|digits| digits[12] == b'3'),
            Self::Uuid4 => {
                uuid(text).is_some_and(|digits| digits[12] == b'4' && b"89ab".contains(&digits[16]))
            }
            Self::Uuid5 => {
                uuid(text).is_some_and(|digits| digits[12] == b'5' && b"89ab".contains(&digits[16]))
            }
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_base64(text: &str) -> bool {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn is_ip(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok() || text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = if address.parse::<Ipv4Addr>().is_ok() { 32 } else { 128 };
    is_ip(address)
        && !length.is_empty()
        && is_digits(length)
        && length.parse::<u32>().is_ok_and(|length| length <= most)
}

/// The 32 digits in lower case. Each of the dashes may be left out.
fn uuid(text: &str) -> Option<[u8; 32]> {
    let mut rest = text;
    let mut digits = Vec::with_capacity(32);
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let (group, after) = rest.split_at_checked(length)?;
        digits.extend_from_slice(group.to_ascii_lowercase().as_bytes());
        rest = after;
    }
    let digits: [u8; 32] = digits.try_into().ok()?;
    (rest.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)).then_some(digits)
}

fn is_hostname(text: &str) -> bool {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(HOSTNAME).ok());
    text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
        && PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// An address, alone or as `Name <address>`.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        None => text,
        Some(rest) => match rest.rsplit_once('<') {
            Some((name, address)) if name.matches('"').count().is_multiple_of(2) => address,
            _ => return false,
        },
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let is_atom = |c: char| c.is_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    let dot_atom = |text: &str| text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom));
    let quoted =
        local.len() >= 2 && local.starts_with('"') && local.ends_with('"') && !local.contains(['\r', '\n']);
    let domain_literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    (dot_atom(local) || quoted) && domain_literal.map_or_else(|| dot_atom(domain), is_ip)
}

/// A URI as it may stand in a request: with a scheme, or a path from the root.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return false;
    }
    let scheme = text.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    let (has_scheme, rest) = match scheme {
        Some(0) if text.starts_with(':') => return false,
        Some(end) if text[end..].starts_with(':') && text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            (true, &text[end + 1..])
        }
        _ => (false, text),
    };
    if text == "*" {
        return true;
    }
    if !rest.starts_with('/') {
        return has_scheme;
    }
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) if has_scheme || !rest.starts_with("///") => {
            after.split_at(after.find('/').unwrap_or(after.len()))
        }
        _ => ("", rest),
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let port = if host.ends_with(']') { "" } else { host.rsplit_once(':').map_or("", |(_, port)| port) };
    !authority.contains([' ', '<', '>', '"', '^', '`', '{', '}', '\\', '|'])
        && is_digits(port)
        && escapes_are_valid(path)
}

fn escapes_are_valid(path: &str) -> bool {
    path.split('%')
        .skip(1)
        .all(|after| after.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)))
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize| {
        let groups: Vec<_> = text.split(separator).collect();
        (groups.iter().all(|group| group.len() == width && is_hex(group))).then_some(groups.len() * width / 2)
    };
    [(':', 2), ('-', 2), ('.', 4)]
        .into_iter()
        .filter_map(|(separator, width)| groups(separator, width))
        .any(|bytes| matches!(bytes, 6 | 8 | 20))
}

/// As Go's `time.ParseDuration`, or whole numbers with units such as `3 days`.
fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_spelled_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        if !number.contains(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
            return false;
        }
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return false,
        };
        total += format!("0{number}0").parse().unwrap_or(f64::INFINITY) * seconds;
        rest = after;
    }
    // An int64 holds no more nanoseconds.
    total < 9.223_372_036_854_775e9
}

fn is_spelled_duration(text: &str) -> bool {
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = rest[start..].trim_start_matches(|c: char| c.is_ascii_digit());
        let after = rest.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(after.len());
        let unit = after[..end].to_lowercase();
        let known = UNITS.iter().any(|names| match names.split_last() {
            Some((last, others)) => {
                !unit.is_empty() && (others.contains(&unit.as_str()) || unit.starts_with(last))
            }
            None => false,
        });
        if known {
            return true;
        }
    }
    false
}

fn is_ssn(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut rest = bytes;
    for (index, length) in [3, 2, 4].into_iter().enumerate() {
        if index > 0
            && let [b'-' | b' ', after @ ..] = rest
        {
            rest = after;
        }
        let Some((group, after)) = rest.split_at_checked(length) else { return false };
        if !group.iter().all(u8::is_ascii_digit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn is_rgb_color(text: &str) -> bool {
    let Some(inside) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let parts: Vec<_> = inside.split(',').map(str::trim).collect();
    let is_part = |part: &&str| {
        let plain = (*part == "0" || !part.starts_with('0')) && !part.is_empty() && is_digits(part);
        plain && part.parse::<u16>().is_ok_and(|value| value <= 255)
    };
    let is_percent = |part: &&str| {
        part.strip_suffix('%')
            .is_some_and(|value| is_digits(value) && value.parse::<u8>().is_ok_and(|value| value <= 100))
    };
    parts.len() == 3 && (parts.iter().all(is_part) || parts.iter().all(is_percent))
}

fn is_isbn10(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'-' | b' ')).collect();
    if digits.len() != 10 {
        return false;
    }
    let sum = digits.iter().enumerate().try_fold(0_u32, |sum, (index, byte)| {
        let value = match byte {
            b'0'..=b'9' => u32::from(byte - b'0'),
            b'X' if index == 9 => 10,
            _ => return None,
        };
        Some(sum + value * u32::try_from(index + 1).ok()?)
    });
    sum.is_some_and(|sum| sum.is_multiple_of(11))
}

fn is_isbn13(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'-' | b' ')).collect();
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .enumerate()
        .map(|(index, byte)| u32::from(byte - b'0') * if index % 2 == 0 { 1 } else { 3 })
        .sum();
    sum.is_multiple_of(10)
}

/// The digits of a card of the known kinds, whose last one is the check digit. What is no digit does not count.
fn is_credit_card(text: &str) -> bool {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}",
            "|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
        ))
        .ok()
    });
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let checksum = digits.bytes().rev().enumerate().fold(0, |sum, (index, byte)| {
        let value = u32::from(byte - b'0');
        sum + match index % 2 {
            0 => value,
            _ if value > 4 => value * 2 - 9,
            _ => value * 2,
        }
    });
    PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(&digits)) && checksum % 10 == 0
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[track_caller]
    fn check(name: &str, valid: &[&str], invalid: &[&str]) {
        let format = Format::from_name(name).expect("a known format");
        for text in valid {
            assert!(format.is_valid(text), "{text:?} is a {name}");
        }
        for text in invalid {
            assert!(!format.is_valid(text), "{text:?} is no {name}");
        }
    }

    #[test]
    fn formats_are_told_apart() {
        check("date", &["2024-02-29"], &["2023-02-29", "2024-2-9", "", "2024-02-29T00:00:00Z"]);
        check(
            "date-time",
            &["2024-02-29T12:00:00Z", "2024-02-29t12:00:00.123+01:00"],
            &["2024-02-29", "2024-02-29T24:00:00Z", "2024-02-29T12:00:00", "x"],
        );
        check("duration", &["1h30m", "1.5s", "0", "-2ms", "22 ns", "3 days"], &["", "1", "1x", "s", "days"]);
        check("byte", &["YQ==", "YWI=", "YWJj"], &["", "YQ", "YQ=", "Y!=="]);
        check(
            "uuid",
            &["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
            &[
                "123e4567",
                "g23e4567-e89b-12d3-a456-426614174000",
                "123e4567-e89b-12d3-a456-4266141740000",
                "é",
            ],
        );
        check("uuid4", &["123e4567-e89b-42d3-a456-426614174000"], &["123e4567-e89b-12d3-a456-426614174000"]);
        check("ipv4", &["10.0.0.1"], &["10.0.0.256", "::1", "10.0.0.01", ""]);
        check("ipv6", &["::1", "::ffff:1.2.3.4"], &["10.0.0.1", ":::1", "fe80::1%eth0"]);
        check("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/+8"]);
        check("email", &["a@b", "A <a.b@c.d>"], &["a", "@b", "a@", "a..b@c", "a b@c"]);
        check("hostname", &["a", "example.com", "1.example.com"], &["", "-a", "a_b", "a..b"]);
        check(
            "uri",
            &["http://a/b?c#d", "/a", "mailto:a@b", "http://[::1]:80/"],
            &["", "a", "://a", "http://a:b/", "/%g0"],
        );
        check("mac", &["00:00:5e:00:53:01", "0000.5e00.5301"], &["00:00:5e:00:53", "00:00:5e:00:53:g1"]);
        check("hex-color", &["#fff", "FFFFFF"], &["#ff", "red"]);
        check("rgbcolor", &["rgb(1, 2,255)"], &["rgb(1,2)", "rgb(1,2,256)"]);
        check("ssn", &["123-45-6789", "123456789"], &["123-45-678"]);
        check("isbn10", &["0321751043"], &["0321751044"]);
        check("isbn13", &["978-0321751041"], &["978-0321751042"]);
        check("isbn", &["0321751043", "978-0321751041"], &["1"]);
        check("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112", ""]);
        check("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f1f77bcf86cd79943901"]);
        check("password", &["", "anything"], &[]);
        assert_eq!(Format::from_name("int32"), None);
    }
}
