//! Custom resources as rows of a table.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;

use super::definition::PrinterColumn;
use super::jsonpath::JsonPath;
use super::text::{self, GoNumber};
use super::time;

const NAME_DESCRIPTION: &str = "The object's name, which no other of its kind in the namespace has.";
const AGE_DESCRIPTION: &str = "How long ago the object was created.";

/// The columns of the table of a version.
///
/// # Example
///
/// ```
/// use std::time::SystemTime;
/// use lariat_apiserver::schema::{PrinterColumn, TableColumns};
/// use serde_json::json;
///
/// let size = PrinterColumn {
///     name: "Size".into(),
///     column_type: "integer".into(),
///     json_path: ".spec.size".into(),
///     ..PrinterColumn::default()
/// };
/// let columns = TableColumns::new(&[size]);
/// let object = json!({"metadata": {"name": "w"}, "spec": {"size": 3}});
/// assert_eq!(columns.cells(&object, SystemTime::UNIX_EPOCH), [json!("w"), json!(3)]);
/// ```
#[derive(Debug, Clone)]
pub struct TableColumns {
    definitions: Vec<ColumnDefinition>,
    paths: Vec<JsonPath>,
}

/// A column, as a `Table` of `meta.k8s.io/v1` describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ColumnDefinition {
    /// The heading.
    pub name: String,
    /// The type of the cells.
    #[serde(rename = "type")]
    pub column_type: String,
    /// More about the type.
    pub format: String,
    /// What the column shows.
    pub description: String,
    /// 0 if the column is shown always, more if only in a wide table.
    pub priority: i32,
}

impl TableColumns {
    /// The name, and a column for each of the definition's. A definition without columns gets the age.
    ///
    /// As on the server, a path that is not understood ends the columns: only the name is shown then.
    pub fn new(columns: &[PrinterColumn]) -> Self {
        let age = [PrinterColumn {
            name: "Age".into(),
            column_type: "date".into(),
            description: AGE_DESCRIPTION.into(),
            json_path: ".metadata.creationTimestamp".into(),
            ..PrinterColumn::default()
        }];
        let columns = if columns.is_empty() { &age[..] } else { columns };
        let name = ColumnDefinition {
            name: "Name".into(),
            column_type: "string".into(),
            format: "name".into(),
            description: NAME_DESCRIPTION.into(),
            priority: 0,
        };
        let mut this = Self { definitions: vec![name], paths: Vec::new() };
        for column in columns {
            let Ok(path) = JsonPath::parse(&column.json_path) else { break };
            let described = match column.description.as_str() {
                "" => format!("Custom resource definition column (in JSONPath format): {}", column.json_path),
                description => description.to_owned(),
            };
            this.paths.push(path);
            this.definitions.push(ColumnDefinition {
                name: column.name.clone(),
                column_type: column.column_type.clone(),
                format: column.format.clone(),
                description: described,
                priority: column.priority,
            });
        }
        this
    }

    /// What the columns are.
    pub fn definitions(&self) -> &[ColumnDefinition] {
        &self.definitions
    }

    /// The cells of an object's row.
    pub fn cells(&self, object: &Value, now: SystemTime) -> Vec<Value> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let types = self.definitions.iter().skip(1).map(|column| column.column_type.as_str());
        let cells = self.paths.iter().zip(types).map(|(path, column_type)| {
            path.first(object).map_or(Value::Null, |value| cell(column_type, value, now))
        });
        std::iter::once(name.into()).chain(cells).collect()
    }
}

fn cell(column_type: &str, value: &Value, now: SystemTime) -> Value {
    match (column_type, value) {
        // What is null prints like this in Go's templates.
        ("string", Value::Null) => "<no value>".into(),
        ("string", Value::Array(_) | Value::Object(_)) => text::json(value).into(),
        ("string", value) => text::plain(value).into(),
        ("integer", Value::Number(number)) => match GoNumber::of(number) {
            GoNumber::Int(int) => int.into(),
            GoNumber::Float(float) => (float as i64).into(),
        },
        ("number", Value::Number(number)) => match number.as_f64() {
            // Go writes a float that is whole without a fraction.
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => (float as i64).into(),
            float => float.into(),
        },
        ("boolean", Value::Bool(flag)) => (*flag).into(),
        ("date", Value::String(text)) => match text.as_str() {
            "" => "<unknown>".into(),
            text => time::age(text, now).into(),
        },
        _ => Value::Null,
    }
}
