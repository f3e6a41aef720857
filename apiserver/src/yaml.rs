//! Values in YAML, for clients that accept nothing else.

use serde_json::Value;

/// A value as a document: mappings and sequences in blocks, texts in quotes unless they can mean nothing else.
pub(crate) fn document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => block(&mut out, value, 0),
        Value::Array(items) if !items.is_empty() => block(&mut out, value, 0),
        scalar => {
            put_scalar(&mut out, scalar);
            out.push('\n');
        }
    }
    out
}

/// What is not empty, on lines of its own.
fn block(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                indent(out, depth);
                put_text(out, name);
                out.push(':');
                rest(out, value, depth + 1);
            }
        }
        Value::Array(items) => {
            for item in items {
                indent(out, depth);
                out.push('-');
                rest(out, item, depth + 1);
            }
        }
        scalar => put_scalar(out, scalar),
    }
}

/// What follows a name or a dash.
fn rest(out: &mut String, value: &Value, depth: usize) {
    let is_block = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if is_block {
        out.push('\n');
        block(out, value, depth);
    } else {
        out.push(' ');
        put_scalar(out, value);
        out.push('\n');
    }
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn put_scalar(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => put_text(out, text),
        // What is empty, and what is no text, is written as in JSON.
        other => out.push_str(&other.to_string()),
    }
}

fn put_text(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        // The quotes and escapes of JSON are those of YAML.
        out.push_str(&Value::from(text).to_string());
    }
}

/// Whether a text means itself without quotes, in every version of YAML.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter))
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_in_blocks() {
        let value = json!({
            "apiVersion": "v1", "empty": {}, "list": [{"a": 1, "b": ["x", []]}, "yes", -1.5, null],
            "text": "a: b", "n": "12",
        });
        let expected = "apiVersion: v1\nempty: {}\nlist:\n  -\n    a: 1\n    b:\n      - x\n      - []\n  - \"yes\"\n  - -1.5\n  - null\n\
                        \"n\": \"12\"\ntext: \"a: b\"\n";
        assert_eq!(document(&value), expected);
        assert_eq!(document(&json!({})), "{}\n");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let texts = [
            "",
            " ",
            "a",
            "true",
            "No",
            "1",
            "0x1",
            "1e3",
            "-",
            "- a",
            "a: b",
            "a #b",
            "#",
            "\n",
            "a\nb\n",
            "\t\"'\\",
            "é \u{1F600}",
            "\u{7}",
            "[",
            "{}",
            "!tag",
            "&a",
            "*a",
            "%",
            "@",
            "`",
            "|",
            ">",
            "2026-01-01",
            "~",
            "=",
            "<<",
            "1_000",
            ".inf",
            "a/b.c-d_e",
        ];
        let list: Value = texts.iter().map(|text| Value::from(*text)).collect();
        let named: serde_json::Map<String, Value> =
            texts.iter().map(|text| ((*text).to_owned(), json!([{"a": *text}, [[*text]]]))).collect();
        for value in [list, named.into(), json!([1, u64::MAX, i64::MIN, 0.5, true, [], {}, [[[]]]])] {
            let read: Value = serde_saphyr::from_str(&document(&value)).unwrap();
            assert_eq!(read, value, "{}", document(&value));
        }
    }
}
