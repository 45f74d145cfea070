//! Drops databases in the background.

use std::{fs::File, sync::Arc, sync::mpsc, thread};

use crate::{address::Address, database};

/// Passes databases to a thread that drops them, because `Drop` cannot wait for a server.
///
/// The thread shares the lock that keeps the server alive, so it finishes before the server stops.
/// Databases left by a process that ends at once are dropped by the next one.
#[derive(Debug)]
pub(crate) struct DropQueue {
    names: mpsc::Sender<String>,
}

// === impl DropQueue ===

impl DropQueue {
    pub(crate) fn start(address: Address, owner: Option<Arc<File>>) -> Self {
        let (names, received) = mpsc::channel();
        // Without a thread all databases are left to the next process.
        let _ = thread::Builder::new()
            .name("local-pg-drops".to_owned())
            .spawn(move || {
                work(&address, &received);
                drop(owner);
            });
        Self { names }
    }

    /// Has a database dropped soon.
    pub(crate) fn drop_later(&self, name: String) {
        // If the thread is gone, the next process drops the database.
        let _ = self.names.send(name);
    }
}

fn work(address: &Address, names: &mpsc::Receiver<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return;
    };
    for name in names {
        // The next process drops databases that cannot be dropped now.
        let _ = runtime.block_on(async {
            let mut connection = database::connect(address, None).await?;
            database::drop_database(&mut connection, &name).await
        });
    }
}
