//! Reads the text of a label selector.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = "!" key | key | key exact [ value ] | key ( "in" | "notin" ) "(" values ")"
//! exact       = "=" | "==" | "!=" | ">" | "<"
//! values      = [ value ] { "," [ value ] }
//! ```
//!
//! A missing value is the empty one. One quirk is kept, because servers have it: two commas in a row stand for an
//! empty value between them, and a list may not end directly behind such a pair: `(a,,b)` is fine, `(a,,)` is not.

use std::collections::BTreeSet;

use super::lexer::{Lexeme, Lexer, Token};
use super::requirement::{Operator, Requirement, RequirementError};

/// Why a text is not a label selector.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{ParseError, Selector};
///
/// let error = "app=web tier=front".parse::<Selector>().unwrap_err();
/// assert!(matches!(error, ParseError::Unexpected { at: 8, .. }));
/// assert_eq!(error.to_string(), r#"at byte 8: found "tier", expected ',' or the end"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Something stands where it cannot stand.
    #[error("at byte {at}: found {found}, expected {expected}")]
    Unexpected {
        /// The offset in the selector.
        at: usize,
        /// What stands there, quoted, or `the end`.
        found: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// A requirement is complete but not valid.
    #[error("at byte {at}: {reason}")]
    Requirement {
        /// The offset of the requirement in the selector.
        at: usize,
        /// What is wrong with it.
        reason: RequirementError,
    },
}

/// Reads a selector. The requirements come sorted by key; those with the same key stay in the order of the text.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, ParseError> {
    let mut parser = Parser::new(text);
    let mut requirements = Vec::new();
    if parser.next.token == Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(parser.requirement()?);
        match parser.next.token {
            Token::End => break,
            Token::Comma => parser.take(),
            _ => return Err(parser.unexpected("',' or the end")),
        };
    }
    requirements.sort_by(|a, b| a.key().cmp(b.key()));
    Ok(requirements)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Lexeme<'a>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let next = lexer.scan();
        Self { lexer, next }
    }

    fn take(&mut self) -> Token<'a> {
        std::mem::replace(&mut self.next, self.lexer.scan()).token
    }

    fn requirement(&mut self) -> Result<Requirement, ParseError> {
        let at = self.next.at;
        let made = match self.next.token {
            Token::Not => {
                self.take();
                let key = self.word("a label key")?;
                Requirement::does_not_exist(key)
            }
            _ => {
                let key = self.word("a label key or '!'")?;
                let Some(operator) = self.operator()? else {
                    return Requirement::exists(key).map_err(|reason| ParseError::Requirement { at, reason });
                };
                let values = match operator {
                    Operator::In | Operator::NotIn => self.values()?,
                    _ => {
                        let mut one = BTreeSet::new();
                        one.insert(self.value()?);
                        one
                    }
                };
                Requirement::new(key, operator, values)
            }
        };
        made.map_err(|reason| ParseError::Requirement { at, reason })
    }

    /// The operator behind a key; `None` if the key stands alone.
    fn operator(&mut self) -> Result<Option<Operator>, ParseError> {
        let operator = match self.next.token {
            Token::End | Token::Comma => return Ok(None),
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            _ => return Err(self.unexpected("'=', '==', '!=', 'in', 'notin', '>' or '<'")),
        };
        self.take();
        Ok(Some(operator))
    }

    fn value(&mut self) -> Result<&'a str, ParseError> {
        match self.next.token {
            Token::End | Token::Comma => Ok(""),
            _ => self.word("a value"),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<&'a str>, ParseError> {
        let mut values = BTreeSet::new();
        if self.next.token != Token::Open {
            return Err(self.unexpected("'('"));
        }
        self.take();
        if self.next.token == Token::Close {
            values.insert("");
        }
        while self.next.token != Token::Close {
            match self.next.token {
                Token::Word(value) => {
                    self.take();
                    values.insert(value);
                    if !matches!(self.next.token, Token::Comma | Token::Close) {
                        return Err(self.unexpected("',' or ')'"));
                    }
                }
                Token::Comma => {
                    self.take();
                    if values.is_empty() || self.next.token == Token::Close {
                        values.insert("");
                    }
                    if self.next.token == Token::Comma {
                        self.take();
                        values.insert("");
                        if self.next.token == Token::Close {
                            return Err(self.unexpected("',' or a value"));
                        }
                    }
                }
                _ => return Err(self.unexpected("',', ')' or a value")),
            }
        }
        self.take();
        Ok(values)
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a str, ParseError> {
        let Token::Word(word) = self.next.token else { return Err(self.unexpected(expected)) };
        self.take();
        Ok(word)
    }

    fn unexpected(&self, expected: &'static str) -> ParseError {
        ParseError::Unexpected { at: self.next.at, found: self.next.token.to_string(), expected }
    }
}
