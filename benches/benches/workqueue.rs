//! The work queue, in the shapes of client-go's own benchmarks.
//!
//! Items are shared keys, as a controller's are. One iteration is one operation, or one item from its addition until it is done.

#![allow(missing_docs)] // the macros of criterion make functions
#![allow(clippy::disallowed_methods, clippy::unwrap_used)] // a measurement is of the real time, and of what it sets up itself

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lariat_workqueue::Queue;

type Key = Arc<str>;

/// As long as a namespace and a generated name.
fn keys(count: usize) -> Vec<Key> {
    (0..count).map(|number| format!("default/simple-game-server-{number:010}").into()).collect()
}

fn one_thread(c: &mut Criterion) {
    let mut group = c.benchmark_group("one thread");
    group.throughput(Throughput::Elements(1));
    let keys = keys(1_000);
    let mut next = keys.iter().cycle();
    let queue = Queue::new();
    group.bench_function("add, get, done", |b| {
        b.iter(|| {
            queue.add(next.next().unwrap().clone());
            drop(black_box(queue.get_blocking()));
        });
    });
    let queue = Queue::new();
    queue.add(keys[0].clone());
    group.bench_function("duplicate add", |b| b.iter(|| queue.add(black_box(keys[0].clone()))));
    let queue = Queue::new();
    group.bench_function("add_rate_limited", |b| {
        b.iter(|| queue.add_rate_limited(next.next().unwrap().clone()));
    });
    group.finish();
}

/// How long adding takes while so many items wait for their time already.
fn add_after(c: &mut Criterion) {
    let mut group = c.benchmark_group("add_after");
    group.throughput(Throughput::Elements(1));
    for pending in [0, 100_000, 1_000_000] {
        let queue = Queue::new();
        let mut delay = delays();
        for key in keys(pending) {
            queue.add_after(key, delay());
        }
        let mut new = 0;
        group.bench_function(BenchmarkId::from_parameter(pending), |b| {
            b.iter_batched(
                || {
                    new += 1;
                    (Key::from(format!("default/new-{new:010}")), delay())
                },
                |(key, delay)| queue.add_after(key, delay),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

/// From a minute to an hour and some, so that none ends meanwhile.
fn delays() -> impl FnMut() -> Duration {
    let mut seed = 1_u64;
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(60_000 + (seed >> 33) % 4_000_000)
    }
}

/// Producers and workers on threads of their own.
fn many_threads(c: &mut Criterion) {
    let mut group = c.benchmark_group("producers x workers");
    group.throughput(Throughput::Elements(1));
    group.sample_size(20);
    for (producers, workers) in [(1, 1), (4, 4), (8, 8), (8, 64)] {
        group.bench_function(BenchmarkId::from_parameter(format!("{producers}x{workers}")), |b| {
            b.iter_custom(|items| pass(items, producers, workers));
        });
    }
    group.finish();
}

/// How long so many items take from the first addition until the last one is done.
fn pass(items: u64, producers: u64, workers: u64) -> Duration {
    let queue: Queue<Key> = Queue::new();
    let keys: Vec<Vec<Key>> = (0..producers)
        .map(|producer| {
            let count = items / producers + u64::from(producer < items % producers);
            (0..count).map(|number| format!("namespace-{producer}/item-{number:012}").into()).collect()
        })
        .collect();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| while queue.get_blocking().is_some() {});
        }
        let producers: Vec<_> = keys
            .into_iter()
            .map(|keys| {
                let queue = queue.clone();
                scope.spawn(move || keys.into_iter().for_each(|key| queue.add(key)))
            })
            .collect();
        for producer in producers {
            let _ = producer.join();
        }
        queue.shut_down_with_drain_blocking();
    });
    began.elapsed()
}

criterion_group!(benches, one_thread, add_after, many_threads);
criterion_main!(benches);
