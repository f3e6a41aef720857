//! Definitions: what is refused, and what becomes of those that are not. Tables and scales of their objects.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::time::{Duration, SystemTime};

use lariat_apiserver::schema::{
    CustomResource, CustomResourceDefinition, FieldError, PrinterColumn, ScaleError, ScalePaths,
    TableColumns, apply_scale, apply_scale_version, scale, validate_scale_fields,
};
use serde_json::{Value, json};

/// A valid definition, changed at a JSON pointer.
fn definition(changes: &[(&str, Value)]) -> CustomResourceDefinition {
    let mut body = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
            }],
        },
    });
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        body.pointer_mut(parent).unwrap_or_else(|| panic!("{parent} is there"))[key] = value.clone();
    }
    let mut definition: CustomResourceDefinition = serde_json::from_value(body).expect("it is a definition");
    definition.prepare_for_create();
    definition
}

#[track_caller]
fn check(changes: &[(&str, Value)], want: &[&str]) {
    let errors: Vec<_> = definition(changes).validate().iter().map(FieldError::to_string).collect();
    assert_eq!(errors, want);
}

/// What is wrong with a schema for `spec`, as field and message.
#[track_caller]
fn check_spec(schema: Value, want: &[&str]) {
    let errors =
        definition(&[("/spec/versions/0/schema/openAPIV3Schema/properties/spec", schema)]).validate();
    let prefix = "spec.validation.openAPIV3Schema.properties[spec]";
    let errors: Vec<_> = errors.iter().map(|error| error.to_string().replace(prefix, "~")).collect();
    assert_eq!(errors, want);
}

// === Names and versions ===

#[test]
fn a_name_is_made_of_plural_and_group() {
    check(&[], &[]);
    check(
        &[("/metadata/name", json!("gadgets.example.dev"))],
        &[
            "metadata.name: Invalid value: \"gadgets.example.dev\": must be spec.names.plural+\".\"+spec.group",
        ],
    );
    check(
        &[("/metadata/name", json!(""))],
        &["metadata.name: Required value: name or generateName is required"],
    );
    let errors =
        definition(&[("/spec/group", json!("dev")), ("/metadata/name", json!("widgets.dev"))]).validate();
    assert_eq!(
        errors[0].to_string(),
        "spec.group: Invalid value: \"dev\": should be a domain with at least one dot"
    );
}

#[test]
fn scope_and_names_follow_the_rules() {
    check(
        &[("/spec/scope", json!("Global"))],
        &["spec.scope: Unsupported value: \"Global\": supported values: \"Cluster\", \"Namespaced\""],
    );
    check(&[("/spec/scope", json!(null))], &["spec.scope: Required value"]);
    check(
        &[("/spec/names/listKind", json!("Widget"))],
        &["spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"],
    );
    let errors = definition(&[("/spec/names/kind", json!("Wid_get"))]).validate();
    let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["spec.names.singular", "spec.names.kind", "spec.names.listKind"]);
    let errors = definition(&[("/spec/names/shortNames", json!(["ok", "Not"]))]).validate();
    assert_eq!((errors.len(), errors[0].field.as_str()), (1, "spec.names.shortNames[1]"));
    let errors = definition(&[("/spec/names/categories", json!(["a b"]))]).validate();
    assert_eq!((errors.len(), errors[0].field.as_str()), (1, "spec.names.categories[0]"));
}

#[test]
fn exactly_one_version_is_stored() {
    let errors = definition(&[("/spec/versions/0/storage", json!(false))]).validate();
    let messages: Vec<_> = errors.iter().map(|error| (error.field.as_str(), error.detail.as_str())).collect();
    assert_eq!(
        messages,
        [
            ("spec.versions", "must have exactly one version marked as storage version"),
            ("status.storedVersions", "must have at least one stored version"),
        ]
    );
    let twice = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let errors = definition(&[("/spec/versions", json!([twice, twice]))]).validate();
    let details: Vec<_> = errors.iter().map(|error| error.detail.as_str()).collect();
    assert_eq!(
        details,
        ["must contain unique version names", "must have exactly one version marked as storage version"]
    );
    check(
        &[("/spec/versions/0/schema", json!(null))],
        &["spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"],
    );
    let errors = definition(&[("/spec/versions/0/name", json!("1"))]).validate();
    let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["spec.versions[0].name", "spec.version"]);
}

