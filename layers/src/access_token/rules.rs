//! The tokens that are accepted.

use std::{error::Error, fmt, net::IpAddr, time::Duration};

use http::Uri;

use crate::access_token::Algorithm;

const KIB: usize = 1 << 10;

/// The tokens that are accepted, and the limits of checking them.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_layers::access_token::{Outage, Rules};
///
/// let rules = Rules::new("https://accounts.example", ["https://api.example"])?
///     .with_scopes(["orders"])
///     .with_revocations("https://accounts.example/revoked")?
///     .with_outage(Outage::AcceptUntilExpiry);
/// # let _ = rules;
/// # Ok::<_, ziggurat_layers::access_token::InvalidRules>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Rules {
    pub(super) issuer: String,
    pub(super) audience: Vec<String>,
    pub(super) scopes: Vec<String>,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) jwks: Option<String>,
    pub(super) revocations: Option<String>,
    pub(super) outage: Outage,
    pub(super) stale_after: Duration,
    pub(super) poll_interval: Duration,
    pub(super) takes_plain_jwt: bool,
    pub(super) takes_scope_lists: bool,
    pub(super) expiry_leeway: Duration,
    pub(super) clock_leeway: Duration,
    pub(super) max_token_bytes: usize,
    pub(super) max_remembered: usize,
    pub(super) max_waiting: usize,
}

/// The treatment of tokens while the list of revoked ones cannot be fetched.
///
/// ```
/// use ziggurat_layers::access_token::Outage;
///
/// assert_eq!(Outage::default(), Outage::Refuse);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outage {
    /// Refuses all tokens, with 503, until the list is fetched again.
    #[default]
    Refuse,
    /// Accepts tokens until they expire, also such as have been revoked since.
    AcceptUntilExpiry,
}

/// Rules that cannot be followed.
///
/// ```
/// use ziggurat_layers::access_token::Rules;
///
/// let error = Rules::new("http://accounts.example", ["https://api.example"]).unwrap_err();
/// let expected = "`http://accounts.example` must be an https URL, or http on this machine";
/// assert_eq!(error.to_string(), expected);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRules {
    reason: RulesReason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RulesReason {
    UnsafeUrl(String),
    NoAudience,
}

// === impl Rules ===

impl Rules {
    /// Accepts access tokens of this issuer for one of these audiences.
    ///
    /// ```
    /// use ziggurat_layers::access_token::Rules;
    ///
    /// assert!(Rules::new("https://accounts.example", ["https://api.example"]).is_ok());
    /// assert!(Rules::new("http://localhost:9000", ["https://api.example"]).is_ok());
    /// assert!(Rules::new("https://accounts.example", [""; 0]).is_err());
    /// ```
    ///
    /// # Errors
    /// Fails if the issuer is not an https URL (http on this machine), or there is no audience.
    pub fn new<A: Into<String>>(
        issuer: impl Into<String>,
        audience: impl IntoIterator<Item = A>,
    ) -> Result<Self, InvalidRules> {
        let audience: Vec<String> = audience.into_iter().map(Into::into).collect();
        if audience.is_empty() {
            let reason = RulesReason::NoAudience;
            return Err(InvalidRules { reason });
        }
        Ok(Self {
            issuer: checked(issuer.into())?,
            audience,
            scopes: Vec::new(),
            algorithms: Algorithm::ALL.into(),
            jwks: None,
            revocations: None,
            outage: Outage::default(),
            stale_after: Duration::from_secs(5 * 60),
            poll_interval: Duration::from_secs(30),
            takes_plain_jwt: false,
            takes_scope_lists: false,
            expiry_leeway: Duration::ZERO,
            clock_leeway: Duration::from_secs(60),
            max_token_bytes: 8 * KIB,
            max_remembered: 10_000,
            max_waiting: 1_000,
        })
    }

    /// Requires all of these scopes; a token without them is refused with 403.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{InvalidRules, Rules};
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_scopes(["orders", "invoices"])
    /// # }
    /// ```
    pub fn with_scopes<T: Into<String>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Accepts only signatures of these algorithms.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{Algorithm, Rules};
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_algorithms([Algorithm::Es256])
    /// # }
    /// ```
    pub fn with_algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Also accepts tokens of the type `JWT` or of none, and tokens without a `client_id`, as issuers
    /// send them that do not follow RFC 9068.
    ///
    /// The type is what distinguishes an access token from an ID token of the same issuer: make
    /// sure that the audience does.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_plain_jwt()
    /// # }
    /// ```
    pub fn with_plain_jwt(mut self) -> Self {
        self.takes_plain_jwt = true;
        self
    }

