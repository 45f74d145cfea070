//! Users and members of tenants, as the people of a sign-in.

use std::{error::Error, net::IpAddr, sync::Arc, thread, time::Duration};

use secrecy::SecretString;
use tokio::task::spawn_blocking;
use tracing::error;
use ziggurat_layers::{
    bearer::TokenHash,
    rate_limit::{Key, Outcome, Quota},
};
use ziggurat_mcp_auth::{
    ClientToken, Given, LoginError, Newcomer, PasswordChange, PasswordChangeError, People, Person,
    Provision, Ticket, TicketError, TicketHolder, Unavailable,
};
use ziggurat_passwords::{LoginLimiter, PasswordError, Passwords};

use crate::{
    AccountError, Attempts, Id, Store, Tokens,
    store::{Accepted, Account, Attempt, Login},
};

/// Longest wait of a login for the check of its password.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Limit on logins that wait for a check.
const WAITING: usize = 128;

/// Wrong passwords of a user after which further ones are refused for a time.
const BY_USER: &str = "20 per 15 minutes";

/// Text for a person who has an account from before people signed in here.
const NO_PASSWORD: &str =
    "Your account has no password yet. Ask the administrator for an address to set it.";

/// Least number of characters of a new password.
const MIN_LENGTH: usize = 12;

/// The users of a store, who sign in with a mail address and a password. Clones share the limits.
#[derive(Clone, Debug)]
pub struct Members {
    store: Store,
    tokens: Tokens,
    passwords: Passwords,
    limiter: LoginLimiter,
    /// Limit on wrong passwords from one address.
    by_address: Quota,
}

// === impl Members ===