#[test]
fn what_differs_between_versions_is_named_by_version() {
    let version = |name: &str, storage: bool, schema: Value| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
    let good = json!({"type": "object", "description": "x"});
    let bad = json!({"type": "array"});
    let versions = json!([version("v1", true, good), version("v2", false, bad.clone())]);
    let errors = definition(&[("/spec/versions", versions)]).validate();
    assert!(
        errors.iter().all(|error| error.field.starts_with("spec.versions[1].schema.openAPIV3Schema")),
        "{errors:?}"
    );
    assert_eq!(errors.len(), 2);
    let versions = json!([version("v1", true, bad.clone()), version("v2", false, bad)]);
    let errors = definition(&[("/spec/versions", versions)]).validate();
    assert!(
        errors.iter().all(|error| error.field.starts_with("spec.validation.openAPIV3Schema")),
        "{errors:?}"
    );
}

#[test]
fn a_deprecation_warning_needs_a_deprecation() {
    check(
        &[("/spec/versions/0/deprecationWarning", json!("old"))],
        &[
            "spec.versions[0].deprecationWarning: Invalid value: \"old\": can only be set for deprecated versions",
        ],
    );
    let deprecated = ("/spec/versions/0/deprecated", json!(true));
    check(&[deprecated.clone(), ("/spec/versions/0/deprecationWarning", json!("old"))], &[]);
    check(
        &[deprecated, ("/spec/versions/0/deprecationWarning", json!("a\nb"))],
        &[
            "spec.versions[0].deprecationWarning: Invalid value: \"a\\nb\": must only contain printable UTF-8 characters; \
           non-printable character found at index 1",
        ],
    );
}

#[test]
fn groups_of_the_community_need_approval() {
    let group = ("/spec/group", json!("example.k8s.io"));
    let name = ("/metadata/name", json!("widgets.example.k8s.io"));
    let errors = definition(&[group.clone(), name.clone()]).validate();
    assert_eq!(errors[0].field, "metadata.annotations[api-approved.kubernetes.io]");
    for (approval, good) in [("https://github.com/x", true), ("unapproved, testing", true), ("yes", false)] {
        let annotations = ("/metadata/annotations", json!({"api-approved.kubernetes.io": approval}));
        let errors = definition(&[group.clone(), name.clone(), annotations]).validate();
        assert_eq!(errors.is_empty(), good, "{approval}: {errors:?}");
    }
}

#[test]
fn old_switches_are_refused() {
    check(
        &[("/spec/preserveUnknownFields", json!(true))],
        &["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set \
           x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"],
    );
    check(
        &[("/spec/conversion", json!({"strategy": "Magic"}))],
        &["spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", \"Webhook\""],
    );
    check(
        &[("/spec/conversion", json!({"strategy": "None", "webhook": {}}))],
        &[
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
        ],
    );
}

// === Subresources, columns, selectable fields ===

#[test]
fn scale_paths_stand_where_they_belong() {
    let scale = |spec: &str, status: &str, selector: Value| {
        let scale =
            json!({"specReplicasPath": spec, "statusReplicasPath": status, "labelSelectorPath": selector});
        [("/spec/versions/0/subresources", json!({"scale": scale}))]
    };
    check(&scale(".spec.n", ".status.n", json!(".status.s")), &[]);
    check(
        &scale("", "status.n", json!(".x.s")),
        &[
            "spec.subresources.scale.specReplicasPath: Required value",
            "spec.subresources.scale.statusReplicasPath: Invalid value: \"status.n\": must be a simple json path starting with .",
            "spec.subresources.scale.labelSelectorPath: Invalid value: \".x.s\": should be a json path under either .spec or .status",
        ],
    );
    check(
        &scale(".status.n", ".status.n", json!(null)),
        &[
            "spec.subresources.scale.specReplicasPath: Invalid value: \".status.n\": should be a json path under .spec",
        ],
    );
}

