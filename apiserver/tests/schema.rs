//! What schemas do with objects, keyword by keyword.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use lariat_api::Randomness;
use lariat_apiserver::schema::{
    CelRule, CustomResource, CustomResourceDefinition, FieldError, ListType, MapType, SchemaError, Segment,
    StructuralSchema, duplicate_fields, invalid_status, strict_status,
};
use serde_json::{Map, Value, json};

fn parse(schema: &Value) -> StructuralSchema {
    StructuralSchema::parse(schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// A schema whose field `f` has the given schema.
fn field(schema: Value) -> StructuralSchema {
    parse(&json!({"type": "object", "properties": {"f": schema}}))
}

/// What is wrong with a value under a schema, as one text.
#[track_caller]
fn check(schema: Value, value: Value, want: &[&str]) {
    let errors = field(schema.clone()).validate(&json!({"f": value}));
    let errors: Vec<_> = errors.iter().map(FieldError::to_string).collect();
    assert_eq!(errors, want, "{value} under {schema}");
}

#[track_caller]
fn check_pruned(schema: Value, mut object: Value, want: Value, dropped: &[&str]) {
    let schema = parse(&schema);
    assert_eq!(schema.prune(&mut object), dropped);
    assert_eq!(object, want);
}

#[track_caller]
fn check_defaulted(schema: Value, mut object: Value, want: Value) {
    parse(&schema).default(&mut object);
    assert_eq!(object, want);
}

// === Types ===

#[test]
fn each_type_takes_its_own_values_only() {
    let values = [
        ("string", json!("x")),
        ("integer", json!(1)),
        ("number", json!(1.5)),
        ("boolean", json!(true)),
        ("array", json!([])),
        ("object", json!({})),
    ];
    for (wanted, _) in &values {
        for (found, value) in &values {
            let schema = match *wanted {
                "array" => json!({"type": "array", "items": {"type": "string"}}),
                wanted => json!({"type": wanted}),
            };
            let fits = wanted == found || (*wanted, *found) == ("number", "integer");
            let error =
                format!("f: Invalid value: \"{found}\": f in body must be of type {wanted}: \"{found}\"");
            check(
                schema,
                value.clone(),
                if fits { &[] } else { std::slice::from_ref(&error) }
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .as_slice(),
            );
        }
    }
    check(json!({"type": "integer"}), json!(2.0), &[]);
    check(
        json!({"type": "integer"}),
        json!(u64::MAX),
        &["f: Invalid value: \"number\": f in body must be of type integer: \"number\""],
    );
}

#[test]
fn null_needs_leave() {
    check(
        json!({"type": "string"}),
        json!(null),
        &["f: Invalid value: \"null\": f in body must be of type string: \"null\""],
    );
    check(json!({"type": "string", "nullable": true}), json!(null), &[]);
    // Even where null is allowed, an enum does not list it.
    check(
        json!({"type": "string", "nullable": true, "enum": ["a", null]}),
        json!(null),
        &["f: Unsupported value: \"null\": supported values: \"a\", \"null\""],
    );
}

#[test]
fn int_or_string_is_either() {
    let schema = json!({"x-kubernetes-int-or-string": true});
    check(schema.clone(), json!(1), &[]);
    check(schema.clone(), json!("http"), &[]);
    check(
        schema,
        json!([]),
        &["f: Invalid value: \"array\": f in body must be of type integer,string: \"array\""],
    );
    let spelled = json!({
        "x-kubernetes-int-or-string": true,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": "^[0-9]+%?$",
    });
    check(spelled.clone(), json!("25%"), &[]);
    check(spelled.clone(), json!(7), &[]);
    check(spelled, json!("x"), &["f: Invalid value: \"x\": f in body should match '^[0-9]+%?$'"]);
}

// === Values ===

#[test]
fn numbers_have_bounds() {
    let schema = json!({"type": "integer", "minimum": 1, "maximum": 5});
    check(schema.clone(), json!(1), &[]);
    check(schema.clone(), json!(5), &[]);
    check(schema.clone(), json!(0), &["f: Invalid value: 0: f in body should be greater than or equal to 1"]);
    check(schema, json!(6), &["f: Invalid value: 6: f in body should be less than or equal to 5"]);
    let exclusive = json!({"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 2.5, "exclusiveMaximum": true});
    check(exclusive.clone(), json!(1.5), &[]);
    check(exclusive.clone(), json!(1.0), &["f: Invalid value: 1: f in body should be greater than 1"]);
    check(exclusive, json!(2.5), &["f: Invalid value: 2.5: f in body should be less than 2.5"]);
}

#[test]
fn numbers_are_multiples() {
    check(json!({"type": "integer", "multipleOf": 3}), json!(9), &[]);
    check(
        json!({"type": "integer", "multipleOf": 3}),
        json!(10),
        &["f: Invalid value: 10: f in body should be a multiple of 3"],
    );
    check(json!({"type": "number", "multipleOf": 0.1}), json!(0.3), &[]);
    check(
        json!({"type": "number", "multipleOf": 0.5}),
        json!(0.75),
        &["f: Invalid value: 0.75: f in body should be a multiple of 0.5"],
    );
    check(json!({"type": "number", "multipleOf": 0.5}), json!(3), &[]);
    check(
        json!({"type": "number", "multipleOf": 0}),
        json!(3),
        &["f: Invalid value: 3: f in body should be a multiple of 0"],
    );
}

#[test]
fn strings_have_lengths_in_characters() {
    let schema = json!({"type": "string", "minLength": 2, "maxLength": 3});
    check(schema.clone(), json!("éé"), &[]);
    check(schema.clone(), json!("ééé"), &[]);
    check(
        schema.clone(),
        json!("é"),
        &["f: Invalid value: \"é\": f in body should be at least 2 chars long"],
    );
    check(schema, json!("éééé"), &["f: Too long: may not be more than 3 bytes"]);
    check(
        json!({"type": "string", "maxLength": 1}),
        json!("ab"),
        &["f: Too long: may not be more than 1 byte"],
    );
}

#[test]
fn only_the_first_problem_of_a_string_is_told() {
    let schema = json!({"type": "string", "maxLength": 2, "pattern": "^[a-z]*$"});
    check(schema.clone(), json!("ABC"), &["f: Too long: may not be more than 2 bytes"]);
    check(schema, json!("A\""), &["f: Invalid value: \"A\\\"\": f in body should match '^[a-z]*$'"]);
}

#[test]
fn a_pattern_is_searched_for() {
    check(json!({"type": "string", "pattern": "b"}), json!("abc"), &[]);
    check(
        json!({"type": "string", "pattern": "^b$"}),
        json!("abc"),
        &["f: Invalid value: \"abc\": f in body should match '^b$'"],
    );
}

#[test]
fn formats_are_checked_where_the_server_does() {
    let date = json!({"type": "string", "format": "date-time"});
    check(date.clone(), json!("2024-01-02T03:04:05Z"), &[]);
    check(
        date.clone(),
        json!("soon"),
        &["f: Invalid value: \"soon\": f in body must be of type date-time: \"soon\""],
    );
    check(date, json!(5), &["f: Invalid value: \"int64\": f in body must be of type date-time: \"int64\""]);
    check(json!({"type": "integer", "format": "int32"}), json!(1_i64 << 40), &[]);
    check(json!({"type": "string", "format": "no-such-format"}), json!("x"), &[]);
    let nullable = json!({"type": "string", "format": "date", "nullable": true});
    check(nullable, json!(null), &[]);
}

#[test]
fn enums_list_what_is_allowed() {
    check(json!({"type": "string", "enum": ["a", "b"]}), json!("b"), &[]);
    check(json!({"type": "integer", "enum": [1, 2]}), json!(2.0), &[]);
    check(
        json!({"type": "integer", "enum": [1, 2]}),
        json!(3),
        &["f: Unsupported value: 3: supported values: \"1\", \"2\""],
    );
    check(
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "enum": [{"a": 1}]}),
        json!({"a": 2}),
        &["f: Unsupported value: {\"a\":2}: supported values: \"{\\\"a\\\":1}\""],
    );
}

#[test]
fn lists_and_maps_have_sizes() {
    let list = json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2});
    check(list.clone(), json!([1]), &[]);
    check(list.clone(), json!([]), &["f: Invalid value: 0: f in body should have at least 1 items"]);
    check(list, json!([1, 2, 3]), &["f: Too many: 3: must have at most 2 items"]);
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 1});
    check(map.clone(), json!({"a": 1}), &[]);
    check(map.clone(), json!({}), &["f: Invalid value: 0: f in body should have at least 1 properties"]);
    check(map, json!({"a": 1, "b": 2}), &["f: Too many: 2: must have at most 1 item"]);
}

