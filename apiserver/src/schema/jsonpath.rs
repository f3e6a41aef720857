//! The part of Kubernetes' JSONPath that printer columns use: fields, indexes, slices, wildcards, recursive descent, and
//! filters that compare. A table shows the first value that a path finds.

use std::cmp::Ordering;

use serde_json::Value;

use super::MAX_DEPTH;

/// How many values a path follows at once; a table shows one.
const MAX_VALUES: usize = 1000;

/// A path into an object, such as `.status.conditions[?(@.type=="Ready")].status`.
///
/// # Example
///
/// ```
/// use lariat_apiserver::schema::JsonPath;
/// use serde_json::json;
///
/// let path = JsonPath::parse(".ports[?(@.name==\"game\")].port")?;
/// let object = json!({"ports": [{"name": "query", "port": 1}, {"name": "game", "port": 2}]});
/// assert_eq!(path.first(&object), Some(&json!(2)));
/// # Ok::<(), lariat_apiserver::schema::JsonPathError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// Why a text is not a path that is understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unrecognized path {path:?}: {problem}")]
pub struct JsonPathError {
    path: String,
    problem: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Fields(Vec<String>),
    All,
    Index(i64),
    Slice { from: Option<i64>, to: Option<i64>, by: i64 },
    Descend,
    Filter { left: Operand, comparison: Option<(Comparison, Operand)> },
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Vec<Step>),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Reads a path. Braces around it are allowed.
    ///
    /// # Errors
    ///
    /// If the text is not a path, or uses more than is understood here.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let inside = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let mut parser = Parser { rest: inside.trim(), depth: 0 };
        let steps = parser.steps().and_then(|steps| match parser.rest {
            "" => Ok(steps),
            _ => Err("what follows is not understood"),
        });
        steps.map(|steps| Self { steps }).map_err(|problem| JsonPathError { path: text.to_owned(), problem })
    }

    /// The first value that the path finds. Fields that are missing find nothing.
    pub fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        follow(&self.steps, object).into_iter().next()
    }
}

fn follow<'a>(steps: &[Step], object: &'a Value) -> Vec<&'a Value> {
    let mut values = vec![object];
    for step in steps {
        let mut next = Vec::new();
        for value in values {
            step.apply(value, &mut next);
            if next.len() > MAX_VALUES {
                next.truncate(MAX_VALUES);
                break;
            }
        }
        values = next;
    }
    values
}

impl Step {
    fn apply<'a>(&self, value: &'a Value, found: &mut Vec<&'a Value>) {
        match (self, value) {
            (Self::Field(name), Value::Object(fields)) => found.extend(fields.get(name)),
            (Self::Fields(names), Value::Object(fields)) => {
                found.extend(names.iter().filter_map(|name| fields.get(name)));
            }
            (Self::All, Value::Object(fields)) => found.extend(fields.values().take(MAX_VALUES)),
            (Self::All, Value::Array(items)) => found.extend(items.iter().take(MAX_VALUES)),
            (Self::Index(index), Value::Array(items)) => {
                found.extend(position(*index, items.len()).and_then(|index| items.get(index)));
            }
            (Self::Slice { from, to, by }, Value::Array(items)) => {
                let bound = |bound: i64| match bound {
                    ..0 => items
                        .len()
                        .saturating_sub(usize::try_from(bound.unsigned_abs()).unwrap_or(usize::MAX)),
                    bound => usize::try_from(bound).unwrap_or(usize::MAX).min(items.len()),
                };
                let (from, to) = (bound(from.unwrap_or(0)), to.map_or(items.len(), bound));
                let by = usize::try_from(*by).unwrap_or(1).max(1);
                found.extend(items.get(from..to).into_iter().flatten().step_by(by).take(MAX_VALUES));
            }
            (Self::Descend, value) => descend(value, found, 0),
            (Self::Filter { left, comparison }, Value::Array(items)) => {
                let holds = |item: &&Value| matches(left, comparison.as_ref(), item);
                found.extend(items.iter().filter(holds).take(MAX_VALUES));
            }
            _ => {}
        }
    }
}

