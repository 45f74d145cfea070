//! Reload: of the configuration and the definitions on SIGHUP or when an administrator asks for it,
//! and of the definitions when their files change.
//!
//! The new parts are built and checked beside the old ones, and exchanged in one step. If anything is
//! wrong, the old parts stay.

pub(crate) mod administered;
mod definitions;

use std::{future::pending, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    task::JoinSet,
};
use tracing::{error, info, warn};
use ziggurat_admin_api::program::{InvalidConfiguration, Reloaded};
use ziggurat_audit::{Audit, Verdict};
use ziggurat_calls::activity::Activity;
use ziggurat_databases::Databases;
use ziggurat_postgres_tools::custom::DefinitionFiles;
use ziggurat_receipts::{Keys, Receipts};
use ziggurat_telemetry::{Metrics, traces::Tracer};

use crate::{
    app::{self, App},
    arguments::Overrides,
    catalogue::{
        self, CatalogueBuilder,
        current::{Catalogue, CurrentCatalogue},
    },
    configuration::{ConfigSources, Configuration, LoadError, Sources, changes::Changes},
    observation::metrics::{databases as database_names, learn_tools},
    problems, reasons,
    reload::{
        administered::{Administered, ReloadRequest},
        definitions::WatchedDefinitions,
    },
};

/// Sources of the configuration, for reading it again.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) overrides: Overrides,
    pub(crate) sources: ConfigSources,
    /// The file; empty if the server has no file.
    pub(crate) path: PathBuf,
}

/// Reloads a running server.
pub(crate) struct Reload {
    source: Source,
    hangups: Option<Signal>,
    requests: mpsc::Receiver<ReloadRequest>,
    administered: Administered,
    definitions: WatchedDefinitions,
    running: Running,
    /// Warnings about the toolsets in use, so that each is logged once.
    warnings: Vec<String>,
    /// Checks the statements of the catalogue in use.
    checks: JoinSet<()>,
}

/// Parts of a running server that a reload changes.
struct Running {
    configuration: Configuration,
    databases: Databases,
    catalogue: CurrentCatalogue,
    builder: CatalogueBuilder,
    audit: Option<Audit>,
    activity: Option<Activity>,
    metrics: Metrics,
    tracer: Tracer,
    receipts: Option<Receipts>,
}

/// Parts that a reload puts in use.
struct Prepared {
    catalogue: Arc<Catalogue>,
    configuration: Configuration,
    /// Keys of receipts, if they were read again.
    receipt_keys: Option<Keys>,
    warnings: Vec<String>,
}

/// Reason to read something again.
enum Reason {
    /// A SIGHUP.
    Hangup,
    /// A request of an administrator.
    Request(ReloadRequest),
    /// A change in the folders of the definitions.
    Definitions,
}

/// A configuration that was read again.
struct LoadedAgain {
    prepared: Prepared,
    reloaded: Reloaded,
    sources: Sources,
}

// === impl Reload ===

impl Reload {
    /// Prepares reloads. Over HTTP, SIGHUP no longer ends the process from this call on; a client on
    /// standard input and output ends with its terminal.
    ///
    /// # Errors
    /// Fails if the signal handler cannot be installed.
    pub(crate) fn new(
        configuration: &Configuration,
        app: &mut App,
        source: Source,
    ) -> anyhow::Result<Self> {
        let http = configuration.http.as_ref();
        let hangups = http.map(|_| signal(SignalKind::hangup()));
        let mut reload = Self {
            source,
            hangups: hangups.transpose().context("cannot listen to SIGHUP")?,
            requests: app
                .reload_requests
                .take()
                .context("reloads are prepared once")?,
            administered: app.administered.clone(),
            definitions: WatchedDefinitions::new(app.definition_files.clone()),
            running: Running {
                configuration: configuration.clone(),
                databases: app.databases.clone(),
                catalogue: app.catalogue.clone(),
                builder: app.builder.clone(),
                audit: app.observation.calls.audit.clone(),
                activity: app.observation.calls.activity.clone(),
                metrics: app.observation.calls.metrics.clone(),
                tracer: app.observation.calls.tracer.clone(),
                receipts: app.observation.calls.receipts.clone(),
            },
            warnings: Vec::new(),
            checks: JoinSet::new(),
        };
        reload.check_statements();
        Ok(reload)
    }

