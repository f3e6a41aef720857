//! Selectors give the recorded answers.

#![allow(clippy::unwrap_used)] // helpers of tests count as tests

mod differences;

use std::collections::BTreeMap;

use differences::DIFFERENCES;
use lariat_api::{fields, labels};
use lariat_fixtures::vectors::{self, Case};
use serde_json::{Value, json};

type Pairs = BTreeMap<String, String>;

#[test]
fn label_selector_vectors() {
    vectors::run("client-go/label-selectors", DIFFERENCES, |case| {
        let selector = text(case).parse::<labels::Selector>();
        case.expect(selector.map(|selector| {
            let requirement = |r: &labels::Requirement| {
                json!({"key": r.key(), "operator": r.operator().as_str(), "values": r.values()})
            };
            json!({
                "string": selector.to_string(),
                "matches": each(case, "labelSets", |set| selector.matches(set)),
                "empty": selector.is_empty(),
                "selectable": !selector.is_nothing(),
                "requirements": selector.requirements().unwrap().iter().map(requirement).collect::<Value>(),
            })
        }))
    });
}

#[test]
fn label_selector_object_vectors() {
    vectors::run("client-go/labelselector-objects", DIFFERENCES, |case| {
        let object: Option<labels::LabelSelector> =
            serde_json::from_value(case.input["labelSelector"].clone()).unwrap();
        let selector = labels::Selector::from_label_selector(object.as_ref());
        case.expect(selector.map(|selector| {
            let mut answer = json!({
                "string": selector.to_string(),
                "matches": each(case, "labelSets", |set| selector.matches(set)),
                "empty": selector.is_empty(),
                "format": labels::format_label_selector(object.as_ref()),
            });
            match object.as_ref().map(labels::LabelSelector::as_map).transpose() {
                Ok(map) => answer["asMap"] = json!(map),
                // Only the fact of an error is compared, not its text.
                Err(_) => {
                    answer["asMapError"] = case.want.get("asMapError").cloned().unwrap_or(json!("an error"));
                }
            }
            answer
        }))
    });
}

#[test]
fn field_selector_vectors() {
    vectors::run("client-go/field-selectors", DIFFERENCES, |case| {
        let selector = text(case).parse::<fields::Selector>();
        case.expect(selector.map(|selector| {
            let requirement = |r: &fields::Requirement| {
                json!({"field": r.field(), "operator": r.operator().as_str(), "value": r.value()})
            };
            json!({
                "string": selector.to_string(),
                "matches": each(case, "fieldSets", |set| selector.matches(set)),
                "empty": selector.is_empty(),
                "requirements": selector.requirements().iter().map(requirement).collect::<Value>(),
            })
        }))
    });
}

/// The selector of a case; an empty one may be left out.
fn text(case: &Case) -> &str {
    case.input["selector"].as_str().unwrap_or_default()
}

fn each(case: &Case, sets: &str, matches: impl Fn(&Pairs) -> bool) -> Vec<bool> {
    let sets: Option<Vec<Option<Pairs>>> = serde_json::from_value(case.input[sets].clone()).unwrap();
    sets.unwrap_or_default().into_iter().map(|set| matches(&set.unwrap_or_default())).collect()
}
