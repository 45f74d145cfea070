//! The command `-doctor`: every check that can be made, and what to do about each finding.

mod accounts;
mod sign_in;

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use tokio::{runtime, task::JoinSet, time};
use ziggurat_admin_api::program::Setting;
use ziggurat_console::PublicUrl;
use ziggurat_doctor::{
    Finding, Options, Report, configuration, database, files, health,
    listening::{self, Callers, Listener},
};
use ziggurat_postgres::pool::Pools;
use ziggurat_runtime::{causes, config::Source};
use ziggurat_sign_in_state::KeyFile;

use crate::{
    arguments::Overrides,
    check::{self, connections, guards::Guard},
    configuration::{ConfigSources, Configuration, Entry, Http, Loaded, shown},
    interface::NAME,
};

/// Runs all checks and prints what they found.
pub(crate) fn run(overrides: &Overrides, options: &Options) -> ExitCode {
    let mut report = Report::default();
    match Configuration::load(overrides, &ConfigSources::of_process()) {
        Ok(loaded) => report.extend(examine(&loaded, options)),
        Err(error) => report.extend(configuration::of_failure(&error)),
    }
    report.print(options)
}

/// Asks the server that runs with this configuration at a path, and says why it is not well.
pub(crate) fn ask_health(overrides: &Overrides, path: &str) -> anyhow::Result<()> {
    let loaded = Configuration::load(overrides, &ConfigSources::of_process())?;
    let http = loaded.value.http.as_ref().ok_or(health::Unwell::NoHttp)?;
    in_runtime(health::ask(&http.address, http.tls.is_some(), path))??;
    Ok(())
}

pub(crate) fn in_runtime<T>(task: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(task))
}

fn examine(loaded: &Loaded, options: &Options) -> Vec<Finding> {
    let configured = &loaded.value;
    let mut findings = configuration::of(loaded);
    let contents = configured.check_contents();
    findings.extend(
        contents
            .iter()
            .map(|problem| configuration::invalid(problem)),
    );
    findings.extend(files::modes(secret_files(loaded)));
    match in_runtime(connect(configured, options)) {
        Ok(more) => findings.extend(more),
        Err(error) => {
            let fix = "let this program open more files and threads";
            findings.push(Finding::fail("config.read", causes(&error), fix));
        }
    }
    findings
}

/// Returns the files with secrets.
fn secret_files(loaded: &Loaded) -> Vec<PathBuf> {
    let configured = &loaded.value;
    let is_in_file = |setting: &Setting| match setting {
        Setting::Secret { key, .. } => loaded.sources.of(key) == Source::File,
        Setting::Shown { .. } => false,
    };
    let settings = shown::values(configured, &loaded.sources);
    let mut files = Vec::new();
    if settings.iter().any(is_in_file) {
        files.push(loaded.path.clone());
    }
    files.extend(configured.secret_file.clone());
    files.extend(configured.receipts.key_file.clone());
    if let Some(http) = &configured.http {
        files.extend(http.tls.as_ref().map(|tls| tls.key.clone()));
        let auth = &configured.auth;
        files.extend([auth.token_file.clone(), auth.user_file.clone()]);
        if auth.oauth.is_some() {
            files.push(KeyFile::place(&configured.data_folder));
        }
    }
    files
}

/// Makes the checks that use the network.
async fn connect(configured: &Configuration, options: &Options) -> Vec<Finding> {
    let timeout = options.timeout;
    let mut findings = Vec::new();
    if let Some(http) = &configured.http {
        findings.extend(listening::check(&listener(http, configured)).await);
    }
    findings.extend(accounts::check(configured));
    let others = connections::others(configured).await;
    findings.extend(accounts::issuer(configured, &others, timeout).await);
    findings.extend(sign_in::check(configured, timeout).await);
    let (pools, reaper) = Pools::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(reaper.run());
    let needs = database::Needs {
        vectors: configured.embedding.is_enabled,
        statistics: configured.dba,
    };
    // All at once, and reported in their order.
    let each = configured.databases.iter().map(|entry| {
        let pools = pools.clone();
        async move {
            let mut findings = database::check(&pools, &entry.database, needs, timeout).await;
            for guard in Guard::ALL {
                findings.extend(guarded(guard, entry, &pools, timeout).await);
            }
            findings
        }
    });
    findings.extend(futures_util::future::join_all(each).await.concat());
    if let Some(state) = &configured.state {
        findings.extend(match state.database() {
            Ok(database) => database::reach("state", &pools, &Arc::new(database), timeout).await,
            Err(error) => {
                let fix = format!("correct {}", state.key());
                vec![Finding::fail("state", causes(&error), fix)]
            }
        });
    }
    findings.extend(models(configured, &others));
    pools.close_all();
    drop(pools);
    time::timeout(check::CLOSE_TIMEOUT, tasks.join_next())
        .await
        .ok();
    findings
}

/// Returns the findings about row security or masks of a database.
async fn guarded(guard: Guard, entry: &Entry, pools: &Pools, timeout: Duration) -> Vec<Finding> {
    let (id, well) = match guard {
        Guard::Policies => ("db.policies", "no way around row security was found"),
        Guard::Masks => ("db.masks", "no way around the masks was found"),
    };
    let Some(weaknesses) = guard.weaknesses(entry, pools, Some(timeout)).await else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for it in weaknesses {
        findings.push(if it.is_problem {
            Finding::fail(id, it.text, it.fix)
        } else {
            Finding::warn(id, it.text, it.fix)
        });
    }
    if findings.is_empty() {
        findings.push(Finding::ok(id, well));
    }
    let name = entry.database.name();
    findings.into_iter().map(|it| it.of(name)).collect()
}

fn listener<'a>(http: &'a Http, configured: &Configuration) -> Listener<'a> {
    Listener {
        server: NAME,
        probe: "/health",
        sign: NAME,
        address: &http.address,
        tls: http.tls.as_ref(),
        public_url: http.public_url.as_ref().map(PublicUrl::origin),
        callers: match (configured.auth.is_enabled, http.allow_public) {
            (true, _) => Callers::Known,
            (false, true) => Callers::AllByOrder,
            (false, false) => Callers::All,
        },
    }
}

/// Returns the findings about providers of models and the knowledge base.
fn models(configured: &Configuration, attempts: &[connections::Attempt]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for attempt in attempts {
        let (id, what) = match &*attempt.what {
            "embedding" | "llm" => ("providers", &attempt.what),
            "knowledgebase" => ("knowledgebase", &attempt.what),
            _ => continue,
        };
        findings.push(match &attempt.failure {
            None => Finding::ok(id, format!("{what}: the provider answers")),
            Some(error) => Finding::fail(
                id,
                format!("{what}: {error:#}"),
                format!("correct {what}: its provider, address, model or key"),
            ),
        });
    }
    let knowledge = &configured.knowledgebase;
    let file = knowledge
        .database_path
        .as_ref()
        .filter(|_| knowledge.is_enabled);
    if let Some(path) = file.filter(|path| !path.is_file()) {
        findings.push(Finding::warn(
            "knowledgebase",
            format!(
                "knowledgebase.database_path: {} is not there",
                path.display()
            ),
            format!("{NAME} -build-knowledgebase <folder> -kb-project <name>"),
        ));
    }
    findings
}
