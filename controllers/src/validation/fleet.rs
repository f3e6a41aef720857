use lariat::api::IntOrString;

use super::game_server::spec;
use super::meta::{annotations, labels, name, object_meta};
use super::{Errors, FieldError, FieldErrorKind};
use crate::defaults;
use crate::gates::{FeatureGates, Gate};
use crate::template::same_template;
use crate::types::{
    AllocationOverflow, Fleet, FleetStrategy, GameServerSet, GameServerTemplate, Priority, Undecodable,
};

/// What is wrong with a fleet, defaults applied; on creation and on update.
pub fn fleet(fleet: &Fleet, gates: FeatureGates) -> Vec<FieldError> {
    let mut errors = Errors::default();
    name(&mut errors, &fleet.metadata);
    strategy(&mut errors, &fleet.spec.strategy);
    if let Some(overflow) = &fleet.spec.allocation_overflow {
        allocation_overflow(&mut errors, overflow);
    }
    priorities(&mut errors, &fleet.spec.priorities, gates);
    template(&mut errors, fleet.spec.template.get(), gates);
    errors.0
}

/// What is wrong with a new set.
pub fn game_server_set(set: &GameServerSet, gates: FeatureGates) -> Vec<FieldError> {
    let mut errors = Errors::default();
    name(&mut errors, &set.metadata);
    priorities(&mut errors, &set.spec.priorities, gates);
    template(&mut errors, set.spec.template.get(), gates);
    errors.0
}

/// What is wrong with a change of a set: its template stays.
pub fn game_server_set_update(old: &GameServerSet, new: &GameServerSet) -> Vec<FieldError> {
    let mut errors = Errors::default();
    name(&mut errors, &new.metadata);
    if !same_template(&old.spec.template, &new.spec.template) {
        errors.invalid("spec.template", "must not be changed: make another set");
    }
    errors.0
}

fn template(errors: &mut Errors, template: Result<&GameServerTemplate, Undecodable>, gates: FeatureGates) {
    let template = match template {
        Ok(template) => template,
        Err(error) => return errors.invalid("spec.template", error.to_string()),
    };
    let mut of_server = template.spec.clone();
    defaults::game_server_spec(&mut of_server);
    spec(errors, &of_server, None, gates, "spec.template.spec");
    object_meta(errors, &template.metadata, "spec.template.metadata");
}

fn strategy(errors: &mut Errors, strategy: &FleetStrategy) {
    match strategy.kind.as_str() {
        "Recreate" => {}
        "RollingUpdate" => {
            let update = strategy.rolling_update.as_ref();
            let path = "spec.strategy.rollingUpdate";
            let Some(update) = update else {
                return errors.required(path, "a rolling update needs it");
            };
            part(errors, update.max_unavailable.as_ref(), &format!("{path}.maxUnavailable"));
            part(errors, update.max_surge.as_ref(), &format!("{path}.maxSurge"));
        }
        other => {
            let detail = format!("{other:?}: want \"RollingUpdate\" or \"Recreate\"");
            errors.add(FieldErrorKind::NotSupported, "spec.strategy.type", detail);
        }
    }
}

/// At least one, or 1 % to 99 %.
fn part(errors: &mut Errors, part: Option<&IntOrString>, path: &str) {
    let Some(part) = part else { return errors.required(path, "a rolling update needs it") };
    let fits = match part {
        IntOrString::Int(number) => *number >= 1,
        IntOrString::String(_) => {
            matches!(part.without_percent_signs(), Ok(1..=99))
        }
    };
    if !fits {
        errors.invalid(path, "must be at least 1, or 1% to 99%");
    }
}

fn allocation_overflow(errors: &mut Errors, overflow: &AllocationOverflow) {
    let path = "spec.allocationOverflow";
    labels(errors, &overflow.labels, &format!("{path}.labels"));
    let entries = overflow.annotations.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    annotations(errors, entries, &format!("{path}.annotations"));
}

fn priorities(errors: &mut Errors, priorities: &[Priority], gates: FeatureGates) {
    if !priorities.is_empty() && !gates.has(Gate::CountsAndLists) {
        errors.forbidden("spec.priorities", "needs the feature gate CountsAndLists");
    }
}
