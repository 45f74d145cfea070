//! Parameters of a tool.

use serde_json::Value;
use ziggurat_tokens::{CallerFacts, Fact};

use crate::kind::{Checked, Kind};

/// A parameter of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) filling: Filling,
    /// Its values are shown to no other user.
    pub(crate) is_sensitive: bool,
}

/// The origin of the value of a parameter.
#[derive(Clone, Debug)]
pub(crate) enum Filling {
    /// The caller has to send it.
    Required,
    /// NULL, if the caller sends none.
    Optional,
    /// This value, if the caller sends none; also as JSON.
    Default(Checked, Value),
    /// A fact about the caller, who cannot send it.
    Bound(Fact),
}

// === impl Parameter ===

impl Parameter {
    /// Returns whether callers can send it.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.filling, Filling::Bound(_))
    }

    /// Returns the value for a parameter that is filled with a fact about the caller, if the caller
    /// has that fact and it has the type of the parameter.
    pub(crate) fn bound(&self, fact: &Fact, facts: CallerFacts<'_>) -> Option<Checked> {
        self.kind.convert(&facts.value(fact)?)
    }
}
