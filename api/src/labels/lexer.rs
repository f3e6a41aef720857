//! Cuts the text of a label selector into tokens.
//!
//! All delimiters are ASCII, so the scan goes byte by byte and every cut falls on a character boundary. `in` and
//! `notin` are words here: whether they are operators depends on where they stand, which the parser knows.
//!
//! Only space, tab, carriage return and line feed are whitespace; any other space belongs to a word and is then
//! refused by the syntax of keys and values. A NUL ends the selector where a token would begin, and vanishes when
//! it follows directly upon a token: Kubernetes servers read it so, and the same text must not select other objects
//! here than there.

use std::fmt;

/// What the parser distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    End,
    Word(&'a str),
    Open,
    Close,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
}

/// A token and the byte at which it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lexeme<'a> {
    pub(super) token: Token<'a>,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token; `End` again and again once the text is used up.
    pub(super) fn scan(&mut self) -> Lexeme<'a> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).copied().is_some_and(is_whitespace) {
            self.at += 1;
        }
        let at = self.at;
        let (token, length) = match &bytes[at..] {
            [] | [0, ..] => return Lexeme { token: Token::End, at },
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b',', ..] => (Token::Comma, 1),
            [b'>', ..] => (Token::Greater, 1),
            [b'<', ..] => (Token::Less, 1),
            [b'=', b'=', ..] => (Token::DoubleEquals, 2),
            [b'=', ..] => (Token::Equals, 1),
            [b'!', b'=', ..] => (Token::NotEquals, 2),
            [b'!', ..] => (Token::Not, 1),
            rest => {
                let length = rest.iter().position(|&b| ends_word(b)).unwrap_or(rest.len());
                (Token::Word(&self.text[at..at + length]), length)
            }
        };
        self.at += length;
        if bytes.get(self.at) == Some(&0) {
            self.at += 1;
        }
        Lexeme { token, at }
    }
}

// === impl Token ===

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbol = match *self {
            Token::End => return f.write_str("the end"),
            Token::Word(word) => word,
            Token::Open => "(",
            Token::Close => ")",
            Token::Comma => ",",
            Token::Not => "!",
            Token::Equals => "=",
            Token::DoubleEquals => "==",
            Token::NotEquals => "!=",
            Token::Greater => ">",
            Token::Less => "<",
        };
        write!(f, "{symbol:?}")
    }
}

fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn ends_word(byte: u8) -> bool {
    is_whitespace(byte) || matches!(byte, 0 | b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}
