//! The caller of a tool or reader of a resource.

use std::{fmt, net::IpAddr};

use http::Extensions;
use ziggurat_layers::client_ip::ClientIp;

use crate::protocol::Context;

/// The facts about a caller that outer layers found.
///
/// They put them into the extensions of the HTTP request. Over standard input and output the
/// program sets them once, with [`Stdio::with_extension`](crate::stdio::Stdio::with_extension). So
/// a tool does not know which of the two it serves.
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

    /// Returns a value that a layer stored under this type, such as the identity of a token or a
    /// session.
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Returns the context of the call, or `None` if it is answered exactly as in revision
    /// 2024-11-05.
    #[must_use]
    pub fn context(&self) -> Option<&Context> {
        self.extension()
    }

    pub(super) fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Returns the address of the client, if it is connected over a network.
    #[must_use]
    pub fn client_ip(&self) -> Option<IpAddr> {
        self.extension().map(ClientIp::client)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The extensions are left out: they may contain credentials.
        f.debug_struct("Caller")
            .field("client_ip", &self.client_ip())
            .finish_non_exhaustive()
    }
}
