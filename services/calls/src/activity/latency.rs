//! Times of statements by tool, over the last minutes.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde::Serialize;
use utoipa::ToSchema;

/// Number of minutes that are kept before the present one.
const MINUTES: u64 = 5;

/// Maximum number of tools; the times of further ones are not kept.
const MAX_TOOLS: usize = 256;

/// Bits of a time, in microseconds, that its bucket keeps behind the first one: an error of 6 %.
const BITS: u32 = 3;

/// Number of buckets, up to 71 minutes; longer times count in the last one.
const BUCKETS: usize = (33 - BITS as usize) << BITS;

/// Times of a tool's statements within the last five minutes.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ActivityLatency)]
pub(crate) struct ToolLatency {
    /// The tool, or the path of the request.
    tool: String,
    /// Number of statements.
    count: u64,
    /// Number of those that ended with an error.
    errors: u64,
    /// The time that half of them took at most, in milliseconds.
    p50_ms: f64,
    /// The time that 95 of 100 took at most.
    p95_ms: f64,
    /// The time that 99 of 100 took at most.
    p99_ms: f64,
}

/// Times by tool, in a ring of minutes.
pub(crate) struct Latency {
    start: Instant,
    tools: Vec<String>,
    minutes: VecDeque<Minute>,
}

struct Minute {
    number: u64,
    /// By the index of the tool.
    times: Vec<Times>,
}

#[derive(Clone)]
struct Times {
    buckets: Box<[u32; BUCKETS]>,
    errors: u64,
}

// === impl Latency ===

impl Latency {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            tools: Vec::new(),
            minutes: VecDeque::new(),
        }
    }

    /// Adds a statement that has ended now.
    pub(crate) fn add(&mut self, tool: &str, duration: Duration, is_error: bool, now: Instant) {
        let Some(tool) = self.index(tool) else {
            return;
        };
        let number = self.number(now);
        if self.minutes.back().is_none_or(|last| last.number < number) {
            self.forget(number);
        }
        if let Some(times) = self.times(number, tool) {
            times.add(duration, is_error);
        }
    }

    /// Adds the times of a list with the same start.
    pub(crate) fn join(&mut self, other: &Self) {
        for (index, tool) in other.tools.iter().enumerate() {
            let Some(tool) = self.index(tool) else {
                continue;
            };
            for minute in &other.minutes {
                let added = minute.times.get(index);
                if let (Some(added), Some(times)) = (added, self.times(minute.number, tool)) {
                    times.join(added);
                }
            }
        }
    }

    /// Returns the times of a tool in a minute.
    fn times(&mut self, number: u64, tool: usize) -> Option<&mut Times> {
        let known = self.minutes.iter().rposition(|it| it.number == number);
        let place = known.unwrap_or_else(|| {
            let times = Vec::new();
            self.minutes.push_back(Minute { number, times });
            self.minutes.len() - 1
        });
        let times = &mut self.minutes.get_mut(place)?.times;
        if times.len() <= tool {
            times.resize_with(tool + 1, Times::default);
        }
        times.get_mut(tool)
    }

    /// Returns the tools that have times, by their names.
    pub(crate) fn shown(&mut self, now: Instant) -> Vec<ToolLatency> {
        self.forget(self.number(now));
        let tools = self.tools.iter().enumerate();
        let shown = tools.filter_map(|(index, tool)| {
            let minutes = self.minutes.iter();
            let mut times = minutes.filter_map(|minute| minute.times.get(index));
            let mut sum = times.next()?.clone();
            times.for_each(|times| sum.join(times));
            sum.shown(tool)
        });
        let mut shown: Vec<_> = shown.collect();
        shown.sort_by(|one, other| one.tool.cmp(&other.tool));
        shown
    }

    fn index(&mut self, tool: &str) -> Option<usize> {
        let known = self.tools.iter().position(|known| known == tool);
        known.or_else(|| {
            (self.tools.len() < MAX_TOOLS).then(|| {
                self.tools.push(tool.to_owned());
                self.tools.len() - 1
            })
        })
    }

    fn number(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.start).as_secs() / 60
    }

    fn forget(&mut self, present: u64) {
        self.minutes
            .retain(|minute| minute.number + MINUTES >= present);
    }
}

// === impl Times ===

impl Default for Times {
    fn default() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            errors: 0,
        }
    }
}

