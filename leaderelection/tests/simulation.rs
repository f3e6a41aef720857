//! Candidates on machines whose clocks disagree, with a network and a server that fail, and people who edit the Lease: at no time are two
//! tokens valid, tokens grow, and when all is well again there soon is one leader.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // a test fails by panicking

use std::cell::RefCell;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use lariat_api::{Randomness, Status};
use lariat_client::Error;
use lariat_leaderelection::{Elector, ElectorConfig, Leading, Lease, LeaseCandidate, Lock, Sleep, Time};
use tokio::task::LocalSet;
use tokio::time::{Instant, Sleep as TokioSleep, sleep, sleep_until};

const LEASE: Duration = Duration::from_secs(15);
const RETRY: Duration = Duration::from_secs(2);
/// For how long things go wrong.
const TROUBLE: Duration = Duration::from_secs(120);
/// The slowest and the fastest clock: they differ by a fifth.
const RATES: (f64, f64) = (0.9, 1.08);

/// A world with a seed.
struct World {
    random: Randomness,
    start: Instant,
    server: Mutex<Server>,
}

#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    version: u64,
    /// The server answers nothing, or in a bad way, up to then.
    bad_until: Option<(Instant, Fault)>,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    /// No answer, and nothing is done.
    Lost,
    /// No answer, and what was asked for is done.
    AnswerLost,
    Unavailable,
    Conflict,
    Slow,
}

const FAULTS: [Fault; 5] = [Fault::Lost, Fault::AnswerLost, Fault::Unavailable, Fault::Conflict, Fault::Slow];

impl World {
    fn is_healed(&self) -> bool {
        self.start.elapsed() >= TROUBLE
    }

    fn chance(&self, probability: f64) -> bool {
        self.random.unit() < probability
    }

    fn between(&self, from: Duration, to: Duration) -> Duration {
        from + (to - from).mul_f64(self.random.unit())
    }

    fn fault(&self) -> Fault {
        FAULTS[usize::try_from(self.random.below(5)).unwrap()]
    }
}

impl Server {
    fn put(&mut self, mut lease: Lease) -> Lease {
        self.version += 1;
        lease.metadata.resource_version = self.version.to_string().into();
        self.lease = Some(lease.clone());
        lease
    }
}

/// A machine's way to the server.
struct Link {
    world: Arc<World>,
    cut_until: Arc<Mutex<Option<(Instant, Fault)>>>,
}

impl Link {
    fn trouble(&self) -> Option<Fault> {
        let now = Instant::now();
        let of = |trouble: Option<(Instant, Fault)>| {
            trouble.filter(|(until, _)| now < *until).map(|(_, fault)| fault)
        };
        let cut = of(*self.cut_until.lock().unwrap());
        let trouble = cut.or_else(|| of(self.world.server.lock().unwrap().bad_until));
        trouble.or_else(|| (!self.world.is_healed() && self.world.chance(0.05)).then(|| self.world.fault()))
    }

