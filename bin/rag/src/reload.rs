//! Reload of the configuration: when one of its files changes, and on SIGHUP.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    mem,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::spawn_blocking,
};
use tracing::{debug, error, info, warn};
use ziggurat_calls::Calls;
use ziggurat_runtime::watch::{Folders, Stamp, Stamps, settled};

use crate::{
    app::{App, PipelineBuilder, PipelineSet, Reusable},
    configuration::{Configuration, Loaded},
    observation::note_reload,
};

/// Applies changes of the configuration files to the running server.
pub(crate) struct Reload {
    path: PathBuf,
    builder: Arc<PipelineBuilder>,
    /// The configuration of the start, of which a part is changed by a restart only.
    started: Configuration,
    calls: Calls,
    folders: Folders,
    /// The state of the files just before they were last read.
    last: Stamps,
    /// Files to watch besides those in use, because a failed reload needs them.
    missing: BTreeSet<PathBuf>,
    hangups: Option<Signal>,
}

/// The reason why a reload failed.
enum Failure {
    Configuration(String),
    /// The error, and the key files to watch, because they may be created later.
    Pipelines(String, BTreeSet<PathBuf>),
}

// === impl Reload ===

impl Reload {
    /// Prepares reloads: [`run`](Self::run) notices changes of the files since `before`, their
    /// [states](states) at the start. After this call, SIGHUP no longer ends the process.
    pub(crate) fn new(
        loaded: Loaded,
        before: Stamps,
        builder: Arc<PipelineBuilder>,
        calls: Calls,
    ) -> Self {
        let hangups = signal(SignalKind::hangup())
            .inspect_err(|error| warn!(%error, "cannot listen to SIGHUP"));
        Self {
            path: loaded.path,
            builder,
            started: loaded.value,
            calls,
            folders: Folders::new("configuration files"),
            last: before,
            missing: BTreeSet::new(),
            hangups: hangups.ok(),
        }
    }

    /// Watches the files and reloads; it never ends, so drop it to stop.
    pub(crate) async fn run(&mut self, app: &mut App) -> Infallible {
        let before = mem::take(&mut self.last);
        self.follow(&before, app);
        info!("watching for configuration changes");
        loop {
            let is_asked = self.changed().await;
            if is_asked && let Some(audit) = &self.calls.audit {
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

    /// Follows the files that are in use, and looks at those that have changed since `before`, the
    /// states just before they were read.
    fn follow(&mut self, before: &Stamps, app: &App) {
        self.folders.follow(self.files(app));
        let now = self.read_stamps(app);
        self.last.clone_from(&now);
        for (path, stamp) in &mut self.last {
            if let Some(before) = before.get(path) {
                stamp.clone_from(before);
            }
        }
        if self.last != now {
            self.folders.trigger();
        }
    }

    fn files(&self, app: &App) -> BTreeSet<PathBuf> {
        let mut files = app.key_files();
        files.insert(self.path.clone());
        files.extend(self.missing.iter().cloned());
        files
    }

    /// Returns the state of all watched files.
    fn read_stamps(&self, app: &App) -> Stamps {
        Stamp::of_all(self.files(app))
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
        note_reload(&self.calls, loaded.map(|(configuration, _)| configuration));
        match made {
            Ok(Ok((configuration, set))) => {
                self.compare(&configuration);
                self.started.identities.replace(&configuration.identities);
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
        self.follow(&last, app);
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

/// Returns the states of the files that a server starts with. It is called before the files with keys
/// are read.
pub(crate) fn states(loaded: &Loaded) -> Stamps {
    let mut states = Stamp::of_all(key_files(&loaded.value));
    states.insert(loaded.path.clone(), loaded.stamp.clone());
    states
}

fn key_files(configuration: &Configuration) -> BTreeSet<PathBuf> {
    let pipelines = configuration.pipelines.iter();
    let files = pipelines.flat_map(|pipeline| pipeline.key_files.all());
    files.map(PathBuf::from).collect()
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
    let set = builder
        .make(&configuration, reusable)
        .map_err(|error| Failure::Pipelines(format!("{error:#}"), key_files(&configuration)))?;
    Ok((configuration, set))
}