    /// Reloads at each SIGHUP and each change of a file. Never ends.
    pub(crate) async fn run(mut self) {
        loop {
            match self.reason().await {
                // The log has the result.
                Reason::Hangup => drop(self.reload_all().await),
                Reason::Request(ReloadRequest { is_dry_run, answer }) => {
                    let reloaded = if is_dry_run {
                        self.check()
                    } else {
                        self.reload_all().await
                    };
                    // An administrator who does not wait finds the result in the log.
                    answer.send(reloaded).ok();
                }
                Reason::Definitions => {
                    if self.definitions.have_changed().await {
                        self.reload_definitions().await;
                    }
                }
            }
        }
    }

    /// Waits for a reason to reload.
    async fn reason(&mut self) -> Reason {
        let (hangups, requests) = (&mut self.hangups, &mut self.requests);
        let hangup = async move {
            match hangups {
                Some(hangups) => drop(hangups.recv().await),
                None => pending().await,
            }
        };
        tokio::select! {
            () = hangup => Reason::Hangup,
            Some(request) = requests.recv() => Reason::Request(request),
            () = self.definitions.changed() => Reason::Definitions,
        }
    }

    /// Reads everything, and changes nothing.
    fn check(&self) -> Result<Reloaded, InvalidConfiguration> {
        let load = || self.running.load(&self.source);
        let (_, loaded) = tokio::task::block_in_place(load);
        let loaded = loaded.map_err(|error| InvalidConfiguration(message(&error)))?;
        Ok(loaded.reloaded)
    }

    /// Reads everything again.
    async fn reload_all(&mut self) -> Result<Reloaded, InvalidConfiguration> {
        if let Some(audit) = &self.running.audit {
            audit.reopen();
        }
        let Self {
            source,
            definitions,
            running,
            ..
        } = self;
        let path = [source.path.clone()];
        let (files, prepared) = definitions.read(&path, || running.load(source)).await;
        if let Some(files) = &files {
            definitions.are_new(files);
        }
        match prepared {
            Ok(loaded) => {
                let LoadedAgain {
                    prepared,
                    reloaded,
                    sources,
                } = loaded;
                for warning in &prepared.warnings {
                    warn!("{warning}");
                }
                for section in &reloaded.needs_restart {
                    warn!("{section} has changed; restart the server to apply it");
                }
                self.apply(prepared, files);
                let configuration = &self.running.configuration;
                self.administered
                    .reloaded(configuration, &sources, &reloaded.needs_restart);
                info!("configuration reloaded from {}", self.source.path.display());
                Ok(reloaded)
            }
            Err(error) => {
                self.keep(files);
                let refused = InvalidConfiguration(message(&error));
                let error = if error.is::<LoadError>() {
                    format!("{error:#}")
                } else {
                    report(&error);
                    "its definitions are invalid".to_owned()
                };
                error!("configuration not reloaded, the previous one stays in use: {error}");
                Err(refused)
            }
        }
    }

    /// Reads the definitions again, for the configuration in use.
    async fn reload_definitions(&mut self) {
        let Self {
            definitions,
            running,
            ..
        } = self;
        let (files, prepared) = definitions.read(&[], || running.load_definitions()).await;
        // The same contents are not reported again.
        if !files
            .as_ref()
            .is_some_and(|files| definitions.are_new(files))
        {
            return;
        }
        match prepared {
            Ok(prepared) => {
                let known = &self.warnings;
                let new = prepared.warnings.iter().filter(|it| !known.contains(it));
                for warning in new {
                    warn!("{warning}");
                }
                self.apply(prepared, files);
                info!("definitions reloaded");
            }
            Err(error) => {
                self.keep(files);
                report(&error);
            }
        }
    }

