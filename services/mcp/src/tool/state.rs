//! A state that the tools of a server share.

use std::{any::type_name, fmt, ops::Deref, sync::Arc};

use http::Extensions;

/// The value of [`Tools::with_state`](crate::Tools::with_state), as the second argument of a closure.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use ziggurat_mcp::{Schema, State, Tool, Tools};
///
/// #[derive(serde::Deserialize)]
/// struct Nothing {}
///
/// let next = |_: Nothing, count: State<AtomicU64>| async move {
///     Ok(count.fetch_add(1, Relaxed).to_string())
/// };
/// let tools = Tools::new()
///     .with(Tool::with_schema("next", "The next number.", Schema::new(), next))
///     .with_state(AtomicU64::new(1));
/// # let _ = tools;
/// ```
#[derive(Debug)]
pub struct State<T>(Arc<T>);

/// A state that a closure takes.
#[derive(Clone, Copy)]
pub struct NeededState {
    pub(crate) name: fn() -> &'static str,
    pub(super) is_there: fn(&Extensions) -> bool,
}

// === impl State ===

impl<T: Send + Sync + 'static> State<T> {
    /// Describes the need, so that a missing state is found at the start of the server.
    pub(super) const NEEDED: NeededState = NeededState {
        name: type_name::<T>,
        is_there: |states| states.get::<Arc<T>>().is_some(),
    };

    pub(super) fn of(states: &Extensions) -> Option<Self> {
        states.get().cloned().map(Self)
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

// === impl NeededState ===

impl fmt::Debug for NeededState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NeededState").field(&(self.name)()).finish()
    }
}
