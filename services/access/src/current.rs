//! Toolsets that a reload exchanges.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::Toolsets;

/// The toolsets in use; none if callers see everything. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CurrentToolsets(Arc<ArcSwapOption<Toolsets>>);

// === impl CurrentToolsets ===

impl CurrentToolsets {
    /// Returns the toolsets in use.
    #[must_use]
    pub fn get(&self) -> Option<Arc<Toolsets>> {
        self.0.load_full()
    }

    /// Exchanges the toolsets. Calls that have begun keep what they see.
    pub fn replace(&self, toolsets: Option<Toolsets>) {
        self.0.store(toolsets.map(Arc::new));
    }
}
