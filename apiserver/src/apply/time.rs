/// The seconds since the epoch of a time such as `2026-11-29T12:23:26Z`; none if it is no such time.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't'])?;
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = (rest.get(..zone_at)?, rest.get(zone_at..)?);
    let clock = clock.split_once('.').map_or(clock, |(clock, _)| clock);
    let mut clock = clock.splitn(3, ':').map(number);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let is_valid = year <= 9999 && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_valid || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset(zone)?)
}

fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn offset(zone: &str) -> Option<i64> {
    let (hours, minutes) = match zone.get(1..)? {
        "" => return Some(0),
        rest => rest.split_once(':')?,
    };
    let seconds = number(hours)? * 3600 + number(minutes)? * 60;
    Some(if zone.starts_with('-') { -seconds } else { seconds })
}

/// Days from the epoch to a date, counted in years that begin in March, so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_year = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    before_year + (month * 153 + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_are_read() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-03-01T00:00:01Z"), Some(951_868_801));
        assert_eq!(seconds("2026-11-29T12:23:26.5Z"), seconds("2026-11-29T14:23:26+02:00"));
        assert_eq!(seconds("2024-02-29T23:59:59Z").map(|at| at + 1), seconds("2024-03-01T00:00:00Z"));
        for junk in
            ["", "x", "2026-11-29", "2026-13-29T00:00:00Z", "2026-11-29T25:00:00Z", "T:Z", "é-1-1T1:1:1é"]
        {
            assert_eq!(seconds(junk), None, "{junk}");
        }
    }
}
