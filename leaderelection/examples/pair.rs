//! Two candidates for one Lease, against an API server in this process: `cargo run -p lariat-leaderelection --example pair`.
//!
//! The first leads, ends after five seconds, and gives the Lease back; the second one takes over, without a wait.

#![allow(clippy::print_stdout)] // it is there to be read

use std::time::Duration;

use lariat_apiserver::ApiServer;
use lariat_client::{Client, Config};
use lariat_leaderelection::{ElectorConfig, Leading, LeaseLock, MissingLease, run_as_leader};
use tokio::time::{Instant, sleep};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = ApiServer::builder().build();
    let connector = move |_: &http::Uri| std::future::ready(server.try_connect());
    let client = Client::builder(Config::new("http://in-process".parse()?)?).connector(connector).build()?;

    let began = Instant::now();
    let candidate = |name: &'static str, leads_for: Duration| {
        let lock = LeaseLock::new(&client, "default", "agones-controller-lock");
        // Nobody deletes the Lease here, so the first one need not wait.
        let config = ElectorConfig { missing_lease: MissingLease::NeverHeld, ..ElectorConfig::new(name) };
        async move {
            let work = |leading: Leading| async move {
                println!("{:>4.1} s  {name} leads, {leading:?}", began.elapsed().as_secs_f64());
                tokio::select! {
                    () = leading.stopping() => {}
                    () = sleep(leads_for) => {}
                }
                println!("{:>4.1} s  {name} is done", began.elapsed().as_secs_f64());
            };
            run_as_leader(lock?, config, std::future::pending(), work).await?;
            Ok::<_, Box<dyn std::error::Error>>(())
        }
    };
    let (first, second) = tokio::join!(
        candidate("first", Duration::from_secs(5)),
        candidate("second", Duration::from_secs(1)),
    );
    first.and(second)
}
