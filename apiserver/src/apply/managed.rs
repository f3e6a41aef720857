use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::fields_v1::FieldsError;
use super::time;

/// How a manager came to own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply: what the manager no longer applies goes.
    Apply,
    /// Create, update and the other patches.
    Update,
}

/// One entry of `metadata.managedFields`: who owns which fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedEntry {
    /// The name of the manager.
    pub manager: String,
    /// How it came to own the fields.
    pub operation: Operation,
    /// The version of the API in which the fields are named.
    pub api_version: String,
    /// When it last changed something, as an RFC 3339 time.
    pub time: Option<String>,
    /// The subresource through which it wrote, `""` for the object itself.
    pub subresource: String,
    /// The fields.
    pub fields: FieldSet,
}

/// The owners of an object's fields: `metadata.managedFields`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedFields {
    entries: Vec<ManagedEntry>,
}

/// Why `managedFields` cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManagedFieldsError {
    /// It is no list of objects.
    #[error("managedFields must be a list of objects")]
    BadShape,
    /// An entry has an operation that does not exist.
    #[error("operation must be `Apply` or `Update`")]
    BadOperation,
    /// An entry has no apiVersion.
    #[error("apiVersion must not be empty")]
    NoApiVersion,
    /// An entry does not say of which form its fields are.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    /// An entry's fields are of a form that does not exist.
    #[error("invalid fieldsType {1:?} in managed fields entry {0}")]
    BadFieldsType(usize, String),
    /// An entry's fields cannot be read.
    #[error("error decoding set: {0}")]
    BadFields(#[from] FieldsError),
}

impl ManagedFields {
    /// Reads `metadata.managedFields`.
    ///
    /// # Errors
    ///
    /// If it is not what the API server would have written. Absent or null is read as empty.
    pub fn decode(list: Option<&Value>) -> Result<Self, ManagedFieldsError> {
        let entries = match list {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Array(entries)) => entries,
            Some(_) => return Err(ManagedFieldsError::BadShape),
        };
        let mut managed = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            managed.set(ManagedEntry::decode(index, entry)?);
        }
        Ok(managed)
    }

    /// Reads the `managedFields` of an object.
    ///
    /// # Errors
    ///
    /// As [`ManagedFields::decode`].
    pub fn of(object: &Value) -> Result<Self, ManagedFieldsError> {
        Self::decode(object.get("metadata").and_then(|metadata| metadata.get("managedFields")))
    }

    /// The list as an object holds it: those who apply first, then by time and name.
    pub fn encode(&self) -> Value {
        let mut entries: Vec<&ManagedEntry> = self.entries.iter().collect();
        entries.sort_by(|left, right| left.rank().cmp(&right.rank()));
        Value::Array(entries.into_iter().map(ManagedEntry::encode).collect())
    }

    /// Writes the list into an object in place of the one that it has; none is written if it is empty.
    pub fn write_to(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        if self.entries.is_empty() {
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.remove("managedFields");
            }
            return;
        }
        let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(metadata) = metadata {
            metadata.insert("managedFields".into(), self.encode());
        }
    }

    /// The entries, in no order that matters.
    pub fn entries(&self) -> &[ManagedEntry] {
        &self.entries
    }

    /// Whether nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn entries_mut(&mut self) -> &mut Vec<ManagedEntry> {
        &mut self.entries
    }

    /// The entry of the same manager as another entry's.
    pub(crate) fn find_mut(&mut self, like: &ManagedEntry) -> Option<&mut ManagedEntry> {
        self.entries.iter_mut().find(|entry| entry.is_same_manager(like))
    }

    /// Puts an entry in the place of its manager's entry.
    pub(crate) fn set(&mut self, entry: ManagedEntry) {
        match self.find_mut(&entry) {
            Some(previous) => *previous = entry,
            None => self.entries.push(entry),
        }
    }
}

impl ManagedEntry {
    /// Whether two entries are of one manager: it is known by its name, operation and subresource, and unless it applies
    /// by the version that it uses.
    pub(crate) fn is_same_manager(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// What entries are sorted by.
    pub(crate) fn rank(&self) -> (Operation, i64, &str, &str, &str) {
        (self.operation, self.seconds(), &self.manager, &self.api_version, &self.subresource)
    }

    pub(crate) fn seconds(&self) -> i64 {
        self.time.as_deref().and_then(time::seconds).unwrap_or_default()
    }

    fn decode(index: usize, entry: &Value) -> Result<Self, ManagedFieldsError> {
        if !entry.is_object() {
            return Err(ManagedFieldsError::BadShape);
        }
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let operation = match text("operation").as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(ManagedFieldsError::BadOperation),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err(ManagedFieldsError::NoApiVersion);
        }
        match text("fieldsType") {
            fields_type if fields_type == "FieldsV1" => {}
            fields_type if fields_type.is_empty() => return Err(ManagedFieldsError::NoFieldsType(index)),
            fields_type => return Err(ManagedFieldsError::BadFieldsType(index, fields_type)),
        }
        let fields = match entry.get("fieldsV1") {
            None | Some(Value::Null) => FieldSet::new(),
            Some(fields) => FieldSet::from_fields_v1(fields)?,
        };
        let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
        let (manager, subresource) = (text("manager"), text("subresource"));
        Ok(Self { manager, operation, api_version, time, subresource, fields })
    }

    fn encode(&self) -> Value {
        let mut entry = Map::new();
        let operation = match self.operation {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        };
        entry.insert("manager".into(), self.manager.as_str().into());
        entry.insert("operation".into(), operation.into());
        entry.insert("apiVersion".into(), self.api_version.as_str().into());
        if let Some(time) = &self.time {
            entry.insert("time".into(), time.as_str().into());
        }
        entry.insert("fieldsType".into(), "FieldsV1".into());
        entry.insert("fieldsV1".into(), self.fields.to_fields_v1());
        if !self.subresource.is_empty() {
            entry.insert("subresource".into(), self.subresource.as_str().into());
        }
        Value::Object(entry)
    }
}