#[test]
fn columns_have_known_types() {
    let column = |column: Value| [("/spec/versions/0/additionalPrinterColumns", json!([column]))];
    check(&column(json!({"name": "A", "type": "string", "jsonPath": ".a", "format": "date"})), &[]);
    check(
        &column(json!({"type": "text", "format": "x", "jsonPath": "a"})),
        &[
            "spec.additionalPrinterColumns[0].name: Required value",
            "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[0].format: Invalid value: \"x\": must be one of byte,date,date-time,double,float,int32,int64,password",
            "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"a\": must be a simple json path starting with .",
        ],
    );
}

#[test]
fn selectable_fields_are_scalars_of_the_schema() {
    let spec = json!({"type": "object", "properties": {
        "s": {"type": "string"}, "o": {"type": "object"}, "n": {"type": "number"},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let check = |fields: Value, want: &[&str]| {
        let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
        let changes = [(schema, spec.clone()), ("/spec/versions/0/selectableFields", fields)];
        let errors = definition(&changes).validate();
        let details: Vec<_> = errors.iter().map(|error| error.detail.as_str()).collect();
        assert_eq!(details, want);
    };
    check(json!([{"jsonPath": ".spec.s"}]), &[]);
    check(json!([{"jsonPath": ".spec.s"}, {"jsonPath": ".spec.s"}]), &[""]);
    check(json!([{"jsonPath": ".spec.x"}]), &["is an invalid path: does not refer to a valid field"]);
    check(json!([{"jsonPath": ".spec['s']"}]), &["is an invalid path: array notation is not allowed"]);
    check(json!([{"jsonPath": ".spec.m.any"}]), &[]);
    let scalar = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
    check(json!([{"jsonPath": ".spec.o"}, {"jsonPath": ".spec.n"}]), &[scalar, scalar]);
    check(json!([{"jsonPath": ".metadata.name"}]), &["must not point to fields in metadata", scalar]);
    check(json!([{}]), &[""]);
}

// === Schemas ===

#[test]
fn every_field_has_a_type() {
    check_spec(json!({}), &["~.type: Required value: must not be empty for specified object fields"]);
    check_spec(json!({"x-kubernetes-preserve-unknown-fields": true}), &[]);
    check_spec(json!({"x-kubernetes-int-or-string": true}), &[]);
    check_spec(json!({"type": "array"}), &["~.items: Required value: must be specified"]);
    check_spec(
        json!({"type": "array", "items": {}}),
        &["~.items.type: Required value: must not be empty for specified array items"],
    );
    check_spec(
        json!({"type": "text"}),
        &[
            "~.type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ],
    );
    let schema = "/spec/versions/0/schema/openAPIV3Schema";
    check(
        &[(schema, json!({}))],
        &["spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"],
    );
    check(
        &[(schema, json!({"type": "object", "additionalProperties": {"type": "string"}}))],
        &["spec.validation.openAPIV3Schema.additionalProperties: Forbidden: must not be used at the root"],
    );
}

#[test]
fn conditions_only_restrict() {
    check_spec(
        json!({"type": "object", "anyOf": [{"type": "string", "default": 1, "properties": {"a": {"minimum": 1}}}]}),
        &[
            "~.anyOf[0].default: Forbidden: must be undefined to be structural",
            "~.anyOf[0].type: Forbidden: must be empty to be structural",
        ],
    );
    // Whether conditions speak of specified fields only is looked at for the root, as on the server.
    check(
        &[("/spec/versions/0/schema/openAPIV3Schema/anyOf", json!([{"properties": {"a": {"minimum": 1}}}]))],
        &["spec.validation.openAPIV3Schema.properties[a]: Required value: because it is defined in \
           spec.validation.openAPIV3Schema.anyOf[0].properties[a]"],
    );
    check_spec(
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        &[],
    );
    check_spec(
        json!({
            "x-kubernetes-int-or-string": true,
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "x"}],
        }),
        &[],
    );
    check_spec(
        json!({"type": "string", "not": {"nullable": true, "x-kubernetes-list-type": "set"}}),
        &[
            "~.not.nullable: Forbidden: must be false to be structural",
            "~.not.x-kubernetes-list-type: Forbidden: must be undefined to be structural",
            "~.not.type: Required value: must be array if x-kubernetes-list-type is specified",
        ],
    );
}

#[test]
fn metadata_is_hardly_restricted() {
    let metadata = |schema: Value| [("/spec/versions/0/schema/openAPIV3Schema/properties/metadata", schema)];
    check(&metadata(json!({"type": "object"})), &[]);
    check(
        &metadata(json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}})),
        &[],
    );
    check(
        &metadata(json!({"type": "object", "properties": {"labels": {"type": "object"}}})),
        &[
            "spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and \
           generateName, but metadata is implicitly specified",
        ],
    );
    let kind = "/spec/versions/0/schema/openAPIV3Schema/properties/kind";
    check(
        &[(kind, json!({"type": "string", "default": "Widget"}))],
        &[
            "spec.validation.openAPIV3Schema.properties[kind].default: Forbidden: must not be set in top-level kind",
        ],
    );
}

