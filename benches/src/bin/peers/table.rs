//! The table: rows are what is measured, columns the programs, and the last ones how many times as much as Lariat.

use std::fmt::{self, Display, Formatter};

use lariat_benches::Data;

use crate::PROGRAMS;
use crate::measure::Measured;

pub(crate) struct Table {
    heading: String,
    objects: f64,
    events: f64,
    /// What each program was measured with, round by round.
    rounds: Vec<(&'static str, Vec<Measured>)>,
}

struct Row {
    name: &'static str,
    decimals: usize,
    value: fn(&Measured, &Table) -> f64,
}

const MB: f64 = 1e6;

const ROWS: &[Row] = &[
    Row { name: "list to synced, s", decimals: 2, value: |m, _| m.list },
    Row { name: "  CPU, s", decimals: 2, value: |m, _| m.list_cpu },
    Row { name: "  server CPU, s", decimals: 2, value: |m, _| m.list_server_cpu },
    Row { name: "  peak, MB", decimals: 0, value: |m, _| m.list_peak as f64 / MB },
    Row { name: "  settled, MB", decimals: 0, value: |m, _| m.list_settled as f64 / MB },
    Row { name: "  collected, MB", decimals: 0, value: |m, _| m.list_collected as f64 / MB },
    Row { name: "  live B per object", decimals: 0, value: |m, t| m.list_live as f64 / t.objects },
    Row { name: "watch events/s", decimals: 0, value: |m, t| t.events / m.watch },
    Row { name: "  CPU, s", decimals: 2, value: |m, _| m.watch_cpu },
    Row { name: "  server CPU, s", decimals: 2, value: |m, _| m.watch_server_cpu },
    Row { name: "  peak, MB", decimals: 0, value: |m, _| m.watch_peak as f64 / MB },
    Row { name: "  settled, MB", decimals: 0, value: |m, _| m.watch_settled as f64 / MB },
    Row { name: "  collected, MB", decimals: 0, value: |m, _| m.watch_collected as f64 / MB },
    Row { name: "  live B per object", decimals: 0, value: |m, t| m.watch_live as f64 / t.objects },
    Row { name: "  folded updates", decimals: 0, value: |m, _| m.watch_folded as f64 },
    Row { name: "list + watch CPU, s", decimals: 2, value: |m, _| m.list_cpu + m.watch_cpu },
    Row { name: "relist CPU, s", decimals: 2, value: |m, _| m.relist_cpu },
    Row { name: "  peak, MB", decimals: 0, value: |m, _| m.relist_peak as f64 / MB },
    Row { name: "  peak / before", decimals: 2, value: |m, _| m.relist_peak as f64 / m.relist_before as f64 },
];

impl Table {
    pub(crate) fn new(data: &Data, kind: &str, rounds: usize) -> Self {
        let heading = format!(
            "{} GameServers, {:.1} MB as JSON; {} events; {kind} list; median of {rounds}",
            data.first.len(),
            data.first.bytes() as f64 / MB,
            data.event_count,
        );
        let (objects, events) = (data.first.len() as f64, data.event_count as f64);
        Self { heading, objects, events, rounds: PROGRAMS.map(|name| (name, Vec::new())).into() }
    }

    pub(crate) fn add(&mut self, name: &str, measured: Measured) {
        if let Some((_, rounds)) = self.rounds.iter_mut().find(|(known, _)| *known == name) {
            rounds.push(measured);
        }
    }

    /// The median over the rounds, none if there were none.
    fn median(&self, row: &Row, rounds: &[Measured]) -> Option<f64> {
        let mut values: Vec<f64> = rounds.iter().map(|measured| (row.value)(measured, self)).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match values.len() % 2 {
            _ if values.is_empty() => None,
            0 => Some(f64::midpoint(values[middle - 1], values[middle])),
            _ => Some(values[middle]),
        }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.heading)?;
        write!(f, "{:<20}", "")?;
        for (name, _) in &self.rounds {
            write!(f, " {name:>11}")?;
        }
        writeln!(f, "   g/l   k/l")?;
        for row in ROWS {
            write!(f, "{:<20}", row.name)?;
            let medians: Vec<_> = self.rounds.iter().map(|(_, rounds)| self.median(row, rounds)).collect();
            for median in &medians {
                match median {
                    Some(median) => write!(f, " {median:>11.*}", row.decimals)?,
                    None => write!(f, " {:>11}", "-")?,
                }
            }
            let ours = medians.last().copied().flatten().filter(|ours| *ours > 0.0);
            for theirs in &medians[..2] {
                match (theirs, ours) {
                    (Some(theirs), Some(ours)) => write!(f, " {:>5.2}", theirs / ours)?,
                    _ => write!(f, " {:>5}", "-")?,
                }
            }
            writeln!(f)?;
        }
        writeln!(f, "\ng/l and k/l: the figures of client-go and kube-rs, divided by those of lariat.")
    }
}
