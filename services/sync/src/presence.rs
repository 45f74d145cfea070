//! The connection that shows that a worker is alive, and that hears of changes.

use std::future;

use ziggurat_postgres::{driver::Client, pool::Pool};

use crate::{
    error::{During as _, SyncError},
    queue::{LOCK_KEY, Queue},
};

/// Number of workers without a lock.
const WITHOUT_LOCK: i64 = -1;

/// The presence of a worker at a queue; it ends with its connection.
#[derive(Debug)]
pub(crate) struct Presence {
    /// `None` behind a pooler that shares connections.
    client: Option<Client>,
    pub(crate) worker: i64,
}

// === impl Presence ===

impl Presence {
    pub(crate) async fn begin(pool: &Pool, queue: &Queue) -> Result<Self, SyncError> {
        if pool.lease().await?.is_shared() {
            return Ok(Self {
                client: None,
                worker: WITHOUT_LOCK,
            });
        }
        let task = "listening to the queue";
        let mut client = pool.side_connection().await?;
        // PostgreSQL notices within half a minute that the machine of a worker is gone.
        let channel = ziggurat_postgres::quoted(&queue.definition.channel);
        let begin = format!(
            "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; \
             SET tcp_keepalives_count = 3; LISTEN {channel}; \
             SELECT pg_catalog.pg_backend_pid()::int8, \
             pg_catalog.pg_advisory_lock({LOCK_KEY}, pg_catalog.pg_backend_pid())"
        );
        let rows = client.ask(&begin).await.during(task)?;
        let worker = rows.first().map_or(Ok(WITHOUT_LOCK), |row| row.get(0));
        Ok(Self {
            client: Some(client),
            worker: worker.during(task)?,
        })
    }

    /// Waits for a change of the table; forever without a connection of its own.
    ///
    /// # Errors
    /// Fails if the connection breaks.
    pub(crate) async fn changed(&mut self) -> Result<(), SyncError> {
        match &mut self.client {
            Some(client) => client.notified().await.during("listening to the queue"),
            None => future::pending().await,
        }
    }
}