#[test]
fn the_root_is_plain_when_the_status_is_a_subresource() {
    let status = ("/spec/versions/0/subresources", json!({"status": {}}));
    let root =
        |keyword: &str, value: Value| (format!("/spec/versions/0/schema/openAPIV3Schema/{keyword}"), value);
    let (path, value) = root("minProperties", json!(1));
    let errors = definition(&[(path.as_str(), value.clone()), status.clone()]).validate();
    assert_eq!((errors.len(), errors[0].field.as_str()), (1, "spec.validation.openAPIV3Schema"));
    assert!(errors[0].detail.starts_with("only [Description Type Format "), "{}", errors[0].detail);
    assert!(definition(&[(path.as_str(), value)]).validate().is_empty());
    let (path, value) = root("nullable", json!(true));
    let errors = definition(&[(path.as_str(), value)]).validate();
    assert_eq!(
        errors[0].to_string(),
        "spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root"
    );
}

#[test]
fn defaults_are_valid_themselves() {
    check_spec(json!({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}), &[]);
    check_spec(
        json!({"type": "object", "properties": {"a": {"type": "integer", "default": "x", "minimum": 1}}}),
        &["~.properties[a].default: Invalid value: \"string\":  in body must be of type integer: \"string\""],
    );
    check_spec(
        json!({"type": "object", "default": {"a": "x", "b": 1}, "properties": {"a": {"type": "integer"}}}),
        &[
            "~.default: Invalid value: {\"a\":\"x\",\"b\":1}: must not have unknown fields",
            "~.default.a: Invalid value: \"string\": a in body must be of type integer: \"string\"",
        ],
    );
    check_spec(
        json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string", "default": 1}}}}),
        &[
            "~.items.properties[a].default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
        ],
    );
}