    /// Also reads scopes from arrays, and from the claim `scp`.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_scope_lists()
    /// # }
    /// ```
    pub fn with_scope_lists(mut self) -> Self {
        self.takes_scope_lists = true;
        self
    }

    /// Fetches the keys from this URL instead of the one in the metadata of the issuer.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{InvalidRules, Rules};
    /// # fn rules(rules: Rules) -> Result<Rules, InvalidRules> {
    /// rules.with_jwks("https://accounts.example/keys")
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails on anything but an https URL, or http on this machine.
    pub fn with_jwks(mut self, url: impl Into<String>) -> Result<Self, InvalidRules> {
        self.jwks = Some(checked(url.into())?);
        Ok(self)
    }

    /// Fetches the list of revoked tokens from this URL instead of the `revoked_clients_uri` in the
    /// metadata of the issuer.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{InvalidRules, Rules};
    /// # fn rules(rules: Rules) -> Result<Rules, InvalidRules> {
    /// rules.with_revocations("https://accounts.example/revoked")
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails on anything but an https URL, or http on this machine.
    pub fn with_revocations(mut self, url: impl Into<String>) -> Result<Self, InvalidRules> {
        self.revocations = Some(checked(url.into())?);
        Ok(self)
    }

    /// Sets what happens while the list of revoked tokens cannot be fetched.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{Outage, Rules};
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_outage(Outage::AcceptUntilExpiry)
    /// # }
    /// ```
    pub fn with_outage(mut self, outage: Outage) -> Self {
        self.outage = outage;
        self
    }

    /// Sets the age at which the list of revoked tokens is out of date (5 minutes by default).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_stale_after(Duration::from_secs(120))
    /// # }
    /// ```
    pub fn with_stale_after(mut self, age: Duration) -> Self {
        self.stale_after = age;
        self
    }

    /// Sets the time between two fetches of the list of revoked tokens (30 seconds by default).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_poll_interval(Duration::from_secs(10))
    /// # }
    /// ```
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets the time for which an expired token is still accepted (none by default).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_expiry_leeway(Duration::from_secs(30))
    /// # }
    /// ```
    pub fn with_expiry_leeway(mut self, leeway: Duration) -> Self {
        self.expiry_leeway = leeway;
        self
    }

    /// Sets how far the clock of the issuer may be ahead in `nbf` and `iat` (60 seconds by default).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_clock_leeway(Duration::from_secs(5))
    /// # }
    /// ```
    pub fn with_clock_leeway(mut self, leeway: Duration) -> Self {
        self.clock_leeway = leeway;
        self
    }

    /// Sets the maximum length of a token (8 KiB by default).
    ///
    /// ```
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_max_token_bytes(4096)
    /// # }
    /// ```
    pub fn with_max_token_bytes(mut self, bytes: usize) -> Self {
        self.max_token_bytes = bytes;
        self
    }

    /// Sets the number of verified tokens that are remembered (10,000 by default, at least one).
    ///
    /// ```
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_max_remembered(100_000)
    /// # }
    /// ```
    pub fn with_max_remembered(mut self, tokens: usize) -> Self {
        self.max_remembered = tokens;
        self
    }

    /// Sets the number of requests that may wait for keys at once (1,000 by default). Others are
    /// refused with 503.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::Rules;
    /// # fn rules(rules: Rules) -> Rules {
    /// rules.with_max_waiting(50)
    /// # }
    /// ```
    pub fn with_max_waiting(mut self, requests: usize) -> Self {
        self.max_waiting = requests;
        self
    }
}

// === impl InvalidRules ===

impl fmt::Display for InvalidRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            RulesReason::UnsafeUrl(url) => {
                write!(f, "`{url}` must be an https URL, or http on this machine")
            }
            RulesReason::NoAudience => f.write_str("there must be an audience"),
        }
    }
}

impl Error for InvalidRules {}

fn checked(url: String) -> Result<String, InvalidRules> {
    if is_safe(&url) {
        return Ok(url);
    }
    let reason = RulesReason::UnsafeUrl(url);
    Err(InvalidRules { reason })
}

/// Returns whether keys may be fetched from a URL: with TLS, or from this machine.
pub(super) fn is_safe(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else {
        return false;
    };
    let Some(host) = uri.host() else {
        return false;
    };
    match uri.scheme_str() {
        Some("https") => true,
        Some("http") => {
            let address = host.trim_start_matches('[').trim_end_matches(']');
            let address: Option<IpAddr> = address.parse().ok();
            host.eq_ignore_ascii_case("localhost")
                || address.is_some_and(|address| address.to_canonical().is_loopback())
        }
        _ => false,
    }
}
