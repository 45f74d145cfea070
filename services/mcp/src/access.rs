//! Decision which names exist for a caller.

use std::sync::Arc;

use crate::Caller;

/// Decides what each caller sees of the lists of a server.
///
/// A name that a caller does not see does not exist for it: lists do not have it, and a call gets the
/// answer to a name that was never defined. Without an access every caller sees everything.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_mcp::{
///     Access, Caller, EntryKind, Mcp, Prompts, Resources, ServerInfo, Tools, View,
/// };
///
/// /// Shows everything to administrators, and the resources to all callers.
/// struct Guests;
///
/// #[derive(Clone)]
/// struct Administrator;
///
/// impl Access for Guests {
///     fn view(&self, caller: &Caller) -> Option<Arc<dyn View>> {
///         let is_guest = caller.extension::<Administrator>().is_none();
///         is_guest.then(|| Arc::new(Guests) as Arc<dyn View>)
///     }
/// }
///
/// impl View for Guests {
///     fn sees(&self, kind: EntryKind, _: &str) -> bool {
///         kind == EntryKind::Resource
///     }
/// }
///
/// let about = ServerInfo::new("example", "1.0.0");
/// let mcp = Mcp::new(&about, Tools::new(), Resources::new(), Prompts::new())?.with_access(Guests);
/// # let _ = mcp;
/// # Ok::<_, ziggurat_mcp::SetupError>(())
/// ```
pub trait Access: Send + Sync {
    /// Returns what a caller sees; `None` if it sees everything. It is asked once for each call,
    /// after the [`Observer`](crate::Observer) and before a name is looked up.
    fn view(&self, caller: &Caller) -> Option<Arc<dyn View>>;
}

/// Names that a caller sees during one call.
pub trait View: Send + Sync {
    /// Returns whether the caller sees an entry of this name, if there is one. Lists and calls ask
    /// this before they look the name up. Operators cannot disable tools in another way for a
    /// caller with a view: a disabled tool does not exist for it either.
    fn sees(&self, kind: EntryKind, name: &str) -> bool;

    /// Returns whether the caller also has a tool that [exists only for clients that
    /// negotiate](crate::Visibility::OnlyNegotiated) where its client does not. By default it has
    /// none.
    fn has_everywhere(&self, _tool: &str) -> bool {
        false
    }
}

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A tool, by its name.
    Tool,
    /// A resource, by its URI.
    Resource,
    /// A resource template, by its URI template. To check a value that is offered for a
    /// placeholder, the view is asked for the template in which placeholders are replaced by
    /// percent-encoded values.
    ResourceTemplate,
    /// A prompt, by its name.
    Prompt,
    /// A [method of the program](crate::Mcp::with_method), by its name.
    Method,
}

// === impl Caller ===

impl Caller {
    /// Sets what the caller sees.
    pub(crate) fn set_view(&mut self, view: Option<Arc<dyn View>>) {
        self.view = view;
    }

    /// Returns what the caller sees, unless it sees everything.
    pub(crate) fn view(&self) -> Option<&Arc<dyn View>> {
        self.view.as_ref()
    }

    /// Returns whether the caller sees an entry of this name, if there is one.
    pub(crate) fn sees(&self, kind: EntryKind, name: &str) -> bool {
        self.view().is_none_or(|view| view.sees(kind, name))
    }
}