#[test]
fn keywords_that_nobody_serves_are_refused() {
    check_spec(
        json!({"type": "object", "uniqueItems": true, "$ref": "#/x", "patternProperties": {"a": {"type": "string"}}, "id": "x"}),
        &[
            "~.id: Forbidden: id is not supported",
            "~.patternProperties: Forbidden: patternProperties is not supported",
            "~.$ref: Forbidden: $ref is not supported",
            "~.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ],
    );
    check_spec(
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
        &["~.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    );
    check_spec(
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
        &["~.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    );
    let errors = definition(&[(
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec",
        json!({"type": "string", "pattern": "("}),
    )])
    .validate();
    assert!(
        errors[0].detail.starts_with("must be a valid regular expression, but isn't: error parsing regexp: ")
    );
    assert_eq!(errors.len(), 1);
    let errors = definition(&[(
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec",
        json!({"type": "string", "maxLength": "x"}),
    )])
    .validate();
    assert_eq!(errors[0].field, "spec.validation.openAPIV3Schema.properties[spec].maxLength");
}

#[test]
fn lists_say_how_they_merge() {
    let item = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "o": {"type": "object"}}});
    let map = |keys: Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": item});
    check_spec(map(json!(["k"])), &[]);
    check_spec(
        map(json!([])),
        &["~.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
    );
    check_spec(
        map(json!(["k", "k", "x"])),
        &[
            "~.x-kubernetes-list-map-keys: Invalid value: [\"k\",\"k\",\"x\"]: must not contain duplicate entries",
            "~.x-kubernetes-list-map-keys: Invalid value: [\"k\",\"k\",\"x\"]: entries must all be names of item properties",
        ],
    );
    check_spec(
        map(json!(["o"])),
        &[
            "~.items.properties[o].type: Invalid value: \"object\": must be a scalar type if parent array's \
             x-kubernetes-list-type is map",
            "~.items.properties[o].default: Required value: this property is in x-kubernetes-list-map-keys, so it must \
             have a default or be a required property",
        ],
    );
    check_spec(
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "nullable": true}}),
        &[
            "~.items.x-kubernetes-map-type: Invalid value: \"null\": must be atomic as item of a list with \
             x-kubernetes-list-type=set",
            "~.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
        ],
    );
    check_spec(
        json!({"type": "array", "x-kubernetes-list-type": "bag", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}),
        &[
            "~.x-kubernetes-list-type: Unsupported value: \"bag\": supported values: \"atomic\", \"set\", \"map\"",
            "~.x-kubernetes-list-type: Invalid value: \"bag\": must be map if x-kubernetes-list-map-keys is non-empty",
        ],
    );
    check_spec(
        json!({"type": "string", "x-kubernetes-map-type": "atomic"}),
        &["~.type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified"],
    );
}

#[test]
fn rules_have_a_form() {
    check_spec(
        json!({"type": "object", "x-kubernetes-validations": [{"rule": "true", "message": "m"}]}),
        &[],
    );
    check_spec(
        json!({"type": "object", "x-kubernetes-validations": [
            {"rule": " "}, {"rule": "a\nb"}, {"rule": "a", "message": "a\nb"}, {"rule": "a", "reason": "Because"},
        ]}),
        &[
            "~.x-kubernetes-validations[0].rule: Required value: rule is not specified",
            "~.x-kubernetes-validations[1].message: Required value: message must be specified if rule contains line breaks",
            "~.x-kubernetes-validations[2].message: Invalid value: \"a\\nb\": message must not contain line breaks",
            "~.x-kubernetes-validations[3].reason: Unsupported value: \"Because\": supported values: \"FieldValueDuplicate\", \
             \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
        ],
    );
}

#[test]
fn deep_schemas_are_refused() {
    let mut deep = json!({"type": "object"});
    for _ in 0..1000 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let errors = definition(&[("/spec/versions/0/schema/openAPIV3Schema", deep)]).validate();
    assert_eq!(errors.len(), 1, "{:?}", errors.iter().map(|error| &error.detail).collect::<Vec<_>>());
}

// === Life ===

#[test]
fn what_identifies_a_definition_stays() {
    let now = SystemTime::UNIX_EPOCH;
    let mut old = definition(&[]);
    let mut new = definition(&[("/spec/scope", json!("Cluster")), ("/spec/names/kind", json!("Gadget"))]);
    new.prepare_for_update(&old);
    assert_eq!(new.validate_update(&old), []);
    old.accept_names([], now);
    new.prepare_for_update(&old);
    let errors: Vec<_> = new.validate_update(&old).iter().map(FieldError::to_string).collect();
    assert_eq!(
        errors,
        [
            "spec.scope: Invalid value: \"Cluster\": field is immutable",
            "spec.names.kind: Invalid value: \"Gadget\": field is immutable",
        ]
    );
    let mut new = definition(&[("/spec/group", json!("example.org"))]);
    new.prepare_for_update(&old);
    assert_eq!(
        new.validate_update(&old)[0].to_string(),
        "spec.group: Invalid value: \"example.org\": field is immutable"
    );
}

