//! Tools that need claims of their callers.

use ziggurat_databases::Databases;
use ziggurat_tokens::{Fact, Identity};

use crate::{SqlTools, definition::Definition, parameter::Filling, tool::is_open};

/// A tool that has parameters which are filled with claims of its caller.
#[derive(Clone, Copy, Debug)]
pub struct ClaimedTool<'a>(&'a Definition);

// === impl SqlTools ===

impl SqlTools {
    /// Returns the tools that need claims, in the order of their definitions.
    pub fn with_claims(&self) -> impl Iterator<Item = ClaimedTool<'_>> {
        let tools = self.definitions.iter().map(|it| ClaimedTool(it));
        tools.filter(|tool| tool.claims().next().is_some())
    }
}

// === impl ClaimedTool ===

impl<'a> ClaimedTool<'a> {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.0.name
    }

    /// Returns the file, the line and the name, for the operator.
    #[must_use]
    pub fn label(&self) -> String {
        self.0.label()
    }

    /// Returns the names of the claims.
    pub fn claims(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.sources().filter_map(|source| match source {
            Fact::Claim(name) => Some(&**name),
            _ => None,
        })
    }

    /// Returns whether a client of an issuer may have the facts besides claims.
    #[must_use]
    pub fn is_for_clients(&self) -> bool {
        let mut sources = self.sources();
        !sources.any(|source| matches!(source, Fact::User | Fact::Token))
    }

    /// Returns whether the tool exists for a caller, once the caller has the claims.
    #[must_use]
    pub fn is_open(&self, identity: Option<&Identity>, databases: &Databases) -> bool {
        let is_needed = |source: &Fact| !matches!(source, Fact::Claim(_));
        is_open(self.0, databases, identity, is_needed)
    }

    fn sources(self) -> impl Iterator<Item = &'a Fact> + use<'a> {
        let definition = self.0;
        let fillings = definition.parameters.iter().map(|it| &it.filling);
        fillings.filter_map(|filling| match filling {
            Filling::Bound(source) => Some(source),
            _ => None,
        })
    }
}
