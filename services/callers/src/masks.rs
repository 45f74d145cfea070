//! Masked columns, and the callers that they are masked for.

mod section;

use std::sync::Arc;

use ziggurat_postgres::database::Masking;
use ziggurat_tokens::{CallerId, CallerNames, Identity};

pub use self::section::{dotted_names, mask_key};

/// Rules for masked columns, and the callers that each is for.
#[derive(Clone, Debug)]
pub struct Masks {
    /// The rules.
    pub masking: Arc<Masking>,
    /// The callers of each rule, by place.
    pub callers: Vec<MaskedCallers>,
}

/// The callers that a mask is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaskedCallers {
    /// Only these; without names, all.
    pub only: Option<CallerNames>,
    /// Not these.
    pub unless: Option<CallerNames>,
}

// === impl Masks ===

impl Masks {
    /// Returns whether the other ones have the same rules for the same callers.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.masking.is_same(&other.masking) && self.callers == other.callers
    }

    /// Returns for each rule if it is for a caller.
    #[must_use]
    pub fn hold(&self, identity: Option<&Identity>) -> Vec<bool> {
        let id = identity.map_or(CallerId::Local, Identity::caller_id);
        self.callers.iter().map(|it| it.has(&id)).collect()
    }
}

// === impl MaskedCallers ===

impl MaskedCallers {
    fn has(&self, caller: &CallerId<'_>) -> bool {
        let fits = |names: &CallerNames| names.fit(caller);
        self.only.as_ref().is_none_or(fits) && !self.unless.as_ref().is_some_and(fits)
    }
}
