//! On whose behalf a tool or a resource is asked.

use std::{fmt, net::IpAddr};

use http::Extensions;
use ziggurat_layers::client_ip::ClientIp;

use crate::protocol::Context;

/// What the layers further out found out about the caller.
///
/// They put it into the extensions of the HTTP request; on standard input and output the
/// program puts it there once, with [`Stdio::with_extension`](crate::stdio::Stdio::with_extension).
/// So a tool does not know which of the two it serves.
#[derive(Clone, Default)]
pub struct Caller {
    extensions: Extensions,
}

// === impl Caller ===

impl Caller {
    /// Takes over the extensions of a request.
    #[must_use]
    pub fn new(extensions: Extensions) -> Self {
        Self { extensions }
    }

    /// What a layer left under this type: the identity behind a token, a session.
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// How the call came in, unless it is answered exactly as revision 2024-11-05 has it.
    #[must_use]
    pub fn context(&self) -> Option<&Context> {
        self.extension()
    }

    pub(super) fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// The address of the client, if there is a network between.
    #[must_use]
    pub fn client_ip(&self) -> Option<IpAddr> {
        self.extension().map(ClientIp::client)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest is left out: it may hold what proves an identity.
        f.debug_struct("Caller")
            .field("client_ip", &self.client_ip())
            .finish_non_exhaustive()
    }
}
