//! Sign-ins to the program's own console, which gets no token.

use std::fmt;

use bytes::Bytes;
use http::{Extensions, Request};

use crate::{
    keys::Keys,
    people::{People, Unavailable},
    service::SignIn,
    settings::CONSOLE,
    store::{GrantId, Seconds, Store},
    token::Exchange,
};

/// A code that a browser came back to the console with.
#[derive(Clone, Copy)]
pub struct ConsoleCode<'a> {
    /// The code.
    pub code: &'a str,
    /// The verifier of its request, which only the page that began it has.
    pub verifier: &'a str,
    /// The redirect address of its request.
    pub redirect_uri: &'a str,
}

/// A person who signed in to the console.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsoleLogin {
    /// The id of the person.
    pub person: String,
    /// The moment at which the person signed in.
    pub signed_in_at: Seconds,
    /// The grant of this session. The session ends with it.
    pub grant: GrantId,
    /// The moment at which the grant ends in any case.
    pub ends_at: Seconds,
}

// === impl ConsoleCode ===

impl fmt::Debug for ConsoleCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleCode").finish_non_exhaustive()
    }
}

// === impl SignIn ===

impl<P: People, S: Store, K: Keys> SignIn<P, S, K> {
    /// Takes a code of the client [`CONSOLE`] as the token endpoint takes others, and returns who signed
    /// in. Returns `None` if the code is not valid. The extensions are of the request that brought it.
    ///
    /// The program opens a session of its own, which ends with the grant.
    ///
    /// # Errors
    /// Fails if the code cannot be checked.
    pub async fn enter_console(
        &self,
        ConsoleCode {
            code,
            verifier,
            redirect_uri,
        }: ConsoleCode<'_>,
        request: &Extensions,
    ) -> Result<Option<ConsoleLogin>, Unavailable> {
        let shared = &self.shared;
        if !shared.settings.is_console(CONSOLE) {
            return Ok(None);
        }
        let (mut parts, body) = Request::new(Bytes::new()).into_parts();
        parts.extensions = request.clone();
        let read = shared.read(parts, body);
        let exchange = Exchange {
            client: CONSOLE,
            has_proof: false,
            code,
            verifier,
            redirect_uri: Some(redirect_uri),
        };
        let used = shared.used(&read, &exchange).await;
        // A code that is not valid is no error.
        let used = used.map_err(|_| Unavailable)?;
        Ok(used.map(|(grant, _)| ConsoleLogin {
            person: grant.person,
            signed_in_at: grant.signed_in_at,
            grant: grant.id,
            ends_at: grant.ends_at,
        }))
    }
}
