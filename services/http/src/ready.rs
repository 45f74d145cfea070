//! `/ready`: tells a load balancer whether the server can serve requests.
//!
//! The parts of a server report their state to a [`Readiness`], which logs each change. Its response
//! is a count: the names of databases and pipelines, and their errors, are only in the log, because
//! the endpoint needs no authentication.
//!
//! ```
//! use axum::{Router, body::Body, routing::get};
//! use http::Request;
//! use tower::ServiceExt as _;
//! use ziggurat_http::Readiness;
//!
//! # tokio_test::block_on(async {
//! let readiness = Readiness::new("pipeline");
//! readiness.set_parts(["docs", "mail"]);
//! let router: Router = Router::new().route("/ready", get(readiness.clone()));
//! let request = || Request::get("/ready").body(Body::empty());
//! assert_eq!(router.clone().oneshot(request()?).await?.status(), 503);
//!
//! readiness.note("docs", Ok(()));
//! readiness.note("mail", Err(&std::io::Error::other("no such table")));
//! assert_eq!(router.oneshot(request()?).await?.status(), 200);
//! assert_eq!(readiness.report().to_string(), r#"{"status":"ready","unavailable":1}"#);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

use std::{
    error::Error,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use axum::{
    Extension,
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};
use tokio::time;
use tracing::warn;
use ziggurat_layers::sanitize::Public;
use ziggurat_runtime::lock;

/// Time between two checks of something that was reached.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Time between two checks while something is unreachable.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Knows which parts of a server can serve requests. Clones share the state.
///
/// It is also the response of `/ready`, and thus its handler.
#[derive(Clone, Debug)]
pub struct Readiness {
    kind: &'static str,
    state: Arc<Mutex<ReadyState>>,
}

/// The response of `/ready`; `Display` writes it as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The state of the server as a whole.
    pub status: Status,
    /// The number of parts that cannot serve, or have not been checked yet.
    pub unavailable: usize,
}

/// The state of a server as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// At least one part can serve.
    Ready,
    /// No part is known to serve, and some have not been checked yet.
    Starting,
    /// The server is shutting down.
    Stopping,
    /// Nothing runs, because it cannot be recorded.
    AuditUnavailable,
    /// The database that replicas share is unreachable.
    StateUnreachable,
    /// No part can serve.
    Unavailable,
}

/// A part of a server, at its last check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartReport {
    /// Its name.
    pub name: String,
    /// Is true if it can serve; none before the first check.
    pub is_available: Option<bool>,
    /// Time of the last check.
    pub checked_at: Option<SystemTime>,
}

#[derive(Debug, Default)]
struct ReadyState {
    is_stopping: bool,
    /// Is true while nothing may run, because it cannot be recorded.
    audit_unavailable: Arc<AtomicBool>,
    /// State of the database that replicas share, if there is one.
    shared: Option<PartState>,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    name: String,
    state: PartState,
    checked_at: Option<SystemTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartState {
    Unknown,
    Available,
    Unavailable,
}

// === impl Readiness ===

impl Readiness {
    /// Starts without parts. `kind` is the word for a part in the log, such as `database`.
    #[must_use]
    pub fn new(kind: &'static str) -> Self {
        Self {
            kind,
            state: Arc::default(),
        }
    }

    /// Replaces the parts of the server. The state of those that stay is kept.
    pub fn set_parts(&self, names: impl IntoIterator<Item: Into<String>>) {
        let mut state = lock(&self.state);
        let known = std::mem::take(&mut state.parts);
        let names = names.into_iter().map(Into::into);
        state.parts = names
            .map(|name| {
                let before = known.iter().find(|known| known.name == name);
                Part {
                    state: before.map_or(PartState::Unknown, |known| known.state),
                    checked_at: before.and_then(|known| known.checked_at),
                    name,
                }
            })
            .collect();
    }

    /// Returns the parts of the server, each with its last check.
    #[must_use]
    pub fn parts(&self) -> Vec<PartReport> {
        let state = lock(&self.state);
        let parts = state.parts.iter().map(|part| PartReport {
            name: part.name.clone(),
            is_available: match part.state {
                PartState::Unknown => None,
                state => Some(state == PartState::Available),
            },
            checked_at: part.checked_at,
        });
        parts.collect()
    }

