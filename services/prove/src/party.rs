//! The two callers.

use ziggurat_postgres::pool::Pool;

use crate::{
    failure::ProveError,
    schema::{Schema, owner::Owner, reading},
};

/// A caller of the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one who asks.
    A,
    /// The one with other rows.
    B,
}

/// A caller, and the values that its rows have.
#[derive(Debug)]
pub struct Party {
    pub(crate) pool: Pool,
    /// Names of claims and settings with their values, and the role.
    pub(crate) facts: Vec<(String, String)>,
    /// The settings of its statements.
    pub(crate) settings: Vec<(String, String)>,
    /// The tables that it may read, by number.
    readable: Vec<String>,
}

// === impl Side ===

impl Side {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

// === impl Party ===

impl Party {
    /// Describes a caller by its connections, its claims and its settings.
    ///
    /// # Errors
    /// Fails if it has no connection.
    pub async fn new(
        pool: Pool,
        claims: Vec<(String, String)>,
        settings: Vec<(String, String)>,
    ) -> Result<Self, ProveError> {
        let role = reading("SELECT current_user", &pool).await?;
        let role = role.into_iter().map(|role| ("role".to_owned(), role));
        let facts = settings.iter().cloned().chain(role).chain(claims).collect();
        Ok(Self {
            pool,
            facts,
            settings,
            readable: Vec::new(),
        })
    }

    /// Describes a caller without facts.
    #[cfg(test)]
    pub(crate) fn of_test(pool: Pool) -> Self {
        Self {
            pool,
            facts: Vec::new(),
            settings: Vec::new(),
            readable: Vec::new(),
        }
    }

    /// Returns the names of columns that hold its facts.
    pub(crate) fn names(&self) -> Vec<String> {
        let facts = self.facts.iter().filter(|(name, _)| name != "role");
        facts.map(|(name, _)| last_word(name).to_owned()).collect()
    }

    /// Finds out which tables it may read.
    pub(crate) async fn look_at(&mut self, schema: &Schema) -> Result<(), ProveError> {
        self.readable = schema.readable(&self.pool).await?;
        Ok(())
    }

    pub(crate) fn reads(&self, table: &str) -> bool {
        self.readable.iter().any(|it| it == table)
    }

    /// Gives the owner's session the settings of this caller, for defaults and triggers.
    pub(crate) async fn take_settings(&self, owner: &mut Owner) -> Result<(), ProveError> {
        for (name, value) in &self.settings {
            let (name, value) = (name.replace('\'', "''"), value.replace('\'', "''"));
            let text = format!("SELECT set_config('{name}', '{value}', false)");
            owner.ask("set a setting", &text).await?;
        }
        Ok(())
    }
}

/// Returns the part of a name behind its last dot.
pub(crate) fn last_word(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
