//! The access tokens of this server's own sign-in.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use tracing::warn;
use ziggurat_accounts::Accounts;
use ziggurat_layers::{
    access_token::{AccessToken, AccessTokens, Algorithm, InvalidRules, Rules},
    bearer::{Denied, TokenHash, Verify},
};
use ziggurat_mcp_auth::GrantId;
use ziggurat_sign_in_state::{EndedGrants, SignInSection};
use ziggurat_tokens::{
    Claims, Grant, Holder, Identity,
    issuer::{Issuer, OpenSessions, SessionGuard},
};

use crate::sign_in::{OwnSignIn, Parts, document_of, people::id_of_newcomer};

/// Verifies signed tokens: of this server's own sign-in, or of an external issuer.
#[derive(Clone, Debug)]
pub(crate) enum SignedTokens {
    /// Of this server's own sign-in.
    Own(OwnTokens),
    /// Of an external issuer.
    External(Issuer),
}

/// Future of the check of a signed token.
pub(crate) enum SignedTokensFuture {
    Own(OwnTokensFuture),
    External(<Issuer as Verify>::Future),
}

/// Verifies the tokens of this server's own sign-in: their person has an account, and their grant
/// has not ended.
#[derive(Clone, Debug)]
pub(crate) struct OwnTokens {
    tokens: Tokens,
    holders: Holders,
}

type Tokens = AccessTokens<OwnSignIn, Arc<KnownToken>>;

/// The facts that a token is compared with at each request.
#[derive(Clone, Debug)]
struct Holders {
    accounts: Accounts,
    ended: Arc<EndedGrants>,
    /// Names of other providers.
    providers: Arc<[String]>,
}

/// A token with a valid signature.
#[derive(Debug)]
struct KnownToken {
    /// The name of the user.
    subject: String,
    /// The moment at which it was made.
    made_at: i64,
    grant: GrantId,
    /// Groups and roles, for a person who comes from another provider.
    claims: Claims,
    /// Narrows the rights of the user, if the token does.
    narrowed: Option<Arc<Grant>>,
    session: TokenHash,
    _guard: Arc<SessionGuard>,
}

/// The scopes that say what a token may do.
struct Scopes {
    /// The scope for changes; empty if there is no such scope.
    write: String,
    /// The scopes that name toolsets.
    named: Vec<String>,
    /// The document of a challenge, if clients are sent back to the person for a change.
    document: Option<String>,
}

/// Future of the check of a token of this server's own sign-in with an unknown key.
pub(crate) struct OwnTokensFuture {
    verification: <Tokens as Verify>::Future,
    holders: Holders,
}

// === impl OwnTokens ===

impl OwnTokens {
    pub(super) fn new(
        section: &SignInSection,
        issuer: &str,
        service: &OwnSignIn,
        parts: &Parts<'_>,
    ) -> Result<Self, InvalidRules> {
        let rules = Rules::new(issuer, [format!("{issuer}/mcp")])?
            .with_scopes(["mcp"])
            .with_algorithms([Algorithm::EdDsa]);
        let databases = parts.databases.clone();
        let sessions = OpenSessions::new(move |session| databases.forget(session));
        let scopes = Scopes {
            write: section.write_scope().to_owned(),
            named: section.named_scopes().map(str::to_owned).collect(),
            document: section.steps_up().then(|| document_of(issuer)),
        };
        let tokens = AccessTokens::new(rules, service.clone()).with_identity(move |token| {
            let known = KnownToken::read(token, &scopes, &sessions);
            known.map(Arc::new).ok_or(Denied::Invalid)
        });
        let holders = Holders {
            accounts: parts.accounts.clone(),
            ended: parts.store.ended(),
            providers: section.provider_names().map(str::to_owned).collect(),
        };
        Ok(Self { tokens, holders })
    }

    /// Reads the keys from the sign-in.
    pub(super) async fn read_keys(&self) {
        if let Err(error) = self.tokens.fetch_once().await {
            let error: &dyn std::error::Error = &error;
            warn!(error, "the keys of the sign-in cannot be read");
        }
    }

    /// Keeps the keys up to date. Never ends; drop the future to stop.
    pub(super) async fn run(self) {
        self.tokens.run().await;
    }
}

impl Verify for OwnTokens {
    type Identity = Identity;
    type Future = OwnTokensFuture;