#[test]
fn fields_are_required_after_they_are_checked() {
    let schema = json!({
        "type": "object",
        "required": ["b", "a"],
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}},
    });
    check(
        schema,
        json!({"c": 1}),
        &[
            "f.c: Invalid value: \"integer\": f.c in body must be of type string: \"integer\"",
            "f.b: Required value",
            "f.a: Required value",
        ],
    );
    let root = parse(&json!({"type": "object", "required": ["spec"]}));
    assert_eq!(root.validate(&json!({}))[0].to_string(), "spec: Required value");
    assert_eq!(
        root.validate(&json!(1))[0].to_string(),
        "<nil>: Invalid value: \"integer\":  in body must be of type object: \"integer\""
    );
}

#[test]
fn paths_name_items_and_keys() {
    let schema = json!({
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    });
    check(
        schema,
        json!({"k": [{"n": 1}, {"n": "x"}]}),
        &["f.k[1].n: Invalid value: \"string\": f.k[1].n in body must be of type integer: \"string\""],
    );
    check(
        json!({"type": "object", "additionalProperties": false}),
        json!({"a": 1}),
        &["f: Invalid value: \"a\": f.a in body is a forbidden property"],
    );
    check(json!({"type": "object", "additionalProperties": true}), json!({"a": 1}), &[]);
}