    async fn call(
        &self,
        run: impl FnOnce(&mut Server) -> Result<Lease, (u16, &'static str)>,
    ) -> Result<Lease, Error> {
        let world = &*self.world;
        sleep(world.between(Duration::ZERO, Duration::from_millis(50))).await;
        let trouble = self.trouble();
        let answer = match trouble {
            Some(Fault::Lost) => return std::future::pending().await,
            Some(Fault::Unavailable) => Err((503, "ServiceUnavailable")),
            Some(Fault::Conflict) => Err((409, "Conflict")),
            Some(Fault::Slow) => {
                // It may be carried out long after the client has given up.
                sleep(world.between(Duration::ZERO, Duration::from_secs(4))).await;
                run(&mut world.server.lock().unwrap())
            }
            Some(Fault::AnswerLost) | None => run(&mut world.server.lock().unwrap()),
        };
        if matches!(trouble, Some(Fault::AnswerLost)) {
            return std::future::pending().await;
        }
        sleep(world.between(Duration::ZERO, Duration::from_millis(50))).await;
        answer.map_err(|(code, reason)| Error::Status {
            method: http::Method::GET,
            target: "/lease".to_owned(),
            status: Box::new(Status { code, reason_text: reason.into(), ..Status::default() }),
        })
    }
}

impl Lock for Link {
    async fn get(&self) -> Result<Lease, Error> {
        self.call(|server| server.lease.clone().ok_or((404, "NotFound"))).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, Error> {
        let lease = lease.clone();
        self.call(|server| match &server.lease {
            Some(_) => Err((409, "AlreadyExists")),
            None => Ok(server.put(lease)),
        })
        .await
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, Error> {
        let lease = lease.clone();
        self.call(|server| match &server.lease {
            None => Err((404, "NotFound")),
            Some(kept) if kept.metadata.resource_version != lease.metadata.resource_version => {
                Err((409, "Conflict"))
            }
            Some(_) => Ok(server.put(lease)),
        })
        .await
    }

    async fn candidate(&self, _: &str) -> Result<LeaseCandidate, Error> {
        unreachable!("candidates choose by themselves")
    }

    async fn announce(&self, _: &LeaseCandidate) -> Result<LeaseCandidate, Error> {
        unreachable!("candidates choose by themselves")
    }

    fn name(&self) -> &str {
        "lock"
    }
}

/// A machine's clock, which goes at its own rate and is off.
struct MachineTime {
    start: Instant,
    rate: f64,
    offset: Duration,
}

impl Time for MachineTime {
    fn now(&self) -> Duration {
        self.start.elapsed().mul_f64(self.rate)
    }

    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(sleep(time.div_f64(self.rate)))
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.offset + self.now()
    }
}

/// A program that is stopped now and then: nothing in it goes on meanwhile, but the clock does.
struct Stoppable<F> {
    program: Pin<Box<F>>,
    stopped_until: Rc<RefCell<Option<Instant>>>,
    wake: Option<Pin<Box<TokioSleep>>>,
}

impl<F: Future> Future for Stoppable<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let until = *self.stopped_until.borrow();
        if let Some(until) = until.filter(|until| *until > Instant::now()) {
            let mut wake = Box::pin(sleep_until(until));
            let _ = wake.as_mut().poll(context);
            self.wake = Some(wake);
            return Poll::Pending;
        }
        self.program.as_mut().poll(context)
    }
}

/// All that has led, and what is known of it.
#[derive(Default)]
struct Terms {
    tokens: Vec<Leading>,
    greatest: Option<Leading>,
}

impl Terms {
    fn begin(&mut self, token: &Leading, seed: u64) {
        if let Some(greatest) = &self.greatest {
            assert!(token > greatest, "seed {seed}: {token:?} is not greater than {greatest:?}");
        }
        self.greatest = Some(token.clone());
        self.tokens.push(token.clone());
        self.check(seed);
    }

    /// At most one token is valid.
    fn check(&mut self, seed: u64) -> usize {
        let valid: Vec<&Leading> = self.tokens.iter().filter(|token| token.check().is_ok()).collect();
        assert!(valid.len() < 2, "seed {seed}: two lead at one time: {valid:?}");
        let count = valid.len();
        if self.tokens.len() > 20 {
            self.tokens.drain(..10);
        }
        count
    }
}

async fn candidate(
    world: Arc<World>,
    name: String,
    time: Arc<MachineTime>,
    cut_until: Arc<Mutex<Option<(Instant, Fault)>>>,
    terms: Rc<RefCell<Terms>>,
    seed: u64,
) {
    let config = ElectorConfig {
        time,
        randomness: Randomness::seeded(world.random.below(u64::MAX)),
        ..ElectorConfig::new(name)
    };
    let mut elector = Elector::new(Link { world: world.clone(), cut_until }, config).unwrap();
    // Some programs end in an orderly way, and leave the Lease to others.
    let end = world.start + world.between(Duration::ZERO, TROUBLE);
    let end = if world.chance(0.3) && end > Instant::now() { end } else { world.start + 10 * TROUBLE };
    let work = async |leading: Leading| {
        terms.borrow_mut().begin(&leading, seed);
        leading.stopping().await;
        // Work does not end at once.
        sleep(world.between(Duration::ZERO, Duration::from_secs(8))).await;
    };
    elector.run(sleep_until(end), work).await;
}

