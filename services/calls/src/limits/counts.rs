//! Counts of one caller, which outlive its calls and the configuration.

mod calls;
mod statements;

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ziggurat_layers::clock::{Calendar, Clock};
use ziggurat_runtime::lock;

use self::calls::{CallWindow, period_nanos};
pub(crate) use self::statements::{RunningPermit, Statements};
use crate::limits::{
    leases::{Lease, LeaseRequest},
    settings::Rule,
};

const DAY: u64 = 86_400;

/// Counts of one caller.
#[derive(Debug)]
pub(crate) struct Counts<C> {
    pub(crate) calls: CallWindow<C>,
    pub(crate) statements: Arc<Statements>,
    sent: Mutex<Sent>,
    /// Rule of the last call, and the time up to which calls count as used before the first rule.
    rule: Mutex<(Option<Arc<Rule>>, Duration)>,
    last_used: AtomicU64,
}

/// Rows and bytes that were sent on one day.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    /// Days since 1970, in UTC.
    pub(crate) day: u64,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// Parts of the two that were not reported yet.
    pub(crate) new_rows: u64,
    pub(crate) new_bytes: u64,
}

// === impl Counts ===

impl<C: Clock + Calendar + Clone> Counts<C> {
    /// Starts with the rows and bytes `sent` today, and with calls used up to a time of the clock.
    pub(crate) fn new(
        clock: &C,
        sent: Sent,
        calls_used_until: Duration,
        lease: Option<Lease>,
    ) -> Self {
        Self {
            calls: CallWindow::new(clock, lease),
            statements: Arc::default(),
            sent: Mutex::new(sent),
            rule: Mutex::new((None, calls_used_until)),
            last_used: AtomicU64::new(0),
        }
    }

    pub(crate) fn touch(&self, now: Duration) {
        self.last_used.store(nanos(now), Ordering::Relaxed);
    }

    pub(crate) fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    /// Follows the rule of the newest call.
    pub(crate) fn follow(&self, rule: &Arc<Rule>) {
        let mut current = lock(&self.rule);
        let (known, used_until) = &mut *current;
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, rule)) {
            return;
        }
        *known = Some(Arc::clone(rule));
        if let Some(quota) = rule.calls {
            self.calls.use_until(mem::take(used_until), quota);
        }
        if let Some(limit) = rule.concurrent {
            self.statements.resize(limit as usize);
        }
    }

    /// Returns the calls to lease by the rule of the newest call, if there are some.
    pub(crate) fn lease_request(&self) -> Option<LeaseRequest> {
        let rule = lock(&self.rule).0.clone()?;
        let quota = rule.calls?;
        self.calls.lease_request(quota, rule.burst(quota))
    }

    /// Calls a function with the rows and bytes sent on this day.
    pub(crate) fn with_sent<T>(&self, day: u64, function: impl FnOnce(&mut Sent) -> T) -> T {
        let mut sent = lock(&self.sent);
        if sent.day != day {
            *sent = Sent {
                day,
                ..Sent::default()
            };
        }
        function(&mut sent)
    }

    /// Returns the rows and bytes sent on this day, as far as a rule limits them.
    pub(crate) fn limited_sent(&self, day: u64) -> Sent {
        let rule = lock(&self.rule).0.clone();
        let mut sent = self.with_sent(day, |sent| *sent);
        if let Some(rule) = rule {
            sent.rows = rule.rows_per_day.map_or(0, |_| sent.rows);
            sent.bytes = rule.bytes_per_day.map_or(0, |_| sent.bytes);
        }
        sent
    }

    /// Returns the used share of the limit that is nearest to its end, in parts of 2³².
    pub(crate) fn share(&self, day: u64) -> u128 {
        let part = |used: u64, limit: u64| (u128::from(used) << 32) / u128::from(limit.max(1));
        let rule = lock(&self.rule).0.clone();
        let sent = self.with_sent(day, |sent| *sent);
        let Some(rule) = rule else {
            // Counts of another replica: its rule is not known here.
            return u128::from(sent.rows > 0 || sent.bytes > 0) << 32;
        };
        let rows = rule.rows_per_day.map(|limit| part(sent.rows, limit));
        let bytes = rule.bytes_per_day.map(|limit| part(sent.bytes, limit));
        let calls = rule
            .calls
            .map(|quota| part(self.calls.until_full(), period_nanos(quota)));
        rows.max(bytes).max(calls).unwrap_or_default()
    }

    /// Returns the time of the clock up to which calls count as used.
    pub(crate) fn calls_used_until(&self) -> Duration {
        let before_first_rule = lock(&self.rule).1;
        self.calls.full_at().max(before_first_rule)
    }

    /// Returns whether nothing of the caller is under way, so that its counts can be dropped.
    pub(crate) fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && Arc::strong_count(&self.statements) == 1
    }
}

// === impl Sent ===

impl Sent {
    pub(crate) fn add(&mut self, rows: u64, bytes: u64) {
        self.rows = self.rows.saturating_add(rows);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Returns the days since 1970, in UTC.
pub(crate) fn day(clock: &impl Calendar) -> u64 {
    clock.date().as_secs() / DAY
}

/// Returns the time until midnight, in UTC.
pub(crate) fn until_midnight(clock: &impl Calendar) -> Duration {
    let date = clock.date();
    let midnight = (date.as_secs() / DAY + 1) * DAY;
    Duration::from_secs(midnight).saturating_sub(date)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
