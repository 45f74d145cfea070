//! Calls of callers that replicas lease from a common window.

use std::{error::Error, time::Duration};

use tokio::time;
use tracing::{info, warn};
use ziggurat_calls::limits::{LeaseRequest, Limits};
use ziggurat_layers::clock::{Calendar, Clock};
use ziggurat_state::{CallLease, Shared, StoreError};
use ziggurat_tokens::CallerDigest;

/// Time between two leases, in which a caller may use a block.
const PAUSE: Duration = Duration::from_millis(50);

/// Time after which a database that failed is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Leases calls ahead of need, forever. While the database fails, this replica counts alone.
pub(crate) async fn lease_calls<C: Clock + Calendar + Clone>(limits: Limits<C>, shared: Shared) {
    let mut is_failing = false;
    let mut wanted = Vec::new();
    loop {
        let outcome = lease(&limits, &shared, &wanted).await;
        limits.share_calls(outcome.is_ok());
        match outcome {
            Ok(()) => {
                if is_failing {
                    info!("calls of callers are counted over the replicas again");
                }
                is_failing = false;
                time::sleep(PAUSE).await;
                wanted = limits.wanted_leases().await;
            }
            Err(error) => {
                if !is_failing {
                    let error: &dyn Error = &error;
                    warn!(error, "calls of callers are counted by each replica alone");
                }
                is_failing = true;
                time::sleep(RETRY).await;
                wanted.clear();
            }
        }
    }
}

/// Leases calls, and gives them to their callers.
pub(super) async fn lease<C: Clock + Calendar + Clone>(
    limits: &Limits<C>,
    shared: &Shared,
    wanted: &[LeaseRequest],
) -> Result<(), StoreError> {
    let wanted: Vec<_> = wanted.iter().map(call_lease).collect();
    for (caller, calls) in shared.lease_calls(&wanted).await? {
        limits.grant(CallerDigest(caller), calls);
    }
    Ok(())
}

fn call_lease(wanted: &LeaseRequest) -> CallLease {
    CallLease {
        caller: wanted.caller.0,
        interval: wanted.interval,
        burst: wanted.burst,
        calls: wanted.calls,
    }
}
