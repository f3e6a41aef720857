//! Regular expressions as Go's `regexp` understands them, run by the `regex` crate.
//!
//! Both search in linear time and mean the same by most of their syntax. What differs is rewritten: Go's `\d`, `\s`,
//! `\w` and `\b` are ASCII only, `\s` has no vertical tab, a `{` that begins no repetition stands for itself, a class
//! knows neither nested classes nor set operations, and `\Q…\E` quotes. What Go does not have (`(?x)`, `(?R)`, `a**`,
//! counts over 1000) is refused.

use std::fmt::{self, Display, Formatter, Write as _};

use regex::{Regex, RegexBuilder};

/// How large a compiled pattern may grow, in bytes; a definition is written by anybody who may write definitions.
const SIZE_LIMIT: usize = 4 << 20;
/// How often an expression may be repeated: the bound of Go.
const MAX_REPEAT: u32 = 1000;

/// A pattern that a string must match somewhere, unless the pattern itself anchors it.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: String,
    regex: Regex,
}

/// Why a pattern is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError(String);

impl Pattern {
    pub(crate) fn new(source: &str) -> Result<Self, PatternError> {
        let translated = Translation::of(source)?;
        let regex =
            RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).build().map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError("expression too large".into()),
                // The last line of the crate's message says what is wrong; the lines before draw the place.
                error => PatternError(error.to_string().lines().last().unwrap_or_default().trim().to_owned()),
            })?;
        Ok(Self { source: source.to_owned(), regex })
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.source
    }
}

impl Display for PatternError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}", self.0)
    }
}

impl std::error::Error for PatternError {}

struct Translation<'a> {
    rest: &'a str,
    out: String,
}

/// What a `\d`, `\s` or `\w` stands for inside of a class.
fn perl_class(c: char) -> Option<&'static str> {
    match c.to_ascii_lowercase() {
        'd' => Some("0-9"),
        's' => Some("\\t\\n\\x0C\\r "),
        'w' => Some("0-9A-Za-z_"),
        _ => None,
    }
}

impl<'a> Translation<'a> {
    fn of(source: &'a str) -> Result<String, PatternError> {
        let mut this = Self { rest: source, out: String::with_capacity(source.len() + 8) };
        // Whether what stands directly before is a repetition, which may not be repeated once more.
        let mut repeated = false;
        while let Some(c) = this.next() {
            let was_repeated = std::mem::take(&mut repeated);
            match c {
                '\\' => this.escape()?,
                '[' => this.class()?,
                '(' => this.group()?,
                '*' | '+' | '?' => {
                    if was_repeated {
                        return Err(PatternError("invalid nested repetition operator".into()));
                    }
                    this.out.push(c);
                    this.lazy();
                    repeated = true;
                }
                '{' => {
                    let Some((text, rest)) = repetition(this.rest) else {
                        this.out.push_str("\\{");
                        continue;
                    };
                    if was_repeated {
                        return Err(PatternError("invalid nested repetition operator".into()));
                    }
                    check_repetition(text)?;
                    _ = write!(this.out, "{{{text}}}");
                    this.rest = rest;
                    this.lazy();
                    repeated = true;
                }
                '}' | ']' => {
                    this.out.push('\\');
                    this.out.push(c);
                }
                c => this.out.push(c),
            }
        }
        Ok(this.out)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn lazy(&mut self) {
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.rest = rest;
            self.out.push('?');
        }
    }

    /// What follows a `(`.
    fn group(&mut self) -> Result<(), PatternError> {
        self.out.push('(');
        let Some(inside) = self.rest.strip_prefix('?') else { return Ok(()) };
        if inside.starts_with("P<")
            || inside.starts_with('<') && !inside.starts_with("<=") && !inside.starts_with("<!")
        {
            return Ok(());
        }
        let flags = inside.trim_start_matches(['i', 'm', 's', 'U', '-']);
        if flags.starts_with([':', ')']) {
            return Ok(());
        }
        Err(PatternError("invalid or unsupported Perl syntax: `(?`".into()))
    }

    /// What follows a `\` outside of a class.
    fn escape(&mut self) -> Result<(), PatternError> {
        let before = self.rest;
        let Some(c) = self.next() else {
            return Err(PatternError("trailing backslash at end of expression: ``".into()));
        };
        match c {
            'A' | 'z' => _ = write!(self.out, "\\{c}"),
            'b' | 'B' => _ = write!(self.out, "(?-u:\\{c})"),
            'd' | 's' | 'w' => _ = write!(self.out, "[{}]", perl_class(c).unwrap_or_default()),
            'D' | 'S' | 'W' => _ = write!(self.out, "[^{}]", perl_class(c).unwrap_or_default()),
            'p' | 'P' => self.property(c)?,
            'Q' => {
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                quoted.chars().for_each(|c| literal(&mut self.out, c));
                self.rest = rest;
            }
            _ => {
                self.rest = before;
                let c = self.escaped_literal()?;
                literal(&mut self.out, c);
            }
        }
        Ok(())
    }

    /// A Unicode class such as `\pL` or `\p{Greek}`.
    fn property(&mut self, letter: char) -> Result<(), PatternError> {
        _ = write!(self.out, "\\{letter}");
        let name = match self.rest.strip_prefix('{') {
            Some(inside) => match inside.find('}') {
                Some(end) => &self.rest[..end + 2],
                None => return Err(PatternError(format!("invalid character class range: `\\{letter}{{`"))),
            },
            None => &self.rest[..self.rest.chars().next().map_or(0, char::len_utf8)],
        };
        self.out.push_str(name);
        self.rest = &self.rest[name.len()..];
        Ok(())
    }

