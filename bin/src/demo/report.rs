use std::fmt::Write as _;
use std::time::Duration;

use lariat_apiserver::ApiServer;

use super::players::Played;

/// The state of the fleet at a moment.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) at: Duration,
    pub(super) desired: i32,
    pub(super) replicas: i32,
    pub(super) ready: i32,
    pub(super) allocated: i32,
    pub(super) requests_per_second: f64,
}

impl Sample {
    pub(super) const HEADER: &'static str = "   time  desired  there  ready  allocated  requests/s";

    #[allow(clippy::cast_precision_loss)] // a rate is for reading
    pub(super) fn take(server: &ApiServer, at: Duration, requests: usize, over: Duration) -> Self {
        let fleet = server.stored("fleets.agones.dev", "default/simple").unwrap_or_default();
        let number = |part: &str, field: &str| {
            i32::try_from(fleet[part][field].as_i64().unwrap_or_default()).unwrap_or_default()
        };
        Self {
            at,
            desired: number("spec", "replicas"),
            replicas: number("status", "replicas"),
            ready: number("status", "readyReplicas"),
            allocated: number("status", "allocatedReplicas"),
            requests_per_second: requests as f64 / over.as_secs_f64(),
        }
    }

    pub(super) fn line(&self) -> String {
        let Self { at, desired, replicas, ready, allocated, requests_per_second } = self;
        let part = |number: i32, sign: &str| sign.repeat(usize::try_from(number).unwrap_or_default());
        let bar = format!("{}{}", part(*allocated, "█"), part(*ready, "░"));
        format!(
            "{:6.1}s  {desired:7}  {replicas:5}  {ready:5}  {allocated:9}  {requests_per_second:10.0}  {bar}",
            at.as_secs_f64()
        )
    }
}

#[allow(clippy::cast_precision_loss)] // a rate is for reading
pub(super) fn summary(samples: &[Sample], played: &Played, requests: usize, took: Duration) -> String {
    let most = |of: fn(&Sample) -> i32| samples.iter().map(of).max().unwrap_or_default();
    format!(
        "{} players on {} servers, {} sessions ended, nobody free {} times\n\
         most servers: {} desired, {} ready, {} allocated\n\
         {requests} requests in {:.0} s, {:.0} a second\n",
        played.allocated * 2,
        played.allocated,
        played.finished,
        played.turned_away,
        most(|sample| sample.desired),
        most(|sample| sample.ready),
        most(|sample| sample.allocated),
        took.as_secs_f64(),
        requests as f64 / took.as_secs_f64(),
    )
}

/// A page with the curves, which needs nothing else.
pub(super) fn page(samples: &[Sample], summary: &str) -> String {
    const WIDTH: f64 = 900.0;
    const HEIGHT: f64 = 300.0;
    let end = samples.last().map_or(1.0, |last| last.at.as_secs_f64()).max(1.0);
    let top = samples.iter().map(|sample| sample.desired.max(sample.replicas)).max().unwrap_or(1).max(1);
    let curve = |of: fn(&Sample) -> i32| {
        let mut points = String::new();
        for sample in samples {
            let x = sample.at.as_secs_f64() / end * WIDTH;
            let y = HEIGHT - f64::from(of(sample)) / f64::from(top) * HEIGHT;
            // Writing to a string cannot fail.
            let _ = write!(points, "{x:.1},{y:.1} ");
        }
        points
    };
    let curves = [
        ("desired", "#888", curve(|sample| sample.desired)),
        ("ready", "#2a2", curve(|sample| sample.ready)),
        ("allocated", "#c33", curve(|sample| sample.allocated)),
    ];
    let mut lines = String::new();
    let mut legend = String::new();
    for (name, colour, points) in &curves {
        let _ = write!(
            lines,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{points}\"/>"
        );
        let _ = write!(legend, "<span style=\"color:{colour}\">■ {name}</span> ");
    }
    format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>lariat demo</title>\
         <body style=\"font-family:sans-serif;margin:2em\"><h1>A fleet and its players</h1><p>{legend} \
         (0 to {top} servers, 0 to {end:.0} s)</p>\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" style=\"width:100%;border:1px solid #ccc\">{lines}</svg>\
         <pre>{summary}</pre></body></html>\n"
    )
}