    /// Exchanges what calls see. Those that have begun end with what they began with.
    fn apply(&mut self, prepared: Prepared, files: Option<DefinitionFiles>) {
        let Prepared {
            catalogue,
            configuration,
            receipt_keys,
            warnings,
        } = prepared;
        let running = &mut self.running;
        if let (Some(receipts), Some(keys)) = (&running.receipts, receipt_keys) {
            receipts.replace(configuration.receipts.clone(), keys);
        }
        let before = Arc::clone(&running.catalogue.get());
        catalogue.sql_tools.keep_findings(&before.sql_tools);
        learn_tools(&running.metrics, &catalogue.mcp);
        let names = database_names(&configuration.databases);
        running.metrics.learn(&names);
        let has_masks = configuration.has_masks();
        if has_masks {
            running.observe(&configuration);
        }
        running.catalogue.replace(Arc::clone(&catalogue));
        running.databases.adopt(&catalogue.databases);
        if !has_masks {
            running.observe(&configuration);
        }
        let telemetry = &configuration.telemetry;
        running
            .tracer
            .set_propagation(telemetry.propagate_to_providers);
        // The issuer has the names of the claims in use.
        let identities = running.configuration.identities.clone();
        identities.replace(&configuration.identities);
        running.configuration = Configuration {
            identities,
            ..configuration
        };
        running.record(Verdict::Ok);
        self.warnings = warnings;
        self.definitions.follow(files);
        self.check_statements();
    }

    /// Keeps everything, and watches also the files that could not be used.
    fn keep(&mut self, tried: Option<DefinitionFiles>) {
        self.definitions.follow_also(tried);
        self.running.record(Verdict::Error);
    }

    /// Starts the checks of the statements in use, and ends the earlier checks.
    fn check_statements(&mut self) {
        self.checks = JoinSet::new();
        let catalogue = self.running.catalogue.get();
        let (tools, databases) = (&catalogue.sql_tools, &catalogue.databases);
        self.checks.spawn(tools.clone().check(databases.clone()));
    }
}

// === impl Running ===

impl Running {
    /// Applies the settings of records and of the list of statements. Literals are hidden before the first
    /// call that masks hold for, and shown after the last.
    fn observe(&self, configuration: &Configuration) {
        if let Some(activity) = &self.activity {
            activity.hide_literals(configuration.has_masks());
        }
        if let (Some(audit), Some(settings)) = (&self.audit, &configuration.audit) {
            audit.apply(settings.clone());
        }
    }

    /// Loads the configuration and its definitions, and builds what calls see of them.
    fn load(&self, source: &Source) -> (Option<DefinitionFiles>, anyhow::Result<LoadedAgain>) {
        let loaded = match Configuration::load(&source.overrides, &source.sources) {
            Ok(loaded) => loaded,
            Err(error) => return (None, Err(error.into())),
        };
        let changes = Changes::between(&self.configuration, loaded.value);
        let keys = match changes.next.receipts.keys() {
            Ok(keys) => keys,
            Err(error) => return (None, Err(error.into())),
        };
        let databases = if changes.databases {
            self.databases.prepare(app::configured(&changes.next))
        } else {
            self.databases.fixed()
        };
        let (files, prepared) = self.prepare(changes.next, databases);
        let prepared = prepared.map(|mut prepared| {
            prepared.warnings = [loaded.warnings, prepared.warnings].concat();
            prepared.receipt_keys = keys;
            LoadedAgain {
                prepared,
                reloaded: Reloaded {
                    changed: changes.changed,
                    needs_restart: changes.need_restart,
                },
                sources: loaded.sources,
            }
        });
        (files, prepared)
    }

    /// Loads the definitions, and builds what calls see of them and of the configuration in use.
    fn load_definitions(&self) -> (Option<DefinitionFiles>, anyhow::Result<Prepared>) {
        self.prepare(self.configuration.clone(), self.databases.fixed())
    }

    fn prepare(
        &self,
        configuration: Configuration,
        databases: Databases,
    ) -> (Option<DefinitionFiles>, anyhow::Result<Prepared>) {
        let (files, own) = catalogue::definitions(&configuration);
        let built = own.and_then(|own| self.builder.build(&configuration, databases, &own));
        let prepared = built.map(|(catalogue, warnings)| Prepared {
            catalogue: Arc::new(catalogue),
            configuration,
            receipt_keys: None,
            warnings,
        });
        (files, prepared)
    }

    fn record(&self, verdict: Verdict) {
        self.metrics.reload(if verdict == Verdict::Ok {
            "ok"
        } else {
            "failed"
        });
        if let Some(audit) = &self.audit {
            audit.reload(verdict);
        }
    }
}

/// Returns the message that a start with this configuration would end with.
fn message(error: &anyhow::Error) -> String {
    problems(error).join("\n")
}

/// Logs each problem of definitions.
fn report(error: &anyhow::Error) {
    for reason in reasons(error) {
        error!("definitions not reloaded, the old ones stay: {reason}");
    }
}