// === Conditions ===

#[test]
fn any_of_wants_one_at_least() {
    let schema = json!({"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": 0}]});
    check(schema.clone(), json!(10), &[]);
    check(schema.clone(), json!(-1), &[]);
    check(
        schema,
        json!(5),
        &[
            "<nil>: Invalid value: \"\": \"f\" must validate at least one schema (anyOf)",
            "f: Invalid value: 5: f in body should be greater than or equal to 10",
        ],
    );
}

#[test]
fn one_of_wants_exactly_one() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    });
    check(schema.clone(), json!({"a": "x"}), &[]);
    check(
        schema.clone(),
        json!({}),
        &[
            "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found none valid",
            "f.a: Required value",
        ],
    );
    check(
        schema,
        json!({"a": "x", "b": "y"}),
        &[
            "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
        ],
    );
}

#[test]
fn all_of_wants_all_and_not_wants_none() {
    let schema = json!({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 5}]});
    check(schema.clone(), json!(3), &[]);
    check(
        schema,
        json!(0),
        &[
            "f: Invalid value: 0: f in body should be greater than or equal to 1",
            "<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf)",
        ],
    );
    let not = json!({"type": "string", "not": {"pattern": "^x"}});
    check(not.clone(), json!("y"), &[]);
    check(not, json!("xy"), &["<nil>: Invalid value: \"\": \"f\" must not validate the schema (not)"]);
}

#[test]
fn of_failed_alternatives_the_best_is_told() {
    let schema = json!({
        "type": "object",
        "properties": {"kind": {"type": "string"}, "size": {"type": "integer"}},
        "anyOf": [
            {"properties": {"kind": {"enum": ["a"]}, "size": {"maximum": 1}}, "required": ["kind", "size", "more"]},
            {"properties": {"kind": {"enum": ["b"]}}},
        ],
    });
    let errors = field(schema).validate(&json!({"f": {"kind": "c", "size": 1}}));
    // The first alternative has more that is right.
    assert_eq!(
        errors.iter().map(|error| error.field.as_str()).collect::<Vec<_>>(),
        ["<nil>", "f.kind", "f.more"]
    );
}

// === Lists ===

#[test]
fn sets_hold_nothing_twice() {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"x-kubernetes-preserve-unknown-fields": true}});
    check(set.clone(), json!(["a", "b", 1, "1"]), &[]);
    check(
        set.clone(),
        json!(["a", "a", "a", "b", "b"]),
        &["f[1]: Duplicate value: \"a\"", "f[4]: Duplicate value: \"b\""],
    );
    check(set, json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}]), &["f[1]: Duplicate value: {\"a\":1,\"b\":2}"]);
    let atomic = json!({"type": "array", "items": {"type": "string"}});
    check(atomic, json!(["a", "a"]), &[]);
}

#[test]
fn maps_hold_no_key_twice() {
    let map = json!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    });
    check(map.clone(), json!([{"port": 1}, {"port": 1, "protocol": "UDP"}]), &[]);
    check(
        map.clone(),
        json!([{"port": 1, "protocol": "UDP", "x": 1}, {"port": 1, "protocol": "UDP", "x": 2}]),
        &["f[1]: Duplicate value: {\"port\":1,\"protocol\":\"UDP\"}"],
    );
    check(map.clone(), json!([{}, {"x": 1}]), &["f[1]: Duplicate value: {}"]);
    check(
        map,
        json!(["x"]),
        &[
            "f[0]: Invalid value: \"string\": f[0] in body must be of type object: \"string\"",
            "f[0]: Invalid value: \"x\": must be an object for an array of list-type map",
        ],
    );
}

