//! The order of entries, near and far, against lists that are searched.

use std::collections::BTreeMap;

use super::*;

/// What items know, by their places.
#[derive(Default)]
struct Items(Vec<Delay>);

impl Owner for Items {
    fn delay(&self, place: Place) -> Delay {
        self.0.get(place.index()).copied().unwrap_or_default()
    }

    fn set_delay(&mut self, place: Place, delay: Delay) {
        if self.0.len() <= place.index() {
            self.0.resize(place.index() + 1, Delay::default());
        }
        self.0[place.index()] = delay;
    }
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn place(number: usize) -> Place {
    Place::last_of(number + 1)
}

fn random(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

/// Everything that the module's documentation promises.
fn check(delays: &Delays, items: &Items) {
    for (position, node) in delays.near.iter().enumerate() {
        assert!(node.at < delays.horizon);
        assert!(position == 0 || delays.near[(position - 1) / 2].at <= node.at, "a heap");
        assert_eq!(items.delay(node.place), Delay { at: Some(node.at), position: Position::of(position) });
    }
    assert!(!delays.near.is_empty() || delays.far.is_empty());
    let mut end = Time::END;
    assert_eq!(delays.far.len(), delays.starts.len());
    for (nodes, start) in delays.far.iter().zip(&delays.starts) {
        assert!(*start < end);
        assert!(nodes.iter().all(|node| node.at >= *start && (node.at < end || end == Time::END)));
        end = *start;
    }
    assert_eq!(end, delays.horizon);
    assert_eq!(delays.far_nodes, delays.far.iter().map(Vec::len).sum::<usize>());
    let pending = items.0.iter().filter(|delay| delay.is_pending());
    assert_eq!(delays.len(), pending.clone().count());
    assert_eq!(delays.earliest(), pending.filter_map(|delay| delay.at).min());
}

fn pop_all(delays: &mut Delays, items: &mut Items, now: u64) -> Vec<usize> {
    std::iter::from_fn(|| delays.pop_due(at(now), items)).map(Place::index).collect()
}

#[test]
fn entries_leave_in_the_order_of_their_time_and_never_early() {
    let (mut delays, mut items) = (Delays::new(), Items::default());
    for (number, time) in [50, 10, 40, 20, 30].into_iter().enumerate() {
        delays.insert(at(time), place(number), &mut items);
    }
    assert_eq!(delays.earliest(), Some(at(10)));
    assert_eq!(delays.pop_due(at(9), &mut items), None);
    assert_eq!(pop_all(&mut delays, &mut items, 30), [1, 3, 4]);
    assert_eq!(pop_all(&mut delays, &mut items, 99), [2, 0]);
}

#[test]
fn an_entry_can_only_be_hastened() {
    let (mut delays, mut items) = (Delays::new(), Items::default());
    delays.insert(at(50), place(1), &mut items);
    delays.insert(at(40), place(2), &mut items);
    delays.hasten(at(60), place(1), &mut items);
    assert_eq!(delays.earliest(), Some(at(40)));
    delays.hasten(at(30), place(1), &mut items);
    assert_eq!(pop_all(&mut delays, &mut items, 55), [1, 2]);
}

#[test]
fn entries_of_one_instant_leave_as_in_the_textbook() {
    for (times, order) in [([1, 1, 1, 1], [0, 3, 2, 1]), ([1, 2, 2, 3], [0, 1, 2, 3])] {
        let (mut delays, mut items) = (Delays::new(), Items::default());
        for (number, time) in times.into_iter().enumerate() {
            delays.insert(at(time), place(number), &mut items);
        }
        assert_eq!(pop_all(&mut delays, &mut items, 9), order);
    }
}

/// Many entries, of which most are far, with times that are spread, descend, are of few instants, or of one.
#[test]
fn near_and_far_entries_leave_in_order_whatever_happens_to_them() {
    let spread = |seed: &mut u64, _: u64| random(seed, 1_000_000);
    let descending = |seed: &mut u64, step: u64| 2_000_000 - 10 * step + random(seed, 10);
    let ascending = |seed: &mut u64, step: u64| 10 * step + random(seed, 10);
    let few = |seed: &mut u64, _: u64| 1_000 * random(seed, 7);
    let one = |_: &mut u64, _: u64| 5;
    let times: [fn(&mut u64, u64) -> u64; 5] = [spread, descending, ascending, few, one];
    for (kind, time) in times.into_iter().enumerate() {
        let (mut delays, mut items) = (Delays::new(), Items::default());
        let mut model: BTreeMap<usize, u64> = BTreeMap::new();
        let (mut seed, mut now) = (kind as u64 + 1, 0);
        for step in 0..30_000 {
            let number = random(&mut seed, 20_000) as usize;
            let when = now + 1 + time(&mut seed, step);
            match (random(&mut seed, 10), model.get(&number).copied()) {
                (0..9, None) => {
                    delays.insert(at(when), place(number), &mut items);
                    model.insert(number, when);
                }
                (0..4, Some(known)) => {
                    delays.hasten(at(when), place(number), &mut items);
                    model.insert(number, known.min(when));
                }
                (4..9, Some(known)) => {
                    delays.remove(place(number), &mut items);
                    model.remove(&number);
                    if step % 2 == 0 {
                        // The very same entry again.
                        delays.insert(at(known), place(number), &mut items);
                        model.insert(number, known);
                    }
                }
                _ => {
                    now += random(&mut seed, 200);
                    let mut last = 0;
                    for number in pop_all(&mut delays, &mut items, now) {
                        let due = model.remove(&number).unwrap();
                        assert!(due >= last && due <= now, "kind {kind}, step {step}");
                        last = due;
                    }
                    assert!(model.values().all(|due| *due > now), "kind {kind}, step {step}");
                }
            }
            if step % 1_000 == 0 {
                check(&delays, &items);
            }
        }
        check(&delays, &items);
        let left: Vec<u64> =
            pop_all(&mut delays, &mut items, u64::MAX).iter().map(|number| model[number]).collect();
        assert!(left.is_sorted() && left.len() == model.len(), "kind {kind}");
    }
}

#[test]
fn what_is_removed_does_not_pile_up() {
    let (mut delays, mut items) = (Delays::new(), Items::default());
    for number in 0..10_000 {
        delays.insert(at(number), place(number as usize), &mut items);
    }
    for turn in 0..1_000_000_u64 {
        let place = place(5_000 + (turn % 5_000) as usize);
        delays.remove(place, &mut items);
        delays.insert(at(20_000 + turn), place, &mut items);
    }
    check(&delays, &items);
    assert!(delays.far_nodes < 40_000, "{}", delays.far_nodes);
}

#[test]
fn draining_gives_each_item_once() {
    let (mut delays, mut items) = (Delays::new(), Items::default());
    for number in 0..5_000 {
        delays.insert(at(number as u64), place(number), &mut items);
    }
    for number in 4_000..5_000 {
        delays.remove(place(number), &mut items);
        delays.insert(at(number as u64), place(number), &mut items);
    }
    let mut drained: Vec<usize> = delays.drain(&mut items).into_iter().map(Place::index).collect();
    drained.sort_unstable();
    assert!(drained.into_iter().eq(0..5_000));
    check(&delays, &items);
}

#[test]
fn memory_of_a_burst_is_given_back() {
    let (mut delays, mut items) = (Delays::new(), Items::default());
    for number in 0..100_000 {
        delays.insert(at(number as u64), place(number), &mut items);
    }
    assert_eq!(pop_all(&mut delays, &mut items, 100_000).len(), 100_000);
    assert!(delays.near.capacity() + delays.spare.capacity() <= 4 * NEAR);
    assert!(delays.far.is_empty());
}
