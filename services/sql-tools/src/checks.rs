//! Checks of the statements, which PostgreSQL takes apart once without running them.
//!
//! A statement that PostgreSQL refuses is bad, and so is a call of it, until a later check is good.
//! While its database is away it is unchecked, and the call is the check.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time;
use tracing::warn;
use ziggurat_databases::Databases;
use ziggurat_postgres::error::QueryError;
use ziggurat_runtime::lock;

use crate::definition::Definition;

/// Time until statements that are not good are checked again.
const INTERVAL: Duration = Duration::from_secs(30);

/// State of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementState {
    /// PostgreSQL accepts it.
    Good,
    /// PostgreSQL refuses it, with this error.
    Bad(String),
    /// PostgreSQL was not asked, for this reason.
    Unchecked(String),
}

/// The errors of bad statements, by name of the tool and statement. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatementChecks {
    bad: Arc<Mutex<HashMap<(String, String), String>>>,
}

// === impl StatementChecks ===

impl StatementChecks {
    /// Returns the error of a statement that is bad.
    pub(crate) fn error(&self, tool: &str, statement: &str) -> Option<String> {
        let bad = lock(&self.bad);
        if bad.is_empty() {
            return None;
        }
        bad.get(&(tool.to_owned(), statement.to_owned())).cloned()
    }

    /// Takes the errors of the statements that other definitions have too, so that a tool that is
    /// read again does not forget that it is bad.
    pub(crate) fn keep(&self, other: &Self, definitions: &[Arc<Definition>]) {
        let errors = lock(&other.bad).clone();
        if errors.is_empty() {
            return;
        }
        let mut bad = lock(&self.bad);
        for definition in definitions {
            for statement in definition.statements() {
                let key = (definition.name.clone(), statement);
                if let Some(error) = errors.get(&key) {
                    bad.insert(key, error.clone());
                }
            }
        }
    }

    pub(crate) async fn run(&self, definitions: &[Arc<Definition>], databases: &Databases) {
        let each = definitions.iter().flat_map(|definition| {
            let statements = definition.statements().into_iter();
            statements.map(move |statement| (definition, statement))
        });
        let mut open: Vec<_> = each.collect();
        while !open.is_empty() {
            let mut again = Vec::new();
            for (definition, statement) in open {
                if !self.is_good(definition, &statement, databases).await {
                    again.push((definition, statement));
                }
            }
            open = again;
            time::sleep(INTERVAL).await;
        }
    }

    async fn is_good(
        &self,
        definition: &Definition,
        statement: &str,
        databases: &Databases,
    ) -> bool {
        let key = (definition.name.clone(), statement.to_owned());
        match definition.prove(statement, databases).await {
            // Which database the caller will use is not known.
            None => true,
            Some(StatementState::Good) => {
                lock(&self.bad).remove(&key);
                true
            }
            Some(StatementState::Bad(error)) => {
                let before = lock(&self.bad).insert(key, error.clone());
                if before.as_ref() != Some(&error) {
                    warn!("{} cannot run: {error}", definition.label());
                }
                false
            }
            Some(StatementState::Unchecked(_)) => false,
        }
    }
}

impl Definition {
    /// Returns the name of the tool, and its place in the file, for operators.
    pub(crate) fn label(&self) -> String {
        format!("{}: tool '{}'", self.place, self.name)
    }

    /// Lets PostgreSQL check a statement, if it is known in which database.
    pub(crate) async fn prove(
        &self,
        statement: &str,
        databases: &Databases,
    ) -> Option<StatementState> {
        let proved = databases.prove(self.database.as_deref(), statement).await?;
        Some(match proved {
            Ok(()) => StatementState::Good,
            Err(QueryError::Failed { report, .. }) if !report.sqlstate.starts_with("57") => {
                StatementState::Bad(report.to_string())
            }
            Err(QueryError::Lease(error)) => StatementState::Unchecked(error.cause()),
            Err(error) => StatementState::Unchecked(error.to_string()),
        })
    }
}