#[test]
fn lists_within_lists_and_maps_are_checked() {
    let schema = json!({
        "type": "object",
        "additionalProperties": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    });
    check(schema, json!({"k": ["a", "a"]}), &["f[k][1]: Duplicate value: \"a\""]);
}

// === Pruning ===

#[test]
fn unknown_fields_are_dropped_at_every_depth() {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "plain": {"type": "object"},
            }},
        },
    });
    check_pruned(
        schema,
        json!({
            "apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "other": 1,
            "spec": {"z": 1, "list": [{"a": "x", "b": 1}, {"b": 2}], "map": {"k": {"a": "x", "b": 1}}, "plain": {"x": 1}},
        }),
        json!({
            "apiVersion": "v1", "kind": "K", "metadata": {"name": "n"},
            "spec": {"list": [{"a": "x"}, {}], "map": {"k": {"a": "x"}}, "plain": {}},
        }),
        &["other", "spec.list[0].b", "spec.list[1].b", "spec.map.k.b", "spec.plain.x", "spec.z"],
    );
}

#[test]
fn unknown_fields_are_kept_where_the_schema_says_so() {
    let schema = json!({
        "type": "object",
        "properties": {"spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"strict": {"type": "object", "properties": {"a": {"type": "string"}}}},
        }},
    });
    check_pruned(
        schema,
        json!({"spec": {"x": {"y": 1}, "strict": {"a": "x", "b": 1}}}),
        json!({"spec": {"x": {"y": 1}, "strict": {"a": "x"}}}),
        &["spec.strict.b"],
    );
    let list = json!({"type": "object", "properties": {"l": {
        "x-kubernetes-preserve-unknown-fields": true,
        "items": {"type": "object", "properties": {"a": {"type": "object"}}},
    }}});
    check_pruned(
        list,
        json!({"l": [{"x": 1, "a": {"y": 1}}]}),
        json!({"l": [{"x": 1, "a": {}}]}),
        &["l[0].a.y"],
    );
}

#[test]
fn maps_of_anything_keep_their_keys_only() {
    let schema =
        json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": true}}});
    check_pruned(
        schema,
        json!({"m": {"a": 1, "b": {"c": 1}, "l": [{"d": 1}]}}),
        json!({"m": {"a": 1, "b": {}, "l": [{}]}}),
        &["m.b.c", "m.l[0].d"],
    );
}

#[test]
fn embedded_objects_keep_their_type_and_metadata() {
    let schema = json!({"type": "object", "properties": {"o": {
        "type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}},
    }}});
    let object = json!({"metadata": {"nom": 1}, "o": {"apiVersion": "v1", "kind": "Pod", "x": 1, "metadata": {"name": "p", "nome": 1}}});
    let want = json!({"metadata": {}, "o": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}});
    check_pruned(schema.clone(), object, want, &["metadata.nom", "o.x", "o.metadata.nome"]);
    let errors = parse(&schema).validate(&json!({"o": {"kind": "a_b", "metadata": {"name": "a/b"}}}));
    let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["o.apiVersion", "o.kind", "o.metadata.name"]);
}

#[test]
fn metadata_keeps_what_metadata_has() {
    let object = json!({"metadata": {
        "name": "n", "labels": {"anything": "goes"}, "foo": 1,
        "ownerReferences": [{"uid": "u", "foo": 1}], "managedFields": [{"fieldsV1": {"f:x": {}}, "foo": 1}],
    }});
    let want = json!({"metadata": {
        "name": "n", "labels": {"anything": "goes"},
        "ownerReferences": [{"uid": "u"}], "managedFields": [{"fieldsV1": {"f:x": {}}}],
    }});
    let dropped = ["metadata.foo", "metadata.managedFields[0].foo", "metadata.ownerReferences[0].foo"];
    check_pruned(json!({"type": "object"}), object, want, &dropped);
}

// === Defaults ===

#[test]
fn defaults_fill_what_is_absent() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"},
        "o": {"type": "object", "properties": {"b": {"type": "integer", "default": 1}}},
        "p": {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 1}}},
    }});
    check_defaulted(schema.clone(), json!({}), json!({"a": "x", "p": {"b": 1}}));
    check_defaulted(schema.clone(), json!({"o": {}}), json!({"a": "x", "o": {"b": 1}, "p": {"b": 1}}));
    check_defaulted(schema, json!({"a": "", "p": {"b": 0}}), json!({"a": "", "p": {"b": 0}}));
}

