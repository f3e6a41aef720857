//! Rate limiters, with the numbers of client-go's tests.

use std::sync::Arc;
use std::time::Duration;

use lariat_workqueue::{
    Bucket, ItemExponentialFailure, ItemFastSlow, MaxOf, Queue, RateLimiter, WithJitter, WithMaxWait,
    default_controller_rate_limiter, default_item_based_rate_limiter,
};
use tokio::time::advance;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The delays that an item is given by so many failures, in milliseconds.
fn delays(limiter: &dyn RateLimiter<&'static str>, item: &'static str, count: usize) -> Vec<u128> {
    (0..count).map(|_| limiter.when(&item).as_millis()).collect()
}

/// TestItemExponentialFailureRateLimiter
#[test]
fn exponential() {
    let limiter = ItemExponentialFailure::new(ms(1), ms(1000));
    assert_eq!(delays(&limiter, "one", 5), [1, 2, 4, 8, 16], "WQ-36");
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&limiter, "two", 2), [1, 2]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&limiter, "one", 1), [1]);
}

/// TestItemExponentialFailureRateLimiterOverFlow
#[test]
fn exponential_never_wraps() {
    let hours = Duration::from_secs(1000 * 3600);
    for (base, max) in [(ms(1), ms(1_000_000)), (Duration::from_secs(60), hours), (hours * 2, hours)] {
        let limiter = ItemExponentialFailure::new(base, max);
        let mut last = Duration::ZERO;
        for _ in 0..1000 {
            let delay = limiter.when(&"one");
            assert!(delay >= last, "WQ-31: {delay:?} after {last:?}");
            last = delay;
        }
        assert_eq!(last, max, "WQ-31");
    }
}

#[test]
fn exponential_at_the_edges_of_its_arithmetic() {
    let nanosecond = ItemExponentialFailure::new(Duration::from_nanos(1), Duration::MAX);
    for power in 0..90 {
        assert_eq!(nanosecond.when(&"one").as_nanos(), 1 << power);
    }
    for _ in 0..200 {
        nanosecond.when(&"one");
    }
    assert_eq!(nanosecond.when(&"one"), Duration::MAX);

    let nothing = ItemExponentialFailure::new(Duration::ZERO, ms(1000));
    assert!((0..300).all(|_| nothing.when(&"one").is_zero()));
    let longest = ItemExponentialFailure::new(Duration::MAX, Duration::MAX);
    assert!((0..300).all(|_| longest.when(&"one") == Duration::MAX));
}

/// TestItemFastSlowRateLimiter
#[test]
fn fast_then_slow() {
    let limiter = ItemFastSlow::new(ms(5), ms(10_000), 3);
    assert_eq!(delays(&limiter, "one", 5), [5, 5, 5, 10_000, 10_000], "WQ-33");
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&limiter, "two", 2), [5, 5]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&limiter, "one", 1), [5]);
}

/// TestMaxOfRateLimiter
#[test]
fn the_longest_of_several() {
    let limiter = MaxOf::new([
        Box::new(ItemFastSlow::new(ms(5), ms(3000), 3)) as Box<dyn RateLimiter<_>>,
        Box::new(ItemExponentialFailure::new(ms(1), ms(1000))),
    ]);
    assert_eq!(delays(&limiter, "one", 5), [5, 5, 5, 3000, 3000], "WQ-34");
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(delays(&limiter, "two", 2), [5, 5]);
    assert_eq!(limiter.num_requeues(&"two"), 2);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&limiter, "one", 1), [5]);

    let none = MaxOf::new([]);
    assert_eq!((none.when(&"one"), none.num_requeues(&"one")), (Duration::ZERO, 0));
}

#[test]
fn the_longest_of_several_charges_each() {
    let (first, second) = (Arc::new(exponential_of(1)), Arc::new(exponential_of(10)));
    let limiter =
        MaxOf::new([Box::new(Arc::clone(&first)) as Box<dyn RateLimiter<_>>, Box::new(Arc::clone(&second))]);
    limiter.when(&"one");
    assert_eq!((first.num_requeues(&"one"), second.num_requeues(&"one")), (1, 1), "WQ-34");
    first.when(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 2, "WQ-34");
}

