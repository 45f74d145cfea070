//! The claims of a token (RFC 7519, RFC 9068).

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    access_token::{jws::Jws, members::Members, rules::Rules},
    bearer::Denied,
};

/// A verified access token: the identity that [`AccessTokens`](super::AccessTokens) proves.
///
/// Clones share the claims.
///
/// ```
/// use http::Request;
/// use ziggurat_layers::access_token::AccessToken;
///
/// fn may_write<B>(request: &Request<B>) -> bool {
///     let token = request.extensions().get::<AccessToken>();
///     token.is_some_and(|token| token.has_scope("write"))
/// }
/// assert!(!may_write(&Request::new(())));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken {
    claims: Arc<Claims>,
}

#[derive(PartialEq, Eq)]
struct Claims {
    subject: String,
    client_id: Option<String>,
    token_id: Option<String>,
    grant_id: Option<String>,
    scopes: Vec<String>,
    expires: Duration,
    document: Vec<u8>,
}

// === impl AccessToken ===

impl AccessToken {
    /// Checks the claims of a token with a valid signature.
    pub(super) fn check(token: Jws<'_>, rules: &Rules, now: Duration) -> Result<Self, Denied> {
        let claims = Claims::read(&token, rules, now).ok_or(Denied::Invalid)?;
        let has = |scope: &String| claims.scopes.contains(scope);
        if !rules.scopes.iter().all(has) {
            return Err(Denied::InsufficientScope);
        }
        Ok(Self {
            claims: Arc::new(Claims {
                document: token.payload,
                ..claims
            }),
        })
    }

    /// The subject: the user, or the client itself (`sub`).
    ///
    /// ```
    /// # use ziggurat_layers::access_token::AccessToken;
    /// fn greet(token: &AccessToken) -> String {
    ///     format!("Hello, {}", token.subject())
    /// }
    /// # let _ = greet;
    /// ```
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.claims.subject
    }

    /// The client that the token was issued to (`client_id`; `azp` in a plain JWT without it).
    ///
    /// ```
    /// # use ziggurat_layers::access_token::AccessToken;
    /// fn is_of_console(token: &AccessToken) -> bool {
    ///     token.client_id() == Some("console")
    /// }
    /// # let _ = is_of_console;
    /// ```
    #[must_use]
    pub fn client_id(&self) -> Option<&str> {
        self.claims.client_id.as_deref()
    }

    /// The identifier of the token (`jti`).
    ///
    /// ```
    /// # use ziggurat_layers::access_token::AccessToken;
    /// fn name_in_log(token: &AccessToken) -> &str {
    ///     token.token_id().unwrap_or("unnamed")
    /// }
    /// # let _ = name_in_log;
    /// ```
    #[must_use]
    pub fn token_id(&self) -> Option<&str> {
        self.claims.token_id.as_deref()
    }

    /// The grant that the token is of, if it acts for a person (`grant_id`). All tokens of a grant end
    /// with it.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::AccessToken;
    /// fn acts_for_a_person(token: &AccessToken) -> bool {
    ///     token.grant_id().is_some()
    /// }
    /// # let _ = acts_for_a_person;
    /// ```
    #[must_use]
    pub fn grant_id(&self) -> Option<&str> {
        self.claims.grant_id.as_deref()
    }

    /// The scopes, in the order of the token.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::AccessToken;
    /// fn may_only_read(token: &AccessToken) -> bool {
    ///     token.scopes().all(|scope| scope == "read")
    /// }
    /// # let _ = may_only_read;
    /// ```
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.claims.scopes.iter().map(String::as_str)
    }

    /// Returns whether the token has a scope, to the letter.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::AccessToken;
    /// fn may_write(token: &AccessToken) -> bool {
    ///     token.has_scope("write")
    /// }
    /// # let _ = may_write;
    /// ```
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes().any(|own| own == scope)
    }

    /// The expiry date (`exp`), as the time since 1970.
    ///
    /// ```
    /// # use std::time::{Duration, SystemTime};
    /// # use ziggurat_layers::access_token::AccessToken;
    /// fn expires(token: &AccessToken) -> SystemTime {
    ///     SystemTime::UNIX_EPOCH + token.expires()
    /// }
    /// # let _ = expires;
    /// ```
    #[must_use]
    pub fn expires(&self) -> Duration {
        self.claims.expires
    }

    /// The JSON text of any claim. Each call reads the claims again.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::AccessToken;
    /// fn tenant(token: &AccessToken) -> Option<String> {
    ///     serde_json::from_str(token.claim("tenant")?).ok()
    /// }
    /// # let _ = tenant;
    /// ```
    #[must_use]
    pub fn claim(&self, name: &str) -> Option<&str> {
        Members::parse(&self.claims.document)?.raw(name)
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The other claims may describe a person.
        f.debug_struct("AccessToken")
            .field("subject", &self.claims.subject)
            .field("client_id", &self.claims.client_id)
            .finish_non_exhaustive()
    }
}

// === impl Claims ===

impl Claims {
    /// Reads the claims; returns `None` if one is missing, malformed or for another server.
    fn read(token: &Jws<'_>, rules: &Rules, now: Duration) -> Option<Self> {
        let members = Members::parse(&token.payload)?;
        let text = |name| members.get::<String>(name).ok();
        let date = |name| members.get::<u64>(name).ok();
        if text("iss")?? != rules.issuer || !is_for(&members, &rules.audience)? {
            return None;
        }
        let expires = Duration::from_secs(date("exp")??);
        let begins = date("nbf")?.max(date("iat")?).unwrap_or_default();
        let is_now = expires.saturating_add(rules.expiry_leeway) > now
            && Duration::from_secs(begins) <= now.saturating_add(rules.clock_leeway);
        let subject = text("sub")??;
        if !is_now || subject.is_empty() {
            return None;
        }
        let client_id = match text("client_id")? {
            None if !rules.takes_plain_jwt => return None,
            None => text("azp")?,
            client_id => client_id,
        };
        Some(Self {
            subject,
            client_id,
            token_id: text("jti")?,
            grant_id: text("grant_id")?,
            scopes: scopes(&members, rules.takes_scope_lists)?,
            expires,
            document: Vec::new(),
        })
    }
}

/// Returns whether the token is for one of these audiences; `None` if it names none.
fn is_for(members: &Members<'_>, own: &[String]) -> Option<bool> {
    let named = match members.get::<String>("aud") {
        Ok(one) => vec![one?],
        Err(_) => members.get::<Vec<String>>("aud").ok()??,
    };
    Some(named.iter().any(|named| own.contains(named)))
}

/// Reads the scopes (RFC 8693, section 4.2); with `takes_lists` also arrays, and `scp`.
fn scopes(members: &Members<'_>, takes_lists: bool) -> Option<Vec<String>> {
    let names: &[&str] = if takes_lists {
        &["scope", "scp"]
    } else {
        &["scope"]
    };
    let mut scopes = Vec::new();
    for name in names {
        match members.get::<String>(name) {
            Ok(text) => {
                let words = text.iter().flat_map(|text| text.split(' '));
                scopes.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
            }
            Err(_) if takes_lists => scopes.extend(members.get::<Vec<String>>(name).ok()??),
            Err(_) => return None,
        }
    }
    Some(scopes)
}
