//! The people who sign in.

use std::{error::Error, fmt, net::IpAddr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::providers::configured::Provision;

/// Knows the people who may sign in. A program implements it over its accounts.
pub trait People: Send + Sync + 'static {
    /// Checks a name and a password, and returns the id of the person.
    fn authenticate(
        &self,
        name: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> impl Future<Output = Result<String, LoginError>> + Send;

    /// Returns a person who may still sign in. It is asked at each code and each refresh.
    fn find(&self, id: &str) -> impl Future<Output = Result<Option<Person>, Unavailable>> + Send;

    /// Returns the id of a person who comes from another provider, and may sign in. It is asked at each
    /// sign-in there and for each assertion. From then on [`find`](Self::find) returns the person;
    /// groups, roles and databases of the rules are added there by the service.
    ///
    /// A program that has only its own accounts leaves it as it is.
    fn admit(
        &self,
        _newcomer: &Newcomer<'_>,
    ) -> impl Future<Output = Result<Option<String>, Unavailable>> + Send {
        async { Ok(None) }
    }

    /// Returns a token for a client of the program itself that proves itself by a secret
    /// (`client_credentials`); `None` if the secret is wrong. It is asked where
    /// [`Settings::revoked_clients_uri`](crate::Settings::revoked_clients_uri) is set.
    fn client_token(
        &self,
        _id: &str,
        _secret: &str,
    ) -> impl Future<Output = Result<Option<ClientToken>, Unavailable>> + Send {
        async { Ok(None) }
    }

    /// Returns the person that a ticket is for, while it is good. A program without tickets leaves it
    /// as it is.
    fn ticket(
        &self,
        _ticket: &Ticket,
    ) -> impl Future<Output = Result<Option<TicketHolder>, Unavailable>> + Send {
        async { Ok(None) }
    }

    /// Uses a ticket, once.
    fn use_ticket(
        &self,
        _ticket: &Ticket,
        _given: Given<'_>,
        _address: Option<IpAddr>,
    ) -> impl Future<Output = Result<String, TicketError>> + Send {
        async { Err(TicketError::Gone) }
    }

    /// Sets a new password for a person who gives the present one. It is asked where
    /// [`Settings::password_change`](crate::Settings::password_change) is set.
    fn change_password(
        &self,
        _id: &str,
        _change: PasswordChange<'_>,
        _address: Option<IpAddr>,
    ) -> impl Future<Output = Result<(), PasswordChangeError>> + Send {
        async { Err(LoginError::Unavailable.into()) }
    }

    /// Ends the sessions of a person that the program itself keeps, when the person signs out
    /// everywhere or has a new password. A program without such sessions leaves it as it is.
    fn end_sessions(&self, _id: &str) -> impl Future<Output = Result<(), Unavailable>> + Send {
        async { Ok(()) }
    }
}

/// A person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// The id that grants and sessions are kept under. It never changes, and is never given to
    /// another person.
    pub id: String,
    /// The subject of tokens, which the server behind knows the person by.
    pub subject: String,
    /// The name on pages, and `preferred_username` in tokens.
    pub name: String,
    /// The mail address, if it is known.
    pub email: Option<String>,
    /// Claims for rules of the server behind.
    pub groups: Vec<String>,
    /// Claims for rules of the server behind.
    pub roles: Vec<String>,
    /// The databases that the person may use.
    pub databases: Vec<Database>,
    /// The tenants that the person may act for, in a program that has tenants. A grant is for one of
    /// them, and ends when the person leaves it.
    pub tenants: Vec<Tenant>,
}

/// A tenant that a person may act for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tenant {
    /// Its id in tokens.
    pub id: String,
    /// Its name on pages.
    pub title: String,
    /// Claims of the person in this tenant.
    pub groups: Vec<String>,
    /// Claims of the person in this tenant.
    pub roles: Vec<String>,
}

/// An address that an administrator gave to a person, good once.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Ticket {
    /// The person joins a tenant.
    Invite {
        /// The id of the invitation.
        id: String,
        /// Its secret.
        token: String,
    },
    /// The person sets a new password.
    Reset {
        /// The secret.
        token: String,
    },
}

/// The person that a ticket is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TicketHolder {
    /// The name on the page.
    pub name: String,
    /// The name of the tenant, if the person joins one.
    pub tenant: Option<String>,
    /// Says that the person has an account, and gives its password instead of a new one.
    pub has_account: bool,
}

/// The contents of the form for a ticket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Given<'a> {
    /// The first name of a new person.
    pub first_name: &'a str,
    /// The last name of a new person.
    pub last_name: &'a str,
    /// The new password, or the password of the account.
    pub password: &'a str,
}

