//! A state that the tools of a server share.

use std::{any::type_name, ops::Deref, sync::Arc};

use http::Extensions;

use crate::SetupError;

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

// === impl State ===

impl<T: Send + Sync + 'static> State<T> {
    /// Finds the state of this type among all.
    pub(super) fn of(states: &Extensions) -> Result<Self, SetupError> {
        let state = states.get().cloned().map(Self);
        state.ok_or_else(|| SetupError::NoState(type_name::<T>()))
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
