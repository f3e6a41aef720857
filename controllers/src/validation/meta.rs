use std::collections::BTreeMap;

use lariat::api::ObjectMeta;

use super::{Errors, FieldErrorKind};

/// The most bytes of all annotations together.
const ANNOTATIONS_SIZE: usize = 256 << 10;

/// The most bytes of the name of an object that is the value of a label on others.
const LABEL_VALUE_SIZE: usize = 63;

pub(super) fn name(errors: &mut Errors, meta: &ObjectMeta) {
    if meta.name.len() > LABEL_VALUE_SIZE {
        errors.add(FieldErrorKind::TooLong, "metadata.name", "must be no more than 63 characters");
    }
}

pub(super) fn object_meta(errors: &mut Errors, meta: &ObjectMeta, path: &str) {
    labels(errors, &meta.labels, &format!("{path}.labels"));
    annotations(errors, meta.annotations.iter(), &format!("{path}.annotations"));
}

pub(super) fn labels(errors: &mut Errors, labels: &BTreeMap<String, String>, path: &str) {
    for (key, value) in labels {
        for problem in qualified_name_problems(key) {
            errors.invalid(path, format!("{key:?}: {problem}"));
        }
        for problem in label_value_problems(value) {
            errors.invalid(path, format!("{value:?}: {problem}"));
        }
    }
}

pub(super) fn annotations<'a>(
    errors: &mut Errors,
    annotations: impl Iterator<Item = (&'a str, &'a str)>,
    path: &str,
) {
    let mut size = 0;
    for (key, value) in annotations {
        size += key.len() + value.len();
        for problem in qualified_name_problems(&key.to_lowercase()) {
            errors.invalid(path, format!("{key:?}: {problem}"));
        }
    }
    if size > ANNOTATIONS_SIZE {
        errors.add(FieldErrorKind::TooLong, path, "must have at most 262144 bytes");
    }
}

/// One for each thing that is wrong.
fn qualified_name_problems(key: &str) -> Vec<&'static str> {
    let mut problems = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match *parts {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("the prefix must not be empty");
            } else {
                if prefix.len() > 253 {
                    problems.push("the prefix must be no more than 253 characters");
                }
                if !prefix.split('.').all(is_dns_label) {
                    problems.push("the prefix must be a DNS name in lower case");
                }
            }
            name
        }
        _ => return vec!["want a name, or a prefix, '/' and a name"],
    };
    if name.is_empty() {
        problems.push("the name must not be empty");
    } else if name.len() > LABEL_VALUE_SIZE {
        problems.push("the name must be no more than 63 characters");
    }
    if !is_name(name) {
        problems
            .push("the name must be letters, digits, '-', '_' and '.', and begin and end with the first two");
    }
    problems
}

fn label_value_problems(value: &str) -> Vec<&'static str> {
    let mut problems = Vec::new();
    if value.len() > LABEL_VALUE_SIZE {
        problems.push("must be no more than 63 characters");
    }
    if !value.is_empty() && !is_name(value) {
        problems.push("must be letters, digits, '-', '_' and '.', and begin and end with the first two");
    }
    problems
}

fn is_name(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

pub(super) fn is_dns_label(text: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
}