    /// The character that an escape stands for.
    fn escaped_literal(&mut self) -> Result<char, PatternError> {
        let Some(c) = self.next() else {
            return Err(PatternError("trailing backslash at end of expression: ``".into()));
        };
        let invalid = || PatternError(format!("invalid escape sequence: `\\{c}`"));
        let code = match c {
            'a' => Some(0x07),
            'f' => Some(0x0c),
            't' => Some(0x09),
            'n' => Some(0x0a),
            'r' => Some(0x0d),
            'v' => Some(0x0b),
            'x' => {
                let (digits, rest) = match self.rest.strip_prefix('{') {
                    Some(inside) => inside.split_once('}').ok_or_else(invalid)?,
                    None => self.rest.split_at_checked(2).ok_or_else(invalid)?,
                };
                if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
                    return Err(invalid());
                }
                self.rest = rest;
                u32::from_str_radix(digits, 16).ok()
            }
            // A single digit would be a reference to a group, which Go does not have.
            '1'..='7' if !self.rest.starts_with(|c| ('0'..='7').contains(&c)) => None,
            '0'..='7' => {
                let mut code = c as u32 - '0' as u32;
                for _ in 0..2 {
                    let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    self.rest = &self.rest[1..];
                }
                Some(code)
            }
            c if c.is_ascii_punctuation() && c != '_' => Some(c as u32),
            _ => None,
        };
        code.and_then(char::from_u32).ok_or_else(invalid)
    }

    /// What follows a `[`.
    fn class(&mut self) -> Result<(), PatternError> {
        let missing = || PatternError("missing closing ]".into());
        self.out.push('[');
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.rest = rest;
            self.out.push('^');
        }
        let mut first = true;
        loop {
            if let Some(rest) = self.rest.strip_prefix(']')
                && !first
            {
                self.rest = rest;
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest.find(":]")
            {
                self.out.push_str(&self.rest[..end + 2]);
                self.rest = &self.rest[end + 2..];
                continue;
            }
            if let Some(escaped) = self.rest.strip_prefix('\\')
                && let Some(c) = escaped.chars().next()
                && matches!(c, 'p' | 'P' | 'd' | 'D' | 's' | 'S' | 'w' | 'W')
            {
                self.rest = &escaped[1..];
                match perl_class(c) {
                    None => self.property(c)?,
                    Some(class) if c.is_ascii_lowercase() => self.out.push_str(class),
                    Some(class) => _ = write!(self.out, "[^{class}]"),
                }
                continue;
            }
            let low = self.class_literal().ok_or_else(missing)??;
            literal(&mut self.out, low);
            if let Some(rest) = self.rest.strip_prefix('-')
                && !rest.is_empty()
                && !rest.starts_with(']')
            {
                self.rest = rest;
                let high = self.class_literal().ok_or_else(missing)??;
                if high < low {
                    return Err(PatternError(format!("invalid character class range: `{low}-{high}`")));
                }
                self.out.push('-');
                literal(&mut self.out, high);
            }
        }
    }

    fn class_literal(&mut self) -> Option<Result<char, PatternError>> {
        match self.next()? {
            '\\' => Some(self.escaped_literal()),
            c => Some(Ok(c)),
        }
    }
}

/// A character that stands for itself, in a class or outside.
fn literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        _ = write!(out, "\\x{:02X}", c as u32);
    }
}

/// What stands between the braces of a repetition, and what follows it; nothing if it is no repetition.
fn repetition(rest: &str) -> Option<(&str, &str)> {
    let (text, after) = rest.split_once('}')?;
    let (least, most) = text.split_once(',').unwrap_or((text, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    (!least.is_empty() && digits(least) && digits(most)).then_some((text, after))
}

fn check_repetition(text: &str) -> Result<(), PatternError> {
    let invalid = || PatternError(format!("invalid repeat count: `{{{text}}}`"));
    let (least, most) = text.split_once(',').unwrap_or((text, text));
    let least: u32 = least.parse().map_err(|_| invalid())?;
    let most: u32 = if most.is_empty() { least } else { most.parse().map_err(|_| invalid())? };
    if least > most || most > MAX_REPEAT { Err(invalid()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        for (pattern, text, matches) in [
            ("b", "abc", true),
            ("^b$", "abc", false),
            ("^a$", "a\n", false),
            (r"^\d$", "٣", false),
            (r"^\d$", "3", true),
            (r"^\w+$", "é", false),
            (r"^\s$", "\u{b}", false),
            (r"\bfoo\b", "éfoo", true),
            ("^a{,2}$", "a{,2}", true),
            ("^{x}$", "{x}", true),
            ("^[a&&b]$", "&", true),
            ("^[[a]$", "[", true),
            ("^[]a]$", "]", true),
            ("^[a-]$", "-", true),
            ("^[+--]$", ",", true),
            (r"^[\d.]+$", "1.2", true),
            (r"^[^\W]$", "a", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\pL$", "é", true),
            (r"^[[:alpha:]]$", "é", false),
            (r"(?i)^abc$", "ABC", true),
            ("^.$", "\n", false),
            ("(?s)^.$", "\n", true),
            (r"^\x41\101$", "AA", true),
        ] {
            let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(compiled.is_match(text), matches, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "(", ")", "[a", "a**", "a{1001}", "a{2,1}", "(?=a)", "(?x)a", r"\1", r"\", r"[\", "[b-a]",
            "(?<=a)", r"\y", "*",
        ] {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
    }
}
