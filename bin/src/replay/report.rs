//! What a replay found, as a table or as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use lariat_controllers::fleetautoscalers::Decision;
use serde::{Serialize, Serializer};

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) recording: String,
    #[serde(skip)]
    pub(super) duration: Duration,
    #[serde(serialize_with = "by_name")]
    pub(super) resources: Vec<Followed>,
    #[serde(serialize_with = "decisions")]
    pub(super) decisions: Vec<Decision>,
}

/// What became of one resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Followed {
    /// `plural.group`, or the plural alone for the core group.
    #[serde(skip)]
    pub(super) name: String,
    pub(super) added: u64,
    pub(super) updated: u64,
    pub(super) deleted: u64,
    /// The keys in the store, with the version of each object.
    pub(super) objects: BTreeMap<String, String>,
    pub(super) resource_version: String,
}

impl Report {
    pub(super) fn table(&self) -> String {
        let mut resources = table(["RESOURCE", "ADDED", "UPDATED", "DELETED", "STORED", "VERSION"]);
        for resource in &self.resources {
            let numbers = [resource.added, resource.updated, resource.deleted, resource.objects.len() as u64];
            let mut row = vec![resource.name.clone()];
            row.extend(numbers.map(|number| number.to_string()));
            row.push(resource.resource_version.clone());
            resources.add_row(row);
        }
        let mut decisions = table(["FLEET", "ALLOCATED", "CURRENT", "DESIRED", "LIMITED"]);
        for decision in &self.decisions {
            let numbers = [decision.allocated, decision.current, decision.desired];
            let mut row = vec![decision.fleet.to_string()];
            row.extend(numbers.map(|number| number.to_string()));
            row.push(if decision.limited { "yes" } else { "no" }.to_owned());
            decisions.add_row(row);
        }
        let decisions = match self.decisions.len() {
            0 => "no autoscaling decisions".to_owned(),
            _ => format!("autoscaling decisions\n\n{}", trimmed(&decisions)),
        };
        let seconds = self.duration.as_secs_f64();
        format!("{}: {seconds:.1} s\n\n{}\n\n{decisions}\n", self.recording, trimmed(&resources))
    }

    pub(super) fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

/// A table without lines: names to the left, numbers to the right.
fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if index == 0 { (0, 2) } else { (0, 1) });
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn by_name<S: Serializer>(resources: &[Followed], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(resources.iter().map(|resource| (&resource.name, resource)))
}

fn decisions<S: Serializer>(decisions: &[Decision], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        fleet: &'a str,
        allocated: i32,
        current: i32,
        desired: i32,
        limited: bool,
    }

    serializer.collect_seq(decisions.iter().map(|decision| Shown {
        fleet: decision.fleet.as_str(),
        allocated: decision.allocated,
        current: decision.current,
        desired: decision.desired,
        limited: decision.limited,
    }))
}