#[test]
fn defaults_reach_into_lists_and_maps() {
    let item = json!({"type": "object", "properties": {"b": {"type": "integer", "default": 1}}});
    let schema = json!({"type": "object", "properties": {
        "l": {"type": "array", "items": item},
        "m": {"type": "object", "additionalProperties": item},
    }});
    check_defaulted(
        schema,
        json!({"l": [{}, {"b": 2}], "m": {"k": {}}}),
        json!({"l": [{"b": 1}, {"b": 2}], "m": {"k": {"b": 1}}}),
    );
}

#[test]
fn nulls_give_way_to_defaults_unless_they_are_allowed() {
    let schema = json!({"type": "object", "properties": {
        "with": {"type": "string", "default": "x"},
        "without": {"type": "string"},
        "nullable": {"type": "string", "nullable": true, "default": "x"},
        "l": {"type": "array", "items": {"type": "string", "default": "i"}},
        "plain": {"type": "array", "items": {"type": "string"}},
        "m": {"type": "object", "additionalProperties": {"type": "string", "default": "v"}},
    }});
    check_defaulted(
        schema,
        json!({"with": null, "without": null, "nullable": null, "l": [null], "plain": [null], "m": {"k": null}, "unknown": null}),
        json!({"with": "x", "nullable": null, "l": ["i"], "plain": [null], "m": {"k": "v"}, "unknown": null}),
    );
}

// === Updates ===

#[test]
fn updates_forgive_what_was_wrong_before() {
    let schema = parse(&json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1},
        "b": {"type": "string", "maxLength": 1},
        "l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
            "type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 1}},
        }},
        "s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    }}));
    let old = json!({"a": "long", "b": "x", "l": [{"k": "x", "v": 9}], "s": ["a", "a"]});
    assert_eq!(schema.validate(&old).len(), 3);
    let new = json!({"a": "long", "b": "y", "l": [{"k": "y", "v": 0}, {"k": "x", "v": 9}], "s": ["a", "a", "b", "b"]});
    assert_eq!(schema.validate_update(&new, &old), []);
    let new = json!({"a": "longer", "b": "x", "l": [{"k": "y", "v": 9}]});
    let fields: Vec<_> = schema.validate_update(&new, &old).into_iter().map(|error| error.field).collect();
    assert_eq!(fields, ["a", "l[0].v"]);
}

#[test]
fn a_status_is_updated_by_itself() {
    let definition: CustomResourceDefinition = serde_json::from_value(json!({"spec": {
        "group": "example.dev", "names": {"plural": "ws", "kind": "W"},
        "versions": [{"name": "v1", "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
            "type": "object",
            "properties": {
                "spec": {"type": "object", "required": ["a"]},
                "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
            },
        }}}],
    }}))
    .expect("it is a definition");
    let resource = CustomResource::compile(&definition, "v1").expect("it compiles").expect("it is there");
    assert!(CustomResource::compile(&definition, "v2").expect("nothing to compile").is_none());
    let old = json!({"apiVersion": "example.dev/v1", "kind": "W", "metadata": {"generation": 3, "labels": {"a": "b"}}, "spec": {}});
    let mut new = json!({"apiVersion": "example.dev/v1", "kind": "W", "metadata": {"generation": 9, "managedFields": []}, "status": {"n": "x"}});
    resource.prepare_for_status_update(&mut new, &old);
    assert_eq!(new["metadata"], json!({"generation": 3, "labels": {"a": "b"}, "managedFields": []}));
    let errors = resource.validate_status_update(&new, &old);
    assert_eq!(errors.len(), 1, "the spec is not looked at: {errors:?}");
    assert_eq!(
        errors[0].to_string(),
        "status.n: Invalid value: \"string\": n in body must be of type integer: \"string\""
    );
    let wrong = json!({"apiVersion": "example.dev/v2", "kind": "X"});
    let errors: Vec<_> = resource.validate_create(&wrong).iter().map(FieldError::to_string).collect();
    assert_eq!(
        errors,
        [
            "kind: Invalid value: \"X\": must be W",
            "apiVersion: Invalid value: \"example.dev/v2\": must be example.dev/v1"
        ]
    );
}

// === Answers ===

