//! The rules that Kubernetes has for names.

const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                          alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or \
                          'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_1123: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
                              or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
                              regex used for validation is \
                              '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What keeps `text` from being a DNS label of RFC 1035.
pub(crate) fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 bytes".into());
    }
    if !text.starts_with(|c: char| c.is_ascii_lowercase()) || !is_label(text) {
        problems.push(LABEL_1035.into());
    }
    problems
}

/// What keeps `text` from being a DNS subdomain of RFC 1123.
pub(crate) fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push("must be no more than 253 bytes".into());
    }
    if !text.split('.').all(is_label) {
        problems.push(SUBDOMAIN_1123.into());
    }
    problems
}

/// What keeps `text` from being a segment of a URL's path.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let forbidden = ['/', '%'].into_iter().filter(|c| text.contains(*c));
    forbidden.map(|c| format!("may not contain '{c}'")).collect()
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && text.chars().all(|c| alphanumeric(c) || c == '-')
}

#[cfg(test)]
mod tests {
    use super::{dns1035_label, dns1123_subdomain};

    #[test]
    fn names_follow_the_rules() {
        for (text, label, subdomain) in [
            ("a", true, true),
            ("a-1", true, true),
            ("1a", false, true),
            ("a.b", false, true),
            ("a..b", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("A", false, false),
            ("", false, false),
        ] {
            assert_eq!(dns1035_label(text).is_empty(), label, "{text:?} as a label");
            assert_eq!(dns1123_subdomain(text).is_empty(), subdomain, "{text:?} as a subdomain");
        }
    }
}