    /// Records whether a part can serve, and logs a change. A part that the server no longer has is
    /// ignored.
    pub fn note(&self, name: &str, found: Result<(), &(dyn Error + 'static)>) {
        let Some(before) = self.replace(name, PartState::new(&found)) else {
            return;
        };
        let kind = self.kind;
        match found {
            Err(error) if before != PartState::Unavailable => {
                warn!(name, error, "a {kind} is unavailable");
            }
            Ok(()) if before == PartState::Unavailable => {
                warn!(name, "a {kind} is reachable again");
            }
            _ => {}
        }
    }

    /// Records whether the database that replicas share can be reached, and logs a change.
    pub(crate) fn note_shared(&self, found: Result<(), &(dyn Error + 'static)>) {
        let before = lock(&self.state).shared.replace(PartState::new(&found));
        match found {
            Err(error) if before != Some(PartState::Unavailable) => {
                warn!(error, "the state database is unreachable");
            }
            Ok(()) if before == Some(PartState::Unavailable) => {
                warn!("the state database is reachable again");
            }
            _ => {}
        }
    }

    /// Checks the database that replicas share periodically, and records the results of `check`.
    ///
    /// The server is not ready from this call until the first result.
    pub fn watch_shared<F, E>(self, check: impl Fn() -> F) -> impl Future<Output = ()>
    where
        F: Future<Output = Result<(), E>>,
        E: Error + 'static,
    {
        lock(&self.state).shared.get_or_insert(PartState::Unknown);
        async move {
            loop {
                let found = check().await;
                match &found {
                    Ok(()) => self.note_shared(Ok(())),
                    Err(error) => self.note_shared(Err(error)),
                }
                time::sleep(pause(found.is_ok())).await;
            }
        }
    }

    /// Makes the server not ready while this flag of an audit trail is true.
    pub fn watch_audit(&self, unavailable: Arc<AtomicBool>) {
        lock(&self.state).audit_unavailable = unavailable;
    }

    /// Records that the server is shutting down.
    pub fn stop(&self) {
        lock(&self.state).is_stopping = true;
    }

    /// Returns the current response of `/ready`.
    #[must_use]
    pub fn report(&self) -> Report {
        lock(&self.state).report()
    }

    /// Waits until the next check of the parts.
    pub async fn pause(&self) {
        time::sleep(pause(self.report().unavailable == 0)).await;
    }

    /// Replaces the known state of a part, if there is such a part.
    fn replace(&self, name: &str, found: PartState) -> Option<PartState> {
        let mut state = lock(&self.state);
        let part = state.parts.iter_mut().find(|part| part.name == name)?;
        part.checked_at = Some(SystemTime::now());
        Some(std::mem::replace(&mut part.state, found))
    }
}

impl IntoResponse for Readiness {
    fn into_response(self) -> Response {
        let report = self.report();
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        let response = (headers, report.to_string());
        if report.status == Status::Ready {
            return response.into_response();
        }
        // It has no secrets, so the sanitizer leaves it unchanged.
        let public = Extension(Public);
        (StatusCode::SERVICE_UNAVAILABLE, public, response).into_response()
    }
}

fn pause(is_well: bool) -> Duration {
    if is_well {
        CHECK_INTERVAL
    } else {
        RETRY_INTERVAL
    }
}

// === impl ReadyState ===

impl ReadyState {
    fn report(&self) -> Report {
        let unavailable = self.count(|found| found != PartState::Available);
        let is_unknown = self.count(|found| found == PartState::Unknown) > 0;
        let status = if self.is_stopping {
            Status::Stopping
        } else if self.audit_unavailable.load(Relaxed) {
            Status::AuditUnavailable
        } else if self.shared == Some(PartState::Unavailable) {
            Status::StateUnreachable
        } else if self.shared == Some(PartState::Unknown) {
            Status::Starting
        } else if unavailable < self.parts.len() || self.parts.is_empty() {
            Status::Ready
        } else if is_unknown {
            Status::Starting
        } else {
            Status::Unavailable
        };
        Report {
            status,
            unavailable,
        }
    }

    fn count(&self, is_counted: impl Fn(PartState) -> bool) -> usize {
        let parts = self.parts.iter();
        parts.filter(|part| is_counted(part.state)).count()
    }
}

// === impl PartState ===

impl PartState {
    fn new<E>(found: &Result<(), E>) -> Self {
        match found {
            Ok(()) => Self::Available,
            Err(_) => Self::Unavailable,
        }
    }
}

// === impl Report ===

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            Status::Ready => "ready",
            Status::Starting => "starting",
            Status::Stopping => "stopping",
            Status::AuditUnavailable => "audit unavailable",
            Status::StateUnreachable => "state unreachable",
            Status::Unavailable => "unavailable",
        };
        let unavailable = self.unavailable;
        write!(f, r#"{{"status":"{status}","unavailable":{unavailable}}}"#)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::ready, io, pin::pin, sync::atomic::AtomicU32};

    use axum::{Router, body::Body, extract::Request, routing::get};
    use http::Method;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    fn down() -> io::Error {
        io::Error::other("it is down")
    }

    fn said(readiness: &Readiness) -> String {
        readiness.report().to_string()
    }

    #[test]
    fn a_server_is_ready_as_soon_as_one_part_can_serve() {
        let readiness = Readiness::new("database");
        assert_eq!(said(&readiness), r#"{"status":"ready","unavailable":0}"#);
        readiness.set_parts(["a", "b"]);
        assert_eq!(said(&readiness), r#"{"status":"starting","unavailable":2}"#);
        readiness.note("a", Err(&down()));
        assert_eq!(said(&readiness), r#"{"status":"starting","unavailable":2}"#);
        readiness.note("b", Ok(()));
        assert_eq!(said(&readiness), r#"{"status":"ready","unavailable":1}"#);
        readiness.note("b", Err(&down()));
        let none = r#"{"status":"unavailable","unavailable":2}"#;
        assert_eq!(said(&readiness), none);
        readiness.note("c", Ok(()));
        assert_eq!(said(&readiness), none, "it is no part");
        readiness.set_parts(["b", "d"]);
        let parts = readiness.parts();
        let known = |part: &PartReport| (part.is_available, part.checked_at.is_some());
        assert_eq!(
            parts.iter().map(known).collect::<Vec<_>>(),
            [(Some(false), true), (None, false)]
        );
    }

    #[test]
    fn the_state_of_a_part_that_stays_is_kept_with_a_new_list() {
        let readiness = Readiness::new("database");
        readiness.set_parts(["a", "b"]);
        readiness.note("b", Ok(()));
        readiness.set_parts(["b", "c"]);
        assert_eq!(said(&readiness), r#"{"status":"ready","unavailable":1}"#);
    }

    #[test]
    fn the_shared_database_and_the_end_come_before_the_parts() {
        let readiness = Readiness::new("database");
        readiness.set_parts(["a"]);
        readiness.note("a", Ok(()));
        readiness.note_shared(Err(&down()));
        let unreachable = r#"{"status":"state unreachable","unavailable":0}"#;
        assert_eq!(said(&readiness), unreachable);
        readiness.note_shared(Ok(()));
        assert_eq!(said(&readiness), r#"{"status":"ready","unavailable":0}"#);
        readiness.stop();
        assert_eq!(said(&readiness), r#"{"status":"stopping","unavailable":0}"#);
    }

    #[test]
    fn a_server_that_cannot_record_what_it_must_is_not_ready() {
        let (readiness, flag) = (Readiness::new("database"), Arc::new(AtomicBool::new(true)));
        readiness.watch_audit(Arc::clone(&flag));
        let unavailable = r#"{"status":"audit unavailable","unavailable":0}"#;
        assert_eq!(said(&readiness), unavailable);
        flag.store(false, Relaxed);
        assert_eq!(said(&readiness), r#"{"status":"ready","unavailable":0}"#);
    }

    #[tokio::test(start_paused = true)]
    async fn the_shared_database_is_checked_until_it_is_reachable() {
        let readiness = Readiness::new("database");
        let looks = AtomicU32::new(0);
        let check = || {
            let look = looks.fetch_add(1, Relaxed);
            ready(if look == 0 { Err(down()) } else { Ok(()) })
        };
        let mut watching = pin!(readiness.clone().watch_shared(check));
        let soon = time::timeout(RETRY_INTERVAL / 2, &mut watching);
        soon.await.expect_err("it goes on");
        assert_eq!(readiness.report().status, Status::StateUnreachable);
        let later = time::timeout(RETRY_INTERVAL, watching);
        later.await.expect_err("it goes on");
        assert_eq!(readiness.report().status, Status::Ready);
    }

    #[tokio::test]
    async fn a_head_has_the_status_and_the_length_and_is_not_kept() {
        let readiness = Readiness::new("database");
        readiness.set_parts(["a"]);
        for (method, body) in [
            (Method::GET, r#"{"status":"starting","unavailable":1}"#),
            (Method::HEAD, ""),
        ] {
            let mut request = Request::new(Body::empty());
            *request.method_mut() = method;
            let router = Router::new().route("/", get(readiness.clone()));
            let response = router.oneshot(request).await.expect("infallible");
            assert_eq!(response.status(), 503);
            assert_eq!(response.headers()["content-length"], "37");
            assert_eq!(response.headers()["cache-control"], "no-store");
            assert!(response.extensions().get::<Public>().is_some());
            let bytes = response.into_body().collect().await.expect("whole");
            assert_eq!(bytes.to_bytes(), body);
        }
    }
}
