//! The recorded decisions of client-go's event correlator, against ours.

use std::time::Duration;

use lariat_fixtures::vectors::{self, Case, Difference, same};
use serde_json::{Value, json};

use super::{Action, Correlator, CorrelatorOptions};
use crate::events::event::{EventType, ObjectReference, Observed, Told};
use crate::time::{nanos, rfc3339};

const DIFFERENCES: &[Difference] = &[];

#[test]
fn vectors_event_correlator() {
    vectors::run("client-go/event-correlator", DIFFERENCES, replay);
}

fn replay(case: &Case) -> Result<(), String> {
    let options = &case.input["options"];
    let default = CorrelatorOptions::default();
    let number = |field: &str| options[field].as_u64();
    let mut correlator = Correlator::new(CorrelatorOptions {
        burst: number("burstSize").map_or(default.burst, |burst| u32::try_from(burst).unwrap()),
        rate: options["qps"].as_f64().unwrap_or(default.rate),
        similar: number("maxEvents").map_or(default.similar, |most| usize::try_from(most).unwrap()),
        similar_within: number("maxIntervalInSeconds").map_or(default.similar_within, Duration::from_secs),
    });
    let mut now = humantime::parse_rfc3339(case.input["start"].as_str().unwrap()).unwrap();
    let events = case.input["events"].as_array().unwrap();
    for (at, (event, want)) in events.iter().zip(case.want["results"].as_array().unwrap()).enumerate() {
        now += Duration::from_millis(event["advanceMs"].as_u64().unwrap_or(0));
        let text = |field: &str| event[field].as_str().unwrap_or("").to_owned();
        let told = Told {
            involved: ObjectReference {
                api_version: "v1".into(),
                kind: text("kind"),
                namespace: text("namespace"),
                name: text("name"),
                uid: text("uid"),
                ..ObjectReference::default()
            },
            event_type: if text("type") == "Normal" { EventType::Normal } else { EventType::Warning },
            reason: text("reason"),
            message: text("message"),
            component: text("component"),
            host: text("host"),
            name: format!("{}.ev{}", text("name"), at + 1),
            at: now,
            stamp: nanos(now),
        };
        same(format!("event {at}"), &answer(correlator.correlate(told)), want)?;
    }
    Ok(())
}

fn answer(action: Action) -> Value {
    let shown = |action: &str, observed: &Observed| {
        let Observed { told, first, last, count } = observed;
        json!({
            "action": action, "count": count, "name": told.name, "message": told.message,
            "firstTimestamp": rfc3339(*first), "lastTimestamp": rfc3339(*last),
            "aggregated": told.message.starts_with("(combined"),
        })
    };
    match action {
        Action::Create(observed) => shown("create", &observed),
        Action::Patch(observed) => {
            let mut value = shown("patch", &observed);
            value["patch"] = observed.change();
            value["patchTarget"] = observed.told.name.into();
            value
        }
        Action::Drop => json!({"action": "drop"}),
    }
}
