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
    loop {
        limits.share_calls(true);
        let error = lease_until_failure(&limits, &shared).await;
        limits.share_calls(false);
        warn!(
            error = &error as &dyn Error,
            "calls of callers are counted by each replica alone"
        );
        time::sleep(RETRY).await;
        while lease(&limits, &shared, &[]).await.is_err() {
            time::sleep(RETRY).await;
        }
        info!("calls of callers are counted over the replicas again");
    }
}

/// Leases calls as they are wanted, until the database fails. Without limits on calls it waits.
async fn lease_until_failure<C: Clock + Calendar + Clone>(
    limits: &Limits<C>,
    shared: &Shared,
) -> StoreError {
    loop {
        let wanted = limits.wanted_leases().await;
        if let Err(error) = lease(limits, shared, &wanted).await {
            return error;
        }
        time::sleep(PAUSE).await;
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
