//! Counters and histograms over atomics: recording one takes no lock.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::{known::Names, label::Label, slots::Slots};

/// Upper bounds of all histograms, in nanoseconds.
const BOUNDS: [u64; 16] = [
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];

/// Number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

/// Number of things that there are now. It is negative in the part of a thread that has closed more
/// of them than it opened.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicI64);

/// Durations by size.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// Observations of each bucket, and of those above the last bound.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    /// 64 bits hold 584 years.
    nanoseconds: AtomicU64,
}

/// A value when the page is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sample {
    Counter(u64),
    Seconds(f64),
    Gauge(u64),
    /// Each bucket with its upper bound and its own observations.
    Histogram {
        sum: f64,
        buckets: Vec<(f64, u64)>,
    },
    /// The number 1; the labels are what it tells.
    Info,
}

/// Values of a metric by the numbers of their labels.
pub(crate) trait Cells {
    /// Calls `each` with every value; `path` is the numbers of its labels.
    fn visit(&self, path: &mut Vec<usize>, each: &mut dyn FnMut(&[usize], Sample));

    /// Makes the values of all known names, so that they are on the page before they are counted.
    fn make(&self, labels: &[&Label], names: &Names);
}

// === impl Counter ===

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }
}

impl Cells for Counter {
    fn visit(&self, path: &mut Vec<usize>, each: &mut dyn FnMut(&[usize], Sample)) {
        each(path, Sample::Counter(self.0.load(Relaxed)));
    }

    fn make(&self, _labels: &[&Label], _names: &Names) {}
}

// === impl Gauge ===

impl Gauge {
    pub(crate) fn add(&self, count: i64) {
        self.0.fetch_add(count, Relaxed);
    }

    pub(crate) fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

// === impl Histogram ===

impl Histogram {
    pub(crate) fn observe(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < nanoseconds);
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.fetch_add(1, Relaxed);
        }
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }
}

impl Cells for Histogram {
    fn visit(&self, path: &mut Vec<usize>, each: &mut dyn FnMut(&[usize], Sample)) {
        let bounds = BOUNDS.into_iter().map(seconds).chain([f64::INFINITY]);
        let counts = self.buckets.iter().map(|bucket| bucket.load(Relaxed));
        let buckets = bounds.zip(counts).collect();
        let sum = seconds(self.nanoseconds.load(Relaxed));
        each(path, Sample::Histogram { sum, buckets });
    }

    fn make(&self, _labels: &[&Label], _names: &Names) {}
}

// === impl Sample ===

impl Sample {
    /// Adds what another thread has recorded for the same series.
    pub(crate) fn add(&mut self, other: Self) {
        match (self, other) {
            (Self::Counter(sum), Self::Counter(count)) => *sum += count,
            (
                Self::Histogram { sum, buckets },
                Self::Histogram {
                    sum: more,
                    buckets: others,
                },
            ) => {
                *sum += more;
                for ((_, count), (_, more)) in buckets.iter_mut().zip(others) {
                    *count += more;
                }
            }
            // Threads record only counters and histograms, and a series has samples of one kind.
            _ => {}
        }
    }
}

// === impl Slots ===

impl<T: Cells + Default> Cells for Slots<T> {
    fn visit(&self, path: &mut Vec<usize>, each: &mut dyn FnMut(&[usize], Sample)) {
        for (id, cells) in self.iter() {
            path.push(id);
            cells.visit(path, each);
            path.pop();
        }
    }

    fn make(&self, labels: &[&Label], names: &Names) {
        if let Some((first, others)) = labels.split_first() {
            for id in names.ids(first) {
                self.at(id).make(others, names);
            }
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sums beyond 104 days lose nanoseconds"
)]
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