#[test]
fn stored_versions_are_remembered() {
    let old = definition(&[]);
    assert_eq!(old.status.stored_versions, ["v1"]);
    let mut new = definition(&[("/spec/versions/0/name", json!("v2"))]);
    new.prepare_for_update(&old);
    assert_eq!(new.status.stored_versions, ["v1", "v2"]);
    let errors = new.validate_update(&old);
    assert_eq!((errors.len(), errors[0].field.as_str()), (1, "status.storedVersions[0]"));
}

#[test]
fn names_that_are_taken_are_not_accepted() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
    let mut first = definition(&[("/spec/names/shortNames", json!(["w"]))]);
    first.accept_names([], SystemTime::UNIX_EPOCH);
    assert!(first.is_established() && first.is_namespaced());
    assert_eq!(first.storage_version().map(|version| version.name.as_str()), Some("v1"));
    let mut second = definition(&[
        ("/metadata/name", json!("gadgets.example.dev")),
        ("/spec/names", json!({"plural": "gadgets", "kind": "Gadget", "shortNames": ["g", "w"]})),
    ]);
    assert!(second.accept_names([&first], now));
    let condition = second.condition("NamesAccepted").expect("it is there");
    assert_eq!(
        (condition.reason.as_str(), condition.message.as_str()),
        ("ShortNamesConflict", "\"w\" is already in use")
    );
    assert_eq!(condition.last_transition_time, "1970-01-02T00:00:00Z");
    assert!(!second.is_established());
    assert_eq!(
        second.condition("Established").map(|condition| condition.reason.as_str()),
        Some("NotAccepted")
    );
    assert_eq!(second.status.accepted_names.plural, "gadgets");
    assert!(second.status.accepted_names.short_names.is_empty());
    // Another group is another matter.
    let mut third = definition(&[
        ("/spec/group", json!("example.org")),
        ("/metadata/name", json!("widgets.example.org")),
    ]);
    third.accept_names([&first], now);
    assert!(third.is_established());
    // When the name is free again, it is accepted.
    assert!(second.accept_names([], now) && second.is_established());
    // The time of a transition stays while nothing changes.
    assert!(!second.accept_names([], now + Duration::from_secs(60)));
    second.set_condition("Established", true, "Again", "", now + Duration::from_secs(60));
    let condition = second.condition("Established").expect("it is there");
    assert_eq!(
        (condition.reason.as_str(), condition.last_transition_time.as_str()),
        ("Again", "1970-01-02T00:00:00Z")
    );
}

#[test]
fn unknown_fields_of_a_definition_are_kept() {
    let body = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}, "new": 1,
        "spec": {
            "group": "g", "scope": "Cluster", "new": 1, "names": {"plural": "x", "kind": "X", "new": 1},
            "versions": [{"name": "v1", "served": true, "storage": true, "new": 1, "schema": {"new": 1},
                "subresources": {"status": {"new": 1}, "scale": {"specReplicasPath": "", "statusReplicasPath": "", "new": 1}, "new": 1},
                "additionalPrinterColumns": [{"name": "", "type": "", "jsonPath": "", "new": 1}],
                "selectableFields": [{"jsonPath": "", "new": 1}]}],
            "conversion": {"strategy": "None", "new": 1},
        },
        "status": {"conditions": [{"type": "A", "status": "True", "new": 1}], "storedVersions": [], "new": 1,
            "acceptedNames": {"plural": "", "kind": ""}},
    });
    let definition: CustomResourceDefinition =
        serde_json::from_value(body.clone()).expect("it is a definition");
    assert_eq!(serde_json::to_value(definition).expect("it can be written"), body);
    let nulls = json!({"metadata": null, "spec": {"names": null, "versions": null}, "status": null});
    assert_eq!(
        serde_json::from_value::<CustomResourceDefinition>(nulls).expect("null is nothing").name(),
        ""
    );
}