#[test]
fn answers_are_those_of_the_server() {
    let twice = FieldError::new(lariat_apiserver::schema::FieldErrorKind::Invalid, "a", 1, "bad");
    let status = invalid_status("", "Pod", "p", &[twice.clone(), twice]);
    // The message names an error once, the causes name all.
    assert_eq!(status.message, "Pod \"p\" is invalid: a: Invalid value: 1: bad");
    assert_eq!(status.details.expect("details").causes.len(), 2);
    let problems = ["duplicate field \"spec.a\"".to_owned(), "unknown field \"spec.b\"".to_owned()];
    assert_eq!(
        strict_status("W", "v1", &problems).message,
        "W in version \"v1\" cannot be handled as a W: strict decoding error: duplicate field \"spec.a\", unknown field \"spec.b\""
    );
}

#[test]
fn duplicates_are_found_in_the_bytes() {
    let body = br#"{"a": [{"b": 1, "b": {"c": 1, "c": 2}}, {"b": 1}], "d": 1, "d": 2, "d": 3}"#;
    assert_eq!(duplicate_fields(body), ["a[0].b", "a[0].b.c", "d"]);
    assert_eq!(
        duplicate_fields(br#"{"a": [[], {"b": 1, "b": 2}], "c": {"a": 1, "a": 1}}"#),
        ["a[1].b", "c.a"]
    );
    assert_eq!(duplicate_fields(br#"{"a": 1, "a": 2, "#), ["a"]);
    assert!(duplicate_fields(b"").is_empty());
    assert!(duplicate_fields("[".repeat(100_000).as_bytes()).is_empty());
    let many = format!(
        "{{{}\"x\": 1}}",
        (0..1000).map(|n| format!("\"k{n}\": 1, \"k{n}\": 1, ")).collect::<String>()
    );
    assert_eq!(duplicate_fields(many.as_bytes()).len(), 100);
}

#[test]
fn merge_information_is_found_by_path() {
    let schema = parse(&json!({"type": "object", "properties": {"spec": {
        "type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
        },
    }}}));
    let at = |path: &[Segment<'_>]| schema.at(path).map(|schema| (schema.list_type(), schema.map_type()));
    let (spec, set, map) = (Segment::Field("spec"), Segment::Field("set"), Segment::Field("map"));
    assert_eq!(at(&[spec]), Some((ListType::Atomic, MapType::Atomic)));
    assert_eq!(at(&[spec, set]), Some((ListType::Set, MapType::Granular)));
    assert_eq!(
        at(&[spec, map, Segment::Field("any"), Segment::Item]),
        Some((ListType::Atomic, MapType::Granular))
    );
    assert_eq!(at(&[spec, Segment::Field("other")]), None);
    assert_eq!(at(&[Segment::Item]), None);
}

#[test]
fn rules_in_cel_are_listed() {
    let rule = |rule: &str| json!([{"rule": rule}]);
    let schema = parse(&json!({"type": "object", "x-kubernetes-validations": rule("a"), "properties": {
        "l": {"type": "array", "items": {"type": "object", "x-kubernetes-validations": rule("b")}},
    }}));
    let rules = schema.cel_rules();
    let want =
        [("", "a"), ("l[*]", "b")].map(|(path, rule)| CelRule { path: path.into(), rule: rule.into() });
    assert_eq!(rules, want);
    assert!(schema.validate(&json!({"l": [{}]})).is_empty(), "rules are not evaluated");
}

#[test]
fn what_is_no_schema_is_refused() {
    for schema in [
        json!(1),
        json!({"type": "text"}),
        json!({"type": 1}),
        json!({"maxLength": "1"}),
        json!({"properties": []}),
        json!({"required": [1]}),
        json!({"allOf": [1]}),
        json!({"pattern": "("}),
        json!({"x-kubernetes-list-type": "bag"}),
        json!({"x-kubernetes-map-type": "bag"}),
    ] {
        assert!(StructuralSchema::parse(&schema).is_err(), "{schema}");
    }
    let mut deep = json!({"type": "object"});
    for _ in 0..500 {
        deep = json!({"properties": {"a": deep}});
    }
    assert!(matches!(StructuralSchema::parse(&deep), Err(SchemaError::TooDeep { .. })));
}

// === Anything at all ===

/// Values and schemas that mean little.
struct Junk(Randomness);

impl Junk {
    fn pick<'a>(&self, from: &[&'a str]) -> &'a str {
        let index = usize::try_from(self.0.below(from.len() as u64)).expect("it is small");
        from[index]
    }

    fn name(&self) -> String {
        self.pick(&["a", "b", "c", "metadata", "kind", "é", "a.b", ""]).to_owned()
    }

    fn value(&self, depth: u64) -> Value {
        match self.0.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => (self.0.below(2) == 0).into(),
            2 => (i64::try_from(self.0.below(7)).expect("it is small") - 3).into(),
            3 => [f64::MAX, -0.0, 1.5, 1e300, 0.1][usize::try_from(self.0.below(5)).expect("small")].into(),
            4 => [u64::MAX, 0, i64::MAX as u64][usize::try_from(self.0.below(3)).expect("small")].into(),
            5 => self.pick(&["", "a", "ab", "ééé", "2024-01-01", "10.0.0.1", "\u{0}", "1h"]).into(),
            6 => (0..self.0.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object((0..self.0.below(5)).map(|_| (self.name(), self.value(depth - 1))).collect()),
        }
    }

    /// Something that is mostly a schema. `junk` says how often a keyword has a value that it cannot have.
    fn schema(&self, depth: u64, junk: u64) -> Value {
        let mut fields = Map::new();
        if self.0.below(5) > 0 {
            fields.insert(
                "type".into(),
                self.pick(&["string", "integer", "number", "boolean", "array", "object", "object"]).into(),
            );
        }
        for _ in 0..self.0.below(6) {
            let keyword = self.pick(&[
                "nullable",
                "default",
                "enum",
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "multipleOf",
                "minLength",
                "maxLength",
                "pattern",
                "format",
                "minItems",
                "maxItems",
                "minProperties",
                "maxProperties",
                "required",
                "x-kubernetes-preserve-unknown-fields",
                "x-kubernetes-embedded-resource",
                "x-kubernetes-int-or-string",
                "x-kubernetes-list-type",
                "x-kubernetes-list-map-keys",
                "x-kubernetes-map-type",
                "x-kubernetes-validations",
            ]);
            let value = match keyword {
                _ if self.0.below(100) < junk => without_nulls(self.value(2)),
                // A definition with a default that is null within is refused.
                "default" => without_nulls(self.value(2)),
                "enum" => (0..1 + self.0.below(3)).map(|_| self.value(1)).collect(),
                "minimum" | "maximum" => {
                    [0.0, -1.0, 1.5, 1e19, -1e300][usize::try_from(self.0.below(5)).expect("small")].into()
                }
                "multipleOf" => {
                    [0.0, -1.0, 0.5, 3.0, 1e300][usize::try_from(self.0.below(5)).expect("small")].into()
                }
                "pattern" => self.pick(&["^a", "[a-c]+$", "é", r"\d", "a{2}", "("]).into(),
                "format" => self
                    .pick(&["date", "date-time", "duration", "ipv4", "hostname", "email", "uri", "x"])
                    .into(),
                "required" | "x-kubernetes-list-map-keys" => {
                    (0..self.0.below(3)).map(|_| self.name()).collect()
                }
                "x-kubernetes-list-type" => self.pick(&["set", "map", "atomic"]).into(),
                "x-kubernetes-map-type" => self.pick(&["granular", "atomic"]).into(),
                "x-kubernetes-validations" => json!([{"rule": self.pick(&["", "self.a == 1"])}]),
                flag if flag.starts_with('x') || flag.starts_with('e') || flag == "nullable" => true.into(),
                _ => self.0.below(4).into(),
            };
            fields.insert(keyword.into(), value);
        }
        if depth > 0 {
            for keyword in ["properties", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "not"] {
                let wanted = match keyword {
                    "properties" => 2,
                    "items" | "additionalProperties" => 3,
                    _ => 8,
                };
                if self.0.below(wanted) > 0 {
                    continue;
                }
                let value = match keyword {
                    "properties" => Value::Object(
                        (0..self.0.below(4)).map(|_| (self.name(), self.schema(depth - 1, junk))).collect(),
                    ),
                    "additionalProperties" if self.0.below(4) == 0 => (self.0.below(2) == 0).into(),
                    "anyOf" | "oneOf" | "allOf" => {
                        (0..1 + self.0.below(3)).map(|_| self.schema(depth - 1, junk)).collect()
                    }
                    _ => self.schema(depth - 1, junk),
                };
                fields.insert(keyword.into(), value);
            }
        }
        Value::Object(fields)
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Null => 0.into(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, field)| (key, without_nulls(field))).collect())
        }
        scalar => scalar,
    }
}

