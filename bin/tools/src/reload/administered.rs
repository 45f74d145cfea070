//! The program as its administrators see it: the configuration in use, and requests to reload it.

use std::{path::PathBuf, sync::Arc};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use ziggurat_admin_api::program::{
    Answer, Configuration as Shown, InvalidConfiguration, Program, Reloaded, Server, Setting,
};
use ziggurat_telemetry::resident_bytes;

use crate::{
    catalogue::current::CurrentCatalogue,
    check,
    configuration::{Configuration, Loaded, Sources, shown},
    interface::VERSION,
    state::replica,
};

/// The program as its administrators see it. Clones share it.
#[derive(Clone)]
pub(crate) struct Administered {
    in_use: Arc<ArcSwap<InUse>>,
    requests: mpsc::Sender<ReloadRequest>,
    catalogue: CurrentCatalogue,
    started_at: Timestamp,
    replica: Arc<str>,
}

/// The configuration in use.
struct InUse {
    path: Option<PathBuf>,
    loaded_at: Timestamp,
    values: Vec<Setting>,
    needs_restart: Vec<&'static str>,
}

/// A request of an administrator to read the configuration again.
pub(crate) struct ReloadRequest {
    pub(crate) is_dry_run: bool,
    pub(crate) answer: oneshot::Sender<Result<Reloaded, InvalidConfiguration>>,
}

// === impl Administered ===

impl Administered {
    /// Shows a configuration that was loaded, and returns also the requests to load it again.
    pub(crate) fn new(
        loaded: &Loaded,
        catalogue: CurrentCatalogue,
    ) -> (Self, mpsc::Receiver<ReloadRequest>) {
        // One at a time; others wait for their turn.
        let (requests, receiver) = mpsc::channel(1);
        let now = Timestamp::now();
        let in_use = InUse {
            // Without a file it is the path at which one would be read.
            path: Some(loaded.path.clone()).filter(|path| path.exists()),
            loaded_at: now,
            values: shown::values(&loaded.value, &loaded.sources),
            needs_restart: Vec::new(),
        };
        let administered = Self {
            in_use: Arc::new(ArcSwap::from_pointee(in_use)),
            requests,
            catalogue,
            started_at: now,
            replica: replica::name(),
        };
        (administered, receiver)
    }

    /// Shows a configuration that was loaded again.
    pub(crate) fn reloaded(
        &self,
        configuration: &Configuration,
        sources: &Sources,
        needs_restart: &[&'static str],
    ) {
        self.in_use.store(Arc::new(InUse {
            path: self.in_use.load().path.clone(),
            loaded_at: Timestamp::now(),
            values: shown::values(configuration, sources),
            needs_restart: needs_restart.to_vec(),
        }));
    }
}

impl Program for Administered {
    fn configuration(&self) -> Shown {
        let in_use = self.in_use.load();
        let path = in_use.path.as_ref();
        Shown {
            server: Server {
                version: VERSION,
                replica: self.replica.to_string(),
                started_at: self.started_at,
                memory_bytes: resident_bytes(),
            },
            path: path.map(|path| path.display().to_string()),
            loaded_at: in_use.loaded_at,
            values: in_use.values.clone(),
            needs_restart: in_use.needs_restart.clone(),
        }
    }

    fn reload(&self, is_dry_run: bool) -> Answer<Result<Reloaded, InvalidConfiguration>> {
        let requests = self.requests.clone();
        Box::pin(async move {
            let (answer, reloaded) = oneshot::channel();
            let request = ReloadRequest { is_dry_run, answer };
            // Without an answer the server is shutting down.
            let stopping = || InvalidConfiguration("the server is stopping".to_owned());
            requests.send(request).await.map_err(|_| stopping())?;
            reloaded.await.map_err(|_| stopping())?
        })
    }

    fn has_toolset(&self, name: &str) -> bool {
        self.catalogue.get().access.has_toolset(name)
    }

    fn check_statements(&self, database: &str) -> Answer<Vec<String>> {
        let (catalogue, database) = (Arc::clone(&self.catalogue.get()), database.to_owned());
        Box::pin(async move {
            let checked = check::statements(&catalogue, Some(&database)).await;
            [checked.problems, checked.warnings].concat()
        })
    }
}