impl Times {
    fn add(&mut self, took: Duration, is_error: bool) {
        if let Some(count) = self.buckets.get_mut(bucket(took)) {
            *count = count.saturating_add(1);
        }
        self.errors += u64::from(is_error);
    }

    fn join(&mut self, other: &Self) {
        let counts = self.buckets.iter_mut().zip(other.buckets.iter());
        counts.for_each(|(count, other)| *count = count.saturating_add(*other));
        self.errors += other.errors;
    }

    fn shown(&self, tool: &str) -> Option<ToolLatency> {
        let count = self.buckets.iter().map(|count| u64::from(*count)).sum();
        (count > 0).then(|| ToolLatency {
            tool: tool.to_owned(),
            count,
            errors: self.errors,
            p50_ms: self.quantile(count, 50),
            p95_ms: self.quantile(count, 95),
            p99_ms: self.quantile(count, 99),
        })
    }

    /// Returns the time that a part of the statements took at most, in milliseconds.
    fn quantile(&self, count: u64, percent: u64) -> f64 {
        let mut wanted = (count * percent).div_ceil(100);
        let found = self.buckets.iter().position(|in_bucket| {
            wanted = wanted.saturating_sub(u64::from(*in_bucket));
            wanted == 0
        });
        f64::from(middle(found.unwrap_or_default())) / 1e3
    }
}

/// Returns the bucket of a time: one for each microsecond at first, then eight for each doubling.
fn bucket(took: Duration) -> usize {
    let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
    let doublings = (micros | (1 << BITS)).ilog2() - BITS;
    // Within the doubling, the bits behind the first.
    let within = micros >> doublings;
    let index = (doublings << BITS) + within;
    usize::try_from(index)
        .unwrap_or(usize::MAX)
        .min(BUCKETS - 1)
}

/// Returns the middle of the times of a bucket, in microseconds.
fn middle(bucket: usize) -> u32 {
    let bucket = u32::try_from(bucket).unwrap_or(u32::MAX);
    let size = 1 << BITS;
    if bucket < 2 * size {
        return bucket;
    }
    let doublings = (bucket >> BITS) - 1;
    let within = (bucket & (size - 1)) + size;
    (within << doublings).saturating_add(1 << (doublings - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency() -> (Latency, Instant) {
        let start = Instant::now();
        (Latency::new(start), start)
    }

    #[test]
    fn a_time_is_in_a_bucket_whose_middle_is_at_most_a_sixteenth_away() {
        let mut last = 0;
        for micros in (0..5_000).chain((5_000..60_000_000).step_by(7_919)) {
            let bucket = bucket(Duration::from_micros(micros));
            assert!(bucket >= last && bucket < BUCKETS, "{micros}: {bucket}");
            last = bucket;
            let shown = u64::from(middle(bucket));
            assert!(shown.abs_diff(micros) <= micros / 16, "{micros}: {shown}");
        }
        let longest = Duration::from_hours(100);
        assert_eq!(bucket(longest), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_last_five_minutes_by_tool() {
        let (mut latency, start) = latency();
        for ms in 1..=100 {
            latency.add("b", Duration::from_millis(ms), ms % 10 == 0, start);
        }
        latency.add("a", Duration::from_millis(7), false, start);
        let at = |minutes| start + Duration::from_mins(minutes);
        let shown = latency.shown(at(5));
        let names: Vec<_> = shown.iter().map(|it| (&*it.tool, it.count)).collect();
        assert_eq!(names, [("a", 1), ("b", 100)]);
        let b = &shown[1];
        assert_eq!(b.errors, 10);
        for (found, expected) in [(b.p50_ms, 50.0), (b.p95_ms, 95.0), (b.p99_ms, 99.0)] {
            assert!((found - expected).abs() < expected / 16.0, "{found}");
        }
        latency.add("a", Duration::from_millis(3), true, at(6));
        let shown = latency.shown(at(6));
        assert_eq!(shown.len(), 1, "the first minute is forgotten: {shown:?}");
        assert_eq!((shown[0].count, shown[0].errors), (1, 1));
        assert_eq!(latency.shown(at(12)), []);
    }

    #[test]
    fn the_memory_for_tools_is_bounded() {
        let (mut latency, start) = latency();
        for number in 0..1_000 {
            latency.add(&number.to_string(), Duration::ZERO, false, start);
        }
        assert_eq!(latency.shown(start).len(), MAX_TOOLS);
    }
}