// === Tables and scales ===

#[test]
fn cells_are_shown_by_type() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(3600);
    let cell = |column_type: &str, value: Value| {
        let column = PrinterColumn {
            name: "C".into(),
            column_type: column_type.into(),
            json_path: ".v".into(),
            ..PrinterColumn::default()
        };
        TableColumns::new(&[column]).cells(&json!({"metadata": {"name": "n"}, "v": value}), now)[1].clone()
    };
    assert_eq!(cell("string", json!("x")), json!("x"));
    assert_eq!(cell("string", json!(1.5)), json!("1.5"));
    assert_eq!(cell("string", json!(true)), json!("true"));
    assert_eq!(cell("string", json!({"a": ["b"]})), json!("{\"a\":[\"b\"]}"));
    assert_eq!(cell("integer", json!(7)), json!(7));
    assert_eq!(cell("integer", json!(7.9)), json!(7));
    assert_eq!(cell("integer", json!("7")), json!(null));
    assert_eq!(cell("number", json!(1.5)), json!(1.5));
    assert_eq!(cell("number", json!(1)), json!(1));
    assert_eq!(cell("boolean", json!(true)), json!(true));
    assert_eq!(cell("boolean", json!("true")), json!(null));
    assert_eq!(cell("date", json!("1970-01-01T00:00:00Z")), json!("60m"));
    assert_eq!(cell("date", json!("soon")), json!("<invalid>"));
    assert_eq!(cell("date", json!(1)), json!(null));
}

#[test]
fn a_table_without_columns_shows_the_age() {
    let columns = TableColumns::new(&[]);
    let names: Vec<_> = columns
        .definitions()
        .iter()
        .map(|column| (column.name.as_str(), column.column_type.as_str()))
        .collect();
    assert_eq!(names, [("Name", "string"), ("Age", "date")]);
    let object = json!({"metadata": {"name": "n", "creationTimestamp": "1970-01-01T00:00:00Z"}});
    assert_eq!(
        columns.cells(&object, SystemTime::UNIX_EPOCH + Duration::from_secs(5)),
        [json!("n"), json!("5s")]
    );
    assert_eq!(columns.cells(&json!(null), SystemTime::UNIX_EPOCH), [json!(""), json!(null)]);
}

#[test]
fn a_scale_is_read_and_written() {
    let paths = ScalePaths {
        spec_replicas_path: ".spec.a.n".into(),
        status_replicas_path: ".status.n".into(),
        label_selector_path: Some(".status.s".into()),
        ..ScalePaths::default()
    };
    let mut object = json!({"metadata": {"name": "w", "labels": {"a": "b"}}, "spec": {"a": {"n": 2}}, "status": {"n": 1, "s": "a=b"}});
    let found = scale(&paths, &object).expect("there is one");
    assert_eq!(found["metadata"], json!({"name": "w"}));
    assert_eq!(
        (&found["spec"], &found["status"]),
        (&json!({"replicas": 2}), &json!({"replicas": 1, "selector": "a=b"}))
    );

    apply_scale(&paths, &mut object, &json!({"metadata": {"resourceVersion": "7"}, "spec": {}}))
        .expect("there is a place");
    apply_scale_version(&mut object, &json!({"metadata": {"resourceVersion": "7"}}));
    assert_eq!((&object["spec"]["a"]["n"], &object["metadata"]["resourceVersion"]), (&json!(0), &json!("7")));
    assert_eq!(scale(&paths, &object).expect("there is one")["spec"], json!({}));

    let mut empty = json!({});
    assert_eq!(scale(&paths, &empty), Err(ScaleError::NoReplicas(".spec.a.n".into())));
    apply_scale(&paths, &mut empty, &json!({"spec": {"replicas": 3}})).expect("places are made");
    assert_eq!(empty, json!({"spec": {"a": {"n": 3}}}));
    for wrong in [json!("x"), json!(1.5), json!(1_i64 << 40)] {
        assert_eq!(
            apply_scale(&paths, &mut empty, &json!({"spec": {"replicas": wrong}})),
            Err(ScaleError::NoNumber)
        );
    }
    assert_eq!(
        apply_scale(&paths, &mut json!({"spec": 1}), &json!({})).map_err(|error| error.to_string()),
        Err("value cannot be set because .spec is not a map[string]interface{}".into())
    );
}