#[test]
fn junk_does_no_harm_and_work_is_done_once() {
    let (mut parsed, mut dropped, mut defaulted, mut invalid) = (0, 0, 0, 0);
    for seed in 0..4000 {
        let junk = Junk(Randomness::seeded(seed));
        let source = junk.schema(4, if seed % 4 == 0 { 20 } else { 0 });
        let Ok(schema) = StructuralSchema::parse(&source) else { continue };
        parsed += 1;
        for _ in 0..4 {
            let object = junk.value(5);
            let mut pruned = object.clone();
            dropped += schema.prune(&mut pruned).len();
            let mut again = pruned.clone();
            assert_eq!(schema.prune(&mut again), [""; 0], "seed {seed}: {pruned} under {source}");
            assert_eq!(again, pruned, "seed {seed}");

            let mut filled = pruned.clone();
            schema.default(&mut filled);
            defaulted += usize::from(filled != pruned);
            let mut again = filled.clone();
            schema.default(&mut again);
            assert_eq!(again, filled, "seed {seed}: {source}");

            let errors = schema.validate(&filled);
            invalid += usize::from(!errors.is_empty());
            assert_eq!(errors, schema.validate(&filled), "seed {seed}");
            assert!(
                schema.validate_values(&filled, Some(&filled)).is_empty(),
                "seed {seed}: the same is forgiven"
            );
            let status = invalid_status("g", "K", "n", &errors);
            assert_eq!(status.details.map_or(0, |details| details.causes.len()), errors.len());
        }
        schema.cel_rules();
    }
    // The junk is worth something only if each of these happens often.
    assert!(
        parsed > 1000 && dropped > 1000 && defaulted > 100 && invalid > 1000,
        "{parsed} {dropped} {defaulted} {invalid}"
    );
}

