//! Times as they stand in objects, and ages as tables show them.

use std::time::{SystemTime, UNIX_EPOCH};

/// A date: `2006-01-02`.
pub(crate) fn is_date(text: &str) -> bool {
    parse_date(text).is_some()
}

/// A date and time of RFC 3339, as the format `date-time` demands it.
pub(crate) fn is_date_time(text: &str) -> bool {
    parse_rfc3339(text).is_some()
}

/// Seconds since 1970 and nanoseconds of a time of RFC 3339.
pub(crate) fn parse_rfc3339(text: &str) -> Option<(i64, u32)> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = parse_date(date)?;
    let rest = rest.strip_prefix(['T', 't'])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let mut parts = clock.split(':').map(|part| digits(part, 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if hour > 23 || minute > 59 || second > 59 || parts.next().is_some() {
        return None;
    }
    let (nanos, rest) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (fraction, rest) = rest.split_at(end);
            if fraction.is_empty() {
                return None;
            }
            let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
            (nine.parse().ok()?, rest)
        }
    };
    let offset = match rest {
        "Z" | "z" => 0,
        rest => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = rest.strip_prefix(['+', '-'])?.split_once(':')?;
            sign * (digits(hours, 2)? * 3600 + digits(minutes, 2)? * 60)
        }
    };
    Some((days * 86_400 + hour * 3600 + minute * 60 + second - offset, nanos))
}

/// A time as it is written into objects, to the second.
pub(crate) fn format_rfc3339(time: SystemTime) -> String {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        // A time before the epoch is cut down to a whole second, too.
        Err(before) => {
            let before = before.duration();
            -i64::try_from(before.as_secs() + u64::from(before.subsec_nanos() > 0)).unwrap_or(i64::MAX)
        }
    };
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// How long ago a time is, as tables show it: `7s`, `3m20s`, `2d4h`.
pub(crate) fn age(text: &str, now: SystemTime) -> String {
    let Some((seconds, nanos)) = parse_rfc3339(text) else { return "<invalid>".into() };
    let now = match now.duration_since(UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
    };
    let nanos = now.saturating_sub(i128::from(seconds) * 1_000_000_000 + i128::from(nanos));
    // Rounded towards zero, as Go does.
    human_duration(i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX))
}

fn human_duration(seconds: i64) -> String {
    const DAY: i64 = 24;
    const YEAR: i64 = 365 * DAY;
    let two = |high: i64, unit: &str, low: i64, low_unit: &str| match low {
        0 => format!("{high}{unit}"),
        low => format!("{high}{unit}{low}{low_unit}"),
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match (seconds, minutes, hours) {
        (..-1, _, _) => "<invalid>".into(),
        (..0, _, _) => "0s".into(),
        (..120, _, _) => format!("{seconds}s"),
        (_, ..10, _) => two(minutes, "m", seconds % 60, "s"),
        (_, ..180, _) => format!("{minutes}m"),
        (_, _, ..8) => two(hours, "h", minutes % 60, "m"),
        (_, _, ..48) => format!("{hours}h"),
        (_, _, hours) if hours < 8 * DAY => two(hours / DAY, "d", hours % DAY, "h"),
        (_, _, hours) if hours < 2 * YEAR => format!("{}d", hours / DAY),
        (_, _, hours) if hours < 8 * YEAR => two(hours / YEAR, "y", hours / DAY % 365, "d"),
        (_, _, hours) => format!("{}y", hours / YEAR),
    }
}

/// Days since 1970.
fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

/// Year, month and day of a day since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{age, format_rfc3339, human_duration, parse_rfc3339};

    fn system_time(text: &str) -> Option<SystemTime> {
        let (seconds, nanos) = parse_rfc3339(text)?;
        Some(SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(seconds).ok()?, nanos))
    }

    #[test]
    fn times_survive_a_round_trip() {
        for text in
            ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2026-11-29T12:23:47Z", "2100-03-01T00:00:00Z"]
        {
            assert_eq!(system_time(text).map(format_rfc3339).as_deref(), Some(text));
        }
        assert_eq!(system_time("2024-01-01T01:00:00+01:00"), system_time("2024-01-01T00:00:00Z"));
    }

    #[test]
    fn ages_are_short() {
        let now = system_time("2024-01-02T00:00:00.5Z").expect("a time");
        assert_eq!(age("2024-01-01T23:59:59Z", now), "1s");
        assert_eq!(age("2024-01-02T00:00:01Z", now), "0s");
        assert_eq!(age("2024-01-02T00:01:00Z", now), "<invalid>");
        assert_eq!(age("yesterday", now), "<invalid>");
        for (seconds, want) in [
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (30_000, "8h"),
            (190_000, "2d4h"),
            (172_800, "2d"),
            (800_000, "9d"),
            (70_000_000, "2y80d"),
            (400_000_000, "12y"),
        ] {
            assert_eq!(human_duration(seconds), want);
        }
    }
}
