//! OpenAPI v2, which kubectl still asks for to check lists of objects before it sends them: the same schemas, without what
//! that version cannot say, in JSON or in its protobuf form.

use serde_json::{Map, Value, json};

use super::document;
use crate::kinds::Kinds;

/// What an answer in protobuf is called.
pub(crate) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// What clients ask for it by.
pub(crate) const ACCEPTED: [&str; 2] =
    [PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"];

const KINDS: &str = "x-kubernetes-group-version-kind";

/// All that is served.
pub(crate) fn all(kinds: &Kinds) -> Value {
    let mut definitions = Map::new();
    for (group, version) in kinds.group_versions() {
        let schemas =
            document(kinds, group, version).map(|mut document| document["components"]["schemas"].take());
        let Some(Value::Object(schemas)) = schemas else { continue };
        definitions.extend(schemas.into_iter().map(|(name, schema)| (name, converted(&schema))));
    }
    json!({
        "swagger": "2.0", "info": {"title": "Lariat", "version": "v1.36.0"}, "paths": {},
        "definitions": definitions,
    })
}

/// A schema without what v2 cannot say: there, less is checked.
fn converted(schema: &Value) -> Value {
    if let Some(name) = reference(schema).or_else(|| reference(&schema["allOf"][0])) {
        return json!({"$ref": format!("#/definitions/{name}")});
    }
    let flag = |name: &str| schema[name] == true;
    let mut out = Map::new();
    // Amounts are texts there, and numbers too where the format says so.
    if schema["oneOf"].is_array() && schema["type"].is_null() && schema["properties"].is_null() {
        out.insert("type".into(), "string".into());
    }
    let is_open = flag("nullable") || flag("x-kubernetes-preserve-unknown-fields");
    for (name, value) in schema.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "type" if flag("nullable") || flag("x-kubernetes-int-or-string") => continue,
            "properties" | "items" | "additionalProperties" if is_open => continue,
            "properties" => {
                let fields = value.as_object().into_iter().flatten();
                Value::Object(fields.map(|(name, schema)| (name.clone(), converted(schema))).collect())
            }
            "items" | "additionalProperties" if value.is_object() => converted(value),
            "type" | "format" | "description" | "required" | "enum" | KINDS => value.clone(),
            _ => continue,
        };
        out.insert(name.clone(), value);
    }
    out.into()
}

fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

/// A document in protobuf.
pub(crate) fn encode(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, 1, &document["swagger"]);
    put(&mut out, 2, |info| {
        put_text(info, 1, &document["info"]["title"]);
        put_text(info, 2, &document["info"]["version"]);
    });
    put(&mut out, 8, |_| {});
    put(&mut out, 9, |definitions| put_named(definitions, &document["definitions"]));
    out
}

/// Schemas with their names.
fn put_named(out: &mut Vec<u8>, schemas: &Value) {
    for (name, schema) in schemas.as_object().into_iter().flatten() {
        put(out, 1, |named| {
            put_bytes(named, 1, name.as_bytes());
            put(named, 2, |out| put_schema(out, schema));
        });
    }
}

fn put_schema(out: &mut Vec<u8>, schema: &Value) {
    put_text(out, 1, &schema["$ref"]);
    put_text(out, 2, &schema["format"]);
    put_text(out, 4, &schema["description"]);
    for field in schema["required"].as_array().into_iter().flatten() {
        put_text(out, 19, field);
    }
    if schema["additionalProperties"].is_object() {
        put(out, 21, |item| put(item, 1, |out| put_schema(out, &schema["additionalProperties"])));
    }
    if schema["type"].is_string() {
        put(out, 22, |item| put_text(item, 1, &schema["type"]));
    }
    if schema["items"].is_object() {
        put(out, 23, |item| put(item, 1, |out| put_schema(out, &schema["items"])));
    }
    if schema["properties"].is_object() {
        put(out, 25, |properties| put_named(properties, &schema["properties"]));
    }
    if schema[KINDS].is_array() {
        put(out, 31, |named| {
            put_bytes(named, 1, KINDS.as_bytes());
            // A text in YAML, of which JSON is a part.
            put(named, 2, |any| put_bytes(any, 2, schema[KINDS].to_string().as_bytes()));
        });
    }
}

fn put(out: &mut Vec<u8>, number: u64, content: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    content(&mut bytes);
    put_bytes(out, number, &bytes);
}

fn put_text(out: &mut Vec<u8>, number: u64, text: &Value) {
    if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
        put_bytes(out, number, text.as_bytes());
    }
}

fn put_bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_number(out, number << 3 | 2);
    put_number(out, bytes.len() as u64);
    out.extend(bytes);
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_v2_cannot_say_is_left_out() {
        let quantity = json!({"oneOf": [{"type": "string"}, {"type": "number"}]});
        assert_eq!(converted(&quantity), json!({"type": "string"}));
        let reference = json!({"$ref": "#/definitions/a.B"});
        assert_eq!(converted(&json!({"allOf": [{"$ref": "#/components/schemas/a.B"}]})), reference);
        let open = json!({"type": "object", "nullable": true, "properties": {"a": {}}, "minimum": 1});
        assert_eq!(converted(&open), json!({}));
        let list = json!({"type": "array", "items": {"type": "string", "pattern": "x"}});
        assert_eq!(converted(&list), json!({"type": "array", "items": {"type": "string"}}));
    }

    #[test]
    fn a_document_in_protobuf() {
        let schema = json!({"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}});
        let document =
            json!({"swagger": "2.0", "info": {"title": "T", "version": "v"}, "definitions": {"A": schema}});
        let expected = [
            &b"\x0a\x032.0"[..],                      // swagger
            b"\x12\x06\x0a\x01T\x12\x01v",            // info
            b"\x42\x00",                              // no paths
            b"\x4a\x2b\x0a\x29\x0a\x01A\x12\x24",     // a definition, its name, its schema
            b"\x9a\x01\x01b",                         // required
            b"\xb2\x01\x08\x0a\x06object",            // type
            b"\xca\x01\x12\x0a\x10\x0a\x01b\x12\x0b", // a property, its name, its schema
            b"\xb2\x01\x08\x0a\x06string",            // type
        ];
        assert_eq!(encode(&document), expected.concat());
    }
}
