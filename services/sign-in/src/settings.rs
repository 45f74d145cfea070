//! The settings of a sign-in.

use std::{error::Error, fmt, time::Duration};

use crate::{
    clients::address,
    people::{Database, Person},
    providers::configured::{self, IdentityAssertion, Upstream},
};

/// Seconds of an hour.
const HOUR: u64 = 3600;

/// The id of the client that people sign in to the program's own console with. They need no consent
/// for it, it gets no tokens, and only [`SignIn::enter_console`](crate::SignIn::enter_console) takes
/// its codes.
pub const CONSOLE: &str = "ziggurat-console";

/// The settings of a sign-in.
///
/// ```
/// use ziggurat_mcp_auth::{Resource, Settings};
///
/// let settings = Settings {
///     issuer: "https://tools.example".to_owned(),
///     resources: vec![Resource::new("https://tools.example/mcp", "Tools")],
///     ..Settings::default()
/// };
/// assert!(settings.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The public address, without a slash at its end.
    pub issuer: String,
    /// The servers that tokens are for.
    pub resources: Vec<Resource>,
    /// Lifetime of an access token.
    pub access_lifetime: Duration,
    /// Time after which an unused grant ends; zero for no refresh tokens.
    pub refresh_idle: Duration,
    /// Time after which a grant ends in any case.
    pub refresh_lifetime: Duration,
    /// Time in which the refresh token before the last one gets the last one again.
    pub refresh_grace: Duration,
    /// Time after which a browser that was idle signs in again.
    pub session_idle: Duration,
    /// Time after which a browser signs in again.
    pub session_lifetime: Duration,
    /// Asks people for a second factor.
    pub second_factor: SecondFactor,
    /// Passwords sign in; without it people come from other providers only.
    pub password_login: bool,
    /// People change their passwords at the page of the account, with
    /// [`People::change_password`](crate::People::change_password).
    pub password_change: bool,
    /// Keeps the consents that people give: the next page has the former choices, and a client that
    /// proves itself may need no further click.
    pub remember_consent: bool,
    /// The scope that allows changes; empty if there is no such scope.
    pub write_scope: String,
    /// Further scopes, which a client asks for and a person allows one by one.
    pub scopes: Vec<NamedScope>,
    /// Rules for clients that register themselves.
    pub registration: Registration,
    /// Clients that the administrator registered.
    pub clients: Vec<ManualClient>,
    /// Ids of clients on devices without a browser (RFC 8628). Without any there is no such flow.
    pub device_clients: Vec<String>,
    /// Providers that people sign in at.
    pub upstreams: Vec<Upstream>,
    /// Providers that admit people by signed assertions which clients bring (ID-JAG).
    pub identity_assertion: Vec<IdentityAssertion>,
    /// The address of the list of clients and grants that other servers must refuse. A program with
    /// such a list has clients of its own, which get tokens by `client_credentials`.
    pub revoked_clients_uri: Option<String>,
    /// The path of a page of the program's own console, which browsers come back to as the client
    /// [`CONSOLE`]. Without it there is no such client.
    pub console: Option<String>,
    /// Texts on every page.
    pub page: Page,
    /// The beginning of the names of cookies.
    pub cookie_prefix: String,
}

/// A server that tokens are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its address, as clients know it.
    pub uri: String,
    /// Its name on the pages.
    pub title: String,
    /// Other addresses of it. An address that ends with a star stands for all that begin so.
    pub aliases: Vec<String>,
    /// Its databases, where they differ from the databases of the person.
    pub databases: Vec<Database>,
    /// Says that it allows changes, also where neither it nor the person names databases.
    pub is_writable: bool,
    /// Ids of the clients that it is for; empty for all.
    pub clients: Vec<String>,
}

/// A scope that the server behind has a use for, such as a set of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedScope {
    /// Its word in requests and tokens.
    pub name: String,
    /// Its name on pages.
    pub title: String,
    /// Groups of the people who may allow it; empty for all people.
    pub groups: Vec<String>,
}

/// Rules for the codes of an authenticator app after the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondFactor {
    /// No person is asked for a code.
    Off,
    /// People who set it up are asked.
    Optional,
    /// All people are asked. A person who has none sets it up at the sign-in.
    Required,
}

/// Rules for clients that register themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Clients with the address of a document as their id.
    pub metadata_documents: bool,
    /// Fetches these documents. Without it there are only the clients that are built in.
    pub fetch: bool,
    /// Hosts of these documents. `*.` stands for all names below; without a host all are read.
    pub document_hosts: Vec<String>,
    /// Hosts of these documents that may have a port and no dot, for intranets and tests.
    pub private_hosts: Vec<String>,
    /// Dynamic registration (RFC 7591).
    pub dynamic: bool,
    /// Hosts of redirect addresses, besides those of known clients. A star stands for all.
    pub redirect_hosts: Vec<String>,
    /// Schemes of redirect addresses, besides those with a dot.
    pub schemes: Vec<String>,
}