fn exponential_of(base: u64) -> ItemExponentialFailure<&'static str> {
    ItemExponentialFailure::new(ms(base), ms(1000))
}

/// TestWithMaxWaitRateLimiter
#[test]
fn with_a_longest_wait() {
    let limiter = WithMaxWait::new(exponential_of(1), ms(5));
    assert_eq!(delays(&limiter, "one", 5), [1, 2, 4, 5, 5], "WQ-34");
    assert_eq!(limiter.num_requeues(&"one"), 5);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(delays(&limiter, "one", 1), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_bucket_is_shared_and_reserves() {
    let limiter = Bucket::new(10.0, 2);
    let when = |item| limiter.when(&item).as_millis();
    assert_eq!([when("one"), when("two"), when("one"), when("two")], [0, 0, 100, 200], "WQ-32");
    advance(ms(200)).await;
    assert_eq!(when("one"), 100, "both reserved tokens are used by now");
    advance(ms(10_000)).await;
    assert_eq!([when("one"), when("one"), when("one")], [0, 0, 100], "no more than the burst is saved");
    RateLimiter::forget(&limiter, &"one");
    assert_eq!(RateLimiter::num_requeues(&limiter, &"one"), 0);
}

#[tokio::test(start_paused = true)]
async fn the_defaults() {
    let limiter = default_item_based_rate_limiter();
    assert_eq!(delays(&limiter, "one", 25)[..4], [1, 2, 4, 8], "WQ-31");
    assert_eq!(limiter.when(&"one"), Duration::from_secs(1000));

    let limiter = default_controller_rate_limiter();
    assert_eq!(delays(&limiter, "one", 25)[..4], [5, 10, 20, 40], "WQ-32");
    assert_eq!(limiter.when(&"one"), Duration::from_secs(1000));
    // 26 tokens are used, 74 are left; then the bucket is the slower one for items that fail for the first time.
    let items: Vec<String> = (0..80).map(|n| n.to_string()).collect();
    let limiter_of_names = default_controller_rate_limiter();
    for _ in 0..26 {
        limiter_of_names.when(&"other".to_owned());
    }
    let waits: Vec<u128> = items.iter().map(|item| limiter_of_names.when(item).as_millis()).collect();
    assert!(waits[..74].iter().all(|&wait| wait == 5), "{waits:?}");
    assert_eq!(waits[74..], [100, 200, 300, 400, 500, 600], "WQ-32");
}

/// WQ-30: what the trait asks for is all that the queue uses.
#[tokio::test(start_paused = true)]
async fn the_queue_asks_its_limiter() {
    struct Tenfold;
    impl RateLimiter<u64> for Tenfold {
        fn when(&self, item: &u64) -> Duration {
            ms(10 * item)
        }
        fn forget(&self, _: &u64) {}
        fn num_requeues(&self, item: &u64) -> u32 {
            *item as u32
        }
    }
    let queue = Queue::builder().rate_limiter(Tenfold).build();
    queue.add_rate_limited(7);
    assert_eq!(queue.num_requeues(&7), 7);
    advance(ms(69)).await;
    assert!(queue.is_empty());
    advance(ms(1)).await;
    assert_eq!(queue.len(), 1);
}

#[test]
fn jitter_only_lengthens_and_is_bounded() {
    let limiter = |factor| WithJitter::new(ItemFastSlow::new(ms(1000), ms(1000), 1), factor, 3);
    let jittered = limiter(0.5);
    let some = delays(&jittered, "one", 1000);
    assert!(some.iter().all(|delay| (1000..1500).contains(delay)));
    assert!(some.iter().any(|delay| *delay < 1050) && some.iter().any(|delay| *delay > 1450));
    assert_eq!(delays(&limiter(0.5), "one", 1000), some, "the same seed gives the same");
    for none in [0.0, -1.0, f64::NAN] {
        assert_eq!(delays(&limiter(none), "one", 3), [1000; 3]);
    }
    let endless = WithJitter::new(ItemFastSlow::new(Duration::MAX, ms(0), 9), f64::INFINITY, 3);
    assert_eq!(endless.when(&"one"), Duration::MAX);
    assert_eq!((endless.num_requeues(&"one"), endless.forget(&"one")), (1, ()));
    assert_eq!(endless.num_requeues(&"one"), 0);
}

/// The bucket of a controller's limiter goes by the clock that the queue has read.
#[tokio::test(start_paused = true)]
async fn limiters_of_limiters_hand_the_time_on() {
    let now = tokio::time::Instant::now();
    let bucket = || Box::new(Bucket::new(1.0, 1)) as Box<dyn RateLimiter<u32>>;
    let limiter = WithJitter::new(WithMaxWait::new(MaxOf::new([bucket()]), ms(5000)), 0.0, 1);
    assert_eq!(limiter.when_at(&1, now), ms(0));
    assert_eq!(limiter.when_at(&1, now), ms(1000));
    assert_eq!(limiter.when_at(&1, now + ms(1500)), ms(500));
}

/// The queue counts for a limiter that asks how often an item has failed, and no more. What comes out is the same.
#[tokio::test(start_paused = true)]
async fn a_queue_that_counts_failures_gives_the_same_delays() {
    type Limiter = Box<dyn RateLimiter<&'static str>>;
    let limiters: [fn() -> Limiter; 7] = [
        || Box::new(ItemExponentialFailure::new(ms(1), ms(50))),
        || Box::new(ItemFastSlow::new(ms(5), ms(70), 3)),
        || Box::new(Bucket::new(10.0, 2)),
        || Box::new(default_controller_rate_limiter()),
        || Box::new(WithMaxWait::new(ItemExponentialFailure::new(ms(1), ms(1000)), ms(6))),
        || Box::new(WithJitter::new(ItemExponentialFailure::new(ms(1), ms(1000)), 0.0, 7)),
        || Box::new(MaxOf::new([Box::new(Arc::new(ItemExponentialFailure::new(ms(1), ms(50)))) as Limiter])),
    ];
    for (number, limiter) in limiters.into_iter().enumerate() {
        let (queue, alone) = (Queue::builder().rate_limiter(limiter()).build(), limiter());
        assert_eq!(limiter().by_failures().is_some(), number != 6, "limiter {number}");
        for failures in 1..=8 {
            let began = tokio::time::Instant::now();
            queue.add_rate_limited("one");
            let expected = alone.when_at(&"one", began);
            drop(queue.get().await.unwrap());
            // To the whole millisecond, which is the grain of tokio's timers.
            let waited = began.elapsed().as_millis();
            assert!((expected.as_millis()..=expected.as_millis() + 1).contains(&waited), "limiter {number}");
            assert_eq!(queue.num_requeues(&"one"), alone.num_requeues(&"one"), "limiter {number}");
            assert!(number == 2 || queue.num_requeues(&"one") == failures);
        }
        queue.forget(&"one");
        assert_eq!(queue.num_requeues(&"one"), 0, "limiter {number}");
    }
}

/// Whoever else holds a limiter, or has asked it before, finds in it what the queue charges.
#[tokio::test(start_paused = true)]
async fn a_limiter_that_others_ask_counts_for_itself() {
    let shared = Arc::new(ItemExponentialFailure::new(ms(1), ms(1000)));
    let queue = Queue::builder().rate_limiter(Arc::clone(&shared)).build();
    queue.add_rate_limited("one");
    assert_eq!(shared.num_requeues(&"one"), 1);

    let used = ItemExponentialFailure::new(ms(1), ms(1000));
    used.when(&"one");
    let queue = Queue::builder().rate_limiter(used).build();
    queue.add_rate_limited("one");
    assert_eq!(queue.num_requeues(&"one"), 2);
}
