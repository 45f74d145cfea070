//! The open connections, and which of them is closed when there are too many.

use std::{
    collections::HashMap,
    error::Error,
    future::pending,
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    task::{Id, JoinError, JoinSet},
    time::{self, Instant},
};
use tracing::warn;

use super::{
    Limits,
    idle::{Activity, Room},
};

/// Maximum time to wait for a connection to end, and minimum time between two warnings about it.
const PAUSE: Duration = Duration::from_secs(1);

/// Pause before the next look for a connection that may be closed: new ones get some time first.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Crowd {
    tasks: JoinSet<()>,
    members: HashMap<Id, Arc<Activity>>,
    room: Arc<Room>,
    capacity: usize,
    warned_at: Option<Instant>,
}

// === impl Crowd ===

impl Crowd {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            tasks: JoinSet::new(),
            members: HashMap::new(),
            room: Arc::default(),
            capacity: limits.max_connections.max(1),
            warned_at: None,
        }
    }

    /// Creates the activity of the next connection.
    pub(super) fn activity(&self, limits: &Limits) -> Arc<Activity> {
        Arc::new(Activity::new(Arc::clone(&self.room), limits))
    }

    /// Starts a connection. Call [`make_room`](Self::make_room) before.
    pub(super) fn join(
        &mut self,
        activity: Arc<Activity>,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        let id = self.tasks.spawn(connection).id();
        self.members.insert(id, activity);
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
    /// At the maximum, the one whose client has kept the server waiting longest is closed.
    /// Connections at work stay, and new ones until their client has had time to send its request:
    /// if there are no others, the next connection waits.
    pub(super) async fn make_room(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.forget(ended);
        }
        if self.len() < self.capacity {
            return;
        }
        self.room.is_wanted(true);
        while self.len() >= self.capacity {
            self.ask_one_to_leave();
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.forget(ended),
                () = self.room.freed() => {}
                () = time::sleep(LOOK_AGAIN) => {}
            }
        }
        self.room.is_wanted(false);
    }

    /// Makes room when the system has no more open files: the connection whose client has kept the
    /// server waiting longest is closed.
    ///
    /// If all are at work, or other processes hold the open files, it returns after a pause.
    pub(super) async fn thin_out(&mut self, cause: &io::Error) {
        if self.warned_at.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.warned_at = Some(Instant::now());
            let connections = self.len();
            let error = cause as &dyn Error;
            warn!(
                error,
                connections, "cannot accept before another connection ends"
            );
        }
        self.ask_one_to_leave();
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
    pub(super) async fn dissolve(&mut self) {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.forget(ended);
        }
    }

    /// Ends the remaining connections.
    pub(super) async fn shutdown(mut self) {
        self.tasks.shutdown().await;
    }

    /// Asks one connection at a time. Linear search is enough: it runs only per new connection.
    fn ask_one_to_leave(&self) {
        let members = self.members.values();
        if members.clone().any(|member| member.was_asked_to_leave()) {
            return;
        }
        let waiting = members.filter_map(|member| Some((member.waits_since()?, member)));
        if let Some((_, member)) = waiting.min_by_key(|(since, _)| *since) {
            member.ask_to_leave();
        }
    }

    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.members.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::idle::FIRST_WORDS, *};

    #[tokio::test(start_paused = true)]
    async fn without_open_files_an_idle_connection_is_closed_and_one_at_work_stays() {
        const EMFILE: i32 = 24;
        let cause = io::Error::from_raw_os_error(EMFILE);
        let limits = Limits::default();
        let mut crowd = Crowd::new(&limits);
        let begun = Instant::now();
        crowd.thin_out(&cause).await;
        assert_eq!(begun.elapsed(), PAUSE, "nobody is there");

        let at_work = crowd.activity(&limits);
        let _work = at_work.begin();
        for activity in [at_work, crowd.activity(&limits), crowd.activity(&limits)] {
            join(&mut crowd, activity);
        }
        time::advance(FIRST_WORDS).await;
        let begun = Instant::now();
        for left in [2, 1] {
            crowd.thin_out(&cause).await;
            assert_eq!((crowd.len(), begun.elapsed()), (left, Duration::ZERO));
        }
        crowd.thin_out(&cause).await;
        assert_eq!((crowd.len(), begun.elapsed()), (1, PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_just_connected_gets_time_to_send_its_request() {
        let limits = Limits {
            max_connections: 2,
            ..Limits::default()
        };
        let mut crowd = Crowd::new(&limits);
        let begun = Instant::now();
        let quick = crowd.activity(&limits);
        for activity in [Arc::clone(&quick), crowd.activity(&limits)] {
            join(&mut crowd, activity);
        }
        let request = async {
            time::sleep(FIRST_WORDS / 2).await;
            let at_work = quick.begin();
            // Longer than it takes until one of the two is closed.
            time::sleep(FIRST_WORDS).await;
            drop(at_work);
        };
        let made = async {
            crowd.make_room().await;
            begun.elapsed()
        };
        let (made, ()) = tokio::join!(made, request);
        assert!(
            made >= FIRST_WORDS && made < FIRST_WORDS * 3 / 2,
            "{made:?}"
        );
        assert!(!quick.was_asked_to_leave());
    }

    fn join(crowd: &mut Crowd, activity: Arc<Activity>) {
        let watched = Arc::clone(&activity);
        crowd.join(activity, async move { watched.has_to_leave().await });
    }
}