/// A client that the administrator registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualClient {
    /// Its id.
    pub id: String,
    /// Its name on the pages.
    pub name: String,
    /// The addresses that it may be sent back to.
    pub redirect_uris: Vec<String>,
    /// SHA-256 of its secret, if it has one.
    pub secret_hash: Option<[u8; 32]>,
    /// Needs no click from a person who gave the same consent before. It counts only with a secret
    /// and an https address to return to.
    pub skip_consent: bool,
}

/// Texts and the mark on every page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The name of the installation.
    pub title: String,
    /// A sentence for all who sign in.
    pub notice: String,
    /// The address of a page with help.
    pub help_url: String,
    /// Shows the mark of Ziggurat. Other products leave it out.
    pub has_mark: bool,
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    key: &'static str,
    problem: String,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            resources: Vec::new(),
            access_lifetime: Duration::from_secs(12 * HOUR),
            refresh_idle: Duration::from_secs(720 * HOUR),
            refresh_lifetime: Duration::from_secs(4320 * HOUR),
            refresh_grace: Duration::from_secs(60),
            session_idle: Duration::from_secs(HOUR),
            session_lifetime: Duration::from_secs(12 * HOUR),
            second_factor: SecondFactor::Optional,
            password_login: true,
            password_change: false,
            remember_consent: true,
            write_scope: "mcp:write".to_owned(),
            scopes: Vec::new(),
            registration: Registration::default(),
            clients: Vec::new(),
            device_clients: Vec::new(),
            upstreams: Vec::new(),
            identity_assertion: Vec::new(),
            revoked_clients_uri: None,
            console: None,
            page: Page::default(),
            cookie_prefix: "ziggurat".to_owned(),
        }
    }
}

impl Settings {
    /// Checks the settings.
    ///
    /// # Errors
    /// Fails with the first setting that cannot be used.
    pub fn check(&self) -> Result<(), SettingsError> {
        let error = |key, problem: String| Err(SettingsError { key, problem });
        let is_loopback = address::loopback_host(&self.issuer).is_some();
        if !self.issuer.starts_with("https://") && !is_loopback {
            return error(
                "issuer",
                "it must be https, or http on a loopback host".to_owned(),
            );
        }
        if self.issuer.ends_with('/') {
            return error("issuer", "it must not end with a slash".to_owned());
        }
        if self.resources.is_empty() {
            return error("resources", "there are none".to_owned());
        }
        let day = Duration::from_secs(24 * HOUR);
        if !(Duration::from_secs(300)..=day).contains(&self.access_lifetime) {
            return error("access_lifetime", "it must be 5m to 24h".to_owned());
        }
        if self.refresh_grace > Duration::from_secs(HOUR) {
            return error("refresh_grace", "it must be at most 1h".to_owned());
        }
        if let Some(problem) = self.problem_of_scopes() {
            return error("scopes", problem);
        }
        if let Some((key, problem)) = configured::problem(&self.upstreams, &self.identity_assertion)
        {
            return error(key, problem);
        }
        let has_path = |console: &String| console.starts_with('/');
        if !self.console.as_ref().is_none_or(has_path) {
            return error("console", "it must be a path".to_owned());
        }
        for client in &self.clients {
            for address in &client.redirect_uris {
                if !address::is_well_formed(address) {
                    let problem = format!("{address} of {} cannot be returned to", client.id);
                    return error("clients", problem);
                }
            }
        }
        Ok(())
    }

    /// Returns the longest lifetime of access tokens.
    #[must_use]
    pub fn longest_access_lifetime(&self) -> Duration {
        let entries = self.identity_assertion.iter();
        let longest = entries.map(|entry| entry.access_lifetime).max();
        self.access_lifetime.max(longest.unwrap_or_default())
    }

    /// Returns the time after which an unused grant has ended. A grant without refresh tokens ends with
    /// its access token.
    #[must_use]
    pub fn idle(&self) -> Duration {
        if self.refresh_idle.is_zero() {
            self.longest_access_lifetime()
        } else {
            self.refresh_idle
        }
    }

