//! The command `-check-config`: the problems of a configuration, and what a caller would see.

pub(crate) mod connections;
pub(crate) mod doctor;
mod guards;
mod identity;
pub(crate) mod prove;
pub(crate) mod receipt;
mod replay;
mod view;

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use tokio::{runtime, task::JoinSet, time};
use ziggurat_databases::Databases;
use ziggurat_postgres::pool::Pools;
use ziggurat_receipts::Receipts;
use ziggurat_runtime::console;
use ziggurat_sql_tools::StatementState;

use self::{guards::Guard, identity::identity};
use crate::{
    app,
    arguments::{CheckOptions, Overrides},
    catalogue::{self, CatalogueBuilder, current::Catalogue, knowledge::Knowledge},
    configuration::{ConfigSources, Configuration, LoadError},
    problems,
    providers::Providers,
    reasons,
};

/// Time for connections to PostgreSQL to close cleanly.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Results of a check.
#[derive(Default)]
struct Findings {
    problems: Vec<String>,
    warnings: Vec<String>,
    /// View of the caller, as lines.
    view: String,
}

/// Results of a check of statements.
#[derive(Default)]
pub(crate) struct Statements {
    /// Sentences about statements that cannot run.
    pub(crate) problems: Vec<String>,
    /// Sentences about statements that could not be checked.
    pub(crate) warnings: Vec<String>,
}

/// Prints all problems of the configuration, one per line; without one, what the caller sees.
pub(crate) fn run(overrides: &Overrides, options: &CheckOptions) -> ExitCode {
    let findings = find(overrides, options);
    console::print_warnings(&findings.warnings);
    let (text, code) = if findings.problems.is_empty() {
        let text = findings.view + "the configuration is valid\n";
        (text, ExitCode::SUCCESS)
    } else {
        (findings.problems.join("\n") + "\n", ExitCode::FAILURE)
    };
    crate::print(&text).map_or(ExitCode::FAILURE, |()| code)
}

/// Returns the problems of a configuration, without a connection.
pub(crate) fn problems_of(overrides: &Overrides) -> Vec<String> {
    let options = CheckOptions {
        connects: false,
        caller: None,
    };
    find(overrides, &options).problems
}

fn find(overrides: &Overrides, options: &CheckOptions) -> Findings {
    let loaded = match Configuration::load(overrides, &ConfigSources::of_process()) {
        Ok(loaded) => loaded,
        Err(LoadError::Invalid(problems)) => return Findings::of(problems),
        Err(error) => return Findings::of(vec![format!("{:#}", anyhow::Error::from(error))]),
    };
    let mut findings = Findings::of(loaded.value.check_named_files());
    findings.warnings = loaded.warnings;
    if let Err(error) = findings.look_into(&loaded.value, options) {
        findings.add(&error);
    }
    findings
}

// === impl Findings ===

impl Findings {
    fn of(problems: Vec<String>) -> Self {
        Self {
            problems,
            ..Self::default()
        }
    }

    /// Adds an error, unless its problems are known.
    fn add(&mut self, error: &anyhow::Error) {
        let found = if error.is::<LoadError>() {
            reasons(error)
        } else {
            problems(error)
        };
        let new = found.into_iter().filter(|it| !self.problems.contains(it));
        let new: Vec<_> = new.collect();
        self.problems.extend(new);
    }

    /// Tries the connections that a server would make, and looks at what calls would see, without
    /// serving it.
    fn look_into(
        &mut self,
        configuration: &Configuration,
        options: &CheckOptions,
    ) -> anyhow::Result<()> {
        let (pools, reaper) = Pools::new();
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.context("cannot start")?.block_on(async {
            let mut tasks = JoinSet::new();
            tasks.spawn(reaper.run());
            if options.connects {
                let failed = connections::problems(configuration, &pools).await;
                self.problems.extend(failed);
                self.try_guards(configuration, &pools).await;
            }
            match prepare(configuration, pools.clone()) {
                Ok((catalogue, warnings)) => {
                    self.warnings.extend(warnings);
                    self.look_at(&catalogue, configuration, options).await;
                }
                Err(error) => self.add(&error),
            }
            pools.close_all();
            drop(pools);
            time::timeout(CLOSE_TIMEOUT, tasks.join_next()).await.ok();
        });
        Ok(())
    }

    /// Looks for ways around row security and masks.
    async fn try_guards(&mut self, configuration: &Configuration, pools: &Pools) {
        for entry in &configuration.databases {
            let name = entry.database.name();
            for guard in Guard::ALL {
                let found = guard.weaknesses(entry, pools, None).await;
                for weakness in found.into_iter().flatten() {
                    let list = if weakness.is_problem {
                        &mut self.problems
                    } else {
                        &mut self.warnings
                    };
                    list.push(format!("{name}: {}", weakness.text));
                }
            }
        }
    }

    async fn look_at(
        &mut self,
        catalogue: &Catalogue,
        configuration: &Configuration,
        options: &CheckOptions,
    ) {
        if options.connects {
            self.check_statements(catalogue).await;
        }
        let Some(caller) = &options.caller else {
            return;
        };
        match identity(caller, &configuration.auth) {
            Ok(identity) => {
                self.view = view::text(caller, identity, catalogue, configuration).await;
            }
            Err(problem) => self.problems.push(format!("-as {caller}: {problem:#}")),
        }
    }

    /// Lets the databases check the statements of tools.
    async fn check_statements(&mut self, catalogue: &Catalogue) {
        let checked = statements(catalogue, None).await;
        self.problems.extend(checked.problems);
        self.warnings.extend(checked.warnings);
    }
}

/// Lets databases check the statements of tools: those that run in the database of a name, or all.
pub(crate) async fn statements(catalogue: &Catalogue, database: Option<&str>) -> Statements {
    let (tools, databases) = (&catalogue.sql_tools, &catalogue.databases);
    let mut found = Statements::default();
    for (place, state) in tools.check_once(databases, database).await {
        match state {
            StatementState::Good => {}
            StatementState::Bad(error) => {
                found.problems.push(format!("{place} cannot run: {error}"));
            }
            StatementState::Unchecked(reason) => {
                found
                    .warnings
                    .push(format!("{place} is unchecked: {reason}"));
            }
        }
    }
    found
}

fn prepare(
    configuration: &Configuration,
    pools: Pools,
) -> anyhow::Result<(Catalogue, Vec<String>)> {
    let databases = Databases::new(pools, app::configured(configuration));
    build(configuration, databases, None)
}

/// Builds what calls of these databases see, with these receipts.
fn build(
    configuration: &Configuration,
    databases: Databases,
    receipts: Option<Receipts>,
) -> anyhow::Result<(Catalogue, Vec<String>)> {
    let providers = Providers::default();
    let knowledge = Knowledge::of(&configuration.knowledgebase, &providers);
    let builder = CatalogueBuilder::new(configuration, None, &knowledge, &providers, None);
    let builder = match receipts {
        Some(receipts) => builder.with_receipts(receipts),
        None => builder,
    };
    let (_, own) = catalogue::definitions(configuration);
    builder.build(configuration, databases, &own?)
}
