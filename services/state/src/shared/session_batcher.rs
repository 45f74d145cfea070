//! Looks up sessions in batches.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    future::{pending, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use jiff::Timestamp;
use tokio::{
    sync::{mpsc, oneshot},
    time,
};
use tracing::{info, warn};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_postgres::driver::{DriverError, Row, Value, query};

use crate::{
    StateDatabase, StoreError,
    shared::{SharedSession, bytes},
};

/// Maximum number of sessions looked up in one statement.
const BATCH: usize = 256;

/// Maximum time of a look-up, because a request waits for it.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// Pause before the database is tried again after it did not answer.
const PAUSE: Duration = Duration::from_millis(500);

/// Looks up sessions for a [`Shared`](super::Shared).
///
/// All look-ups that arrive while PostgreSQL is busy go into the next statement, so that one
/// connection is enough for any number of requests. After a failure, all look-ups get
/// [`Answer::Unknown`] at once until a trial of the batcher itself has succeeded: no request waits for
/// a database that is silent, except for those that notice it first.
#[must_use = "nothing is looked up unless it runs"]
pub struct SessionBatcher {
    state: StateDatabase,
    inbox: mpsc::Receiver<LookUpRequest>,
    users: mpsc::UnboundedReceiver<String>,
    /// Users with sessions that are still to be ended.
    ended: BTreeSet<String>,
    /// The next trial after a failure.
    trial: Option<Trial>,
}

/// Tries whether the database answers again.
// Boxed: one for each trial, and none while the database answers.
type Trial = Pin<Box<dyn Future<Output = bool> + Send>>;

/// A look-up, and the channel for its answer.
#[derive(Debug)]
pub(super) struct LookUpRequest {
    pub(super) token: TokenHash,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// Result of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The session of the token.
    Session(SharedSession),
    /// The token has no session.
    Missing,
    /// The database did not answer.
    Unknown,
}

/// A pending look-up. It takes little more than a second at most.
#[derive(Debug)]
#[must_use = "it says nothing unless it is awaited"]
pub struct LookUp {
    answer: oneshot::Receiver<Answer>,
}

// === impl LookUp ===

impl LookUp {
    pub(super) fn new(answer: oneshot::Receiver<Answer>) -> Self {
        Self { answer }
    }
}

impl Future for LookUp {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        let answer = Pin::new(&mut self.answer).poll(cx);
        // The sender is dropped when the queue is full or the batcher has stopped.
        answer.map(|answer| answer.unwrap_or(Answer::Unknown))
    }
}

// === impl SessionBatcher ===

impl fmt::Debug for SessionBatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionBatcher").finish_non_exhaustive()
    }
}

impl SessionBatcher {
    pub(super) fn new(
        state: StateDatabase,
        inbox: mpsc::Receiver<LookUpRequest>,
        users: mpsc::UnboundedReceiver<String>,
    ) -> Self {
        Self {
            state,
            inbox,
            users,
            ended: BTreeSet::new(),
            trial: None,
        }
    }

