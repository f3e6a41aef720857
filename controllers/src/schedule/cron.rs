use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::duration::parse_duration;
use super::time_zone;

/// When something happens again and again: five fields, or a word such as `@daily`.
///
/// Minute, hour, day of the month, month and day of the week. If both sorts of day are restricted, either is enough. `TZ=NAME`
/// in front says in which time zone; otherwise it is the one that [`next`](Self::next) is given.
///
/// No crate is used for this: those that there are differ from the Go library at changes of the clock and in what they accept, and
/// an autoscaler that is active at other hours than before is not a replacement.
///
/// # Example
///
/// ```
/// use jiff::tz::TimeZone;
/// use lariat_controllers::schedule::Cron;
///
/// let weekdays: Cron = "30 9 * * mon-fri".parse()?;
/// let saturday = "2026-07-04T00:00:00Z".parse()?;
/// assert_eq!(weekdays.next(saturday, &TimeZone::UTC), Some("2026-07-06T09:30:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cron {
    zone: Option<TimeZone>,
    when: When,
}

/// A text that is no cron expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a cron expression: {reason}")]
pub struct InvalidCron {
    /// The text.
    pub text: String,
    /// What is wrong.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq)]
enum When {
    Fields(Fields),
    /// Every so many seconds.
    Every(i64),
}

/// Which values match, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fields {
    minute: u64,
    hour: u64,
    day: u64,
    month: u64,
    weekday: u64,
}

/// Says of a field that it was `*`.
const STAR: u64 = 1 << 63;

/// How many years ahead a time is looked for.
const YEARS: i16 = 5;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The values that a field may have, and the names of some of them.
struct Bounds {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MINUTE: Bounds = Bounds { least: 0, most: 59, names: &[] };
const HOUR: Bounds = Bounds { least: 0, most: 23, names: &[] };
const DAY: Bounds = Bounds { least: 1, most: 31, names: &[] };
const MONTH: Bounds = Bounds { least: 1, most: 12, names: &MONTHS };
const WEEKDAY: Bounds = Bounds { least: 0, most: 6, names: &WEEKDAYS };

impl Cron {
    /// The first time after `after`; `None` if there is none within five years.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let whole = after.as_nanosecond().div_euclid(1_000_000_000);
        let whole = i64::try_from(whole).ok()?;
        match &self.when {
            When::Every(seconds) => Timestamp::from_second(whole.checked_add(*seconds)?).ok(),
            When::Fields(fields) => {
                let zone = self.zone.as_ref().unwrap_or(zone);
                fields.next(Local::at(whole.checked_add(1)?, zone)?)
            }
        }
    }
}

// === impl Fields ===

impl Fields {
    /// The first time from `from` on, whole seconds.
    ///
    /// Each field is moved on in turn, from the largest; when one wraps around, the larger ones are looked at again. Clocks that
    /// are set forward or back are met only in steps of an hour or a day, as in the original.
    fn next(&self, from: Local<'_>) -> Option<Timestamp> {
        let limit = from.civil.year().saturating_add(YEARS);
        let mut at = from;
        // Whether what is smaller than the field in hand has been set to its first value.
        let mut cleared = false;
        'again: loop {
            if at.civil.year() > limit {
                return None;
            }
            while !has(self.month, at.civil.month()) {
                if !cleared {
                    at = at.on(at.civil.date().first_of_month())?;
                    cleared = true;
                }
                at = at.next_month()?;
                if at.civil.month() == 1 {
                    continue 'again;
                }
            }
            while !self.has_day(at.civil) {
                if !cleared {
                    at = at.on(at.civil.date())?;
                    cleared = true;
                }
                at = at.next_day()?;
                if at.civil.day() == 1 {
                    continue 'again;
                }
            }
            while !has(self.hour, at.civil.hour()) {
                if !cleared {
                    let hour = at.civil.date().at(at.civil.hour(), 0, 0, 0);
                    at = at.to(hour)?;
                    cleared = true;
                }
                at = at.later(3_600)?;
                if at.civil.hour() == 0 {
                    continue 'again;
                }
            }
            while !has(self.minute, at.civil.minute()) {
                if !cleared {
                    at = Local::at(at.unix.div_euclid(60) * 60, at.zone)?;
                    cleared = true;
                }
                at = at.later(60)?;
                if at.civil.minute() == 0 {
                    continue 'again;
                }
            }
            while at.civil.second() != 0 {
                cleared = true;
                at = at.later(1)?;
                if at.civil.second() == 0 {
                    continue 'again;
                }
            }
            return Timestamp::from_second(at.unix).ok();
        }
    }

    /// Both sorts of day have to match, unless both are restricted: then one is enough.
    fn has_day(&self, at: DateTime) -> bool {
        let day = has(self.day, at.day());
        let weekday = has(self.weekday, at.weekday().to_sunday_zero_offset());
        if self.day & STAR != 0 || self.weekday & STAR != 0 { day && weekday } else { day || weekday }
    }
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits & (1 << value) != 0)
}

/// A moment, and what clocks show then.
#[derive(Clone, Copy)]
struct Local<'a> {
    unix: i64,
    civil: DateTime,
    zone: &'a TimeZone,
}

