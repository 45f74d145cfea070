//! Names of callers in a configuration.

use ziggurat_runtime::config::Section;

use crate::CallerId;

/// Callers that an entry of a configuration is for: the section `for`.
///
/// ```
/// use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
/// use ziggurat_tokens::{CallerId, CallerNames};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("server.yaml");
/// std::fs::write(&path, "for: {users: [alice], scopes: [shop.read]}")?;
/// let (sources, flags) = (ConfigSources::default(), Flags::default());
/// let loaded = Input::new(&sources, &flags).load(Some(&path), |file| {
///     CallerNames::read_with_scopes(&file.section("for"))
/// })?;
/// assert!(loaded.value.fit(&CallerId::User("alice")));
/// assert!(!loaded.value.fit(&CallerId::User("bob")));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallerNames {
    tokens: Vec<String>,
    users: Vec<String>,
    /// `client:…`, `tenant:…`, `sub:…`, or the name of a client without a prefix.
    clients: Vec<String>,
    scopes: Vec<String>,
    is_for_local: bool,
    is_for_all: bool,
}

// === impl CallerNames ===

impl CallerNames {
    /// Reads a section that names callers by `tokens`, `users`, `clients`, `local` and `everyone`.
    #[must_use]
    pub fn read(section: &Section<'_>) -> Self {
        Self::read_named(section, Vec::new()).required(section)
    }

    /// Reads a section that also names callers by the `scopes` of their tokens.
    #[must_use]
    pub fn read_with_scopes(section: &Section<'_>) -> Self {
        Self::read_if_any(section).required(section)
    }

    /// Reads such a section that may also name no caller.
    #[must_use]
    pub fn read_if_any(section: &Section<'_>) -> Self {
        let scopes = section.key("scopes").texts().unwrap_or_default();
        Self::read_named(section, scopes)
    }

    /// Reads the callers that an entry names by one of the keys `user`, `token`, `client` and `local`.
    #[must_use]
    pub fn read_one(section: &Section<'_>) -> Self {
        let text = |key: &str| section.key(key).text().into_iter().collect();
        Self {
            tokens: text("token"),
            users: text("user"),
            clients: text("client"),
            is_for_local: section.key("local").boolean().unwrap_or_default(),
            ..Self::default()
        }
    }

    fn read_named(section: &Section<'_>, scopes: Vec<String>) -> Self {
        let texts = |key: &str| section.key(key).texts().unwrap_or_default();
        let is_true = |key: &str| section.key(key).boolean().unwrap_or_default();
        Self {
            tokens: texts("tokens"),
            users: texts("users"),
            clients: texts("clients"),
            scopes,
            is_for_local: is_true("local"),
            is_for_all: is_true("everyone"),
        }
    }

    fn required(self, section: &Section<'_>) -> Self {
        if self.is_empty() {
            section.problem("names no caller");
        }
        self
    }

    /// Returns whether no caller is meant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the ids of API tokens.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Returns the names of users.
    #[must_use]
    pub fn users(&self) -> &[String] {
        &self.users
    }

    /// Returns whether all callers are meant.
    #[must_use]
    pub fn has_all(&self) -> bool {
        self.is_for_all
    }

    /// Returns whether a caller is meant.
    #[must_use]
    pub fn fit(&self, caller: &CallerId<'_>) -> bool {
        let has = |list: &[String], name: &str| list.iter().any(|listed| listed == name);
        let has_scope = |scopes: &[String]| scopes.iter().any(|it| has(&self.scopes, it));
        self.is_for_all
            || match *caller {
                CallerId::Token { id, .. } => has(&self.tokens, id),
                CallerId::User(name) => has(&self.users, name),
                CallerId::Person { name, scopes } => has(&self.users, name) || has_scope(scopes),
                CallerId::Client {
                    subject,
                    client,
                    tenant,
                    scopes,
                } => {
                    let has_name = self.clients.iter().any(|listed| {
                        // As in `available_to_clients`: a client may have the name of a tenant.
                        match listed.split_once(':') {
                            Some(("tenant", name)) => tenant == Some(name),
                            Some(("sub", name)) => subject == name,
                            Some(("client", name)) => client == Some(name),
                            _ => client == Some(listed),
                        }
                    });
                    has_name || has_scope(scopes)
                }
                CallerId::Local => self.is_for_local,
            }
    }
}