#[test]
fn junk_definitions_are_judged_without_harm() {
    let mut judged = 0;
    for seed in 0..2000 {
        let junk = Junk(Randomness::seeded(seed));
        let body = json!({
            "metadata": {"name": junk.name()},
            "spec": {"group": junk.name(), "scope": junk.name(), "names": {"plural": junk.name(), "kind": junk.name()}, "versions": [{
                "name": junk.name(), "served": true, "storage": junk.0.below(2) == 0,
                "schema": {"openAPIV3Schema": junk.schema(4, 20)},
                "subresources": {"status": {}, "scale": {"specReplicasPath": junk.name(), "statusReplicasPath": ".status.x"}},
                "additionalPrinterColumns": [{"name": "a", "type": "string", "jsonPath": junk.name()}],
                "selectableFields": [{"jsonPath": format!(".{}", junk.name())}],
            }]},
        });
        let mut definition: CustomResourceDefinition =
            serde_json::from_value(body).expect("it is a definition");
        definition.prepare_for_create();
        let errors = definition.validate();
        assert_eq!(errors, definition.validate());
        judged += errors.len();
        // The validation of the definition finds everything that the compiler does.
        if errors.is_empty() {
            assert!(CustomResource::compile(&definition, &definition.spec.versions[0].name).is_ok());
        }
    }
    assert!(judged > 2000, "{judged}");
}

#[test]
fn deep_values_end_somewhere() {
    let schema = parse(
        &json!({"type": "object", "properties": {"a": {"type": "object"}, "b": {"type": "object", "additionalProperties": true}}}),
    );
    let mut deep = json!([]);
    for _ in 0..2000 {
        deep = json!([deep]);
    }
    let mut object = json!({"a": deep, "b": {"c": deep}});
    schema.prune(&mut object);
    schema.default(&mut object);
    assert!(!schema.validate(&object).is_empty());
}

#[test]
fn the_deepest_schema_fits_on_a_small_stack() {
    let work = || {
        let (mut schema, mut object) = (json!({"type": "integer", "default": 1}), json!("x"));
        for level in 0..lariat_apiserver::schema::MAX_DEPTH {
            // Lists of alternatives take the most stack.
            (schema, object) = match level % 3 {
                0 => (json!({"type": "object", "properties": {"a": schema}}), json!({"a": object})),
                1 => (json!({"type": "array", "items": schema}), json!([object])),
                _ => (json!({"anyOf": [{"not": {}}, schema]}), object),
            };
        }
        let schema = parse(&schema);
        schema.default(&mut object);
        assert!(!schema.validate(&object).is_empty());
        assert_eq!(schema.validate_update(&object, &object), []);
        schema.prune(&mut object);
    };
    let small = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread can be started");
    small.join().expect("nothing overflows");
}
