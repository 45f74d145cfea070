//! Methods that a program adds to the methods of the protocol.

use std::{fmt, pin::Pin, sync::Arc};

use bytes::Bytes;
use ziggurat_layers::json_rpc::{Call, Error};

use crate::{
    Caller,
    server::{encode::Fault, future::CallState},
};

/// Future of a [`Method`]: the result as JSON.
// Boxed: methods of a program are rare compared with calls of tools.
pub type MethodFuture = Pin<Box<dyn Future<Output = Bytes> + Send>>;

/// Answers a method that the protocol does not have, for clients that negotiate no revision.
pub trait Method: Send + Sync + 'static {
    /// Answers a request; notifications are never passed on.
    ///
    /// # Errors
    ///
    /// Returns a JSON-RPC error if the params are malformed.
    fn call(&self, caller: &Caller, call: &Call) -> Result<MethodFuture, Error>;
}

/// The methods of a program, by name.
#[derive(Clone, Default)]
pub(crate) struct Methods(Vec<(&'static str, Arc<dyn Method>)>);

// === impl Methods ===

impl Methods {
    pub(crate) fn add(&mut self, name: &'static str, method: impl Method) {
        self.0.push((name, Arc::new(method)));
    }

    pub(crate) fn answer(&self, caller: &Caller, call: &Call) -> Result<CallState, Fault> {
        let mut methods = self.0.iter();
        let (_, method) = methods
            .find(|(name, _)| *name == call.method())
            .ok_or(Fault::UnknownMethod)?;
        Ok(CallState::Answering(method.call(caller, call)?))
    }
}

impl fmt::Debug for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}
