//! The label selector that specs embed as an object.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::Selector;
use super::requirement::{Operator, Requirement, RequirementError};

/// The `LabelSelector` of `meta/v1`: labels and expressions that must all be met.
///
/// This is what was written, right or wrong; convert it to a [`Selector`] to use it.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{LabelSelector, Selector};
///
/// let object: LabelSelector = serde_json::from_str(
///     r#"{"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]}"#,
/// )?;
/// assert_eq!(Selector::try_from(&object)?.to_string(), "app=web,!canary");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be there with exactly this value.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further conditions.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One expression of a [`LabelSelector`].
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{LabelSelectorOperator, LabelSelectorRequirement};
///
/// let expression = LabelSelectorRequirement {
///     key: "tier".into(),
///     operator: LabelSelectorOperator::In,
///     values: vec!["front".into(), "back".into()],
/// };
/// assert_eq!(serde_json::to_value(&expression)?["operator"], "In");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelectorRequirement {
    /// The label that is compared.
    #[serde(default, deserialize_with = "null_as_default")]
    pub key: String,
    /// How it is compared.
    #[serde(default = "LabelSelectorOperator::missing")]
    pub operator: LabelSelectorOperator,
    /// What it is compared with.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// The operator of a [`LabelSelectorRequirement`].
///
/// # Examples
///
/// ```
/// use lariat_api::labels::LabelSelectorOperator;
///
/// let unknown: LabelSelectorOperator = serde_json::from_str(r#""Like""#)?;
/// assert_eq!(unknown, LabelSelectorOperator::Other("Like".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum LabelSelectorOperator {
    /// The label has one of the values.
    In,
    /// The label is missing or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is missing.
    DoesNotExist,
    /// An operator that Kubernetes does not know; kept as it was written, and refused by the conversion.
    Other(String),
}

/// Why a [`LabelSelector`] cannot be converted.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{LabelSelector, LabelSelectorError, Selector};
///
/// let object: LabelSelector = serde_json::from_str(r#"{"matchExpressions": [{"key": "a", "operator": "Like"}]}"#)?;
/// let error = Selector::try_from(&object).unwrap_err();
/// assert_eq!(error, LabelSelectorError::UnknownOperator { key: "a".into(), operator: "Like".into() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelSelectorError {
    /// An expression has an operator that does not exist.
    #[error("label {key:?}: unknown operator {operator:?}; use In, NotIn, Exists or DoesNotExist")]
    UnknownOperator {
        /// The key of the expression.
        key: String,
        /// The operator as it was written.
        operator: String,
    },
    /// A key or a value is malformed, or the values do not fit the operator.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
    /// An expression says more than that a label has one value; only conversion to a map reports this.
    #[error("label {key:?}: {operator} with {values} values cannot be written as one pair of key and value")]
    NotAPair {
        /// The key of the expression.
        key: String,
        /// Its operator.
        operator: LabelSelectorOperator,
        /// How many values it has.
        values: usize,
    },
}

/// The selector as kubectl prints it: `<none>` if it selects everything or is absent, `<error>` if it is malformed.
///
/// # Examples
///
/// ```
/// use lariat_api::labels::{LabelSelector, format_label_selector};
///
/// let object: LabelSelector = serde_json::from_str(r#"{"matchLabels": {"app": "web"}}"#)?;
/// assert_eq!(format_label_selector(Some(&object)), "app=web");
/// assert_eq!(format_label_selector(None), "<none>");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn format_label_selector(selector: Option<&LabelSelector>) -> String {
    match Selector::from_label_selector(selector) {
        Ok(selector) if selector.is_empty() || selector.is_nothing() => "<none>".to_owned(),
        Ok(selector) => selector.to_string(),
        Err(_) => "<error>".to_owned(),
    }
}

impl LabelSelector {
    /// The selector as plain pairs, as older APIs (the `scale` subresource, replication controllers) want it.
    ///
    /// An `In` with a single value counts as a pair, and wins over the same key in `matchLabels`. Keys and values are
    /// taken as they are; the conversion to a [`Selector`] checks them.
    ///
    /// # Errors
    ///
    /// If an expression is not a pair, or its operator is unknown.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::LabelSelector;
    ///
    /// let object: LabelSelector =
    ///     serde_json::from_str(r#"{"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}"#)?;
    /// assert_eq!(object.as_map()?["app"], "web");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_map(&self) -> Result<BTreeMap<String, String>, LabelSelectorError> {
        let mut map = self.match_labels.clone();
        for expression in &self.match_expressions {
            let key = expression.key.clone();
            match (&expression.operator, expression.values.as_slice()) {
                (LabelSelectorOperator::In, [value]) => {
                    map.insert(key, value.clone());
                }
                (LabelSelectorOperator::Other(operator), _) => {
                    return Err(LabelSelectorError::UnknownOperator { key, operator: operator.clone() });
                }
                (operator, values) => {
                    return Err(LabelSelectorError::NotAPair {
                        key,
                        operator: operator.clone(),
                        values: values.len(),
                    });
                }
            }
        }
        Ok(map)
    }
}

impl TryFrom<&LabelSelector> for Selector {
    type Error = LabelSelectorError;

    fn try_from(object: &LabelSelector) -> Result<Self, LabelSelectorError> {
        let labels = object.match_labels.iter().map(|(key, value)| Ok(Requirement::equals(key, value)?));
        let expressions = object.match_expressions.iter().map(LabelSelectorRequirement::requirement);
        labels.chain(expressions).collect()
    }
}

// === impl LabelSelectorRequirement ===

impl LabelSelectorRequirement {
    fn requirement(&self) -> Result<Requirement, LabelSelectorError> {
        let operator = match &self.operator {
            LabelSelectorOperator::In => Operator::In,
            LabelSelectorOperator::NotIn => Operator::NotIn,
            LabelSelectorOperator::Exists => Operator::Exists,
            LabelSelectorOperator::DoesNotExist => Operator::DoesNotExist,
            LabelSelectorOperator::Other(operator) => {
                let (key, operator) = (self.key.clone(), operator.clone());
                return Err(LabelSelectorError::UnknownOperator { key, operator });
            }
        };
        Ok(Requirement::new(&self.key, operator, &self.values)?)
    }
}

// === impl LabelSelectorOperator ===

impl LabelSelectorOperator {
    /// The operator as it is written in an object.
    ///
    /// # Examples
    ///
    /// ```
    /// use lariat_api::labels::LabelSelectorOperator;
    ///
    /// assert_eq!(LabelSelectorOperator::DoesNotExist.as_str(), "DoesNotExist");
    /// ```
    pub fn as_str(&self) -> &str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Other(operator) => operator,
        }
    }

    fn missing() -> Self {
        Self::Other(String::new())
    }
}

impl From<String> for LabelSelectorOperator {
    fn from(operator: String) -> Self {
        match operator.as_str() {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            _ => Self::Other(operator),
        }
    }
}

impl From<LabelSelectorOperator> for String {
    fn from(operator: LabelSelectorOperator) -> Self {
        match operator {
            LabelSelectorOperator::Other(operator) => operator,
            known => known.as_str().to_owned(),
        }
    }
}

impl fmt::Display for LabelSelectorOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Servers and clients in Go write an empty list or map as null.
fn null_as_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}
