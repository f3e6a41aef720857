//! How well a pod's resources are guaranteed.

use serde_json::Value;

use super::super::quantity::Quantity;
use super::super::value::{entries, items, text_at};

/// The class that the requests and limits of the containers make.
pub(super) fn class(pod: &Value) -> &'static str {
    let containers =
        items(pod, &["spec", "containers"]).iter().chain(items(pod, &["spec", "initContainers"]));
    let mut any = false;
    let mut guaranteed = true;
    for container in containers {
        for name in ["cpu", "memory"] {
            let amount = |which: &str| {
                let text = text_at(container, &["resources", which, name]);
                Quantity::parse(text).filter(|amount| !amount.is_zero())
            };
            let (request, limit) = (amount("requests"), amount("limits"));
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && request.is_none_or(|request| Some(request) == limit);
        }
    }
    // Amounts for the pod as a whole count, too.
    any |= entries(pod, &["spec", "resources", "requests"]).next().is_some();
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
