//! Limits of callers.

use std::{sync::Arc, time::Duration};

use axum::extract::Request;
use http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
use ziggurat_calls::limits::{Allowance, Limits, Refused as LimitReached, StatementPermit};
use ziggurat_layers::reject::Rejection;
use ziggurat_telemetry::Metrics;

use crate::{caller, reply::Refused};

/// Limits of the caller of a question, if there are any. Clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct CallerLimits(Option<Arc<Limited>>);

#[derive(Debug)]
struct Limited {
    allowance: Allowance,
    /// Counts the limits that are reached.
    metrics: Metrics,
}

// === impl CallerLimits ===

impl CallerLimits {
    /// Returns the limits of the caller of a request.
    pub(super) fn of(limits: &Limits, request: &Request, metrics: &Metrics) -> Self {
        let allowance = limits.of(&caller::id(request.extensions()));
        Self(allowance.map(|allowance| {
            let metrics = metrics.clone();
            Arc::new(Limited { allowance, metrics })
        }))
    }

    /// Checks that the caller does not go on with questions although many were refused.
    ///
    /// # Errors
    /// Fails if it does.
    pub(super) fn check_flood(&self) -> Result<(), Refused> {
        let Some(limited) = &self.0 else {
            return Ok(());
        };
        limited.allowance.flooding().map_or(Ok(()), |reached| {
            limited.metrics.refused("limit");
            Err(limited.refused(reached))
        })
    }

    /// Counts a question.
    ///
    /// # Errors
    /// Fails if there were too many.
    pub(super) fn count_call(&self) -> Result<(), Refused> {
        let Some(limited) = &self.0 else {
            return Ok(());
        };
        let counted = limited.allowance.call();
        counted.map_err(|reached| limited.refused(reached))
    }

    /// Waits until a question may be answered, but no longer than `wait`, and checks that rows and
    /// bytes of today are left. The question counts as running until the permit is dropped.
    ///
    /// # Errors
    /// Fails if too many others run all the time, or nothing is left.
    pub(super) async fn admit(&self, wait: Duration) -> Result<Option<StatementPermit>, Refused> {
        let Some(limited) = &self.0 else {
            return Ok(None);
        };
        let permit = limited.allowance.statement(wait).await;
        permit
            .and_then(|permit| limited.allowance.day().map(|()| Some(permit)))
            .map_err(|reached| limited.refused(reached))
    }

    /// Counts passages that were found for an answer.
    pub(super) fn count_rows(&self, rows: u64) {
        if let Some(limited) = &self.0 {
            limited.allowance.rows(rows);
        }
    }

    /// Counts bytes of an answer.
    pub(super) fn count_bytes(&self, bytes: u64) {
        if let Some(limited) = &self.0 {
            limited.allowance.bytes(bytes);
        }
    }

    /// Adds the fields that announce the limits to a response.
    pub(super) fn append_fields(&self, headers: &mut HeaderMap) {
        if let Some(limited) = &self.0 {
            limited.allowance.append_fields(headers);
        }
    }
}

// === impl Limited ===

impl Limited {
    /// Counts a limit that was reached, and returns the response.
    fn refused(&self, reached: LimitReached) -> Refused {
        self.metrics.limit_reached(reached.key());
        let status = StatusCode::TOO_MANY_REQUESTS;
        let mut rejection = Rejection::new(status, "rate_limited", reached.to_string());
        if let Some(seconds) = reached.retry_after_seconds() {
            rejection = rejection.with_header(RETRY_AFTER, HeaderValue::from(seconds));
        }
        rejection.into()
    }
}
