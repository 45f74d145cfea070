//! Names that a caller sees.

use std::sync::Arc;

use crate::toolsets::{
    Toolsets,
    patterns::Patterns,
    toolset::{Area, Toolset},
};

/// Names that a caller sees: the union of its toolsets, less what its request takes away.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) toolsets: Arc<Toolsets>,
    /// The sets of the caller, by their indices.
    pub(crate) sets: Box<[usize]>,
    pub(crate) tools: Option<Arc<Patterns>>,
}

// === impl View ===

impl View {
    /// Returns whether a tool is seen, if it exists.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        self.keeps(name) && self.any(|set| set.tools.fit(name))
    }

    /// Returns whether a tool is seen because a set has its name in full.
    #[must_use]
    pub fn names_tool(&self, name: &str) -> bool {
        self.keeps(name) && self.any(|set| set.tools.names(name))
    }

    /// Returns whether a resource is seen, if it exists.
    #[must_use]
    pub fn has_resource(&self, uri: &str) -> bool {
        self.any(|set| set.resources.fit(uri))
    }

    /// Returns whether a resource template is seen, if it exists. Some of its placeholders may be
    /// replaced by values.
    #[must_use]
    pub fn has_template(&self, template: &str) -> bool {
        self.any(|set| set.resources.fit_template(template))
    }

    /// Returns whether a prompt is seen, if it exists.
    #[must_use]
    pub fn has_prompt(&self, name: &str) -> bool {
        self.any(|set| set.prompts.fit(name))
    }

    /// Returns whether an area of the REST API is seen.
    #[must_use]
    pub fn has_area(&self, area: Area) -> bool {
        self.any(|set| set.rest.contains(&area))
    }

    fn keeps(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|kept| kept.fit(tool))
    }

    fn any(&self, has: impl Fn(&Toolset) -> bool) -> bool {
        let mut sets = self.sets.iter();
        sets.any(|index| self.toolsets.sets.get(*index).is_some_and(&has))
    }
}
