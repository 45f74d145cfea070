//! Rows and bytes that callers were sent, added up over the replicas.

mod leases;
#[cfg(test)]
mod tests;

use std::{error::Error, time::Duration};

use tokio::time::{self, MissedTickBehavior};
use tracing::{info, warn};
use ziggurat_calls::limits::{Limits, Usage};
use ziggurat_layers::clock::{Calendar, Clock, System};
use ziggurat_state::{CallerUsage, Shared, StoreError, UsageExchange};
use ziggurat_tokens::CallerDigest;

pub(crate) use self::leases::lease_calls;

/// Time between two exchanges, and most of the usage that a replica loses when it ends.
const PERIOD: Duration = Duration::from_secs(5);

const DAY: u64 = 86_400;

/// Exchanges usage with the other replicas, forever.
pub(crate) async fn exchange(limits: Limits, shared: Shared) {
    let mut exchanger = Exchanger::new(limits, &shared, System);
    let mut ticks = time::interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let outcome = exchanger.exchange().await;
        exchanger.log(outcome);
    }
}

struct Exchanger<C> {
    limits: Limits<C>,
    usage: UsageExchange,
    clock: C,
    is_failing: bool,
}

// === impl Exchanger ===

impl<C: Clock + Calendar + Clone> Exchanger<C> {
    fn new(limits: Limits<C>, shared: &Shared, clock: C) -> Self {
        Self {
            limits,
            usage: UsageExchange::new(shared),
            clock,
            is_failing: false,
        }
    }

    /// Writes what this replica has sent, and adds what the others have sent to the limits.
    async fn exchange(&mut self) -> Result<(), StoreError> {
        let sent = self.limits.usage_since_last();
        // Read afterwards: after midnight, the usage of the day before no longer counts.
        let day = self.clock.date().as_secs() / DAY;
        let sent = sent.into_iter().filter(|usage| usage.day == day);
        self.usage.count(
            day,
            sent.map(|usage| CallerUsage {
                caller: usage.caller.0,
                rows: usage.rows,
                bytes: usage.bytes,
            }),
        );
        loop {
            let page = self.usage.exchange().await?;
            self.limits.add(page.usage.into_iter().map(|usage| Usage {
                caller: CallerDigest(usage.caller),
                day,
                rows: usage.rows,
                bytes: usage.bytes,
            }));
            if page.is_last {
                return Ok(());
            }
        }
    }

    /// Logs the outcome of an exchange if the one before was another.
    fn log(&mut self, outcome: Result<(), StoreError>) {
        match outcome {
            Err(error) if !self.is_failing => {
                let error: &dyn Error = &error;
                warn!(
                    error,
                    "rows and bytes of callers are counted by each replica alone"
                );
                self.is_failing = true;
            }
            Ok(()) if self.is_failing => {
                info!("rows and bytes of callers are added up over the replicas again");
                self.is_failing = false;
            }
            _ => {}
        }
    }
}
