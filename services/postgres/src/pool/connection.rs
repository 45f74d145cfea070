//! Opens, checks and closes connections.
//!
//! The hosts are tried in their order each time, as in libpq, because it is the operator's
//! preference. Remembering another host would keep all callers on a standby after the primary is
//! back. The remaining time is shared equally among the remaining hosts, so that a silent host
//! leaves time for the others.
//!
//! The session keeps no setting of this server: each statement sends its own. So the connection may
//! come from a pooler, which shares it with other programs.

use std::{fmt::Write as _, pin::pin, time::Duration};

use tokio::time::{self, Instant};
use tracing::{debug, info};
use ziggurat_telemetry::CountedConnection;

use crate::{
    LOG_TARGET,
    database::{
        Acting, Database, Issued, Match, Permits, Pooler, Prefix, Probe, ServerState, Target,
        TargetSessionAttrs,
    },
    driver::{Client, ConnectOptions, DriverError, Endpoint, Row, ServerError},
    pool::{
        LeaseError,
        cause::{Cause, TriedHost},
        wait::Wait,
    },
};

/// Time limit for closing a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Time limit of a `CancelRequest`, and base of the pause before the next one. The first may arrive
/// before the statement it is for.
const CANCEL: Duration = Duration::from_secs(2);

/// Time limit of the check whether a connection still works.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Time until the role of a server is checked again: a standby may be promoted.
const SERVER_STATE_MAX_AGE: Duration = Duration::from_secs(30);

/// Connection, and the known properties of its server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: Client,
    /// The process id in PostgreSQL, which may differ from the one that a pooler reports.
    pub(super) process: i32,
    pub(super) since: Instant,
    pub(super) session: Session,
    /// Its permits, if it is counted.
    pub(super) permit: Option<Permits>,
    /// Counts it in the metrics.
    pub(super) counted: CountedConnection,
    /// Time of the last check of the server's role.
    pub(super) judged: Instant,
    /// Logs its end.
    _end: EndLog,
}

/// Properties of a session that statements depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    /// The next transaction may run on another connection of PostgreSQL.
    pub(crate) is_shared: bool,
    /// The default settings for reading and writing values are those that this crate expects.
    pub(crate) is_usual: bool,
    /// The role and the settings of its caller, if it has some.
    pub(crate) prefix: Prefix,
}

impl Session {
    /// Returns whether a text may be sent in one message with its settings: PostgreSQL parses all
    /// of a message before it applies any of them.
    pub(crate) fn takes_one_message(&self) -> bool {
        self.is_usual && !self.is_shared
    }

    /// Writes the settings of a statement; they end with its transaction. The ones of its caller come
    /// last, and its role after them.
    pub(crate) fn write_settings(&self, timeout: Option<Duration>, sql: &mut String) {
        let timeout = milliseconds(timeout);
        write!(sql, "SET LOCAL statement_timeout = {timeout}").expect(INFALLIBLE);
        if !self.takes_one_message() {
            sql.push_str(
                "; SET LOCAL standard_conforming_strings = on; SET LOCAL extra_float_digits = 1; \
                 SET LOCAL bytea_output = hex",
            );
        }
        sql.push_str(&self.prefix.sql);
    }
}

const INFALLIBLE: &str = "a string takes everything";

/// Logs the end of a connection when it is dropped.
#[derive(Debug)]
struct EndLog {
    process: i32,
}

/// Failure of a host, for clients and for the log.
struct Failure {
    cause: Cause,
    source: Option<DriverError>,
}

// === impl Connection ===

