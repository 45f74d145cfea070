//! Tools that are SQL statements with parameters: the operator's tools from a file of definitions,
//! and tools for administrators from a file in this crate.
//!
//! A tool is one statement with placeholders. The values of a call are checked by the types of their
//! parameters and bound: they never become text of the statement. Only an `identifier` is written
//! into it, and all its values stand in the file.
//!
//! The files are read by the crate that knows their other sections; this one gets the entries of
//! `tools`. It opens no file and no connection of its own.

mod arguments;
mod checks;
mod claims;
mod decimal;
mod definition;
mod index_advice;
mod input_schema;
mod kind;
mod pack;
mod parameter;
mod placeholders;
mod policies;
mod record;
mod tool;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use serde_yaml::{Deserializer, Value as Yaml};
use ziggurat_answers::ResultFormat;
use ziggurat_databases::Databases;
use ziggurat_mcp::Tools;
use ziggurat_postgres::{database::Database, large_rows::LargeRows};
use ziggurat_runtime::yaml::{Step, line};
use ziggurat_tokens::LocalCaller;

pub use self::checks::StatementState;
pub use self::claims::ClaimedTool;
pub use self::pack::{ADMINISTRATOR_TOOLS, add_administrator_tools};
pub use self::policies::{PolicyFinding, policy_findings};
pub use self::record::CallRecord;
use self::{checks::StatementChecks, definition::Definition, tool::SqlTool};

/// Limit on the number of tools.
const MAX_TOOLS: usize = 500;

/// Limit on the memory for large rows of all answers, as a multiple of the bytes of one answer.
const LARGE_ANSWERS: usize = 8;

/// Names that definitions refer to: the databases, and the tools that exist already.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The configured databases.
    pub databases: Vec<Arc<Database>>,
    /// The names of other tools.
    pub tools: Vec<String>,
    /// The caller without an identity.
    pub local: LocalCaller,
}

/// The tools of an operator.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SqlTools {
    definitions: Vec<Arc<Definition>>,
    /// The positions of the definitions by name.
    names: HashMap<String, usize>,
    checks: StatementChecks,
}

// === impl Environment ===

impl Environment {
    fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.iter().find(|it| it.name() == name)
    }
}

// === impl SqlTools ===

impl SqlTools {
    /// Adds the entries of `tools` in a file with the text `yaml`. Returns the problems, each with
    /// the name of the file and the line.
    pub fn read(
        &mut self,
        file: &str,
        yaml: &str,
        entries: Vec<Yaml>,
        environment: &Environment,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let place = |path: &[Step<'_>]| match line(Deserializer::from_str(yaml), path) {
            Some(line) => format!("{file}:{line}"),
            None => file.to_owned(),
        };
        for (index, entry) in entries.into_iter().enumerate() {
            let tool = [Step::Key("tools"), Step::Index(index)];
            match Definition::read(entry, index, environment) {
                Ok(_) if self.definitions.len() == MAX_TOOLS => {
                    problems.push(format!("{}: more than {MAX_TOOLS} tools", place(&tool)));
                    break;
                }
                Ok(mut definition) => match self.names.entry(definition.name.clone()) {
                    Entry::Occupied(name) => {
                        let (place, name) = (place(&tool), name.key());
                        problems.push(format!(
                            "{place}: tool '{name}': duplicate tool name: {name}"
                        ));
                    }
                    Entry::Vacant(name) => {
                        name.insert(self.definitions.len());
                        definition.place = place(&tool);
                        self.definitions.push(Arc::new(definition));
                    }
                },
                Err(found) => {
                    let line =
                        |(path, problem): (Vec<_>, String)| format!("{}: {problem}", place(&path));
                    problems.extend(found.into_iter().map(line));
                }
            }
        }
        problems
    }

    /// Adds the tools to a list. An answer has rows of at most `max_bytes` bytes.
    pub fn add(
        &self,
        tools: Tools,
        databases: &Databases,
        max_bytes: usize,
        format: ResultFormat,
    ) -> Tools {
        let own = self.tools(databases, max_bytes, format);
        own.fold(tools, Tools::with)
    }

    fn tools(
        &self,
        databases: &Databases,
        max_bytes: usize,
        format: ResultFormat,
    ) -> impl Iterator<Item = SqlTool> {
        let large_rows = LargeRows::new(max_bytes.saturating_mul(LARGE_ANSWERS));
        self.definitions.iter().map(move |definition| SqlTool {
            definition: Arc::clone(definition),
            databases: databases.clone(),
            checks: self.checks.clone(),
            large_rows: large_rows.clone(),
            max_bytes,
            format,
            statements: None,
        })
    }

    /// Takes over the findings about statements that stay the same.
    pub fn keep_findings(&self, before: &Self) {
        self.checks.keep(&before.checks, &self.definitions);
    }

    /// Lets PostgreSQL check the statements of all tools once, or of those that name a database, and
    /// returns the states, each with the place and the name of its tool. A database that cannot be
    /// reached is tried once.
    pub async fn check_once(
        &self,
        databases: &Databases,
        only: Option<&str>,
    ) -> Vec<(String, StatementState)> {
        let mut states = Vec::new();
        let mut away: HashMap<Option<&str>, StatementState> = HashMap::new();
        for definition in &self.definitions {
            let database = definition.database.as_deref();
            if only.is_some() && database != only {
                continue;
            }
            for statement in definition.statements() {
                let state = if let Some(state) = away.get(&database) {
                    state.clone()
                } else {
                    let state = definition.prove(&statement, databases).await;
                    let unknown = || StatementState::Unchecked("it names no database".to_owned());
                    state.unwrap_or_else(unknown)
                };
                if matches!(state, StatementState::Unchecked(_)) {
                    away.insert(database, state.clone());
                }
                states.push((definition.label(), state));
            }
        }
        states.dedup();
        states
    }

    /// Lets PostgreSQL check the statements of all tools, again and again those that are not good,
    /// forever.
    pub async fn check(self, databases: Databases) {
        self.checks.run(&self.definitions, &databases).await;
    }
}
