use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::server::Server;
use crate::Elector;
use crate::config::ElectorConfig;
use crate::coordination::Coordination;
use crate::leading::Leading;
use crate::observer::EndReason;

fn lease(holder: &str, preferred: Option<&str>) -> Value {
    json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 3, "strategy": "OldestEmulationVersion",
        "acquireTime": "2024-03-01T12:00:00.000000Z", "renewTime": "2024-03-01T12:00:00.000000Z", "preferredHolder": preferred})
}

/// 3.4: a candidate announces itself, never creates or takes the Lease, renews one that it was given, says that it is there when it is
/// asked, and ends when another one is to have the Lease.
#[tokio::test(start_paused = true)]
async fn the_server_chooses() {
    let server = Server::new();
    let coordination = Coordination::new("1.57.0");
    let config = ElectorConfig { coordination: Some(coordination), ..ElectorConfig::new("a") };
    let mut elector = Elector::new(server.clone(), config).unwrap();
    let terms = Mutex::new(Vec::new());
    let began = Instant::now();
    let run = elector.run_once(std::future::pending(), |leading: Leading| {
        terms.lock().unwrap().push((began.elapsed().as_secs(), leading.clone()));
        async move { leading.stopping().await }
    });
    let outside = async {
        sleep(Duration::from_secs(60)).await;
        assert_eq!(server.shown(), Value::Null, "the Lease is not created");
        let renewed = server.with_candidate("a", |candidate| {
            let spec = serde_json::to_value(&candidate.spec).unwrap();
            assert_eq!((&spec["leaseName"], &spec["binaryVersion"]), (&json!("lock"), &json!("1.57.0")));
            candidate.spec.renew_time.clone().unwrap()
        });
        server.overwrite(&lease("", None));
        sleep(Duration::from_secs(60)).await;
        assert_eq!(server.shown()["spec"]["holderIdentity"], "", "the Lease is not taken");
        server.with_candidate("a", |candidate| {
            assert_eq!(candidate.spec.renew_time.as_deref(), Some(&*renewed), "nobody has asked");
            candidate.spec.ping_time = Some("9000-01-01T00:00:00.000000Z".to_owned());
        });
        sleep(Duration::from_secs(5)).await;
        server.with_candidate("a", |candidate| {
            assert!(candidate.spec.renew_time.as_deref() > Some(&*renewed), "it was asked");
            candidate.spec.ping_time = None;
        });

        server.overwrite(&lease("a", None));
        sleep(Duration::from_secs(60)).await;
        let spec = &server.shown()["spec"];
        assert_eq!(
            (&spec["holderIdentity"], &spec["strategy"]),
            (&json!("a"), &json!("OldestEmulationVersion"))
        );
        assert_eq!(spec["acquireTime"], "2024-03-01T12:00:00.000000Z");
        assert_ne!(spec["renewTime"], "2024-03-01T12:00:00.000000Z");

        let mut wanted = spec.clone();
        wanted["preferredHolder"] = "b".into();
        server.overwrite(&wanted);
        sleep(Duration::from_secs(60)).await;
    };
    let (ended, ()) = tokio::join!(run, outside);
    assert_eq!(ended, Err(EndReason::Taken { by: "b".to_owned() }));
    let terms = terms.into_inner().unwrap();
    assert_eq!(terms.len(), 1);
    assert!((125..130).contains(&terms[0].0), "{}", terms[0].0);
    assert_eq!(terms[0].1.transitions(), 3);
    assert_eq!(server.shown()["spec"]["holderIdentity"], "", "what is to go to another one is given back");
}