/// Reasons why a ticket was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TicketError {
    /// It is unknown, was used before, or has expired.
    Gone,
    /// A part of the form is not good; the text is for the person.
    Refused(String),
    /// The password of the account is not right, or cannot be checked.
    Login(LoginError),
}

/// The contents of the form for a new password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PasswordChange<'a> {
    /// The present password.
    pub present: &'a str,
    /// The new password.
    pub new: &'a str,
}

/// Reasons why a new password was not set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PasswordChangeError {
    /// The new password is not good; the text is for the person.
    Refused(String),
    /// The present password is not right, or cannot be checked.
    Login(LoginError),
}

/// A token of a client of the program itself.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientToken {
    /// The access token.
    pub token: String,
    /// Its lifetime in seconds.
    pub expires_in: u64,
    /// Its scope, words between blanks.
    pub scope: Option<String>,
}

/// A person who comes from another provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Newcomer<'a> {
    /// The name of the provider in the settings.
    pub provider: &'a str,
    /// The issuer of the provider.
    pub issuer: &'a str,
    /// The subject of the person there. With the issuer it names the person.
    pub subject: &'a str,
    /// The id of the person that this subject is linked with already.
    pub person: Option<&'a str>,
    /// The name that the provider shows. It names no person: another one may have it tomorrow.
    pub name: Option<&'a str>,
    /// The mail address, if the provider has verified it. It links no accounts.
    pub email: Option<&'a str>,
    /// The tenant of the rules.
    pub tenant: Option<&'a str>,
    /// People whom the program makes an account for.
    pub provision: Provision,
}

/// A database that a person may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// Its name in tokens.
    pub name: String,
    /// Its name on pages.
    pub title: String,
    /// Tells whether it allows changes.
    pub is_writable: bool,
}

/// Reasons why a sign-in failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginError {
    /// The name or the password is wrong, or the account is disabled or locked.
    Wrong,
    /// There were too many attempts.
    TooMany {
        /// The time after which another one makes sense.
        retry_after: Duration,
    },
    /// The password cannot be checked at the moment.
    Unavailable,
}

/// A person is not in a tenant, or did not choose one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoTenant;

/// The accounts or the store cannot be asked at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

// === impl Person ===

impl Person {
    /// Creates a person whom tokens know by the id.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            subject: id.clone(),
            id,
            name: name.into(),
            ..Self::default()
        }
    }

    /// Returns the tenant that a person chose. The only one needs no choice.
    pub(crate) fn tenant(&self, chosen: Option<&str>) -> Result<Option<String>, NoTenant> {
        let tenant = match (&*self.tenants, chosen) {
            ([], _) => return Ok(None),
            ([only], None) => only,
            (all, chosen) => {
                let found = all.iter().find(|it| chosen == Some(&it.id));
                found.ok_or(NoTenant)?
            }
        };
        Ok(Some(tenant.id.clone()))
    }

    /// Returns the person with the claims of a tenant; `None` for a tenant that the person is not in.
    pub(crate) fn within(mut self, tenant: Option<&str>) -> Option<Self> {
        let Some(tenant) = tenant else {
            return Some(self).filter(|person| person.tenants.is_empty());
        };
        let found = self.tenants.iter().find(|it| it.id == tenant)?.clone();
        self.groups.extend(found.groups);
        self.roles.extend(found.roles);
        Some(self)
    }
}

// === impl Given ===

impl fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given(..)")
    }
}

// === impl PasswordChange ===

impl fmt::Debug for PasswordChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordChange(..)")
    }
}

// === impl PasswordChangeError ===

impl From<LoginError> for PasswordChangeError {
    fn from(error: LoginError) -> Self {
        Self::Login(error)
    }
}

// === impl TicketError ===

impl From<PasswordChangeError> for TicketError {
    fn from(error: PasswordChangeError) -> Self {
        match error {
            PasswordChangeError::Refused(problem) => Self::Refused(problem),
            PasswordChangeError::Login(error) => Self::Login(error),
        }
    }
}

impl From<Unavailable> for TicketError {
    fn from(_: Unavailable) -> Self {
        Self::Login(LoginError::Unavailable)
    }
}

// === impl ClientToken ===

impl fmt::Debug for ClientToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientToken")
            .field("expires_in", &self.expires_in)
            .finish_non_exhaustive()
    }
}

// === impl Unavailable ===

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sign-in is not possible at the moment")
    }
}

impl Error for Unavailable {}
