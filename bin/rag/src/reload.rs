//! Reading the configuration again: when one of its files has changed, and at SIGHUP.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::spawn_blocking,
};
use tracing::{debug, error, info, warn};
use ziggurat_runtime::watch::{Folders, Stamp, settled};

use crate::{
    app::{App, PipelineBuilder, Reusable, Set},
    configuration::{Configuration, Loaded, Server},
};

/// Keeps a house to its configuration.
pub(crate) struct Reload {
    path: PathBuf,
    workshop: Arc<PipelineBuilder>,
    /// How the server is configured, which stays until it is started again.
    server: Server,
    folders: Folders,
    /// What the files looked like that were read last.
    seen: Stamps,
    /// Files that are waited for, besides those in use.
    awaited: BTreeSet<PathBuf>,
    hangups: Option<Signal>,
}

type Stamps = BTreeMap<PathBuf, Option<Stamp>>;

/// Why there is no other set.
enum Failure {
    Configuration(String),
    /// And the files the keys should be in, for they may come.
    Pipelines(String, BTreeSet<PathBuf>),
}

// === impl Reload ===

impl Reload {
    /// Begins to watch: what changes from now on is seen when it runs. From this call on SIGHUP
    /// does not end the process any more.
    pub(crate) fn new(loaded: Loaded, workshop: Arc<PipelineBuilder>) -> Self {
        let hangups = signal(SignalKind::hangup())
            .inspect_err(|error| warn!(%error, "SIGHUP is not listened to"));
        Self {
            path: loaded.path,
            workshop,
            server: loaded.configuration.server,
            folders: Folders::new("configuration files"),
            seen: Stamps::new(),
            awaited: BTreeSet::new(),
            hangups: hangups.ok(),
        }
    }

    /// Never ends; drop it to stop.
    pub(crate) async fn run(&mut self, house: &mut App) -> Infallible {
        self.seen = self.look(house);
        self.folders.follow(self.seen.keys());
        info!("watching for configuration changes");
        loop {
            let is_asked = self.woken().await;
            if is_asked || self.has_settled(house).await {
                self.reload(house).await;
            }
        }
    }

    /// Waits until something may have changed, and says whether somebody asks for a look.
    async fn woken(&mut self) -> bool {
        let hangups = &mut self.hangups;
        let hangup = async move {
            match hangups {
                Some(hangups) => drop(hangups.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = hangup => true,
            () = self.folders.changed() => false,
        }
    }

    /// Waits until the files stay as they are, and says whether they are others than before.
    async fn has_settled(&self, house: &App) -> bool {
        if self.look(house) == self.seen {
            debug!("another file has changed");
            return false;
        }
        // It may have been changed back.
        settled(|| self.look(house)).await != self.seen
    }

    /// What all files look like.
    fn look(&self, house: &App) -> Stamps {
        let files: BTreeSet<_> = [self.path.clone()]
            .into_iter()
            .chain(house.key_files())
            .chain(self.awaited.iter().cloned())
            .collect();
        let stamps = files.into_iter();
        stamps
            .map(|path| (path.clone(), Stamp::of(&path)))
            .collect()
    }

    async fn reload(&mut self, house: &mut App) {
        // First, so that what changes while the files are read is seen.
        let seen = self.look(house);
        let (path, workshop) = (self.path.clone(), Arc::clone(&self.workshop));
        let kept = house.set().kept();
        // Files are read here, and a slow disk must not hold up anybody.
        let made = spawn_blocking(move || make(&path, &workshop, &kept)).await;
        self.awaited.clear();
        match made {
            Ok(Ok((configuration, set))) => {
                self.compare(&configuration.server);
                house.replace(set);
                let pipelines = configuration.pipelines.len();
                info!(pipelines, "configuration reloaded");
            }
            Ok(Err(Failure::Configuration(reason))) => {
                let error = reason.as_str();
                error!(
                    error,
                    "config reload failed; keeping previous configuration"
                );
            }
            Ok(Err(Failure::Pipelines(reason, files))) => {
                self.awaited = files;
                let error = reason.as_str();
                error!(
                    error,
                    "pipeline reload failed; keeping previous configuration"
                );
            }
            Err(error) => {
                error!(%error, "pipeline reload failed; keeping previous configuration");
            }
        }
        let mut now = self.look(house);
        for (path, stamp) in &mut now {
            // What was looked at before it was read counts.
            if let Some(before) = seen.get(path) {
                stamp.clone_from(before);
            }
        }
        self.seen = now;
        self.folders.follow(self.seen.keys());
    }

    fn compare(&self, server: &Server) {
        let differences = self.server.differences(server);
        if !differences.is_empty() {
            let keys = differences.join(",");
            warn!(keys, "server settings have changed; that takes a restart");
        }
    }
}

/// Loads the configuration, and makes a set of it.
fn make(
    path: &Path,
    workshop: &PipelineBuilder,
    kept: &Reusable,
) -> Result<(Configuration, Set), Failure> {
    let loaded = Configuration::load(path, workshop.around())
        .map_err(|error| Failure::Configuration(error.to_string()))?;
    crate::warn(&loaded);
    let configuration = loaded.configuration;
    let set = workshop.make(&configuration, kept).map_err(|error| {
        let pipelines = configuration.pipelines.iter();
        let files = pipelines.flat_map(|pipeline| pipeline.key_files.all());
        Failure::Pipelines(format!("{error:#}"), files.map(PathBuf::from).collect())
    })?;
    Ok((configuration, set))
}
