//! The rules for names, keys and values in built-in kinds, and what the server says to those that break them.

use crate::schema::shared::dns1123_subdomain;

const LABEL_1123: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                          must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
                          used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                           '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                           'my_value',  or '12345', regex used for validation is \
                           '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
                          'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
                          '[-._a-zA-Z0-9]+')";

/// What keeps `text` from being a DNS subdomain.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    let problems = dns1123_subdomain(text);
    // The names of typed objects are counted in characters; keys, and the names of custom resources, in bytes.
    problems
        .into_iter()
        .map(|problem| problem.replace("more than 253 bytes", "more than 253 characters"))
        .collect()
}

/// What keeps `text` from being a DNS label that may begin with a digit.
pub(crate) fn label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 characters".into());
    }
    let framed = text.split('.').all(is_label_part);
    if !framed {
        problems.push(LABEL_1123.into());
    } else if text.contains('.') {
        problems.push("must not contain dots".into());
    }
    problems
}

fn is_label_part(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    framed(text, inner, |byte| inner(byte) || byte == b'-')
}

fn framed(text: &str, ends: impl Fn(u8) -> bool, all: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| ends(*byte))
        && bytes.last().is_some_and(|byte| ends(*byte))
        && bytes.iter().all(|byte| all(*byte))
}

fn is_qualified_part(text: &str) -> bool {
    framed(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
    )
}

/// What keeps `text` from being the key of a label: a name with an optional prefix.
pub(crate) fn qualified(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            problems.push("prefix part must be non-empty".into());
            name
        }
        Some((prefix, name)) => {
            problems.extend(
                dns1123_subdomain(prefix).into_iter().map(|problem| format!("prefix part {problem}")),
            );
            name
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".into());
    }
    if !is_qualified_part(name) {
        problems.push(format!("name part {QUALIFIED}"));
    }
    problems
}

/// What keeps `text` from being the value of a label.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 bytes".into());
    }
    if !text.is_empty() && !is_qualified_part(text) {
        problems.push(LABEL_VALUE.into());
    }
    problems
}

/// What keeps `text` from being a key of a config map or secret.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push("must be no more than 253 characters".into());
    }
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(known) {
        problems.push(CONFIG_KEY.into());
    }
    match text {
        "." => problems.push("must not be '.'".into()),
        ".." => problems.push("must not be '..'".into()),
        text if text.starts_with("..") => problems.push("must not start with '..'".into()),
        _ => {}
    }
    problems
}

/// What keeps `text` from being the name of a port.
pub(crate) fn port_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 15 {
        problems.push("must be no more than 15 characters".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".into());
    }
    if text.contains("--") {
        problems.push("must not contain consecutive hyphens".into());
    }
    if text.starts_with('-') || text.ends_with('-') {
        problems.push("must not begin or end with a hyphen".into());
    }
    problems
}

/// What keeps `text` from being the name of an environment variable.
pub(crate) fn env_name(text: &str) -> Vec<String> {
    let printable = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'=';
    match text.bytes().all(printable) {
        true => Vec::new(),
        false => vec![
            "a valid environment variable name must consist only of printable ASCII characters other than '='".into(),
        ],
    }
}
