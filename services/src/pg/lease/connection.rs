//! How one connection is made.
//!
//! The hosts are tried in their order each time, as libpq does: the order is the operator's
//! preference, and remembering another would keep everybody on a standby after the primary is
//! back. What is left of the time is shared equally among the hosts that are left, so that one
//! that does not answer leaves the others theirs.

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, Row as _,
    postgres::PgConnectOptions,
};
use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{self, Instant},
};
use tracing::info;

use crate::pg::{
    LOG_TARGET,
    database::{Database, Fit, Standing, Target},
};

use super::{
    LeaseError,
    cause::{Cause, Tried},
};

/// How long PostgreSQL may take to hear that a connection closes.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection, and what PostgreSQL knows it by.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) inner: PgConnection,
    pub(super) process: i32,
    pub(super) since: Instant,
    /// Which of the hosts it is connected to.
    pub(super) target: usize,
    /// What it takes of what all callers together may have, if it is counted.
    pub(super) seat: Option<OwnedSemaphorePermit>,
    /// Tells when it is gone.
    _end: End,
}

/// Tells of the end of a connection, whichever way it comes to it.
#[derive(Debug)]
struct End {
    process: i32,
}

/// What went wrong with a host, for clients and for the log.
struct Failure {
    cause: Cause,
    source: Option<sqlx::Error>,
}

// === impl Connection ===

impl Connection {
    /// Connects to the first host that will do, and settles what every statement relies on.
    pub(super) async fn open(database: &Database) -> Result<Self, LeaseError> {
        let wanted = database.settings().target_session_attrs;
        let deadline = Instant::now() + database.settings().connect_timeout;
        let targets = database.targets();
        let mut tried = Vec::new();
        let mut source = None;
        // Kept open meanwhile, since it may be gone when it is needed.
        let mut barely: Option<Self> = None;
        for index in 0..targets.len() {
            let left = u32::try_from(targets.len() - index).unwrap_or(u32::MAX);
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            // Boxed: one per connection. Whoever may have to wait for one would be as large.
            let cause = match Box::pin(Self::reach(database, index, share)).await {
                Ok((connection, standing)) => match wanted.judge(standing) {
                    Fit::Yes => return Ok(connection),
                    Fit::Barely => {
                        barely.get_or_insert(connection);
                        continue;
                    }
                    Fit::No(why) => {
                        connection.close().await;
                        Cause::Unfit(why)
                    }
                },
                Err(failure) => {
                    source = failure.source.or(source);
                    failure.cause
                }
            };
            let host = targets[index].host.clone();
            tried.push(Tried { host, cause });
        }
        barely.ok_or_else(|| LeaseError::Connect {
            database: database.name().to_owned(),
            tried,
            source,
        })
    }

    /// Connects to the server another connection is connected to, whatever has become of it.
    pub(super) async fn beside(&self, database: &Database) -> Result<Self, LeaseError> {
        let limit = database.settings().connect_timeout;
        match Box::pin(Self::reach(database, self.target, limit)).await {
            Ok((connection, _)) => Ok(connection),
            Err(Failure { cause, source }) => {
                let host = database.targets()[self.target].host.clone();
                Err(LeaseError::Connect {
                    database: database.name().to_owned(),
                    tried: vec![Tried { host, cause }],
                    source,
                })
            }
        }
    }

    /// Says farewell. Whether it was heard does not matter: the socket closes either way.
    pub(super) async fn close(self) {
        let Self {
            inner, seat, _end, ..
        } = self;
        let _ = time::timeout(FAREWELL, inner.close()).await;
        drop(seat);
    }

    async fn reach(
        database: &Database,
        index: usize,
        limit: Duration,
    ) -> Result<(Self, Standing), Failure> {
        let connect = async {
            let mut inner = enter(&database.targets()[index]).await?;
            let (process, standing) = set_up(&mut inner, database).await?;
            let connection = Self {
                inner,
                process,
                since: Instant::now(),
                target: index,
                seat: None,
                _end: End { process },
            };
            Ok((connection, standing))
        };
        let began = Instant::now();
        let reached = time::timeout(limit, connect).await;
        let name = database.name();
        let duration_ms = began.elapsed().as_secs_f64() * 1e3;
        if let Ok(Ok((Self { process, .. }, _))) = &reached {
            info!(
                target: LOG_TARGET,
                database = name,
                process,
                duration_ms,
                "connection opened"
            );
        } else {
            info!(target: LOG_TARGET, database = name, duration_ms, "connection failed");
        }
        match reached {
            Ok(Ok(reached)) => Ok(reached),
            Ok(Err(error)) => Err(Failure {
                cause: Cause::new(&error),
                source: Some(error),
            }),
            Err(_) => Err(Failure {
                cause: Cause::TimedOut,
                source: None,
            }),
        }
    }
}

impl Deref for Connection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.inner
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.inner
    }
}

// === impl End ===

impl Drop for End {
    fn drop(&mut self) {
        info!(target: LOG_TARGET, process = self.process, "connection closed");
    }
}

async fn enter(target: &Target) -> sqlx::Result<PgConnection> {
    let connect = async |options: &PgConnectOptions| options.connect().await;
    match (connect(&target.options).await, &target.otherwise) {
        (Err(error), Some(otherwise)) if Cause::new(&error).is_about_the_way() => {
            // What the preferred way came to says more, if the other comes to nothing too.
            connect(otherwise).await.map_err(|_| error)
        }
        (entered, _) => entered,
    }
}

/// Settings travel as statements, since poolers refuse them as start-up parameters. The server
/// is asked what it is like before it is told what we would have it be.
async fn set_up(
    connection: &mut PgConnection,
    database: &Database,
) -> sqlx::Result<(i32, Standing)> {
    let timeout = milliseconds(database.query_timeout());
    let access = if database.allows_writes() {
        "off"
    } else {
        "on"
    };
    // What is read before a text is sent holds only if PostgreSQL reads strings the same way. And
    // whatever a database or a role prefers, numbers are written in full and bytes in hexadecimal.
    let set_up = format!(
        "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), \
         pg_catalog.current_setting('default_transaction_read_only') = 'on'; \
         SET standard_conforming_strings = on; \
         SET extra_float_digits = 1; \
         SET bytea_output = hex; \
         SET statement_timeout = {timeout}; \
         SET default_transaction_read_only = {access}"
    );
    let row = sqlx::raw_sql(AssertSqlSafe(set_up))
        .fetch_all(connection)
        .await?
        .pop()
        .ok_or(sqlx::Error::RowNotFound)?;
    let standing = Standing {
        is_standby: row.try_get(1)?,
        is_read_only: row.try_get(2)?,
    };
    Ok((row.try_get(0)?, standing))
}

/// A timeout as PostgreSQL takes it, where zero is none.
pub(crate) fn milliseconds(timeout: Option<Duration>) -> u128 {
    // Rounded up: less than a millisecond must not become forever.
    timeout.map_or(0, |timeout| timeout.as_nanos().div_ceil(1_000_000))
}
