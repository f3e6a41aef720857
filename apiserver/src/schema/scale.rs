//! The scale of a custom resource, as an object of its own.

use serde_json::{Map, Value, json};

use super::definition::ScalePaths;
use super::error::FieldError;
use super::path::FieldPath;
use super::text::{GoNumber, go_type, plain};

/// Why an object has no scale, or cannot be given one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// The wanted number is not there: an internal error on reading, a bad request on writing.
    #[error("the spec replicas field {0:?} does not exist")]
    NoReplicas(String),
    /// A field has the wrong type.
    #[error("{path} accessor error: {value} is of the type {found}, expected {expected}")]
    Type {
        /// The field, with a dot before it.
        path: String,
        /// What is there.
        value: String,
        /// Its type.
        found: &'static str,
        /// The type that it should have.
        expected: &'static str,
    },
    /// There is no place for the number, because something on the way is no structure.
    #[error("value cannot be set because {0} is not a map[string]interface{{}}")]
    NoPlace(String),
    /// The scale holds something else than a number of 32 bits.
    #[error("spec.replicas must be a number of 32 bits")]
    NoNumber,
}

/// The scale of an object: `Scale` of `autoscaling/v1`.
///
/// # Errors
///
/// If the wanted number is missing, or a number or the selector is of the wrong type.
///
/// # Example
///
/// ```
/// use lariat_apiserver::schema::{ScalePaths, apply_scale, scale};
/// use serde_json::json;
///
/// let paths = ScalePaths {
///     spec_replicas_path: ".spec.size".into(),
///     status_replicas_path: ".status.size".into(),
///     ..ScalePaths::default()
/// };
/// let mut object = json!({"metadata": {"name": "w"}, "spec": {"size": 3}});
/// let mut scaled = scale(&paths, &object)?;
/// assert_eq!(scaled["spec"]["replicas"], json!(3));
/// scaled["spec"]["replicas"] = json!(5);
/// apply_scale(&paths, &mut object, &scaled)?;
/// assert_eq!(object["spec"]["size"], json!(5));
/// # Ok::<(), lariat_apiserver::schema::ScaleError>(())
/// ```
pub fn scale(paths: &ScalePaths, object: &Value) -> Result<Value, ScaleError> {
    let wanted = integer(object, &paths.spec_replicas_path)?;
    let observed = integer(object, &paths.status_replicas_path)?.unwrap_or(0);
    let selector = match paths.label_selector_path.as_deref() {
        None | Some("") => None,
        Some(path) => string(object, path)?,
    };
    let wanted = wanted.ok_or_else(|| ScaleError::NoReplicas(paths.spec_replicas_path.clone()))?;

    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.get("metadata").and_then(|metadata| metadata.get(field)) {
            metadata.insert(field.into(), value.clone());
        }
    }
    // What is absent or zero is not written.
    let part = |replicas: i64| if replicas == 0 { json!({}) } else { json!({"replicas": replicas as i32}) };
    let mut status = json!({"replicas": observed as i32});
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status["selector"] = selector.into();
    }
    Ok(json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": part(wanted),
        "status": status,
    }))
}

/// Takes the wanted number from a scale into the object. A number that the object may not have, such as a negative one, is found when the object is
/// validated: the server does not validate the scale itself.
///
/// # Errors
///
/// If the scale's number is not one, or there is no place for it in the object.
pub fn apply_scale(paths: &ScalePaths, object: &mut Value, scale: &Value) -> Result<(), ScaleError> {
    let replicas = match scale.pointer("/spec/replicas") {
        None | Some(Value::Null) => 0,
        Some(value) => {
            value.as_i64().and_then(|replicas| i32::try_from(replicas).ok()).ok_or(ScaleError::NoNumber)?
        }
    };
    let (mut at, mut value) = (String::new(), object);
    for name in segments(&paths.spec_replicas_path) {
        if value.is_null() {
            *value = json!({});
        }
        let Value::Object(fields) = value else { return Err(ScaleError::NoPlace(at)) };
        at = format!("{at}.{name}");
        value = fields.entry(name).or_insert(Value::Null);
    }
    *value = replicas.into();
    Ok(())
}

/// Takes the resource version of a scale into the object, if it has one, so that a conflict is found.
pub fn apply_scale_version(object: &mut Value, scale: &Value) {
    let version = scale.pointer("/metadata/resourceVersion").filter(|version| version.as_str() != Some(""));
    if let (Some(version), Some(metadata)) =
        (version, object.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.insert("resourceVersion".into(), version.clone());
    }
}

/// What is wrong with the parts of an object that its scale is made of, the spec's before the status'.
pub fn validate_scale_fields(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    let mut errors = validate_scale_spec(paths, object);
    errors.extend(validate_scale_status(paths, object));
    errors
}

pub(crate) fn validate_scale_spec(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    validate_replicas(&paths.spec_replicas_path, object).into_iter().collect()
}

pub(crate) fn validate_scale_status(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    let mut errors: Vec<_> = validate_replicas(&paths.status_replicas_path, object).into_iter().collect();
    if let Some(path) = &paths.label_selector_path
        && let Err(error) = string(object, path)
    {
        errors.push(FieldError::invalid(&FieldPath::new(path), "", error.to_string()));
    }
    errors
}

fn validate_replicas(path: &str, object: &Value) -> Option<FieldError> {
    let field = FieldPath::new(path);
    match integer(object, path) {
        Err(error) => Some(FieldError::invalid(&field, 0, error.to_string())),
        Ok(Some(replicas @ ..0)) => {
            Some(FieldError::invalid(&field, replicas, "should be a non-negative integer"))
        }
        Ok(Some(replicas)) if replicas > i64::from(i32::MAX) => Some(FieldError::invalid(
            &field,
            replicas,
            format!("should be less than or equal to {}", i32::MAX),
        )),
        Ok(_) => None,
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// The value at a path. It is an error if something on the way is no structure.
fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, ScaleError> {
    let mut value = object;
    let mut at = String::new();
    for name in segments(path) {
        at = format!("{at}.{name}");
        match value {
            Value::Object(fields) => match fields.get(name) {
                Some(field) => value = field,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => return Err(wrong_type(&at, other, "map[string]interface{}")),
        }
    }
    Ok(Some(value))
}

fn integer(object: &Value, path: &str) -> Result<Option<i64>, ScaleError> {
    match nested(object, path)? {
        None => Ok(None),
        Some(Value::Number(number)) if matches!(GoNumber::of(number), GoNumber::Int(_)) => {
            Ok(number.as_i64())
        }
        Some(other) => Err(wrong_type(path, other, "int64")),
    }
}

fn string<'a>(object: &'a Value, path: &str) -> Result<Option<&'a str>, ScaleError> {
    match nested(object, path)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(path, other, "string")),
    }
}

fn wrong_type(path: &str, value: &Value, expected: &'static str) -> ScaleError {
    let path = format!(".{}", path.strip_prefix('.').unwrap_or(path));
    ScaleError::Type { path, value: plain(value), found: go_type(value), expected }
}
