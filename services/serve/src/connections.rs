//! The open connections, and which of them is closed when there are too many.

use std::{
    collections::HashMap,
    error::Error,
    future::pending,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    task::{Id, JoinError, JoinSet},
    time::{self, Instant},
};
use tracing::warn;

use crate::{
    Limits,
    idle::{Activity, EvictionSignal},
};

/// Maximum time to wait for a connection to end, and minimum time between two warnings about it.
const PAUSE: Duration = Duration::from_secs(1);

/// Pause before the next look for a connection that may be closed: new ones get some time first.
const RETRY_PAUSE: Duration = Duration::from_millis(25);

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Connections {
    tasks: JoinSet<()>,
    members: HashMap<Id, Arc<Activity>>,
    signal: Arc<EvictionSignal>,
    /// Their number, for others.
    count: Arc<AtomicUsize>,
    capacity: usize,
    warned_at: Option<Instant>,
}

// === impl Connections ===

impl Connections {
    pub(super) fn new(limits: &Limits, count: Arc<AtomicUsize>) -> Self {
        Self {
            tasks: JoinSet::new(),
            members: HashMap::new(),
            signal: Arc::default(),
            count,
            capacity: limits.max_connections.max(1),
            warned_at: None,
        }
    }

    /// Creates the activity of the next connection.
    pub(super) fn activity(&self, limits: &Limits) -> Arc<Activity> {
        Arc::new(Activity::new(Arc::clone(&self.signal), limits))
    }

    /// Starts a connection. Call [`make_room`](Self::make_room) before.
    pub(super) fn join(
        &mut self,
        activity: Arc<Activity>,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        let id = self.tasks.spawn(connection).id();
        self.members.insert(id, activity);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Removes connections as they end; never ready.
    ///
    /// Polled all the time, so that the set holds only open connections.
    pub(super) fn poll_forget(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(Some(ended)) = self.tasks.poll_join_next_with_id(cx) {
            self.forget(ended);
        }
        Poll::Pending
    }

    /// Waits until one more connection may join.
    ///
    /// At the maximum, the connection that has kept the server waiting longest is closed.
    /// Connections at work stay, and new connections until their client has had time to send its
    /// request. If there are no others, the next connection waits.
    pub(super) async fn make_room(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.forget(ended);
        }
        if self.len() < self.capacity {
            return;
        }
        self.signal.is_wanted(true);
        while self.len() >= self.capacity {
            self.evict_one();
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.forget(ended),
                () = self.signal.freed() => {}
                () = time::sleep(RETRY_PAUSE) => {}
            }
        }
        self.signal.is_wanted(false);
    }

    /// Makes room when the system has no more open files: closes the connection that has kept the
    /// server waiting longest.
    ///
    /// If all are at work, or other processes hold the open files, it returns after a pause.
    pub(super) async fn evict_for_open_files(&mut self, cause: &io::Error) {
        if self.warned_at.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.warned_at = Some(Instant::now());
            let connections = self.len();
            let error = cause as &dyn Error;
            warn!(
                error,
                connections, "cannot accept before another connection ends"
            );
        }
        self.evict_one();
        let gone = async {
            match self.tasks.join_next_with_id().await {
                Some(gone) => gone,
                None => pending().await,
            }
        };
        if let Ok(gone) = time::timeout(PAUSE, gone).await {
            self.forget(gone);
        }
    }

    /// Waits until all connections have ended.
    pub(super) async fn join_all(&mut self) {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.forget(ended);
        }
    }

    /// Ends the remaining connections.
    pub(super) async fn shutdown(mut self) {
        self.tasks.shutdown().await;
    }

    /// Asks one connection at a time. Linear search is enough: it runs only per new connection.
    fn evict_one(&self) {
        let members = self.members.values();
        if members.clone().any(|member| member.is_evicted()) {
            return;
        }
        let waiting = members.filter_map(|member| Some((member.waits_since()?, member)));
        if let Some((_, member)) = waiting.min_by_key(|(since, _)| *since) {
            member.evict();
        }
    }

    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        if self.members.remove(&id).is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::idle::FIRST_REQUEST_TIME, *};

    #[tokio::test(start_paused = true)]
    async fn without_open_files_an_idle_connection_is_closed_and_one_at_work_stays() {
        const EMFILE: i32 = 24;
        let cause = io::Error::from_raw_os_error(EMFILE);
        let limits = Limits::default();
        let mut connections = Connections::new(&limits, Arc::default());
        let begun = Instant::now();
        connections.evict_for_open_files(&cause).await;
        assert_eq!(begun.elapsed(), PAUSE, "nobody is there");

        let at_work = connections.activity(&limits);
        let _work = at_work.begin();
        for activity in [
            at_work,
            connections.activity(&limits),
            connections.activity(&limits),
        ] {
            join(&mut connections, activity);
        }
        time::advance(FIRST_REQUEST_TIME).await;
        let begun = Instant::now();
        for left in [2, 1] {
            connections.evict_for_open_files(&cause).await;
            assert_eq!((connections.len(), begun.elapsed()), (left, Duration::ZERO));
        }
        connections.evict_for_open_files(&cause).await;
        assert_eq!((connections.len(), begun.elapsed()), (1, PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_just_connected_gets_time_to_send_its_request() {
        let limits = Limits {
            max_connections: 2,
            ..Limits::default()
        };
        let mut connections = Connections::new(&limits, Arc::default());
        let begun = Instant::now();
        let quick = connections.activity(&limits);
        for activity in [Arc::clone(&quick), connections.activity(&limits)] {
            join(&mut connections, activity);
        }
        let request = async {
            time::sleep(FIRST_REQUEST_TIME / 2).await;
            let at_work = quick.begin();
            // Longer than it takes until one of the two is closed.
            time::sleep(FIRST_REQUEST_TIME).await;
            drop(at_work);
        };
        let made = async {
            connections.make_room().await;
            begun.elapsed()
        };
        let (made, ()) = tokio::join!(made, request);
        assert!(
            made >= FIRST_REQUEST_TIME && made < FIRST_REQUEST_TIME * 3 / 2,
            "{made:?}"
        );
        assert!(!quick.is_evicted());
    }

    fn join(connections: &mut Connections, activity: Arc<Activity>) {
        let watched = Arc::clone(&activity);
        connections.join(activity, async move { watched.evicted().await });
    }
}
