//! Looks up sessions in batches.

use std::{
    collections::{BTreeSet, HashMap},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use jiff::Timestamp;
use tokio::{
    sync::{mpsc, oneshot},
    time::{self, Instant},
};
use tracing::{info, warn};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_postgres::driver::{DriverError, Row, Value, query};

use super::{SharedSession, digest};
use crate::{StateDatabase, StoreError};

/// Maximum number of sessions looked up in one statement.
const BATCH: usize = 256;

/// Maximum time of a look-up, because a request waits for it.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// Pause after the database did not answer.
const PAUSE: Duration = Duration::from_millis(500);

/// Looks up sessions for a [`Shared`](super::Shared).
///
/// All look-ups that arrive while PostgreSQL is busy go into the next statement, so that one
/// connection is enough for any number of requests. After a failure, all look-ups get
/// [`Answer::Unknown`] at once for half a second.
#[derive(Debug)]
#[must_use = "nothing is looked up unless it runs"]
pub struct SessionBatcher {
    state: StateDatabase,
    inbox: mpsc::Receiver<LookUpRequest>,
    users: mpsc::UnboundedReceiver<String>,
    /// Users whose sessions are still to be ended.
    ended: BTreeSet<String>,
    /// End of the pause after a failure.
    paused_until: Option<Instant>,
}

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
            paused_until: None,
        }
    }

    /// Looks up sessions until all clones of [`Shared`](super::Shared) are dropped.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let again = self.paused_until.unwrap_or_else(Instant::now);
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
                () = time::sleep_until(again), if !self.ended.is_empty() => {
                    let users: Vec<String> = self.ended.iter().cloned().collect();
                    if Self::guarded(&mut self.paused_until, end_sessions(&self.state, &users))
                        .await
                        .is_some() {
                        self.ended.clear();
                    }
                }
            }
        }
    }

    async fn answer(&mut self, batch: &mut Vec<LookUpRequest>) {
        let is_paused = self
            .paused_until
            .is_some_and(|until| Instant::now() < until);
        let found = if is_paused {
            None
        } else {
            Self::guarded(&mut self.paused_until, find(&self.state, batch)).await
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

    /// Runs a query, and starts the pause if it fails.
    async fn guarded<T>(
        paused_until: &mut Option<Instant>,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        let answer = time::timeout(LOOK_UP_TIMEOUT, question).await;
        let answer = answer.unwrap_or(Err(StoreError::TimedOut));
        match answer {
            Ok(answer) => {
                if paused_until.take().is_some() {
                    info!("the state database is reachable again");
                }
                Some(answer)
            }
            Err(error) => {
                let is_news = paused_until.is_none();
                *paused_until = Some(Instant::now() + PAUSE);
                if is_news {
                    let error: &dyn std::error::Error = &error;
                    warn!(error, "the state database is unreachable");
                }
                None
            }
        }
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
         pg_catalog.floor(pg_catalog.date_part('epoch', opened_at))::bigint, \
         pg_catalog.encode(api_token, 'base64'), account FROM ziggurat.sessions WHERE token = ANY($1) \
         AND ends_at > pg_catalog.date_part('epoch', statement_timestamp())",
    )
    .bind(tokens);
    state.rows(query).await?.iter().map(session).collect()
}

fn session(row: &Row) -> Result<(TokenHash, SharedSession), StoreError> {
    let moment = |seconds: i64| Timestamp::from_second(seconds).map_err(DriverError::value);
    let account_made: Option<i64> = row.get(2)?;
    let api_token = row.get::<Option<String>>(7)?;
    let api_token = api_token.map(|_| digest(row, 7)).transpose()?;
    let session = SharedSession {
        user: row.get::<String>(1)?.into(),
        account_made: account_made.map(moment).transpose()?,
        api_token: api_token.map(TokenHash::from_bytes),
        opened_at: moment(row.get(6)?)?,
        ends_at: moment(row.get(5)?)?,
        left: Duration::try_from_secs_f64(row.get(3)?).unwrap_or_default(),
        selection: row.get::<Option<String>>(4)?.map(Arc::from),
    };
    Ok((TokenHash::from_bytes(digest(row, 0)?), session))
}

async fn end_sessions(state: &StateDatabase, users: &[String]) -> Result<(), StoreError> {
    let query = query("DELETE FROM ziggurat.sessions WHERE username = ANY($1)")
        .bind(Value::Texts(users.to_vec()));
    state.execute(query).await.map(drop)
}
        account: row.get::<Option<String>>(8)?.map(Arc::from),
