//! The users of the user file, as the people of the sign-in.

use std::{net::IpAddr, sync::Arc};

use ziggurat_accounts::{self as accounts, Accounts, PersonId};
use ziggurat_databases::{Configured, Databases};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_mcp_auth::{Database, LoginError, People, Person, Unavailable};
use ziggurat_tokens::{Claims, Holder, Identity};

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
}

impl People for UserFilePeople {
    async fn authenticate(
        &self,
        name: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<String, LoginError> {
        let checked = self.accounts.authenticate(name, password.into(), address);
        let person = checked.await.map_err(|error| match error {
            accounts::LoginError::RateLimited { retry_after } => {
                LoginError::TooMany { retry_after }
            }
            accounts::LoginError::Invalid | accounts::LoginError::Disabled => LoginError::Wrong,
            _ => LoginError::Unavailable,
        })?;
        Ok(person.to_string())
    }

    async fn find(&self, id: &str) -> Result<Option<Person>, Unavailable> {
        let person = PersonId::read(id);
        let Some(found) = person.and_then(|person| self.accounts.person(&person)) else {
            return Ok(None);
        };
        let holder = Holder::User {
            name: Arc::clone(&found.name),
            databases: found.databases,
        };
        // No token is of this identity: it stands for the person at the databases.
        let identity = Identity::new(TokenHash::of(""), holder);
        let databases = self.databases.visible(Some(&identity));
        Ok(Some(Person {
            id: id.to_owned(),
            subject: found.name.to_string(),
            name: found.name.to_string(),
            email: None,
            groups: texts(&found.claims, "groups"),
            roles: texts(&found.claims, "roles"),
            databases: databases.iter().map(database).collect(),
        }))
    }

    async fn end_sessions(&self, id: &str) -> Result<(), Unavailable> {
        let Some(person) = PersonId::read(id) else {
            return Ok(());
        };
        let ended = self.accounts.log_out_user(person.name()).await;
        ended.map_err(|_| Unavailable)
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