impl Members {
    /// Uses the users of a store. The tokens are for its clients.
    #[must_use]
    pub fn new(store: Store, tokens: Tokens, attempts: Attempts) -> Self {
        // One core stays free for other requests.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let checks = cores.saturating_sub(1).clamp(1, 2);
        Self {
            store,
            tokens,
            passwords: Passwords::default(),
            limiter: LoginLimiter::new(checks, WAITING, MAX_WAIT),
            by_address: attempts.by_address,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_passwords(self, passwords: Passwords) -> Self {
        Self { passwords, ..self }
    }

    /// Checks a password. It takes the same time for users who do not exist, who are disabled, and
    /// who have to wait.
    async fn is_right(
        &self,
        found: Option<&Login>,
        password: SecretString,
        is_locked: bool,
    ) -> Result<bool, LoginError> {
        let known = found.filter(|login| login.hash.is_some());
        let account = known.map(|login| Arc::from(&*login.email));
        let slot = self.limiter.enter(account).await;
        let slot = slot.map_err(|_| LoginError::Unavailable)?;
        let hash = known.and_then(|login| login.hash.clone());
        let hash = hash.filter(|_| !is_locked);
        let passwords = self.passwords.clone();
        let checked = spawn_blocking(move || {
            let _slot = slot;
            passwords.is_right(&password, hash.as_deref())
        });
        checked.await.map_err(|_| LoginError::Unavailable)
    }

    /// Counts an attempt, or returns the time to wait.
    async fn admitted(
        &self,
        of_whom: String,
        quota: Quota,
    ) -> Result<Result<Attempt, Duration>, LoginError> {
        let admitted = told(self.store.admit(of_whom, quota).await);
        admitted.map_err(|_| LoginError::Unavailable)
    }

    /// Hashes the new password of a user.
    async fn hash(&self, password: &str, email: &str) -> Result<String, PasswordChangeError> {
        let slot = self
            .limiter
            .enter(None)
            .await
            .map_err(|_| LoginError::Unavailable)?;
        let (passwords, password) = (self.passwords.clone(), SecretString::from(password));
        let email = email.to_owned();
        let hashed = spawn_blocking(move || {
            let _slot = slot;
            passwords.hash_new(&password, MIN_LENGTH, &email)
        });
        let hashed = hashed.await.map_err(|_| LoginError::Unavailable)?;
        hashed.map_err(|error| match error {
            PasswordError::Random(_) => LoginError::Unavailable.into(),
            error => PasswordChangeError::Refused(format!("The {error}.")),
        })
    }

    async fn join(
        &self,
        (id, token): (&str, &str),
        given: Given<'_>,
        address: Option<IpAddr>,
    ) -> Result<String, TicketError> {
        let id = id.parse().map_err(|_| TicketError::Gone)?;
        let invited = told(self.store.invited(id, token).await)?.ok_or(TicketError::Gone)?;
        let hash = match &invited.account {
            Account::New => Some(self.hash(given.password, &invited.email).await?),
            Account::WithPassword => {
                let known = self.authenticate(&invited.email, given.password, address);
                known.await.map_err(TicketError::Login)?;
                None
            }
            Account::WithoutPassword => return Err(TicketError::Refused(NO_PASSWORD.to_owned())),
        };
        let accepted = Accepted {
            first_name: Some(given.first_name.to_owned()).filter(|name| !name.is_empty()),
            last_name: Some(given.last_name.to_owned()).filter(|name| !name.is_empty()),
            hash,
        };
        match self.store.accept(id, &token.into(), accepted).await {
            Ok(member) => Ok(member.user_id.to_string()),
            Err(AccountError::NotFound(_)) => Err(TicketError::Gone),
            Err(AccountError::Invalid(problem)) => {
                Err(TicketError::Refused(format!("The field {problem}.")))
            }
            Err(error) => {
                log(&error);
                Err(Unavailable.into())
            }
        }
    }

    async fn new_password(&self, token: &str, password: &str) -> Result<String, TicketError> {
        let found = told(self.store.reset(token).await)?.ok_or(TicketError::Gone)?;
        let hash = self.hash(password, &found.email).await?;
        if !told(self.store.use_reset(token, &hash).await)? {
            return Err(TicketError::Gone);
        }
        Ok(found.user.to_string())
    }
}

impl People for Members {
    async fn authenticate(
        &self,
        name: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<String, LoginError> {
        let by_address = match address {
            Some(address) => {
                let of_whom = format!("address {}", Key::from(address));
                let admitted = self.admitted(of_whom, self.by_address).await?;
                let wait = |retry_after| LoginError::TooMany { retry_after };
                Some(admitted.map_err(wait)?)
            }
            None => None,
        };
        let found = told(self.store.login(name).await);
        let found = found.map_err(|_| LoginError::Unavailable)?;
        // An unknown name is counted too, so that it takes the same time.
        let of_whom = match &found {
            Some(login) => format!("user {}", login.user),
            None => format!("name {}", TokenHash::of(name)),
        };
        let by_user = self.admitted(of_whom, by_user()).await?.ok();
        let is_locked = by_user.is_none();
        let checked = self.is_right(found.as_ref(), password.into(), is_locked);
        let checked = checked.await;
        let outcome = match checked {
            Ok(true) => Outcome::Succeeded,
            Ok(false) => Outcome::Failed,
            Err(_) => Outcome::Neither,
        };
        for attempt in [by_address, by_user].into_iter().flatten() {
            // It is answered already: an error is for the log.
            let _ = told(self.store.settle(attempt, outcome).await);
        }
        match found.filter(|_| checked == Ok(true)) {
            Some(login) => Ok(login.user.to_string()),
            None => Err(checked.err().unwrap_or(LoginError::Wrong)),
        }
    }

    async fn find(&self, id: &str) -> Result<Option<Person>, Unavailable> {
        let Ok(user) = id.parse::<Id>() else {
            return Ok(None);
        };
        let found = told(self.store.holder(user).await)?;
        Ok(found.map(|(email, tenants)| Person {
            email: Some(email.clone()),
            tenants,
            ..Person::new(id, email)
        }))
    }

    async fn admit(&self, newcomer: &Newcomer<'_>) -> Result<Option<String>, Unavailable> {
        if let Some(person) = newcomer.person {
            return Ok(Some(person.to_owned()));
        }
        let Some(email) = newcomer.email else {
            return Ok(None);
        };
        let tenant = newcomer.tenant.and_then(|id| id.parse().ok());
        let added = match (newcomer.provision, tenant) {
            (Provision::Mapped, Some(tenant)) => self.store.add_newcomer(tenant, email).await,
            (Provision::Invited, _) => self.store.add_invited(email).await,
            _ => Ok(None),
        };
        let added = told(added)?;
        Ok(added.map(|user| user.to_string()))
    }

    async fn ticket(&self, ticket: &Ticket) -> Result<Option<TicketHolder>, Unavailable> {
        Ok(match ticket {
            Ticket::Invite { id, token } => {
                let Ok(id) = id.parse() else { return Ok(None) };
                let found = told(self.store.invited(id, token).await)?;
                found.map(|invited| TicketHolder {
                    name: invited.email,
                    tenant: Some(invited.tenant),
                    has_account: invited.account != Account::New,
                })
            }
            Ticket::Reset { token } => {
                let found = told(self.store.reset(token).await)?;
                found.map(|login| TicketHolder {
                    name: login.email,
                    ..TicketHolder::default()
                })
            }
        })
    }

    async fn use_ticket(
        &self,
        ticket: &Ticket,
        given: Given<'_>,
        address: Option<IpAddr>,
    ) -> Result<String, TicketError> {
        match ticket {
            Ticket::Invite { id, token } => self.join((id, token), given, address).await,
            Ticket::Reset { token } => self.new_password(token, given.password).await,
        }
    }

    async fn change_password(
        &self,
        id: &str,
        change: PasswordChange<'_>,
        address: Option<IpAddr>,
    ) -> Result<(), PasswordChangeError> {
        let person = self.find(id).await.map_err(|_| LoginError::Unavailable)?;
        let person = person.ok_or(LoginError::Wrong)?;
        let known = self.authenticate(&person.name, change.present, address);
        if known.await? != id {
            return Err(LoginError::Wrong.into());
        }
        let hash = self.hash(change.new, &person.name).await?;
        let user = id.parse().map_err(|_| LoginError::Wrong)?;
        let kept = told(self.store.keep_password(user, &hash).await);
        kept.map_err(|_| LoginError::Unavailable.into())
    }

    async fn client_token(
        &self,
        id: &str,
        secret: &str,
    ) -> Result<Option<ClientToken>, Unavailable> {
        let ends = self.tokens.end();
        let Some(credential) = told(self.store.sign_in(id, secret, ends).await)? else {
            return Ok(None);
        };
        let token = told(self.tokens.for_client(credential, id, ends))?;
        Ok(Some(ClientToken {
            token,
            expires_in: self.tokens.lifetime().try_into().unwrap_or_default(),
            scope: self.tokens.scope().map(str::to_owned),
        }))
    }
}

fn by_user() -> Quota {
    BY_USER.parse().expect("a quota")
}

/// Logs an error of the accounts, which people learn nothing about.
fn told<T>(outcome: Result<T, AccountError>) -> Result<T, Unavailable> {
    outcome.map_err(|error| {
        log(&error);
        Unavailable
    })
}

fn log(error: &AccountError) {
    let error: &dyn Error = error;
    error!(error, "the accounts cannot be used");
}
