//! The caller of a tool or reader of a resource.

use std::{borrow::Cow, fmt, mem, net::IpAddr, sync::Arc};

use http::Extensions;
use ziggurat_layers::{client_ip::ClientIp, json_rpc::Call};

use crate::{
    View,
    params::{Member, Params, string},
    protocol::Context,
};

/// The facts about a caller that outer layers found.
///
/// They put them into the extensions of the HTTP request: the identity of a token or a session, the
/// address, the [`Context`]. Over standard input and output the program sets them once, with
/// [`Stdio::with_extension`](crate::stdio::Stdio::with_extension). So a tool does not know which of
/// the two it serves.
#[derive(Clone, Default)]
pub struct Caller {
    extensions: Extensions,
    context: Context,
    /// The names that the caller sees; none if it sees all.
    pub(super) view: Option<Arc<dyn View>>,
}

// === impl Caller ===

impl Caller {
    /// Takes the caller out of its call. A call that no [`ProtocolLayer`](crate::protocol) has seen
    /// negotiates no revision.
    pub(super) fn take(call: &mut Call) -> Self {
        let mut extensions = mem::take(&mut call.head_mut().extensions);
        let context = extensions.remove().unwrap_or_else(|| Context {
            params: Params::of(call).positions(),
            ..Context::default()
        });
        Self {
            extensions,
            context,
            view: None,
        }
    }

    /// Returns a value that a layer stored under this type, such as the identity of a token or a
    /// session.
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Stores a value for the tool, as a layer would.
    pub fn set_extension<T: Clone + Send + Sync + 'static>(&mut self, value: T) {
        self.extensions.insert(value);
    }

    /// Returns the revision of the call and the capabilities of the client.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the name of the tool or prompt, or the address of the resource, that a call names.
    #[must_use]
    pub fn subject<'a>(&self, call: &'a Call) -> Option<Cow<'a, str>> {
        let params = self.params(call);
        let subject = params.get(Member::Name).or_else(|| params.get(Member::Uri));
        subject.and_then(string)
    }

    /// Returns the arguments of a call, as JSON.
    #[must_use]
    pub fn arguments<'a>(&self, call: &'a Call) -> Option<&'a str> {
        self.params(call).get(Member::Arguments)
    }

    /// Returns the member `_meta` of the params of a call, as JSON.
    #[must_use]
    pub fn meta<'a>(&self, call: &'a Call) -> Option<&'a str> {
        self.params(call).get(Member::Meta)
    }

    /// Returns the params of the call.
    pub(super) fn params<'a>(&self, call: &'a Call) -> Params<'a> {
        Params::at(call, self.context.params.clone())
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
