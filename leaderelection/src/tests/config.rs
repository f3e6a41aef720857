use std::time::Duration;

use lariat_fixtures::vectors;
use serde_json::Value;

use super::differences::DIFFERENCES;
use crate::{ConfigError, ElectorConfig};

/// LE-1: what client-go refuses is refused.
#[test]
fn configurations_are_refused_as_by_client_go() {
    vectors::run("client-go/leaderelection-config", DIFFERENCES, |case| {
        let nanos =
            |field: &str| Duration::from_nanos(case.input[field].as_i64().unwrap().try_into().unwrap_or(0));
        let config = ElectorConfig {
            lease_duration: nanos("leaseDurationNs"),
            renew_deadline: nanos("renewDeadlineNs"),
            retry_period: nanos("retryPeriodNs"),
            ..ElectorConfig::new(case.input["identity"].as_str().unwrap())
        };
        case.expect(config.check().map(|()| Value::from("ok")))
    });
}

/// LE-1, LE-3: an error has the inequality and the values.
#[test]
fn errors_state_the_inequality_and_the_values() {
    let check = |lease, renew, retry, identity: &str, want: &str| {
        let config = ElectorConfig {
            lease_duration: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(renew),
            retry_period: Duration::from_millis(retry),
            ..ElectorConfig::new(identity)
        };
        assert_eq!(config.check().map_err(|error| error.to_string()), Err(want.to_owned()));
    };
    check(10_000, 10_000, 2_000, "a", "lease_duration > renew_deadline does not hold: 10s > 10s");
    check(15_000, 10_000, 9_000, "a", "renew_deadline > 1.2 * retry_period does not hold: 10s > 1.2 * 9s");
    check(
        900,
        600,
        100,
        "a",
        "lease_duration in whole seconds > renew_deadline does not hold: 900ms, which is written as 0s, > 600ms",
    );
    check(15_000, 10_000, 0, "a", "retry_period > 0 does not hold: 0s > 0");
    check(15_000, 10_000, 2_000, "", "identity is empty: give each candidate a name of its own");
    assert_eq!(ElectorConfig::new("a").check(), Ok::<(), ConfigError>(())); // LE-2
}

/// LE-3: what is written is whole seconds, so what is not written cannot count.
#[test]
fn parts_of_a_second_are_not_relied_on() {
    let config = ElectorConfig {
        lease_duration: Duration::from_millis(1_500),
        renew_deadline: Duration::from_millis(900),
        retry_period: Duration::from_millis(300),
        ..ElectorConfig::new("a")
    };
    assert_eq!((config.check(), config.published_seconds()), (Ok(()), 1));
    let config = ElectorConfig { renew_deadline: Duration::from_secs(1), ..config };
    assert!(matches!(config.check(), Err(ConfigError::WholeSeconds { written: 1, .. })));
}
