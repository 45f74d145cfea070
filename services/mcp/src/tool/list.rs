//! The tools of a server.

use std::{collections::BTreeSet, fmt, sync::Arc};

use crate::{Schema, SetupError, Tool, ToolDescriptor, register::Register, tool::AnyTool};

/// The tools of a server.
///
/// ```
/// use ziggurat_mcp::{ReadResource, Resources, Tools};
///
/// let tools = Tools::new()
///     .with(ReadResource::new(Resources::new()))
///     .with_disabled(["count_rows"]);
/// # let _ = tools;
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Tools {
    entries: Register<Entry>,
    disabled: BTreeSet<String>,
    structured_output: bool,
}

#[derive(Clone)]
struct Entry {
    descriptor: ToolDescriptor,
    tool: Arc<dyn AnyTool>,
}

/// Outcome of looking up a tool.
pub(crate) enum Found {
    Tool(Arc<dyn AnyTool>),
    Disabled,
}

// === impl Tools ===

impl Tools {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn with(mut self, tool: impl Tool) -> Self {
        let descriptor = tool.describe();
        let name = descriptor.name.clone();
        let tool = Arc::new(tool);
        self.entries.insert(name, Entry { descriptor, tool });
        self
    }

    /// Disables tools by name, even tools that are added later.
    ///
    /// They are not listed, and a call returns an error that they are not available. It has no
    /// effect on tools that are [always enabled](ToolDescriptor::with_always_enabled).
    pub fn with_disabled<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.disabled.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets whether tools return a structure that repeats their text (off by default; see
    /// [`ToolDescriptor::with_output_on_demand`]).
    pub fn with_structured_output(mut self, is_on: bool) -> Self {
        self.structured_output = is_on;
        self
    }

    pub(crate) fn find(&self, name: &str) -> Option<Found> {
        match self.entries.find(name) {
            Some(entry) if self.is_enabled(&entry.descriptor) => {
                Some(Found::Tool(Arc::clone(&entry.tool)))
            }
            _ if self.disabled.contains(name) => Some(Found::Disabled),
            _ => None,
        }
    }

    fn is_enabled(&self, tool: &ToolDescriptor) -> bool {
        tool.is_always_enabled || !self.disabled.contains(&*tool.name)
    }

    /// Returns the arguments of a tool, if it exists.
    pub(crate) fn schema(&self, name: &str) -> Option<&Schema> {
        Some(&self.entries.find(name)?.descriptor.schema)
    }

    /// Returns the schema of a tool's structured results, if they are enabled.
    pub(crate) fn output<'a>(&self, tool: &'a ToolDescriptor) -> Option<&'a Schema> {
        let output = tool.output.as_ref()?;
        (self.structured_output || !output.on_demand).then_some(&output.schema)
    }

    /// Returns whether the results of a tool should have a structure in revisions that support it.
    pub(crate) fn has_structure(&self, name: &str) -> bool {
        let entry = self.entries.find(name);
        entry.is_some_and(|entry| self.output(&entry.descriptor).is_some())
    }

    /// Returns the tools that are listed, by name.
    pub(crate) fn advertised(&self) -> impl Iterator<Item = &ToolDescriptor> {
        self.listed(|tool| tool.is_advertised)
    }

    /// Returns the tools that are listed in negotiated revisions, by name.
    pub(crate) fn negotiated(&self) -> impl Iterator<Item = &ToolDescriptor> {
        self.listed(|tool| tool.is_negotiated)
    }

    fn listed(
        &self,
        is_here: fn(&ToolDescriptor) -> bool,
    ) -> impl Iterator<Item = &ToolDescriptor> {
        let all = self.entries.iter().map(|entry| &entry.descriptor);
        all.filter(move |tool| is_here(tool) && self.is_enabled(tool))
    }

    /// Checks for errors that make some clients drop the whole list.
    pub(crate) fn check(&self) -> Result<(), SetupError> {
        for tool in self.entries.iter().map(|entry| &entry.descriptor) {
            let name = &tool.name;
            let is_short = (1..=64).contains(&name.len());
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            if !is_short || !name.bytes().all(is_word) {
                return Err(SetupError::ToolName(name.clone().into_owned()));
            }
            if tool.description.trim().is_empty() {
                return Err(SetupError::ToolDescription(name.clone().into_owned()));
            }
        }
        match self.entries.duplicate() {
            Some(name) => Err(SetupError::DuplicateTool(name.to_owned())),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools")
            .field("tools", &self.entries)
            .field("disabled", &self.disabled)
            .field("structured_output", &self.structured_output)
            .finish()
    }
}
