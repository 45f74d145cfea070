//! The connections that are open, and who goes when there are too many.

use std::{
    collections::HashMap,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::task::{Id, JoinError, JoinSet};

use super::{
    Limits,
    activity::{Activity, Room},
};

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Crowd {
    tasks: JoinSet<()>,
    members: HashMap<Id, Arc<Activity>>,
    room: Arc<Room>,
    capacity: usize,
}

// === impl Crowd ===

impl Crowd {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            tasks: JoinSet::new(),
            members: HashMap::new(),
            room: Arc::default(),
            capacity: limits.max_connections.max(1),
        }
    }

    /// What the next connection is to be watched with.
    pub(super) fn activity(&self, limits: &Limits) -> Arc<Activity> {
        Arc::new(Activity::new(Arc::clone(&self.room), limits))
    }

    /// Starts a connection. There is [room](Self::make_room) for it.
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

    /// Forgets connections as they end; never ready.
    ///
    /// Joined all along, so the set holds no more than what is open.
    pub(super) fn poll_forget(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(Some(ended)) = self.tasks.poll_join_next_with_id(cx) {
            self.forget(ended);
        }
        Poll::Pending
    }

    /// Waits until one more connection may join.
    ///
    /// If there are as many as there may be, the one whose client has been waited for longest
    /// has to go. Connections at work stay: if all are, the newcomer waits.
    pub(super) async fn make_room(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.forget(ended);
        }
        if self.len() < self.capacity {
            return;
        }
        self.room.is_wanted(true);
        while self.len() >= self.capacity {
            self.ask_somebody_to_leave();
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.forget(ended),
                () = self.room.freed() => {}
            }
        }
        self.room.is_wanted(false);
    }

    /// Waits until all connections have ended.
    pub(super) async fn dissolve(&mut self) {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.forget(ended);
        }
    }

    /// Ends the connections that are left.
    pub(super) async fn shutdown(mut self) {
        self.tasks.shutdown().await;
    }

    /// One at a time, and in linear time: it happens only when a connection has come in.
    fn ask_somebody_to_leave(&self) {
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
