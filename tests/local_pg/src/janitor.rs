//! Drops databases after their owners.

use std::{fs::File, sync::Arc, sync::mpsc, thread};

use crate::{address::Address, database};

/// Hands databases to a thread that drops them, because `Drop` cannot wait for a server.
///
/// The thread shares the lock that keeps the server alive, so it is done before the server
/// stops. What a process that ends at once leaves behind is swept up by the next one.
#[derive(Debug)]
pub(crate) struct Janitor {
    names: mpsc::Sender<String>,
}

// === impl Janitor ===

impl Janitor {
    pub(crate) fn start(address: Address, owner: Option<Arc<File>>) -> Self {
        let (names, received) = mpsc::channel();
        // Without a thread everything is left to the next sweep.
        let _ = thread::Builder::new()
            .name("local-pg-janitor".to_owned())
            .spawn(move || {
                work(&address, &received);
                drop(owner);
            });
        Self { names }
    }

    /// Has a database dropped as soon as can be.
    pub(crate) fn drop_later(&self, name: String) {
        // Nobody is there to be told that the thread is gone; the next sweep finds the database.
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
        // As above: what cannot be dropped now is dropped by the next sweep.
        let _ = runtime.block_on(async {
            let mut connection = database::connect(address, None).await?;
            database::drop_database(&mut connection, &name).await
        });
    }
}