impl Connection {
    /// Connects to the first suitable host, by `until` at the latest.
    pub(super) async fn open(database: &Database, until: Instant) -> Result<Box<Self>, LeaseError> {
        let wanted = database.settings().target_session_attrs;
        let deadline = until.min(Instant::now() + database.settings().connect_timeout);
        let targets = database.targets();
        let mut tried = Vec::new();
        let mut source = None;
        // It stays open meanwhile, since its server may be unreachable later.
        let mut barely: Option<Box<Self>> = None;
        for (place, index) in database.order().into_iter().enumerate() {
            let left = u32::try_from(targets.len() - place).unwrap_or(u32::MAX);
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            // Boxed: one allocation per connection keeps the waiting futures small.
            let cause = match Box::pin(Self::reach(database, index, share)).await {
                Ok((connection, server_state)) => match wanted.judge(server_state) {
                    Match::Yes => return Ok(connection),
                    Match::Barely => {
                        barely.get_or_insert(connection);
                        continue;
                    }
                    Match::No(why) => {
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
            tried.push(TriedHost { host, cause });
        }
        barely.ok_or_else(|| match refused_role(database, source.as_ref()) {
            Some(why) => LeaseError::NotOpen {
                database: database.name().to_owned(),
                why,
            },
            None => LeaseError::Connect {
                database: database.name().to_owned(),
                is_shown: database.settings().shows_causes,
                tried,
                source,
            },
        })
    }

    /// Returns whether it still works, and its server still has a wanted role.
    pub(super) async fn is_fit(&mut self, database: &Database, wait: Wait) -> bool {
        let wanted = database.settings().target_session_attrs;
        let is_judged = self.is_judged(database);
        let sql = if is_judged { "" } else { SERVER_STATE_QUERY };
        // The last statement may have used up its time.
        self.client.set_patience(None);
        let answer = time::timeout(wait.at_most(PROBE_TIMEOUT), self.client.ask(sql)).await;
        let Ok(Ok(rows)) = answer else { return false };
        if is_judged {
            return true;
        }
        self.judged = Instant::now();
        server_state(&rows)
            .is_ok_and(|server_state| !matches!(wanted.judge(server_state), Match::No(_)))
    }

    /// Returns whether the role of its server was checked recently, or does not matter.
    pub(super) fn is_judged(&self, database: &Database) -> bool {
        database.settings().target_session_attrs == TargetSessionAttrs::Any
            || self.judged.elapsed() < SERVER_STATE_MAX_AGE
    }

    /// Closes the connection in order, if that is possible in time. The socket closes in any case.
    pub(super) async fn close(self: Box<Self>) {
        let Self {
            client,
            permit,
            _end,
            ..
        } = *self;
        let _ = time::timeout(CLOSE_TIMEOUT, client.close()).await;
        drop(permit);
    }

    /// Cancels what runs on it, and returns when PostgreSQL has confirmed that its process has
    /// ended: only then are its permits free.
    pub(super) async fn stop(self: Box<Self>, database: &Database) {
        let Self {
            mut client,
            process,
            permit,
            _end,
            ..
        } = *self;
        let key = client.cancel_key();
        let gone = async {
            client.set_patience(None);
            if client.drain().await? {
                info!(
                    target: LOG_TARGET,
                    process,
                    database = database.name(),
                    "a cancelled statement had ended before: what it changed is committed"
                );
            }
            client.close().await?;
            Ok::<_, DriverError>(())
        };
        let mut gone = pin!(time::timeout(database.settings().max_lifetime, gone));
        let mut pause = CANCEL / 16;
        loop {
            let asked = time::timeout(CANCEL, key.cancel()).await;
            let is_asked = matches!(asked, Ok(Ok(())));
            debug!(target: LOG_TARGET, process, is_asked, "statement cancelled");
            if time::timeout(pause, &mut gone).await.is_ok() {
                break;
            }
            pause = (pause * 2).min(16 * CANCEL);
        }
        drop(permit);
    }

    async fn reach(
        database: &Database,
        index: usize,
        limit: Duration,
    ) -> Result<(Box<Self>, ServerState), Failure> {
        let began = Instant::now();
        let connect = async {
            let mut client = enter(&database.targets()[index], began + limit).await?;
            let (rows, prefix) = set_up(&mut client, database).await?;
            let row = rows.first().ok_or(NO_ANSWER)?;
            let process = row.text(2)?.parse().map_err(DriverError::value)?;
            let pooler = database.settings().pooler;
            let session = Session {
                is_shared: pooler == Pooler::Transaction
                    || pooler == Pooler::Detect && process != client.process(),
                is_usual: row.text(3)? == "t",
                prefix,
            };
            admit(&mut client, database, &session).await?;
            let now = Instant::now();
            let connection = Self {
                client,
                process,
                since: now,
                session,
                permit: None,
                counted: CountedConnection::default(),
                judged: now,
                _end: EndLog { process },
            };
            Ok::<_, DriverError>((Box::new(connection), server_state(&rows)?))
        };
        let reached = time::timeout(limit, connect).await;
        let name = database.name();
        let duration_ms = began.elapsed().as_secs_f64() * 1e3;
        if let Ok(Ok((connection, _))) = &reached {
            info!(
                target: LOG_TARGET,
                database = name,
                process = connection.process,
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
                cause: late(&database.targets()[index]),
                source: None,
            }),
        }
    }
}

// === impl EndLog ===

impl Drop for EndLog {
    fn drop(&mut self) {
        info!(target: LOG_TARGET, process = self.process, "connection closed");
    }
}

/// Query for the role of a server.
const SERVER_STATE_QUERY: &str = "SELECT pg_catalog.pg_is_in_recovery(),
    pg_catalog.current_setting('default_transaction_read_only') = 'on'";

/// Query for the role, the process id, and whether the default settings are as expected: checks
/// before a text is sent are valid only if PostgreSQL reads strings the same way, and numbers must
/// be exact and bytes hexadecimal.
const SET_UP: &str = "SELECT pg_catalog.pg_is_in_recovery(),
    pg_catalog.current_setting('default_transaction_read_only') = 'on',
    pg_catalog.pg_backend_pid(),
    pg_catalog.current_setting('standard_conforming_strings') = 'on'
        AND pg_catalog.current_setting('extra_float_digits')::int >= 1
        AND pg_catalog.current_setting('bytea_output') = 'hex'";

/// Asks the first query of a connection. Also returns the commands for the role and the settings of
/// its caller, if it has some.
async fn set_up(
    client: &mut Client,
    database: &Database,
) -> Result<(Vec<Row>, Prefix), DriverError> {
    let Some(acting) = database.acts() else {
        return Ok((client.ask(SET_UP).await?, Prefix::default()));
    };
    client.be_terse();
    let rows = client
        .ask(&format!("{SET_UP}, {}", acting.question()))
        .await?;
    let row = rows.first().ok_or(NO_ANSWER)?;
    let process = row.text(2)?.parse().map_err(DriverError::value)?;
    let prefix = acting.prefix(row, 4, process)?;
    Ok((rows, prefix))
}

/// Checks that a session serves its caller, also through a pooler.
async fn admit(
    client: &mut Client,
    database: &Database,
    session: &Session,
) -> Result<(), DriverError> {
    if session.is_shared && session.prefix.sealed.is_some() {
        let why = "seals need connections to PostgreSQL itself, and a pooler shares this one";
        return Err(DriverError::Role(why.into()));
    }
    let probe = database.acts().map_or(Ok(None), Acting::probe)?;
    match probe {
        Some(probe) => keeps_identity(client, session, &probe).await,
        None if session.is_shared => keeps_transactions(client).await,
        None => Ok(()),
    }
}

const NO_ANSWER: DriverError = DriverError::Protocol("a query has no rows");

/// Checks that a pooler keeps the statements of a transaction on one connection.
async fn keeps_transactions(client: &mut Client) -> Result<(), DriverError> {
    // Two messages, since a pooler sees only the state after each.
    client.queue("BEGIN");
    client.queue("COMMIT");
    client.flush().await?;
    let kept = client.rows().await;
    kept.map(drop).map_err(|_| DriverError::Auth(NOT_KEPT))
}

/// Checks that the role and the settings of a caller hold in each message of a transaction, and end
/// with it.
async fn keeps_identity(
    client: &mut Client,
    session: &Session,
    probe: &Probe,
) -> Result<(), DriverError> {
    client.queue(&format!("BEGIN{}; {}", session.prefix.sql, probe.mark));
    for _ in 0..PROBED {
        client.queue(&probe.question);
    }
    client.queue("COMMIT");
    client.queue(&probe.question);
    let answered = async {
        client.flush().await?;
        client.rows().await
    };
    let rows = answered.await.map_err(|error| {
        let is_other = match &error {
            DriverError::Server(error) => is_about_a_role(error),
            // Some poolers close a connection that begins a transaction.
            _ => !session.is_shared,
        };
        if is_other {
            return error;
        }
        DriverError::Role(format!("{NOT_KEPT}: {error}").into())
    })?;
    let answers: Vec<_> = rows.iter().map(|row| probe.is_answered(row)).collect();
    is_kept(&answers)
        .then_some(())
        .ok_or_else(|| DriverError::Role(NOT_KEPT.into()))
}

/// Returns whether role and settings held in each message of a transaction, and not after it.
pub(super) fn is_kept(answers: &[bool]) -> bool {
    let parts = answers.split_last();
    parts.is_some_and(|(after, during)| !after && during == [true; PROBED])
}

/// Messages in which a probe asks for the role and the settings.
const PROBED: usize = 5;

const NOT_KEPT: &str = "the pooler does not keep transactions together";

/// Returns the cause of a connection that took too long.
fn late(target: &Target) -> Cause {
    match &target.options.endpoint {
        Endpoint::Tunnel(address) => {
            let why = "no answer within connect_timeout";
            Cause::Command(Box::new(address.failure(why)))
        }
        _ => Cause::TimedOut,
    }
}

/// Returns why the role of a caller was refused, if that is the reason of an error.
fn refused_role(database: &Database, error: Option<&DriverError>) -> Option<String> {
    let role = database.acts()?.role();
    match error? {
        DriverError::Role(why) => Some(why.to_string()),
        DriverError::Server(error) => {
            let role = role.filter(|_| is_about_a_role(error))?;
            Some(format!("role {role}: {error}"))
        }
        _ => None,
    }
}

/// Returns whether it tells of wrong credentials, of no right to a role, or of a role that is missing.
fn is_about_a_role(error: &ServerError) -> bool {
    error.code.starts_with("28") || ["42501", "22023", "42704"].contains(&&*error.code)
}

async fn enter(target: &Target, until: Instant) -> Result<Client, DriverError> {
    let Some(keeper) = &target.keeper else {
        return log_in(&target.options, target.otherwise.as_ref()).await;
    };
    let issued = keeper.password(until).await?;
    match log_in_with(target, &issued).await {
        Err(DriverError::Server(error)) if REFUSED.contains(&&*error.code) => {
            match keeper.replacement(&issued, until).await {
                Some(fresh) => log_in_with(target, &fresh?).await,
                None => Err(DriverError::Server(error)),
            }
        }
        entered => entered,
    }
}

/// Codes for a refused login: `invalid_password` and `invalid_authorization_specification`.
const REFUSED: [&str; 2] = ["28P01", "28000"];

/// Logs in with the password of a program.
async fn log_in_with(target: &Target, issued: &Issued) -> Result<Client, DriverError> {
    let with_password = |options: &ConnectOptions| ConnectOptions {
        password: issued.password.clone(),
        ..options.clone()
    };
    let otherwise = target.otherwise.as_ref().map(with_password);
    log_in(&with_password(&target.options), otherwise.as_ref()).await
}

async fn log_in(
    options: &ConnectOptions,
    otherwise: Option<&ConnectOptions>,
) -> Result<Client, DriverError> {
    match (Client::connect(options).await, otherwise) {
        (Err(error), Some(otherwise)) if Cause::new(&error).is_about_the_way() => {
            // If both attempts fail, the error of the preferred one says more.
            Client::connect(otherwise).await.map_err(|_| error)
        }
        (entered, _) => entered,
    }
}

fn server_state(rows: &[Row]) -> Result<ServerState, DriverError> {
    let row = rows.first().ok_or(NO_ANSWER)?;
    Ok(ServerState {
        is_standby: row.text(0)? == "t",
        is_read_only: row.text(1)? == "t",
    })
}

/// Converts a timeout for PostgreSQL, where zero means none.
pub(crate) fn milliseconds(timeout: Option<Duration>) -> u128 {
    // Rounded up, since zero would mean no timeout.
    timeout.map_or(0, |timeout| timeout.as_nanos().div_ceil(1_000_000))
}
