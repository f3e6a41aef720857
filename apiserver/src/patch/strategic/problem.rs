use serde_json::Value;

use crate::patch::PatchError;

/// What can be wrong with a strategic merge patch, in the API server's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("invalid patch format of primitive list")]
    BadPrimitiveList,
    #[error("invalid patch format of retainKeys")]
    BadRetainKeys,
    #[error("invalid patch format of setElementOrder list")]
    BadSetOrder,
    #[error("lists of lists are not supported")]
    ListOfLists,
    #[error("unknown patch type: {0} in map: {1}")]
    UnknownDirective(String, String),
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirective,
    #[error("map: {0} does not contain declared merge key: {1}")]
    NoMergeKey(String, &'static str),
    #[error("cannot merge lists without merge key")]
    NoKeyDeclared,
    #[error("list element types are not identical: {0}")]
    MixedItems(String),
    #[error("The order in patch list:\n{0}\n doesn't match $setElementOrder list:\n{1}\n")]
    OrderDiffers(String, String),
    #[error("expected a {0}, but received a {1}")]
    WrongType(String, String),
}

impl Problem {
    pub(super) fn wrong_type(expected: &str, found: &str) -> Self {
        Self::WrongType(expected.into(), found.into())
    }
}

impl From<Problem> for PatchError {
    fn from(problem: Problem) -> Self {
        let text = problem.to_string();
        match problem {
            Problem::BadPrimitiveList | Problem::BadRetainKeys | Problem::BadSetOrder => {
                Self::Malformed(text)
            }
            Problem::ListOfLists => Self::Rejected(text),
            _ => Self::Failed(text),
        }
    }
}

/// A value as Go prints it.
pub(crate) fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", join(items.iter().map(go_text))),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}:{}", go_text(value)));
            format!("map[{}]", join(fields))
        }
        value => value.to_string(),
    }
}

fn join(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(" ")
}