    /// Returns the first problem of the named scopes.
    fn problem_of_scopes(&self) -> Option<String> {
        let is_usual = |byte: u8| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~');
        self.scopes.iter().enumerate().find_map(|(index, scope)| {
            let name = &scope.name;
            if name.is_empty() || !name.bytes().all(is_usual) {
                return Some(format!("{name:?} is not a word without quotes"));
            }
            let earlier = self.scopes[..index].iter().map(|it| &*it.name);
            let mut taken = earlier.chain(self.usual_scopes());
            taken
                .any(|it| it == name)
                .then(|| format!("{name} has a meaning already"))
        })
    }

    /// Returns the words that a scope may have.
    pub(crate) fn scope_words(&self) -> Vec<&str> {
        let named = self.scopes.iter().map(|scope| &*scope.name);
        self.usual_scopes().chain(named).collect()
    }

    fn usual_scopes(&self) -> impl Iterator<Item = &str> {
        let all = ["mcp", &self.write_scope, "offline_access"];
        all.into_iter().filter(|scope| !scope.is_empty())
    }

    /// Returns the named scope of a word.
    pub(crate) fn named_scope(&self, word: &str) -> Option<&NamedScope> {
        self.scopes.iter().find(|scope| scope.name == word)
    }

    /// Returns a scope without the words that are not open to a person any more.
    pub(crate) fn open_to(&self, person: &Person, scope: &str) -> String {
        let words = scope.split(' ');
        let open: Vec<_> = words.filter(|word| self.may_allow(person, word)).collect();
        open.join(" ")
    }

    /// Returns whether a person may allow a word of a scope. Only a named scope asks for groups.
    pub(crate) fn may_allow(&self, person: &Person, word: &str) -> bool {
        let named = self.named_scope(word);
        named.is_none_or(|scope| scope.is_open_to(person))
    }

    /// Returns whether an id is the id of the program's own console.
    pub(crate) fn is_console(&self, client: &str) -> bool {
        self.console.is_some() && client == CONSOLE
    }

    /// Returns the address of an endpoint.
    pub(crate) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.issuer)
    }
}

// === impl Resource ===

impl Resource {
    /// Creates a resource without aliases.
    #[must_use]
    pub fn new(uri: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            title: title.into(),
            aliases: Vec::new(),
            databases: Vec::new(),
            is_writable: false,
            clients: Vec::new(),
        }
    }

    /// Adds another address of it. An address that ends with a star stands for all that begin so.
    #[must_use]
    pub fn with_alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    /// Offers these databases instead of the databases of the person, and says whether it allows changes.
    #[must_use]
    pub fn with_databases(self, databases: Vec<Database>, is_writable: bool) -> Self {
        Self {
            databases,
            is_writable,
            ..self
        }
    }

    /// Admits this client, and from then on only clients that are named. Such a resource has to be
    /// asked for by its address.
    #[must_use]
    pub fn with_client(mut self, client: impl Into<String>) -> Self {
        self.clients.push(client.into());
        self
    }

    /// Returns whether a client may ask for it.
    pub(crate) fn is_for(&self, client: &str) -> bool {
        self.is_for_all() || self.clients.iter().any(|it| it == client)
    }

    /// Returns whether each client may ask for it.
    pub(crate) fn is_for_all(&self) -> bool {
        self.clients.is_empty()
    }

    /// Returns the databases that a person chooses among.
    pub(crate) fn databases_of<'a>(&'a self, person: &'a Person) -> &'a [Database] {
        if self.databases.is_empty() {
            &person.databases
        } else {
            &self.databases
        }
    }

    /// Returns whether a person can allow changes.
    pub(crate) fn allows_writes(&self, person: &Person) -> bool {
        self.is_writable || self.databases_of(person).iter().any(|it| it.is_writable)
    }
}

// === impl NamedScope ===

impl NamedScope {
    /// Returns whether a person is in one of its groups, or it has none.
    pub(crate) fn is_open_to(&self, person: &Person) -> bool {
        let mut groups = self.groups.iter();
        self.groups.is_empty() || groups.any(|group| person.groups.contains(group))
    }

    /// Returns whether it is open to a person in one of the tenants that the person chooses among.
    pub(crate) fn may_be_open_to(&self, person: &Person) -> bool {
        let mut groups = person.tenants.iter().flat_map(|tenant| &tenant.groups);
        self.is_open_to(person) || groups.any(|group| self.groups.contains(group))
    }
}

// === impl Registration ===

impl Default for Registration {
    fn default() -> Self {
        let schemes = ["cursor", "vscode", "vscode-insiders", "windsurf", "claude"];
        Self {
            metadata_documents: true,
            fetch: true,
            document_hosts: Vec::new(),
            private_hosts: Vec::new(),
            dynamic: true,
            redirect_hosts: Vec::new(),
            schemes: schemes.map(str::to_owned).to_vec(),
        }
    }
}

// === impl SettingsError ===

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)
    }
}

impl Error for SettingsError {}
