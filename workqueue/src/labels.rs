//! How metrics of queues are named and divided, as those who read client-go's and controller-runtime's expect.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::sync::Mutex;

/// The upper bounds of the buckets of `workqueue_queue_duration_seconds` and `workqueue_work_duration_seconds`, in seconds.
///
/// ```
/// use lariat_workqueue::DURATION_BUCKETS;
///
/// assert_eq!((DURATION_BUCKETS.len(), DURATION_BUCKETS[0], DURATION_BUCKETS[9]), (10, 1e-8, 10.0));
/// ```
pub const DURATION_BUCKETS: [f64; 10] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];

/// What stands for all priorities that are too many.
const EXCEEDED: &str = "exceeded_cardinality_limit";

/// How many priorities have a label of their own.
const MOST: usize = 25;

/// The values of the label `priority` of `workqueue_depth`: a number for each of the first 25 priorities that are seen, and
/// `exceeded_cardinality_limit` for all others. A priority keeps its label, so that what goes up under it comes down under it.
///
/// # Example
///
/// ```
/// use lariat_workqueue::PriorityLabels;
///
/// let labels = PriorityLabels::default();
/// assert_eq!(labels.label(-100), "-100");
/// assert!((0..24).all(|priority| labels.label(priority) == priority.to_string()));
/// assert_eq!(labels.label(24), "exceeded_cardinality_limit");
/// assert_eq!(labels.label(-100), "-100");
/// ```
#[derive(Debug)]
pub struct PriorityLabels {
    seen: Mutex<BTreeSet<i32>>,
}

impl PriorityLabels {
    /// The label of a priority, which has it from now on.
    ///
    /// ```
    /// assert_eq!(lariat_workqueue::PriorityLabels::default().label(0), "0");
    /// ```
    pub fn label(&self, priority: i32) -> Cow<'static, str> {
        let mut seen = self.seen.lock();
        if seen.contains(&priority) || (seen.len() < MOST && seen.insert(priority)) {
            return Cow::Owned(priority.to_string());
        }
        Cow::Borrowed(EXCEEDED)
    }
}

impl Default for PriorityLabels {
    fn default() -> Self {
        Self { seen: Mutex::new(BTreeSet::new()) }
    }
}
