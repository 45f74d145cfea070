//! The users of the user file, as the people of the sign-in.

use std::{net::IpAddr, sync::Arc};

use ziggurat_accounts::{self as accounts, Accounts, PersonId};
use ziggurat_databases::{Configured, Databases};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_mcp_auth::{
    Database, LoginError, Newcomer, PasswordChange, PasswordChangeError, People, Person, Provision,
    Unavailable,
};
use ziggurat_tokens::{Claims, Holder, Identity};

/// Beginning of the ids of people who come from other providers. No account has it as its mark.
const NEWCOMER: &str = "upstream:";

/// The users of the user file.
#[derive(Clone, Debug)]
pub(crate) struct UserFilePeople {
    accounts: Accounts,
    databases: Databases,
}

// === impl UserFilePeople ===

impl UserFilePeople {
    pub(super) fn new(accounts: Accounts, databases: Databases) -> Self {
        Self {
            accounts,
            databases,
        }
    }

    fn person(&self, id: &str, name: &str, databases: Arc<[String]>, claims: &Claims) -> Person {
        let holder = Holder::User {
            name: name.into(),
            databases,
        };
        // No token is of this identity: it stands for the person at the databases.
        let identity = Identity::new(TokenHash::of(""), holder);
        let databases = self.databases.visible(Some(&identity));
        Person {
            id: id.to_owned(),
            subject: name.to_owned(),
            name: name.to_owned(),
            email: None,
            groups: texts(claims, "groups"),
            roles: texts(claims, "roles"),
            databases: databases.iter().map(database).collect(),
            tenants: Vec::new(),
        }
    }
}

/// Returns the id of a person who comes from another provider.
pub(super) fn id_of_newcomer(name: &str) -> String {
    format!("{NEWCOMER}{name}")
}

/// Returns the name of a person who comes from another provider: the provider and the subject there.
fn name_of_newcomer(id: &str) -> Option<&str> {
    id.strip_prefix(NEWCOMER)
}

impl People for UserFilePeople {
    async fn authenticate(
        &self,
        name: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<String, LoginError> {
        let checked = self.accounts.authenticate(name, password.into(), address);
        let person = checked.await.map_err(|error| shown(&error))?;
        Ok(person.to_string())
    }

    async fn find(&self, id: &str) -> Result<Option<Person>, Unavailable> {
        if let Some(name) = name_of_newcomer(id) {
            let is_free = !self.accounts.has_user(name);
            return Ok(is_free.then(|| self.person(id, name, Arc::default(), &Claims::default())));
        }
        let person = PersonId::read(id);
        let found = person.and_then(|person| self.accounts.person(&person));
        Ok(found.map(|found| self.person(id, &found.name, found.databases, &found.claims)))
    }

    async fn admit(&self, newcomer: &Newcomer<'_>) -> Result<Option<String>, Unavailable> {
        let name = format!("{}:{}", newcomer.provider, newcomer.subject);
        // There are no invitations here, and an account of this name is of another person.
        let is_admitted = newcomer.provision == Provision::Mapped && !self.accounts.has_user(&name);
        Ok(is_admitted.then(|| id_of_newcomer(&name)))
    }

    async fn change_password(
        &self,
        id: &str,
        change: PasswordChange<'_>,
        address: Option<IpAddr>,
    ) -> Result<(), PasswordChangeError> {
        let person = PersonId::read(id).ok_or(LoginError::Wrong)?;
        let (present, new) = (change.present.into(), change.new.into());
        let changed = self
            .accounts
            .change_password(&person, present, new, address);
        changed.await.map_err(|error| match error {
            accounts::PasswordChangeError::Login(error) => shown(&error).into(),
            accounts::PasswordChangeError::Password(error) => {
                PasswordChangeError::Refused(format!("The {error}."))
            }
            _ => LoginError::Unavailable.into(),
        })
    }

    async fn end_sessions(&self, id: &str) -> Result<(), Unavailable> {
        let person = PersonId::read(id).filter(|_| name_of_newcomer(id).is_none());
        let Some(person) = person else {
            return Ok(());
        };
        let ended = self.accounts.log_out_user(person.name()).await;
        ended.map_err(|_| Unavailable)
    }
}

/// Returns the reason of a failed login as the pages know it.
fn shown(error: &accounts::LoginError) -> LoginError {
    match error {
        accounts::LoginError::RateLimited { retry_after } => LoginError::TooMany {
            retry_after: *retry_after,
        },
        accounts::LoginError::Invalid | accounts::LoginError::Disabled => LoginError::Wrong,
        _ => LoginError::Unavailable,
    }
}

fn database(configured: &Configured) -> Database {
    let database = configured.database();
    Database {
        name: database.name().to_owned(),
        title: database.name().to_owned(),
        is_writable: database.allows_writes(),
    }
}

/// Returns the texts of a claim: one, or a list.
fn texts(claims: &Claims, name: &str) -> Vec<String> {
    let claim = claims.find(name);
    claim.map_or_else(Vec::new, |claim| claim.texts().map(str::to_owned).collect())
}
