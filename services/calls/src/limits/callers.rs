//! Counts of callers, of which there is a fixed maximum.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher as _,
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use ziggurat_layers::clock::{Calendar, Clock};
use ziggurat_runtime::lock;
use ziggurat_tokens::{CallerDigest, CallerId};

use crate::limits::{
    Usage,
    counts::{self, Counts, Sent},
    leases::{Lease, LeaseRequest, Leases},
};

/// Part of the callers that goes at once when there are too many.
const PART: usize = 16;

/// Counts of all callers.
pub(crate) struct Callers<C> {
    clock: C,
    /// Calls that replicas share.
    pub(crate) leases: Arc<Leases>,
    table: Mutex<Table<C>>,
}

struct Table<C> {
    digests: Digests,
    counts: HashMap<CallerDigest, Arc<Counts<C>>>,
    max: usize,
    /// Is true once usage was asked for: without replicas nothing has to be kept for a report.
    reports: bool,
    /// Usage that was not reported before the counts of its caller were dropped.
    departed: Vec<Usage>,
    floor: Floor,
    /// Counts of all callers that find the table full of callers with running calls.
    common: Arc<Counts<C>>,
    leases: Arc<Leases>,
}

/// Digests of callers. To look one up takes a fifth of the time that it takes to compute it.
#[derive(Default)]
struct Digests {
    /// Two hashes with keys of this process, so that no names are kept.
    keys: [RandomState; 2],
    known: HashMap<[u64; 2], CallerDigest>,
}

/// Most that a caller had used when its counts were dropped. New callers start with it, so that no
/// caller has used less than before its counts were dropped.
#[derive(Default)]
struct Floor {
    sent: Sent,
    /// Time of the clock.
    calls_used_until: Duration,
}

// === impl Callers ===

impl<C: Clock + Calendar + Clone> Callers<C> {
    pub(crate) fn new(clock: C, max: usize) -> Self {
        let leases = Arc::default();
        let table = Table {
            digests: Digests::default(),
            counts: HashMap::new(),
            max,
            reports: false,
            departed: Vec::new(),
            floor: Floor::default(),
            common: Arc::new(Counts::new(&clock, Sent::default(), Duration::ZERO, None)),
            leases: Arc::clone(&leases),
        };
        Self {
            clock,
            leases,
            table: Mutex::new(table),
        }
    }

    /// Returns the counts of a caller. There are at most `max`; if that is less than before, counts are
    /// dropped with the next new caller.
    pub(crate) fn counts(&self, caller: &CallerId<'_>, max: usize) -> Arc<Counts<C>> {
        let now = self.clock.now();
        let mut table = lock(&self.table);
        table.max = max;
        let digest = table.digests.of(caller, max);
        let counts = table.find(digest, &self.clock);
        drop(table);
        counts.touch(now);
        counts
    }

    /// Returns the rows and bytes sent since the last time, and marks them as reported.
    pub(crate) fn take_usage(&self) -> Vec<Usage> {
        let day = counts::day(&self.clock);
        let mut table = lock(&self.table);
        table.reports = true;
        let mut usage = mem::take(&mut table.departed);
        usage.retain(|usage| usage.day == day);
        usage.extend(table.counts.iter().filter_map(|(caller, counts)| {
            counts.with_sent(day, |sent| Usage::take(*caller, sent))
        }));
        usage
    }

    /// Returns the calls to lease for callers that want some.
    pub(crate) fn lease_requests(&self, wanted: &[CallerDigest]) -> Vec<LeaseRequest> {
        let table = lock(&self.table);
        let known = wanted.iter().filter_map(|caller| table.counts.get(caller));
        known.filter_map(|counts| counts.lease_request()).collect()
    }

    /// Takes calls that were leased for a caller.
    pub(crate) fn grant(&self, caller: CallerDigest, calls: u32) {
        if let Some(counts) = lock(&self.table).counts.get(&caller) {
            counts.calls.grant(calls);
        }
    }

    /// Adds what other replicas have sent today.
    pub(crate) fn add(&self, usage: Usage) {
        if usage.day == counts::day(&self.clock) {
            let counts = lock(&self.table).find(usage.caller, &self.clock);
            counts.with_sent(usage.day, |sent| sent.add(usage.rows, usage.bytes));
        }
    }
}

#[cfg(test)]
impl<C> Callers<C> {
    pub(crate) fn len(&self) -> usize {
        lock(&self.table).counts.len()
    }

    pub(crate) fn has(&self, caller: CallerDigest) -> bool {
        lock(&self.table).counts.contains_key(&caller)
    }
}

// === impl Table ===

impl<C: Clock + Calendar + Clone> Table<C> {
    fn find(&mut self, caller: CallerDigest, clock: &C) -> Arc<Counts<C>> {
        if let Some(counts) = self.counts.get(&caller) {
            return Arc::clone(counts);
        }
        let day = counts::day(clock);
        if self.counts.len() >= self.max && !self.make_room(day) {
            return Arc::clone(&self.common);
        }
        let sent = Sent {
            day,
            ..self.floor.today(day)
        };
        let lease = Lease::new(&self.leases, caller);
        let used_until = self.floor.calls_used_until;
        let counts = Arc::new(Counts::new(clock, sent, used_until, Some(lease)));
        self.counts.insert(caller, Arc::clone(&counts));
        counts
    }

    /// Drops the counts of the callers that have used least, and of those the oldest first.
    /// Returns whether there is room afterwards.
    fn make_room(&mut self, day: u64) -> bool {
        let idle = self.counts.iter().filter(|(_, counts)| counts.is_idle());
        let mut idle: Vec<_> = idle
            .map(|(caller, counts)| (counts.share(day), counts.last_used(), *caller))
            .collect();
        // Several at once, because the search for them takes a while.
        let too_many = (self.counts.len() + 1).saturating_sub(self.max);
        let number = (self.max / PART).max(too_many).min(idle.len());
        if number > 0 && number < idle.len() {
            idle.select_nth_unstable(number);
        }
        for (.., caller) in idle.into_iter().take(number) {
            let Some(counts) = self.counts.remove(&caller) else {
                continue;
            };
            self.floor.rise(day, &counts);
            let usage = counts.with_sent(day, |sent| Usage::take(caller, sent));
            if self.reports && self.departed.len() < self.max {
                self.departed.extend(usage);
            }
        }
        self.counts.len() < self.max
    }
}

// === impl Digests ===

impl Digests {
    fn of(&mut self, caller: &CallerId<'_>, max: usize) -> CallerDigest {
        let (kind, name) = caller.parts();
        let key = self.keys.each_ref().map(|key| key.hash_one((kind, name)));
        if let Some(digest) = self.known.get(&key) {
            return *digest;
        }
        if self.known.len() >= max {
            self.known.clear();
        }
        let digest = caller.digest();
        self.known.insert(key, digest);
        digest
    }
}

// === impl Floor ===

impl Floor {
    fn today(&self, day: u64) -> Sent {
        if self.sent.day == day {
            self.sent
        } else {
            Sent::default()
        }
    }

    fn rise<C: Clock + Calendar + Clone>(&mut self, day: u64, counts: &Counts<C>) {
        let (sent, floor) = (counts.limited_sent(day), self.today(day));
        self.sent = Sent {
            day,
            rows: floor.rows.max(sent.rows),
            bytes: floor.bytes.max(sent.bytes),
            ..Sent::default()
        };
        self.calls_used_until = self.calls_used_until.max(counts.calls_used_until());
    }
}