    fn verify(&self, token: &str) -> OwnTokensFuture {
        OwnTokensFuture {
            verification: self.tokens.verify(token),
            holders: self.holders.clone(),
        }
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        let verdict = self.tokens.verify_now(token)?;
        Some(verdict.and_then(|known| self.holders.identity(&known)))
    }
}

// === impl OwnTokensFuture ===

impl Future for OwnTokensFuture {
    type Output = Result<Identity, Denied>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let verdict = ready!(Pin::new(&mut self.verification).poll(cx));
        Poll::Ready(verdict.and_then(|known| self.holders.identity(&known)))
    }
}

// === impl Holders ===

impl Holders {
    /// Returns the user of a token, who may have lost the account or the grant since it was made.
    fn identity(&self, known: &KnownToken) -> Result<Identity, Denied> {
        if self.ended.contains(known.grant) {
            return Err(Denied::Invalid);
        }
        let accounts = &self.accounts;
        let holder = accounts.holder_of_grant(known.session, &known.subject, known.made_at);
        let holder = holder.or_else(|| self.newcomer(known));
        let identity = holder.ok_or(Denied::Invalid)?;
        Ok(match &known.narrowed {
            Some(grant) => identity.with_grant(Arc::clone(grant)),
            None => identity,
        })
    }

    /// Returns the holder of a token who comes from another provider, and has no account here.
    fn newcomer(&self, known: &KnownToken) -> Option<Identity> {
        let (provider, _) = known.subject.split_once(':')?;
        let is_known = self.providers.iter().any(|name| name == provider);
        is_known.then(|| {
            let holder = Holder::User {
                name: known.subject.as_str().into(),
                databases: Arc::default(),
            };
            Identity::new(known.session, holder)
                .with_account_id(id_of_newcomer(&known.subject).into())
                .with_claims(known.claims.clone())
        })
    }
}

// === impl KnownToken ===

impl KnownToken {
    /// Reads a token of a person: a token without a grant is not of a person.
    fn read(token: &AccessToken, scopes: &Scopes, sessions: &OpenSessions) -> Option<Self> {
        let id = BASE64_URL_SAFE_NO_PAD.decode(token.grant_id()?).ok()?;
        let grant = id.try_into().ok()?;
        // A grant is one caller, with its own connections and selected database.
        let session = TokenHash::of(&format!("grant\0{}", token.grant_id()?));
        Some(Self {
            subject: token.subject().to_owned(),
            made_at: token.claim("iat")?.parse().ok()?,
            grant,
            claims: Claims::of_access_token(["groups", "roles"], token),
            narrowed: scopes.narrowed(token).map(Arc::new),
            session,
            _guard: sessions.open(session),
        })
    }
}

// === impl Scopes ===

impl Scopes {
    /// Returns what a token narrows of the rights of its person, or names of toolsets.
    fn narrowed(&self, token: &AccessToken) -> Option<Grant> {
        let named = token
            .scopes()
            .filter(|word| self.named.iter().any(|it| it == word));
        let scopes: Vec<_> = named.map(str::to_owned).collect();
        let grant = Grant::of(token, &self.write);
        // Without a scope for changes no token may write.
        let has_changes = !self.write.is_empty();
        if grant.is_none() && scopes.is_empty() && has_changes {
            return None;
        }
        let databases = grant.as_ref().and_then(|grant| grant.databases.clone());
        let grant = Grant {
            databases,
            may_write: has_changes && grant.is_none_or(|grant| grant.may_write),
            step_up: None,
            scopes,
        };
        Some(match &self.document {
            Some(document) => grant.with_step_up(token, &self.write, document),
            None => grant,
        })
    }
}

// === impl SignedTokens ===

impl Verify for SignedTokens {
    type Identity = Identity;
    type Future = SignedTokensFuture;

    fn verify(&self, token: &str) -> SignedTokensFuture {
        match self {
            Self::Own(tokens) => SignedTokensFuture::Own(tokens.verify(token)),
            Self::External(issuer) => SignedTokensFuture::External(issuer.verify(token)),
        }
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        match self {
            Self::Own(tokens) => tokens.verify_now(token),
            Self::External(issuer) => issuer.verify_now(token),
        }
    }
}

// === impl SignedTokensFuture ===

impl Future for SignedTokensFuture {
    type Output = Result<Identity, Denied>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Own(verdict) => Pin::new(verdict).poll(cx),
            Self::External(verdict) => Pin::new(verdict).poll(cx),
        }
    }
}