/// The index that a possibly negative one means. One before the first counts from the end.
fn position(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>, depth: usize) {
    if depth > MAX_DEPTH || found.len() > MAX_VALUES {
        return;
    }
    found.push(value);
    match value {
        Value::Object(fields) => fields.values().for_each(|field| descend(field, found, depth + 1)),
        Value::Array(items) => items.iter().for_each(|item| descend(item, found, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn matches(left: &Operand, comparison: Option<&(Comparison, Operand)>, item: &Value) -> bool {
    let Some(left) = left.value(item) else { return false };
    let Some((comparison, right)) = comparison else { return true };
    let Some(right) = right.value(item) else { return false };
    let order = match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right))
        }
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (left, right) if left == right => Some(Ordering::Equal),
        // Values of different types are neither equal nor ordered; they are only different.
        _ => return *comparison == Comparison::NotEqual,
    };
    order.is_some_and(|order| match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}

impl Operand {
    fn value<'a>(&'a self, item: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Path(steps) => follow(steps, item).into_iter().next(),
            Self::Literal(value) => Some(value),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    /// How many filters are open: they nest.
    depth: usize,
}

impl Parser<'_> {
    fn steps(&mut self) -> Result<Vec<Step>, &'static str> {
        let mut steps = Vec::new();
        self.eat("$");
        loop {
            if self.eat("..") {
                steps.push(Step::Descend);
                if self.eat("*") {
                    steps.push(Step::All);
                } else if !self.rest.starts_with('[') {
                    steps.push(Step::Field(self.field()?));
                }
            } else if self.eat(".") {
                if self.eat("*") {
                    steps.push(Step::All);
                } else if !self.rest.is_empty() && !self.rest.starts_with('[') {
                    steps.push(Step::Field(self.field()?));
                }
            } else if self.eat("[") {
                steps.push(self.brackets()?);
            } else {
                return Ok(steps);
            }
        }
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A field after a dot. A backslash makes the next character part of it.
    fn field(&mut self) -> Result<String, &'static str> {
        let mut name = String::new();
        let mut chars = self.rest.chars();
        while let Some(c) = chars.clone().next() {
            match c {
                '.' | '[' | ']' | ')' | ' ' | '=' | '!' | '<' | '>' | '@' | '{' | '}' | '|' | '&' => break,
                '\\' => {
                    chars.next();
                    name.push(chars.next().ok_or("it ends with a backslash")?);
                }
                c => {
                    chars.next();
                    name.push(c);
                }
            }
        }
        self.rest = chars.as_str();
        if name.is_empty() { Err("a field has no name") } else { Ok(name) }
    }

    /// What stands in brackets, after the first one.
    fn brackets(&mut self) -> Result<Step, &'static str> {
        self.spaces();
        let step = if self.eat("?(") {
            self.filter()?
        } else if self.rest.starts_with(['\'', '"']) {
            let mut names = vec![self.quoted()?];
            while self.comma() {
                names.push(self.quoted()?);
            }
            match names.len() {
                1 => Step::Field(names.swap_remove(0)),
                _ => Step::Fields(names),
            }
        } else if self.eat("*") {
            Step::All
        } else {
            self.index()?
        };
        self.spaces();
        if self.eat("]") { Ok(step) } else { Err("a bracket is not closed") }
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn comma(&mut self) -> bool {
        self.spaces();
        let comma = self.eat(",");
        self.spaces();
        comma
    }

    fn quoted(&mut self) -> Result<String, &'static str> {
        let quote =
            self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or("a quote is missing")?;
        let mut text = String::new();
        let mut chars = self.rest[1..].chars();
        loop {
            match chars.next() {
                None => return Err("a quote is not closed"),
                Some('\\') => text.push(chars.next().ok_or("a quote is not closed")?),
                Some(c) if c == quote => break,
                Some(c) => text.push(c),
            }
        }
        self.rest = chars.as_str();
        Ok(text)
    }

    fn index(&mut self) -> Result<Step, &'static str> {
        let first = self.integer()?;
        self.spaces();
        if !self.rest.starts_with(':') {
            return first.map(Step::Index).ok_or("an index is missing");
        }
        let mut bounds = [first, None, None];
        for bound in &mut bounds[1..] {
            if !self.eat(":") {
                break;
            }
            *bound = self.integer()?;
            self.spaces();
        }
        let [from, to, by] = bounds;
        match by.unwrap_or(1) {
            by @ 1.. => Ok(Step::Slice { from, to, by }),
            _ => Err("a step is not positive"),
        }
    }

    fn integer(&mut self) -> Result<Option<i64>, &'static str> {
        self.spaces();
        let digits = self.rest.strip_prefix(['-', '+']).unwrap_or(self.rest);
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let length = if length == 0 { 0 } else { self.rest.len() - digits.len() + length };
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| "an index is too large") }
    }

    /// What stands in a filter, after `?(`.
    fn filter(&mut self) -> Result<Step, &'static str> {
        const COMPARISONS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("its filters are nested too deeply");
        }
        let left = self.operand()?;
        self.spaces();
        let comparison =
            COMPARISONS.into_iter().find(|(text, _)| self.eat(text)).map(|(_, comparison)| comparison);
        let comparison =
            comparison.map(|comparison| self.operand().map(|right| (comparison, right))).transpose()?;
        self.spaces();
        self.depth -= 1;
        if self.eat(")") { Ok(Step::Filter { left, comparison }) } else { Err("a filter is not closed") }
    }

    fn operand(&mut self) -> Result<Operand, &'static str> {
        self.spaces();
        if self.eat("@") {
            return self.steps().map(Operand::Path);
        }
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(|text| Operand::Literal(text.into()));
        }
        let length = self.rest.find([')', ' ', '=', '!', '<', '>']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        match word {
            "true" => Ok(Operand::Literal(true.into())),
            "false" => Ok(Operand::Literal(false.into())),
            word => match serde_json::from_str::<serde_json::Number>(word) {
                Ok(number) => Ok(Operand::Literal(number.into())),
                Err(_) => Err("a filter compares with something that is no literal"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::JsonPath;

    #[track_caller]
    fn check(path: &str, want: impl Into<Option<Value>>) {
        let object = json!({
            "spec": {"x": 1, "a.b": 2, "list": [{"n": 1, "t": "A"}, {"n": 2, "t": "B", "deep": {"n": 9}}], "none": null},
        });
        let found = JsonPath::parse(path).unwrap_or_else(|error| panic!("{error}")).first(&object).cloned();
        assert_eq!(found, want.into(), "{path}");
    }

    #[test]
    fn paths_find_their_values() {
        check(".spec.x", json!(1));
        check("{.spec.x}", json!(1));
        check("$.spec.x", json!(1));
        check(".spec['a.b']", json!(2));
        check(r".spec.a\.b", json!(2));
        check(".spec.list[0].n", json!(1));
        check(".spec.list[-1].n", json!(2));
        check(".spec.list[*].n", json!(1));
        check(".spec.list[1:].n", json!(2));
        check(".spec.list[:1].t", json!("A"));
        check(".spec.list[?(@.t==\"B\")].n", json!(2));
        check(".spec.list[?(@.t == 'B')].n", json!(2));
        check(".spec.list[?(@.n>=2)].t", json!("B"));
        check(".spec.list[?(@.n<2)].t", json!("A"));
        check(".spec.list[?(@.n!=1)].t", json!("B"));
        check(".spec.list[?(@.deep)].n", json!(2));
        check(".spec.list[?(@.t==1)].n", None);
        check(".spec..deep.n", json!(9));
        check(".spec.none", json!(null));
        for missing in [".spec.y", ".spec.x.y", ".spec.list[7].n", ".spec.list[-7]", ".y.z", ".spec.list.n"] {
            check(missing, None);
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [
            ".a[",
            ".a[x]",
            ".a['b]",
            ".a[?(@.b==]",
            ".a[?(@.b",
            "a",
            ".a b",
            ".a[0:1:0]",
            ".a\\",
            ".a[?(x)]",
        ] {
            assert!(JsonPath::parse(text).is_err(), "{text}");
        }
        let nested = format!("{}{}", ".a[?(@".repeat(5000), "x");
        assert!(JsonPath::parse(&nested).is_err());
    }
}