#[test]
fn what_a_scale_is_made_of_is_checked() {
    let paths = ScalePaths {
        spec_replicas_path: ".spec.n".into(),
        status_replicas_path: ".status.n".into(),
        label_selector_path: Some(".status.s".into()),
        ..ScalePaths::default()
    };
    let check = |object: Value, want: &[&str]| {
        let errors: Vec<_> =
            validate_scale_fields(&paths, &object).iter().map(FieldError::to_string).collect();
        assert_eq!(errors, want);
    };
    check(json!({}), &[]);
    check(json!({"spec": {"n": 1}, "status": {"n": 0, "s": ""}}), &[]);
    check(
        json!({"spec": {"n": 1_i64 << 31}, "status": {"n": -1, "s": 1}}),
        &[
            ".spec.n: Invalid value: 2147483648: should be less than or equal to 2147483647",
            ".status.n: Invalid value: -1: should be a non-negative integer",
            ".status.s: Invalid value: \"\": .status.s accessor error: 1 is of the type int64, expected string",
        ],
    );
    check(
        json!({"spec": {"n": 1.5}}),
        &[".spec.n: Invalid value: 0: .spec.n accessor error: 1.5 is of the type float64, expected int64"],
    );
}

#[test]
fn objects_of_a_version_without_schema_are_kept() {
    let old = definition(&[("/spec/versions/0/schema", json!(null))]);
    let resource = CustomResource::compile(&old, "v1").expect("it compiles").expect("v1 is there");
    let mut object = json!({"apiVersion": "example.dev/v1", "kind": "Widget", "anything": {"goes": 1}});
    assert!(resource.decode(&mut object).is_empty() && resource.validate_create(&object).is_empty());
    assert_eq!(object["anything"], json!({"goes": 1}));
}

#[test]
fn generations_count_changes_of_what_is_wanted() {
    let with_status = definition(&[("/spec/versions/0/subresources", json!({"status": {}}))]);
    let resource = CustomResource::compile(&with_status, "v1").expect("it compiles").expect("v1 is there");
    let old = json!({"kind": "Widget", "metadata": {"generation": 4}, "spec": {"a": 1}, "status": {"x": 1}});
    for (new, want) in [
        (json!({"kind": "Widget", "metadata": {"labels": {}}, "spec": {"a": 1}}), 4),
        (json!({"kind": "Widget", "metadata": {}, "spec": {"a": 2}, "status": {"x": 2}}), 5),
        (json!({"kind": "Widget", "metadata": {}, "spec": {"a": 1}, "status": {"x": 2}}), 4),
    ] {
        let mut new = new;
        resource.prepare_for_update(&mut new, &old);
        assert_eq!((&new["metadata"]["generation"], &new["status"]), (&json!(want), &json!({"x": 1})));
    }
    let without = CustomResource::compile(&definition(&[]), "v1").expect("it compiles").expect("v1 is there");
    let mut new = json!({"kind": "Widget", "metadata": {}, "spec": {"a": 1}, "status": {"x": 2}});
    without.prepare_for_update(&mut new, &old);
    assert_eq!((&new["metadata"]["generation"], &new["status"]), (&json!(5), &json!({"x": 2})));
}
