//! The storage of a sign-in. Each method is one transaction.

pub(crate) mod directories;
pub(crate) mod memory;

use std::time::Duration;

use crate::{clients::StoredClient, people::Unavailable, settings::ManualClient};

pub use self::directories::{Attempt, Link, Origin};

/// A moment, in seconds since 1970.
pub type Seconds = u64;

/// Keeps clients, grants, codes, consents, sessions, devices, second factors and links to other
/// providers. Secrets reach it as digests or sealed.
///
/// Moments are seconds since 1970, and come from the caller, so that replicas agree on them.
pub trait Store: Send + Sync + 'static {
    /// Returns a client that registered itself, and notes that it was used.
    fn client(
        &self,
        id: &str,
        now: Seconds,
    ) -> impl Future<Output = Result<Option<StoredClient>, Unavailable>> + Send;

    /// Returns a client that an administrator registered with the program. The clients of the settings
    /// are not among them. A program without such clients leaves it as it is.
    fn manual_client(
        &self,
        _id: &str,
    ) -> impl Future<Output = Result<Option<ManualClient>, Unavailable>> + Send {
        async { Ok(None) }
    }

    /// Adds a client, unless it is there. Returns false if there are too many.
    fn add_client(
        &self,
        client: StoredClient,
        now: Seconds,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Adds a grant and its first code. The oldest grants of the person end if there are too many.
    ///
    /// One consent makes one grant: with a consent that made one within a minute before, that grant
    /// gets the code, and its code before is void. Returns false if the consent is older.
    fn add_grant(
        &self,
        grant: Grant,
        code: Code,
        consent: Consent,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Uses a code by one conditional update, whatever is wrong with it otherwise.
    fn use_code(
        &self,
        hash: Digest,
        now: Seconds,
    ) -> impl Future<Output = Result<UsedCode, Unavailable>> + Send;

    /// Uses a generation of refresh tokens, and makes the next one.
    fn rotate(
        &self,
        id: GrantId,
        generation: u32,
        rules: Rotation,
    ) -> impl Future<Output = Result<Rotated, Unavailable>> + Send;

    /// Ends a grant. Returns whether it was there and had not ended.
    fn end_grant(
        &self,
        id: GrantId,
        why: Why,
        now: Seconds,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Returns a grant that has not ended.
    fn grant(
        &self,
        id: GrantId,
        now: Seconds,
    ) -> impl Future<Output = Result<Option<Grant>, Unavailable>> + Send;

    /// Adds a device that waits for a person. Returns false if there are 10,000, or another one that
    /// has not expired has the same code for people.
    fn add_device(
        &self,
        device: Device,
        now: Seconds,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Returns the device with this code for people, if it still waits and has not expired.
    fn device(
        &self,
        user_code: Digest,
        now: Seconds,
    ) -> impl Future<Output = Result<Option<Device>, Unavailable>> + Send;

    /// Adds a grant for a device that still waits and has not expired, by one conditional update. The
    /// oldest grants of the person end if there are too many.
    ///
    /// Returns whether it did. A consent that did it within a minute before counts again, without
    /// another grant.
    fn approve_device(
        &self,
        hash: Digest,
        grant: Grant,
        consent: Consent,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Denies a device that still waits. Returns whether it did.
    fn deny_device(
        &self,
        hash: Digest,
        now: Seconds,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Answers a device of this client that asks for its tokens.
    ///
    /// One that waits may ask again after its interval, at first five seconds. Earlier the answer is
    /// [`Polled::TooSoon`], and the interval grows by five seconds. Both set the moment of its last
    /// question, from which the interval counts. Its grant is given once, by one conditional update;
    /// the second time the grant ends.
    fn poll_device(
        &self,
        hash: Digest,
        client: &str,
        now: Seconds,
    ) -> impl Future<Output = Result<Polled, Unavailable>> + Send;

    /// Returns the grants of a person that have not ended, the last used first.
    fn grants(
        &self,
        person: &str,
        now: Seconds,
    ) -> impl Future<Output = Result<Vec<Grant>, Unavailable>> + Send;

    /// Ends all grants of a person, and returns those that had not ended.
    fn end_grants(
        &self,
        person: &str,
        why: Why,
        now: Seconds,
    ) -> impl Future<Output = Result<Vec<Grant>, Unavailable>> + Send;

    /// Keeps a consent, in place of the one of this person for this client and this resource. The
    /// oldest consent of the person goes if there are more than 500.
    fn keep_consent(
        &self,
        consent: GivenConsent,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Returns the consent of a person for a client and a resource.
    fn consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> impl Future<Output = Result<Option<GivenConsent>, Unavailable>> + Send;

    /// Removes the consent of a person for a client and a resource. Returns whether it was there.
    fn withdraw_consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Returns the second factor of a person.
    fn factor(
        &self,
        person: &str,
    ) -> impl Future<Output = Result<Option<Factor>, Unavailable>> + Send;

    /// Adds the second factor of a person, unless there is one. Returns whether it did.
    fn add_factor(&self, factor: Factor) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Removes the second factor of a person. Returns whether it was there.
    fn remove_factor(&self, person: &str)
    -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Uses a step of the codes of a person, if it is later than the last one, by one conditional
    /// update. Returns whether it did.
    fn use_step(
        &self,
        person: &str,
        step: u64,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Uses a recovery code of a person, which is then gone. Returns whether it was there.
    fn use_recovery(
        &self,
        person: &str,
        hash: Digest,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Uses a number that holds once, and keeps it until it expires. Returns false if it was used
    /// before.
    fn use_once(
        &self,
        hash: Digest,
        ends_at: Seconds,
        now: Seconds,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Adds the session of a browser.
    fn add_session(&self, session: Session)
    -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Returns a session that is not over, and notes that it was used.
    fn session(
        &self,
        hash: Digest,
        idle: Duration,
        now: Seconds,
    ) -> impl Future<Output = Result<Option<Session>, Unavailable>> + Send;

    /// Ends a session.
    fn end_session(&self, hash: Digest) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Ends all sessions of a person.
    fn end_sessions(&self, person: &str) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Returns the row of the document at an address.
    fn document(
        &self,
        url: &str,
    ) -> impl Future<Output = Result<Option<KeptDocument>, Unavailable>> + Send;

    /// Keeps a document in place of the row before. There are 1,000 rows at most: the oldest go, rows
    /// without a copy first.
    fn keep_document(
        &self,
        url: &str,
        document: KeptDocument,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Notes that a document could not be fetched. A copy of it stays.
    fn document_failed(
        &self,
        url: &str,
        now: Seconds,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Adds a sign-in at another provider. Returns false if 10,000 have not expired.
    fn add_attempt(
        &self,
        attempt: Attempt,
        now: Seconds,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;

    /// Uses a sign-in at another provider, which is then gone. Returns `None` if it is unknown, used
    /// or expired.
    fn use_attempt(
        &self,
        hash: Digest,
        now: Seconds,
    ) -> impl Future<Output = Result<Option<Attempt>, Unavailable>> + Send;

    /// Returns the link of an account at another provider.
    fn link(
        &self,
        origin: &Origin,
    ) -> impl Future<Output = Result<Option<Link>, Unavailable>> + Send;

    /// Keeps a link in place of the one before, and ends the turn of a check.
    fn keep_link(&self, link: Link) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Takes the turn to check a link, by one conditional update: a refresh token of the provider may
    /// be good once. Returns `None` if another request has the turn, or there is no link.
    fn begin_check(
        &self,
        origin: &Origin,
        until: Seconds,
        now: Seconds,
    ) -> impl Future<Output = Result<Option<Link>, Unavailable>> + Send;

    /// Keeps the grant of an assertion that was not used before. The form is the assertion.
    ///
    /// A person has one such grant for a client and a resource. If it has not ended, it gets the
    /// scope, the databases and the moments of the new one, except the moment at which it was made.
    /// Returns the grant that holds; `None` if the assertion was used before.
    fn assert_grant(
        &self,
        grant: Grant,
        assertion: Consent,
    ) -> impl Future<Output = Result<Option<Grant>, Unavailable>> + Send;
}

/// The SHA-256 of a secret.
pub type Digest = [u8; 32];

/// The id of a grant.
pub type GrantId = [u8; 16];

/// The permission of a person for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// The id of the person.
    pub person: String,
    /// The tenant that the person acts for, in a program that has tenants.
    pub tenant: Option<String>,
    /// The id of the client.
    pub client: String,
    /// The resource it is for.
    pub resource: String,
    /// The other address of the resource that was asked for.
    pub alias: Option<String>,
    /// The scope, words between blanks.
    pub scope: String,
    /// The databases, if they are not all that the person may use.
    pub databases: Option<Vec<String>>,
    /// Says that it has refresh tokens.
    pub is_renewable: bool,
    /// The moment at which the person signed in.
    pub signed_in_at: Seconds,
    /// The ways in which the person signed in (RFC 8176), words between blanks.
    pub amr: String,
    /// The account at another provider that the person signed in with.
    pub origin: Option<Origin>,
    /// The moment at which it was made.
    pub made_at: Seconds,
    /// The moment at which it was used last.
    pub used_at: Seconds,
    /// The moment at which it ends in any case.
    pub ends_at: Seconds,
    /// The current generation of its refresh tokens.
    pub generation: u32,
    /// The moment at which the current generation was made.
    pub rotated_at: Seconds,
}

/// A code that is exchanged for the first tokens of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Digest of the code.
    pub hash: Digest,
    /// The grant it is for.
    pub grant: GrantId,
    /// The redirect address as the request had it.
    pub redirect_uri: Option<String>,
    /// The challenge that the verifier must fit.
    pub challenge: String,
    /// Says that only a client that proves itself may exchange it, since no person clicked for it.
    pub needs_proof: bool,
    /// The moment at which it expires.
    pub ends_at: Seconds,
}

/// The form that a person allowed something with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Digest of its number.
    pub hash: Digest,
    /// The moment at which the form expires.
    pub ends_at: Seconds,
}

/// A consent that a person gave, for the next time that the client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenConsent {
    /// The id of the person.
    pub person: String,
    /// The tenant that the person acts for, in a program that has tenants.
    pub tenant: Option<String>,
    /// The id of the client.
    pub client: String,
    /// The resource it is for.
    pub resource: String,
    /// The scope, words between blanks.
    pub scope: String,
    /// The databases, if they are not all that the person may use.
    pub databases: Option<Vec<String>>,
    /// Digest of the name, the addresses and the keys of the client.
    pub client_digest: Digest,
    /// The moment at which it was given.
    pub given_at: Seconds,
}

/// Results of the use of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsedCode {
    /// It was good, and is used now.
    Good(Box<(Code, Grant)>),
    /// It was used before: its grant has ended now.
    Again(GrantId),
    /// It is unknown or expired, or its grant has ended.
    Unknown,
}

/// A device without a browser that asks for tokens (RFC 8628).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Digest of its device code.
    pub hash: Digest,
    /// Digest of the code that a person types.
    pub user_code: Digest,
    /// The id of the client.
    pub client: String,
    /// The resource it asks for.
    pub resource: String,
    /// The other address of the resource that it asked for.
    pub alias: Option<String>,
    /// The scope it asks for, words between blanks.
    pub scope: String,
    /// The moment at which it expires.
    pub ends_at: Seconds,
}

/// Answers to a device that asks for its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Polled {
    /// No person has decided yet.
    Waits,
    /// No person has decided yet, and it asks too often.
    TooSoon,
    /// A person denied.
    Denied,
    /// It expired before a person decided.
    Expired,
    /// A person allowed this, and it is given now.
    Good(Box<Grant>),
    /// Its grant was given before, and has ended now.
    Again(GrantId),
    /// It is unknown or of another client, or its grant has ended.
    Unknown,
}

/// The rules of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Time in which the generation before the current one gets the current one again.
    pub grace: Duration,
    /// Time after which a grant ends that was not used.
    pub idle: Duration,
    /// The current moment.
    pub now: Seconds,
}

/// Results of a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotated {
    /// This generation holds from now on.
    To(Box<Grant>),
    /// An old generation was used again: the grant has ended now.
    Reused(Box<Grant>),
    /// The grant is unknown or has ended, or the generation is from the future.
    Unknown,
}

/// Reasons why a grant ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The client or the person revoked it.
    Revoked,
    /// A code was used twice.
    CodeReplayed,
    /// A refresh token was used twice.
    RefreshReused,
    /// The person may not sign in any more.
    Person,
    /// An administrator ended it.
    Administrator,
}

/// The second factor of a person: an authenticator app, and codes for the loss of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The id of the person.
    pub person: String,
    /// The secret that the app has, sealed.
    pub sealed: String,
    /// The step of the last code. No code of this step or an earlier one holds again.
    pub last_step: u64,
    /// Digests of the recovery codes that are left.
    pub recovery: Vec<Digest>,
}

/// The session of a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Digest of its cookie.
    pub hash: Digest,
    /// The id of the person.
    pub person: String,
    /// The moment at which the person signed in.
    pub signed_in_at: Seconds,
    /// The ways in which the person signed in (RFC 8176), words between blanks.
    pub amr: String,
    /// The account at another provider that the person signed in with.
    pub origin: Option<Origin>,
    /// The moment at which it was used last.
    pub used_at: Seconds,
    /// The moment at which it ends in any case.
    pub ends_at: Seconds,
}

// === impl Session ===

impl Session {
    /// Returns whether the person gave a second factor.
    pub(crate) fn has_factor(&self) -> bool {
        self.amr.split(' ').any(|word| word == "otp")
    }
}

// === impl Why ===

impl Why {
    /// Returns the name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::CodeReplayed => "code_replayed",
            Self::RefreshReused => "refresh_reused",
            Self::Person => "person",
            Self::Administrator => "administrator",
        }
    }
}

/// The copy of a document that a client publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptDocument {
    /// The last good document, if there was one.
    pub text: Option<String>,
    /// The moment at which it was fetched.
    pub fetched_at: Seconds,
    /// The moment until which it is not fetched anew.
    pub fresh_until: Seconds,
    /// The moment at which fetching it failed, if nothing was fetched since.
    pub failed_at: Option<Seconds>,
}