    /// Looks up sessions until all clones of [`Shared`](super::Shared) are dropped.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                taken = self.inbox.recv_many(&mut batch, BATCH) => {
                    if taken == 0 {
                        return;
                    }
                    self.answer(&mut batch).await;
                }
                Some(user) = self.users.recv() => {
                    self.ended.insert(user);
                }
                is_back = next(&mut self.trial) => {
                    self.trial = (!is_back).then(|| trial(self.state.clone()));
                    if is_back {
                        info!("the state database is reachable again");
                    }
                }
                () = ready(()), if self.trial.is_none() && !self.ended.is_empty() => {
                    let users: Vec<String> = self.ended.iter().cloned().collect();
                    if self.guarded(end_sessions(&self.state.clone(), &users)).await.is_some() {
                        self.ended.clear();
                    }
                }
            }
        }
    }

    async fn answer(&mut self, batch: &mut Vec<LookUpRequest>) {
        let found = if self.trial.is_some() {
            None
        } else {
            self.guarded(find(&self.state.clone(), batch)).await
        };
        for LookUpRequest { token, answer } in batch.drain(..) {
            let known = match &found {
                None => Answer::Unknown,
                Some(found) => found
                    .get(&token)
                    .cloned()
                    .map_or(Answer::Missing, Answer::Session),
            };
            // The caller may have stopped waiting.
            let _ = answer.send(known);
        }
    }

    /// Runs a query, and begins the trials if it fails.
    async fn guarded<T>(
        &mut self,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        let answer = time::timeout(LOOK_UP_TIMEOUT, question).await;
        let answer = answer.unwrap_or(Err(StoreError::TimedOut));
        answer
            .inspect_err(|error| {
                let error: &dyn std::error::Error = error;
                warn!(error, "the state database is unreachable");
                self.trial = Some(trial(self.state.clone()));
            })
            .ok()
    }
}

/// Makes a trial: the statement of look-ups, without tokens.
fn trial(state: StateDatabase) -> Trial {
    Box::pin(async move {
        time::sleep(PAUSE).await;
        let answer = time::timeout(LOOK_UP_TIMEOUT, find(&state, &[])).await;
        answer.is_ok_and(|answer| answer.is_ok())
    })
}

/// Waits for the result of a trial; forever without a trial.
async fn next(trial: &mut Option<Trial>) -> bool {
    match trial {
        Some(trial) => trial.await,
        None => pending().await,
    }
}

async fn find(
    state: &StateDatabase,
    batch: &[LookUpRequest],
) -> Result<HashMap<TokenHash, SharedSession>, StoreError> {
    let tokens = batch
        .iter()
        .map(|question| question.token.as_bytes().to_vec());
    let tokens = Value::ManyBytes(tokens.collect());
    let query = query(
        "SELECT pg_catalog.encode(token, 'base64'), username, account_made, \
         ends_at - pg_catalog.date_part('epoch', statement_timestamp()), selection, ends_at, \
         coalesce(signed_in_at, pg_catalog.floor(pg_catalog.date_part('epoch', opened_at))::bigint), \
         pg_catalog.encode(api_token, 'base64'), account, pg_catalog.encode(grant_id, 'base64') \
         FROM ziggurat.sessions WHERE token = ANY($1) \
         AND ends_at > pg_catalog.date_part('epoch', statement_timestamp())",
    )
    .bind(tokens);
    state.rows(query).await?.iter().map(session).collect()
}

fn session(row: &Row) -> Result<(TokenHash, SharedSession), StoreError> {
    let moment = |seconds: i64| Timestamp::from_second(seconds).map_err(DriverError::value);
    let account_made: Option<i64> = row.get(2)?;
    let api_token = row.get::<Option<String>>(7)?;
    let api_token = api_token.map(|_| bytes(row, 7)).transpose()?;
    let grant = row.get::<Option<String>>(9)?;
    let grant = grant.map(|_| bytes(row, 9)).transpose()?;
    let session = SharedSession {
        user: row.get::<String>(1)?.into(),
        account: row.get::<Option<String>>(8)?.map(Arc::from),
        account_made: account_made.map(moment).transpose()?,
        api_token: api_token.map(TokenHash::from_bytes),
        grant,
        signed_in_at: moment(row.get(6)?)?,
        ends_at: moment(row.get(5)?)?,
        left: Duration::try_from_secs_f64(row.get(3)?).unwrap_or_default(),
        selection: row.get::<Option<String>>(4)?.map(Arc::from),
    };
    Ok((TokenHash::from_bytes(bytes(row, 0)?), session))
}

async fn end_sessions(state: &StateDatabase, users: &[String]) -> Result<(), StoreError> {
    let query = query("DELETE FROM ziggurat.sessions WHERE username = ANY($1)")
        .bind(Value::Texts(users.to_vec()));
    state.execute(query).await.map(drop)
}
