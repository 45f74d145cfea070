//! Reload of the configuration: when one of its files changes, and on SIGHUP.

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
use ziggurat_rag_service::Observation;
use ziggurat_runtime::watch::{Folders, Stamp, settled};

use crate::{
    app::{App, PipelineBuilder, PipelineSet, Reusable},
    configuration::{Configuration, Loaded},
    observation::note_reload,
};

/// Applies changes of the configuration files to the running server.
pub(crate) struct Reload {
    path: PathBuf,
    /// The state of the configuration file before it was read at the start.
    stamp: Option<Stamp>,
    builder: Arc<PipelineBuilder>,
    /// The configuration of the start, of which a part is changed by a restart only.
    started: Configuration,
    observation: Observation,
    folders: Folders,
    /// The state of the files when they were last read.
    last: Stamps,
    /// Files to watch besides those in use, because a failed reload needs them.
    missing: BTreeSet<PathBuf>,
    hangups: Option<Signal>,
}

type Stamps = BTreeMap<PathBuf, Option<Stamp>>;

/// The reason why a reload failed.
enum Failure {
    Configuration(String),
    /// The error, and the key files to watch, because they may be created later.
    Pipelines(String, BTreeSet<PathBuf>),
}

// === impl Reload ===

impl Reload {
    /// Prepares reloads: [`run`](Self::run) notices changes of the configuration file since it was
    /// read. After this call, SIGHUP no longer ends the process.
    pub(crate) fn new(
        loaded: Loaded,
        builder: Arc<PipelineBuilder>,
        observation: Observation,
    ) -> Self {
        let hangups = signal(SignalKind::hangup())
            .inspect_err(|error| warn!(%error, "cannot listen to SIGHUP"));
        Self {
            path: loaded.path,
            stamp: loaded.stamp,
            builder,
            started: loaded.value,
            observation,
            folders: Folders::new("configuration files"),
            last: Stamps::new(),
            missing: BTreeSet::new(),
            hangups: hangups.ok(),
        }
    }

    /// Watches the files and reloads; it never ends, so drop it to stop.
    pub(crate) async fn run(&mut self, app: &mut App) -> Infallible {
        self.folders.follow(self.read_stamps(app).keys());
        self.last = self.read_stamps(app);
        // The file may have changed while the server started.
        let now = self.last.insert(self.path.clone(), self.stamp.take());
        if now.as_ref() != self.last.get(&self.path) {
            self.folders.trigger();
        }
        info!("watching for configuration changes");
        loop {
            let is_asked = self.changed().await;
            if is_asked && let Some(audit) = &self.observation.audit {
                audit.reopen();
            }
            if is_asked || self.has_settled(app).await {
                self.reload(app).await;
            }
        }
    }

    /// Waits for a possible change and returns whether SIGHUP requests a reload.
    async fn changed(&mut self) -> bool {
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

    /// Waits until the files are stable, and returns whether they differ from the last read.
    async fn has_settled(&self, app: &App) -> bool {
        if self.read_stamps(app) == self.last {
            debug!("another file has changed");
            return false;
        }
        // The content may be the old one again.
        settled(|| self.read_stamps(app)).await != self.last
    }

    /// Returns the state of all watched files.
    fn read_stamps(&self, app: &App) -> Stamps {
        let files: BTreeSet<_> = [self.path.clone()]
            .into_iter()
            .chain(app.key_files())
            .chain(self.missing.iter().cloned())
            .collect();
        let stamps = files.into_iter();
        stamps
            .map(|path| (path.clone(), Stamp::of(&path)))
            .collect()
    }

    async fn reload(&mut self, app: &mut App) {
        // Taken before the files are read, so that a change during the read is noticed.
        let last = self.read_stamps(app);
        let (path, builder) = (self.path.clone(), Arc::clone(&self.builder));
        let reusable = app.set().reusable();
        // Reading files may block, so it runs outside of the async tasks.
        let made = spawn_blocking(move || make(&path, &builder, &reusable)).await;
        self.missing.clear();
        let loaded = made.as_ref().ok().and_then(|made| made.as_ref().ok());
        note_reload(
            &self.observation,
            loaded.map(|(configuration, _)| configuration),
        );
        match made {
            Ok(Ok((configuration, set))) => {
                self.compare(&configuration);
                let pipelines = configuration.pipelines.len();
                app.replace(set, configuration.limits);
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
                self.missing = files;
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
        let mut now = self.read_stamps(app);
        for (path, stamp) in &mut now {
            // The state before the read counts.
            if let Some(before) = last.get(path) {
                stamp.clone_from(before);
            }
        }
        self.last = now;
        self.folders.follow(self.last.keys());
    }

    fn compare(&self, configuration: &Configuration) {
        let differences = self.started.differences(configuration);
        if !differences.is_empty() {
            let keys = differences.join(",");
            warn!(
                keys,
                "server settings have changed; restart the server to apply them"
            );
        }
    }
}

/// Loads the configuration and builds a set from it.
fn make(
    path: &Path,
    builder: &PipelineBuilder,
    reusable: &Reusable,
) -> Result<(Configuration, PipelineSet), Failure> {
    let loaded = Configuration::load(path, builder.sources())
        .map_err(|error| Failure::Configuration(error.to_string()))?;
    crate::warn(&loaded);
    let configuration = loaded.value;
    let set = builder.make(&configuration, reusable).map_err(|error| {
        let pipelines = configuration.pipelines.iter();
        let files = pipelines.flat_map(|pipeline| pipeline.key_files.all());
        Failure::Pipelines(format!("{error:#}"), files.map(PathBuf::from).collect())
    })?;
    Ok((configuration, set))
}
