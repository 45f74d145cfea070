//! The tools of a server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use http::Extensions;
use serde_json::value::RawValue;

use crate::{
    Caller, EntryKind, Schema, SetupError, Tool, ToolDescriptor, View, sorted_list::SortedList,
};

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
    entries: SortedList<Tool>,
    disabled: BTreeSet<String>,
    structured_output: bool,
    /// The member of `_meta` with which a client asks for the structure of one result.
    structure_key: Option<&'static str>,
    /// The states that tools share, by type.
    states: Extensions,
}

/// The tools that the client of a call finds in its list.
#[derive(Clone)]
pub struct ListedTools {
    tools: Arc<Tools>,
    is_negotiated: bool,
    view: Option<Arc<dyn View>>,
}

// === impl Tools ===

impl Tools {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn with(mut self, tool: impl Into<Tool>) -> Self {
        let tool = tool.into();
        let name = tool.descriptor.name.clone();
        self.entries.insert(name, tool);
        self
    }

    /// Disables tools by name, even tools that are added later.
    ///
    /// They are not listed, and a call returns an error that they are not available. It has no
    /// effect on tools that are always enabled.
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

    /// Shares a state with all tools: a closure that takes a [`State`](crate::State) of this type
    /// gets it. There can be one state of each type.
    pub fn with_state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.states.insert(Arc::new(state));
        self
    }

    pub(super) fn states(&self) -> &Extensions {
        &self.states
    }

    /// Returns whether all tools exist for a caller.
    pub(crate) fn serve(&self, caller: &Caller) -> bool {
        self.entries
            .iter()
            .all(|tool| tool.descriptor.serves(caller))
    }

    /// Returns the tools that exist for a caller.
    pub(crate) fn of(&self, caller: &Caller) -> Self {
        let tools = self
            .entries
            .iter()
            .filter(|tool| tool.descriptor.serves(caller));
        let none = Self {
            entries: SortedList::default(),
            ..self.clone()
        };
        tools.cloned().fold(none, Self::with)
    }

    /// Sets the member of `_meta` with which a call of revision 2026-07-28 asks for the structure of
    /// its result: `true`. Results then have one also where it is
    /// [on demand](ToolDescriptor::with_output_on_demand); nothing announces this.
    pub fn with_structure_key(mut self, key: &'static str) -> Self {
        self.structure_key = Some(key);
        self
    }

    /// Returns whether the member `_meta` of a call asks for the structure of its result.
    pub(crate) fn is_structure_asked(&self, meta: Option<&str>) -> bool {
        self.structure_key.is_some_and(|key| has_flag(meta, key))
    }

    /// Returns a tool, if it exists; it may be disabled.
    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.entries.find(name)
    }

    /// Returns whether the operator disabled the name. There may be no tool of this name.
    pub(crate) fn is_disabled(&self, name: &str) -> bool {
        let tool = self.entries.find(name);
        self.disabled.contains(name) && !tool.is_some_and(|it| it.descriptor.is_always_enabled)
    }

    /// Returns the schema of a tool's structured results, if they are enabled.
    pub(crate) fn output<'a>(&self, tool: &'a ToolDescriptor) -> Option<&'a Schema> {
        let output = tool.output.as_ref()?;
        (self.structured_output || !output.on_demand).then_some(&output.schema)
    }

    /// Returns the tools that are listed for some caller, by name, and whether they are for all.
    pub(crate) fn listed(
        &self,
        is_negotiated: bool,
    ) -> impl Iterator<Item = (&ToolDescriptor, bool)> {
        let all = self.entries.iter().map(|entry| &entry.descriptor);
        let enabled = all.filter(|tool| !self.is_disabled(&tool.name));
        enabled.filter_map(move |tool| {
            let is_for_all = tool.is_listed(is_negotiated);
            (is_for_all || !tool.exists(is_negotiated)).then_some((tool, is_for_all))
        })
    }

    /// Returns the descriptors of all tools.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = &ToolDescriptor> {
        self.entries.iter().map(|entry| &entry.descriptor)
    }

    /// Returns whether there is no tool.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.iter().next().is_none()
    }

    /// Checks for errors that make some clients drop the whole list.
    pub(crate) fn check(&self) -> Result<(), SetupError> {
        for entry in self.entries.iter() {
            (entry.check)(&self.states)?;
            let tool = &entry.descriptor;
            let name = &tool.name;
            let is_short = (1..=64).contains(&name.len());
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            if !is_short || !name.bytes().all(is_word) {
                return Err(SetupError::ToolName(name.clone().into_owned()));
            }
            if [false, true]
                .iter()
                .any(|&it| tool.description(it).trim().is_empty())
            {
                return Err(SetupError::ToolDescription(name.clone().into_owned()));
            }
        }
        match self.entries.duplicate() {
            Some(name) => Err(SetupError::DuplicateTool(name.to_owned())),
            None => Ok(()),
        }
    }
}

/// Returns whether the member `_meta` of a call has a key with the value `true`.
pub(super) fn has_flag(meta: Option<&str>, key: &str) -> bool {
    // Other calls need not be parsed.
    let meta = meta.filter(|meta| meta.contains(key));
    let meta = meta.map(serde_json::from_str::<BTreeMap<String, &RawValue>>);
    meta.is_some_and(|meta| {
        meta.is_ok_and(|meta| meta.get(key).is_some_and(|value| value.get() == "true"))
    })
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools")
            .field("tools", &self.entries)
            .field("disabled", &self.disabled)
            .field("structured_output", &self.structured_output)
            .field("structure_key", &self.structure_key)
            .finish_non_exhaustive()
    }
}

// === impl ListedTools ===

impl ListedTools {
    pub(crate) fn new(tools: &Arc<Tools>, caller: &Caller) -> Self {
        Self {
            tools: Arc::clone(tools),
            is_negotiated: caller.context().is_negotiated(),
            view: caller.view().cloned(),
        }
    }

    /// Returns whether the list has a tool of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let view = self.view.as_ref();
        let tool = self.tools.get(name).map(|tool| &tool.descriptor);
        tool.is_some_and(|tool| tool.is_listed(self.is_negotiated))
            && view.is_none_or(|view| view.sees(EntryKind::Tool, name))
            && !self.tools.is_disabled(name)
    }
}

impl fmt::Debug for ListedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListedTools").finish_non_exhaustive()
    }
}