impl<'a> Local<'a> {
    fn at(unix: i64, zone: &'a TimeZone) -> Option<Self> {
        let moment = Timestamp::from_second(unix).ok()?;
        Some(Self { unix, civil: zone.to_offset(moment).to_datetime(moment), zone })
    }

    /// The moment at which clocks show a time. Where none or two do, it is the one that Go takes: the offset is looked up at the
    /// time taken for UTC, and once more at what that gives.
    fn to(self, civil: DateTime) -> Option<Self> {
        let as_if_utc = Offset::UTC.to_timestamp(civil).ok()?;
        let first = self.zone.to_offset(as_if_utc);
        let mut offset = first;
        if first != Offset::UTC {
            let guess = as_if_utc.checked_sub(SignedDuration::from_secs(first.seconds().into())).ok()?;
            offset = self.zone.to_offset(guess);
        }
        Self::at(as_if_utc.as_second() - i64::from(offset.seconds()), self.zone)
    }

    fn on(self, date: Date) -> Option<Self> {
        self.to(date.at(0, 0, 0, 0))
    }

    fn later(self, seconds: i64) -> Option<Self> {
        Self::at(self.unix.checked_add(seconds)?, self.zone)
    }

    /// The same day and time in the next month; the day is at its first by then, or overflows as in Go.
    fn next_month(self) -> Option<Self> {
        let first = self.civil.date().first_of_month().checked_add(jiff::Span::new().months(1)).ok()?;
        let days = jiff::Span::new().days(i64::from(self.civil.day()) - 1);
        let date = first.checked_add(days).ok()?;
        self.to(DateTime::from_parts(date, self.civil.time()))
    }

    /// The same time on the next day, and midnight again if the clock was set in between.
    fn next_day(self) -> Option<Self> {
        let next = self.to(DateTime::from_parts(self.civil.date().tomorrow().ok()?, self.civil.time()))?;
        let hour = i64::from(next.civil.hour());
        match hour {
            0 => Some(next),
            13.. => next.later((24 - hour) * 3_600),
            _ => next.later(-hour * 3_600),
        }
    }
}

// === parsing ===

impl FromStr for Cron {
    type Err = InvalidCron;

    fn from_str(text: &str) -> Result<Self, InvalidCron> {
        let invalid = |reason: String| InvalidCron { text: text.to_owned(), reason };
        let mut rest = text;
        let mut zone = None;
        if let Some(named) = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ=")) {
            let Some((name, after)) = named.split_once(' ') else {
                return Err(invalid("nothing after the time zone".to_owned()));
            };
            zone = Some(time_zone(name).map_err(|_| invalid(format!("no time zone {name:?}")))?);
            rest = after.trim();
        }
        let when = if rest.starts_with('@') { word(rest) } else { five_fields(rest) };
        Ok(Self { zone, when: when.map_err(invalid)? })
    }
}

fn word(text: &str) -> Result<When, String> {
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => {
            let Some(duration) = text.strip_prefix("@every ") else {
                return Err(format!("unknown word {text:?}"));
            };
            let nanos = parse_duration(duration).map_err(|error| error.to_string())?;
            return Ok(When::Every((nanos / 1_000_000_000).max(1)));
        }
    };
    five_fields(fields)
}

fn five_fields(text: &str) -> Result<When, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = *fields else {
        return Err(format!("{} fields: want minute, hour, day, month and weekday", fields.len()));
    };
    Ok(When::Fields(Fields {
        minute: field(minute, &MINUTE)?,
        hour: field(hour, &HOUR)?,
        day: field(day, &DAY)?,
        month: field(month, &MONTH)?,
        weekday: field(weekday, &WEEKDAY)?,
    }))
}

/// Ranges with commas between them.
fn field(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let mut bits = 0;
    for part in text.split(',').filter(|part| !part.is_empty()) {
        bits |= range(part, bounds)?;
    }
    Ok(bits)
}

/// `*`, `5`, `5-10`, and each of them with `/2`.
fn range(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let (span, step) = match *text.split('/').collect::<Vec<_>>() {
        [span] => (span, None),
        [span, step] => (span, Some(number(step)?)),
        _ => return Err(format!("more than one '/' in {text:?}")),
    };
    let ends: Vec<&str> = span.split('-').collect();
    let mut star = 0;
    let (first, mut last) = match *ends {
        ["*" | "?", ..] => {
            star = STAR;
            (bounds.least, bounds.most)
        }
        [only] => (value(only, bounds)?, value(only, bounds)?),
        [first, last] => (value(first, bounds)?, value(last, bounds)?),
        _ => return Err(format!("more than one '-' in {text:?}")),
    };
    if step.is_some() && ends.len() == 1 {
        last = bounds.most;
    }
    let step = step.unwrap_or(1);
    if step > 1 {
        star = 0;
    }
    if first < bounds.least || last > bounds.most || first > last || step == 0 {
        let Bounds { least, most, .. } = bounds;
        return Err(format!("{text:?} is not within {least} to {most} in steps of 1 or more"));
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    Ok((first..=last).step_by(step).fold(star, |bits, value| bits | 1 << value))
}

fn value(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let lower = text.to_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        Some(place) => Ok(u32::try_from(place).unwrap_or_default() + bounds.least),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}
