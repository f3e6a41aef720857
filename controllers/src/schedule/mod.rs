//! Times that recur: cron expressions, Go's durations and time zones, as autoscalers with schedules use them (FAS-8).

mod cron;
mod duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use cron::{Cron, InvalidCron};
pub use duration::{InvalidDuration, parse_duration};

use crate::types::SchedulePolicy;

/// How long before its time a schedule begins, in seconds: so that it is not missed between two looks.
const LEAD: i64 = 90;

/// How long a period is that has no end: 290 years, in nanoseconds.
const ENDLESS: i64 = 2_540_400 * 3_600 * 1_000_000_000;

/// A schedule that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSchedule {
    /// The begin or the end of the span.
    #[error("between.{field}: {value:?} is not a time in RFC 3339")]
    Time {
        /// `start` or `end`.
        field: &'static str,
        /// What was given.
        value: String,
    },
    /// The time zone.
    #[error("activePeriod.timezone: no time zone {0:?}: want an IANA name, such as \"America/New_York\"")]
    TimeZone(String),
    /// The cron expression.
    #[error("activePeriod.startCron: {0}")]
    Cron(#[from] InvalidCron),
    /// The duration.
    #[error("activePeriod.duration: {0}")]
    Duration(#[from] InvalidDuration),
}

/// Whether a schedule is active at a time.
///
/// It begins up to 90 s early. Without a cron expression it is active during its whole span; without a duration, too, if its
/// cron expression ever comes true.
///
/// # Errors
///
/// If anything in it cannot be understood.
pub fn is_active(schedule: &SchedulePolicy, now: Timestamp) -> Result<bool, InvalidSchedule> {
    let start = time("start", schedule.between.start.as_deref())?;
    let end = time("end", schedule.between.end.as_deref())?;
    if start.is_some_and(|start| now < start) || end.is_some_and(|end| now > end) {
        return Ok(false);
    }
    let period = &schedule.active_period;
    if period.start_cron.is_empty() {
        return Ok(true);
    }
    let zone = time_zone(&period.timezone)?;
    let cron: Cron = period.start_cron.parse()?;
    let duration = if period.duration.is_empty() { ENDLESS } else { parse_duration(&period.duration)? };

    let second = 1_000_000_000_i128;
    let now = now.as_nanosecond();
    let earlier = now.saturating_sub(duration.into());
    let Ok(earlier) = Timestamp::from_nanosecond(earlier) else { return Ok(false) };
    let Some(begin) = cron.next(earlier, &zone) else { return Ok(false) };
    let begin = begin.as_nanosecond();
    Ok(now > begin - i128::from(LEAD) * second && now < begin + i128::from(duration))
}

/// The time zone of a name, written exactly so; UTC for `""`.
///
/// # Errors
///
/// If there is none.
pub fn time_zone(name: &str) -> Result<TimeZone, InvalidSchedule> {
    let unknown = || InvalidSchedule::TimeZone(name.to_owned());
    match name {
        "" | "UTC" => Ok(TimeZone::UTC),
        // What is local to a controller is what its machine says; a container's is UTC.
        "Local" => Ok(TimeZone::try_system().unwrap_or(TimeZone::UTC)),
        _ => {
            let zone = TimeZone::get(name).map_err(|_| unknown())?;
            // The look-up is blind to case; Go's, on most file systems, is not.
            if zone.iana_name() == Some(name) { Ok(zone) } else { Err(unknown()) }
        }
    }
}

pub(crate) fn time(field: &'static str, value: Option<&str>) -> Result<Option<Timestamp>, InvalidSchedule> {
    match value {
        None | Some("") => Ok(None),
        Some(text) => {
            text.parse().map(Some).map_err(|_| InvalidSchedule::Time { field, value: text.to_owned() })
        }
    }
}