/// A machine runs its program, stops it, kills it, and starts it again.
async fn machine(world: Arc<World>, nth: u64, terms: Rc<RefCell<Terms>>, seed: u64) {
    let rate = RATES.0 + (RATES.1 - RATES.0) * world.random.unit();
    let offset = world.between(Duration::from_secs(1_000_000), Duration::from_secs(2_000_000));
    let time = Arc::new(MachineTime { start: world.start, rate, offset });
    let cut_until = Arc::new(Mutex::new(None));
    // A pod has a new name each time, a machine keeps it.
    let keeps_name = world.chance(0.3);
    for generation in 0.. {
        let stopped_until = Rc::new(RefCell::new(None));
        let name = if keeps_name { format!("machine-{nth}") } else { format!("pod-{nth}-{generation}") };
        let program = candidate(world.clone(), name, time.clone(), cut_until.clone(), terms.clone(), seed);
        let program =
            Stoppable { program: Box::pin(program), stopped_until: stopped_until.clone(), wake: None };
        let trouble = async {
            loop {
                sleep(world.between(Duration::from_secs(3), Duration::from_secs(40))).await;
                if world.is_healed() {
                    std::future::pending::<()>().await;
                }
                let until = |length: Duration| (Instant::now() + length).min(world.start + TROUBLE);
                match world.random.below(4) {
                    0 => return,
                    1 => {
                        let length = world.between(Duration::from_secs(1), Duration::from_secs(40));
                        *stopped_until.borrow_mut() = Some(until(length));
                    }
                    _ => {
                        let length = world.between(Duration::from_secs(1), Duration::from_secs(30));
                        *cut_until.lock().unwrap() = Some((until(length), world.fault()));
                    }
                }
            }
        };
        tokio::select! {
            () = program => {}
            () = trouble => {}
        }
        let pause = if world.is_healed() {
            Duration::ZERO
        } else {
            world.between(Duration::ZERO, Duration::from_secs(5))
        };
        sleep(pause).await;
    }
}

/// People and the server itself.
async fn outside(world: Arc<World>) {
    loop {
        sleep(world.between(Duration::from_secs(5), Duration::from_secs(60))).await;
        if world.is_healed() {
            return;
        }
        let mut server = world.server.lock().unwrap();
        let until = (Instant::now() + world.between(Duration::from_secs(1), Duration::from_secs(20)))
            .min(world.start + TROUBLE);
        match (world.random.below(6), server.lease.clone()) {
            (0, _) => server.lease = None,
            (1, Some(mut lease)) => {
                lease.spec.holder_identity = world.chance(0.5).then(|| "somebody".to_owned());
                server.put(lease);
            }
            (2, Some(mut lease)) => {
                lease.spec.lease_transitions = Some(0);
                lease.spec.lease_duration_seconds = Some(3);
                server.put(lease);
            }
            (3, Some(mut lease)) => {
                // A candidate that exists is given the Lease.
                lease.spec.holder_identity = Some("machine-0".to_owned());
                server.put(lease);
            }
            _ => server.bad_until = Some((until, world.fault())),
        }
    }
}

/// Runs every seed, or the one that the variable `LARIAT_SEED` names.
fn simulate_all(seeds: Range<u64>, machines: u64) {
    match std::env::var("LARIAT_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) if seeds.contains(&seed) => simulate(seed, machines),
        Some(_) => {}
        None => seeds.for_each(|seed| simulate(seed, machines)),
    }
}

fn simulate(seed: u64, machines: u64) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let world = Arc::new(World {
            random: Randomness::seeded(seed),
            start: Instant::now(),
            server: Mutex::default(),
        });
        let terms = Rc::new(RefCell::new(Terms::default()));
        for nth in 0..machines {
            tokio::task::spawn_local(machine(world.clone(), nth, terms.clone(), seed));
        }
        tokio::task::spawn_local(outside(world.clone()));
        let healed = world.start + TROUBLE;
        while Instant::now() < healed {
            sleep(Duration::from_millis(200)).await;
            terms.borrow_mut().check(seed);
        }
        // By the slowest of the clocks.
        let bound = (LEASE + 2 * RETRY).div_f64(RATES.0);
        let mut leads_since = None;
        while Instant::now() < healed + bound {
            sleep(Duration::from_millis(100)).await;
            match terms.borrow_mut().check(seed) {
                1 => drop(leads_since.get_or_insert(Instant::now())),
                _ => leads_since = None,
            }
        }
        assert!(leads_since.is_some(), "seed {seed}: nobody leads {bound:?} after all is well");
        let last = terms.borrow().greatest.clone();
        for _ in 0..100 {
            sleep(Duration::from_millis(200)).await;
            assert_eq!(terms.borrow_mut().check(seed), 1, "seed {seed}: the leader does not stay");
        }
        assert_eq!(terms.borrow().greatest, last, "seed {seed}: another one took over without need");
    });
}

/// 3.3, 1 to 8.
#[test]
fn three_candidates_never_lead_together() {
    simulate_all(0..1_500, 3);
}

#[test]
fn five_candidates_never_lead_together() {
    simulate_all(10_000..11_000, 5);
}
