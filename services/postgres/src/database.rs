//! Settings of a database, checked.
//!
//! ```
//! use ziggurat_postgres::database::{Database, Settings};
//!
//! let settings = Settings {
//!     name: "main".into(),
//!     user: "reader".into(),
//!     password: "swordfish".to_owned().into(),
//!     ..Settings::default()
//! };
//! let database = Database::try_from(settings)?;
//! assert_eq!(database.row_limit(), 100);
//! assert!(!database.allows_writes());
//! assert!(!format!("{database:?}").contains("swordfish"));
//! # Ok::<(), ziggurat_postgres::database::InvalidDatabase>(())
//! ```

mod acting;
mod connection_limit;
mod host;
mod invalid;
mod keys;
mod masking;
pub mod parameters;
mod password;
mod password_command;
mod password_keeper;
mod preview;
mod seal;
pub mod service_file;
mod session;
mod target;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use secrecy::SecretString;
use thiserror::Error;

pub use crate::driver::{
    CommandFailure, CommandLine, MinTls, RequireAuth, SslMode, UnknownAuth, UnknownSslMode,
    UnknownTls,
};

pub(crate) use self::acting::{Prefix, Probe};
use self::{acting::Served, target::Certificates};
pub use self::{
    acting::{Acting, IdentityKey, InvalidActing, Way},
    host::Host,
    invalid::InvalidDatabase,
    keys::ConnectKeys,
    masking::{CallerMasks, CallerRoles, Enforcement, MaskFindings, MaskRule, Masking},
    parameters::{InvalidParameter, Parameters},
    password::Password,
    password_command::PasswordCommand,
    preview::{Approval, PreviewMode, PreviewSettings},
    seal::{SEAL_KEY_BYTES, SealKey},
    session::{TargetSessionAttrs, UnknownSessionAttrs},
};
pub(crate) use self::{
    connection_limit::{ConnectionLimit, Permits},
    masking::{CallerColumns, ResultMasks, Taint},
    password_command::Issued,
    session::{Match, ServerState},
    target::Target,
};

/// Limit on the rows that a call may ask for.
pub const MAX_ROWS: u32 = 1000;

/// Limit on the operator's default for the rows of a call.
const MAX_ROW_LIMIT: u32 = 10_000_000;

/// Limit on the hosts of a database.
const MAX_HOSTS: usize = 32;

/// Settings of a database from the operator, not checked yet. The defaults are the documented ones.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The configured name, which is not its name in PostgreSQL.
    pub name: String,
    /// A host name, an address, or the folder of a Unix socket.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The same, if the operator has set it.
    pub given_port: Option<u16>,
    /// Several hosts, tried in this order. If there are any, `host` and `port` are ignored.
    pub hosts: Vec<Host>,
    /// Program that connects to the one host: its standard streams are the connection.
    pub connect_command: Option<CommandLine>,
    /// Requirement on the server to connect to.
    pub target_session_attrs: TargetSessionAttrs,
    /// The name of the database in PostgreSQL.
    pub database: String,
    /// The role to connect as.
    pub user: String,
    /// The source of its password.
    pub password: Password,
    /// The use of TLS.
    pub ssl_mode: SslMode,
    /// The oldest version of TLS that is used.
    pub min_tls: MinTls,
    /// The methods of authentication that are accepted. Without, all are; a password in clear text
    /// only over a socket, or if TLS is required.
    pub require_auth: Option<RequireAuth>,
    /// A file with the certificates of the authorities to trust, or `system`: the authorities of the
    /// operating system. Without it `verify-full` trusts the authorities that browsers trust.
    pub ssl_root_cert: Option<PathBuf>,
    /// A file with the certificate to show to the server.
    pub ssl_cert: Option<PathBuf>,
    /// The file with its key.
    pub ssl_key: Option<PathBuf>,
    /// Options of the command line of PostgreSQL for its sessions, such as `-c work_mem=64MB`.
    pub options: Option<String>,
    /// Order in which the hosts are tried.
    pub host_order: HostOrder,
    /// The name that PostgreSQL shows for the connections.
    pub application_name: String,
    /// Kind of the pooler between this server and PostgreSQL.
    pub pooler: Pooler,
    /// True if statements may change data.
    pub allow_writes: bool,
    /// Previews of what statements would change.
    pub preview: PreviewSettings,
    /// True if statements may call functions with effects beyond the transaction: files, programs,
    /// other sessions. See [`Policy`](ziggurat_sql::Policy).
    pub allow_dangerous_functions: bool,
    /// True if callers see why a connection fails, for development. Else only the log does.
    pub shows_causes: bool,
    /// Default number of rows of a call.
    pub row_limit: u32,
    /// Maximum length of the text of a statement.
    pub max_statement_bytes: usize,
    /// Maximum number of rows that a statement may change; zero for no limit.
    pub max_changed_rows: u64,
    /// Time limit of a statement; zero for no limit.
    pub query_timeout: Duration,
    /// Maximum age of its cached metadata; zero to read it for every call.
    pub metadata_ttl: Duration,
    /// Time limit for connecting, over all hosts.
    pub connect_timeout: Duration,
    /// Time limit for waiting until one of the caller's own connections is free.
    pub lease_timeout: Duration,
    /// Number of connections of one caller that stay open after its first use.
    pub min_connections: u32,
    /// Maximum number of connections of one caller.
    pub max_connections: u32,
    /// Maximum number of connections of all callers.
    pub max_total_connections: u32,
    /// Maximum time that a connection is idle.
    pub max_idle: Duration,
    /// Maximum lifetime of a connection.
    pub max_lifetime: Duration,
}

/// Order in which the hosts of a database are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostOrder {
    /// Order of the list.
    #[default]
    Listed,
    /// Another one for each connection.
    Random,
}

/// Kind of the pooler between this server and PostgreSQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pooler {
    /// A pooler is recognised by the process id it reports, and assumed to assign a connection for
    /// one transaction.
    #[default]
    Detect,
    /// None, or one that assigns a connection for a session.
    Session,
    /// One that assigns a connection for a transaction.
    Transaction,
}

impl FromStr for Pooler {
    type Err = UnknownPooler;

    fn from_str(word: &str) -> Result<Self, UnknownPooler> {
        match word {
            "detect" => Ok(Self::Detect),
            "session" => Ok(Self::Session),
            "transaction" => Ok(Self::Transaction),
            _ => Err(UnknownPooler),
        }
    }
}

/// A word that names no kind of pooler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be detect, session or transaction")]
pub struct UnknownPooler;

/// Database to connect to, made from valid [`Settings`].
#[derive(Clone)]
pub struct Database {
    settings: Settings,
    certificates: Certificates,
    targets: Arc<[Target]>,
    limit: Arc<ConnectionLimit>,
    /// The role of a caller or its refusal, where the database knows its callers.
    served: Option<Arc<Served>>,
    /// The masks that hold for a caller, if there are some.
    masks: Option<Arc<CallerMasks>>,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            host: "localhost".to_owned(),
            port: 5432,
            given_port: None,
            hosts: Vec::new(),
            connect_command: None,
            target_session_attrs: TargetSessionAttrs::Any,
            database: "postgres".to_owned(),
            user: String::new(),
            password: Password::PasswordFile,
            ssl_mode: SslMode::Prefer,
            min_tls: MinTls::default(),
            require_auth: None,
            ssl_root_cert: None,
            ssl_cert: None,
            ssl_key: None,
            options: None,
            host_order: HostOrder::Listed,
            application_name: "ziggurat".to_owned(),
            pooler: Pooler::Detect,
            allow_writes: false,
            preview: PreviewSettings::default(),
            allow_dangerous_functions: false,
            shows_causes: false,
            row_limit: 100,
            max_statement_bytes: 1 << 20,
            max_changed_rows: 0,
            query_timeout: Duration::from_secs(30),
            metadata_ttl: Duration::from_mins(5),
            connect_timeout: Duration::from_secs(10),
            lease_timeout: Duration::from_secs(5),
            min_connections: 0,
            max_connections: 4,
            max_total_connections: 50,
            max_idle: Duration::from_mins(5),
            max_lifetime: Duration::from_hours(1),
        }
    }
}

impl Settings {
    /// The hosts in the order they are tried.
    #[must_use]
    pub fn all_hosts(&self) -> Vec<Host> {
        if self.hosts.is_empty() {
            vec![Host::new(&self.host, self.port)]
        } else {
            self.hosts.clone()
        }
    }

    /// Returns the settings for the login of a role, with its files in a folder: `<role>.crt` and
    /// `<role>.key`, or `<role>.password`. Without a folder the password file has its password.
    fn logging_in_as(
        &self,
        role: Option<&str>,
        folder: Option<&Path>,
    ) -> Result<Self, InvalidDatabase> {
        let role = role.unwrap_or_default();
        let mut settings = Self {
            user: role.to_owned(),
            password: Password::PasswordFile,
            ssl_cert: None,
            ssl_key: None,
            ..self.clone()
        };
        let Some(folder) = folder else {
            return Ok(settings);
        };
        // Another name could lead out of the folder. Its role has no files.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if !role.chars().all(is_plain) || role.starts_with(['.', '-']) {
            settings.password = Password::Given(SecretString::default());
            return Ok(settings);
        }
        let file = |end: &str| folder.join(format!("{role}.{end}"));
        let certificate = file("crt");
        if certificate.exists() {
            settings.ssl_cert = Some(certificate);
            settings.ssl_key = Some(file("key"));
        } else {
            settings.password = password::of_role(&file("password")).map_err(|source| {
                InvalidDatabase::Unreadable {
                    name: self.name.clone(),
                    setting: "credentials",
                    source,
                }
            })?;
        }
        Ok(settings)
    }

    fn check(&self, hosts: &[Host]) -> Result<(), InvalidDatabase> {
        if self.name.is_empty() {
            return Err(InvalidDatabase::NoName);
        }
        let name = || self.name.clone();
        if self.user.is_empty() {
            let (name, setting) = (name(), "user");
            return Err(InvalidDatabase::Missing { name, setting });
        }
        if hosts.iter().any(|host| host.name.is_empty()) {
            let (name, setting) = (name(), "host");
            return Err(InvalidDatabase::Missing { name, setting });
        }
        let is_clear = [SslMode::Disable, SslMode::Allow, SslMode::Prefer];
        if matches!(self.password, Password::Command(_))
            && is_clear.contains(&self.ssl_mode)
            && !hosts.iter().all(Host::is_here)
        {
            return Err(InvalidDatabase::NeedsTls { name: name() });
        }
        if self.preview.mode != PreviewMode::Off {
            let needs = match (self.allow_writes, self.max_connections) {
                (false, _) => Some("allow_writes"),
                (true, ..2) => Some("pool_max_conns of 2"),
                (true, _) => None,
            };
            if let Some(needs) = needs {
                let name = name();
                return Err(InvalidDatabase::NoPreview { name, needs });
            }
        }
        let outside = self.out_of_range().map(|(setting, range)| {
            let name = name();
            Err(InvalidDatabase::OutOfRange {
                name,
                setting,
                range,
            })
        });
        outside.unwrap_or(Ok(()))
    }

    /// Returns the first setting that is out of its range, and the range.
    fn out_of_range(&self) -> Option<(&'static str, &'static str)> {
        // PostgreSQL counts milliseconds in an int4.
        let longest = Duration::from_millis(i32::MAX.unsigned_abs().into());
        let ranges = [
            (
                (1..=MAX_ROW_LIMIT).contains(&self.row_limit),
                "row_limit",
                "between 1 and 10000000",
            ),
            (
                self.query_timeout <= longest,
                "query_timeout",
                "24 days at most",
            ),
            (
                !self.connect_timeout.is_zero(),
                "connect_timeout",
                "longer than 0",
            ),
            (
                !self.lease_timeout.is_zero(),
                "lease_timeout",
                "longer than 0",
            ),
            (
                (1..=1000).contains(&self.max_connections),
                "pool_max_conns",
                "between 1 and 1000",
            ),
            (
                self.min_connections <= self.max_connections,
                "pool_min_conns",
                "pool_max_conns at most",
            ),
            (
                (1..=10_000).contains(&self.max_total_connections),
                "max_total_connections",
                "between 1 and 10000",
            ),
            (self.hosts.len() <= MAX_HOSTS, "hosts", "32 at most"),
        ];
        let mut ranges = ranges.into_iter();
        ranges
            .find(|(is_good, ..)| !is_good)
            .map(|(_, setting, range)| (setting, range))
    }
}

// === impl Database ===

impl TryFrom<Settings> for Database {
    type Error = InvalidDatabase;

    /// Checks the settings, and reads the files that they name: certificates, the password file.
    fn try_from(settings: Settings) -> Result<Self, InvalidDatabase> {
        let hosts = settings.all_hosts();
        settings.check(&hosts)?;
        let certificates = Certificates::read(&settings)?;
        let targets = hosts
            .iter()
            .map(|host| Target::new(&settings, host, &certificates))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            limit: Arc::new(ConnectionLimit::of_all(
                settings.max_total_connections,
                settings.max_connections,
            )),
            settings,
            certificates,
            targets,
            served: None,
            masks: None,
        })
    }
}

impl Database {
    /// Returns the configured name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Returns its settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns whether statements may change data.
    #[must_use]
    pub fn allows_writes(&self) -> bool {
        self.settings.allow_writes
    }

    /// Returns the settings of previews, if statements may change data and have previews.
    #[must_use]
    pub fn previews(&self) -> Option<&PreviewSettings> {
        let preview = &self.settings.preview;
        let has_some = self.allows_writes() && preview.mode != PreviewMode::Off;
        has_some.then_some(preview)
    }

    /// Returns the same database, with the same limit on connections, for statements that only read.
    #[must_use]
    pub fn read_only(&self) -> Self {
        let mut reading = self.clone();
        reading.settings.allow_writes = false;
        reading
    }

    /// Returns the same database, with the same limit on connections, as a caller with a role and
    /// settings reaches it.
    ///
    /// # Errors
    /// Fails if a file of the role cannot be used.
    pub fn acting(&self, acting: Acting) -> Result<Self, InvalidDatabase> {
        let mut other = match acting.way() {
            Some(Way::ConnectAs(folder)) => {
                let settings = self
                    .settings
                    .logging_in_as(acting.role(), folder.as_deref())?;
                Self {
                    limit: Arc::clone(&self.limit),
                    masks: self.masks.clone(),
                    ..Self::try_from(settings)?
                }
            }
            _ => self.clone(),
        };
        if let Some(role) = acting.startup_role() {
            let targets = other.targets.iter().map(|target| target.with_role(role));
            other.targets = targets.collect();
        }
        other.served = Some(Arc::new(Served::Acting(acting)));
        Ok(other)
    }

    /// Returns the same database as a caller reaches it who may not use it. The reason is for the log.
    #[must_use]
    pub fn refusing(&self, why: impl Into<String>) -> Self {
        let served = Some(Arc::new(Served::Refused(why.into())));
        Self {
            served,
            ..self.clone()
        }
    }

    /// Returns the same database, with the same limit on connections, as a caller sees it for whom
    /// some columns are masked.
    #[must_use]
    pub fn masked(&self, masks: CallerMasks) -> Self {
        Self {
            masks: Some(Arc::new(masks)),
            ..self.clone()
        }
    }

    /// Returns the masks that hold for the caller, if there are some.
    #[must_use]
    pub fn masks(&self) -> Option<&Arc<CallerMasks>> {
        self.masks.as_ref()
    }

    /// Returns the role and the settings of a caller, if it has some of its own.
    #[must_use]
    pub fn acts(&self) -> Option<&Acting> {
        match self.served.as_deref()? {
            Served::Acting(acting) => Some(acting),
            Served::Refused(_) => None,
        }
    }

    /// Returns whether the caller must not see the numbers of plans where row security holds for it.
    #[must_use]
    pub fn hides_plans(&self) -> bool {
        self.acts().is_some_and(Acting::hides_plans)
    }

    /// Returns whether statements run with the role or the settings of a caller.
    #[must_use]
    pub fn is_acting(&self) -> bool {
        self.acts().is_some()
    }

    /// Returns why a caller may not use it, if that is so.
    pub(crate) fn refusal(&self) -> Option<&str> {
        match self.served.as_deref()? {
            Served::Refused(why) => Some(why),
            Served::Acting(_) => None,
        }
    }

    /// Returns whether the other one is the same database for another caller.
    pub(crate) fn is_limited_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.limit, &other.limit)
    }

    /// Returns whether statements may call functions with effects beyond the transaction.
    #[must_use]
    pub fn allows_dangerous_functions(&self) -> bool {
        self.settings.allow_dangerous_functions
    }

    /// Returns the default number of rows of a call.
    #[must_use]
    pub fn row_limit(&self) -> u32 {
        self.settings.row_limit
    }

    /// Returns the time limit of a statement, if there is one.
    #[must_use]
    pub fn query_timeout(&self) -> Option<Duration> {
        let timeout = self.settings.query_timeout;
        (!timeout.is_zero()).then_some(timeout)
    }

    /// Returns whether no network is between this server and the database.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.settings.all_hosts().iter().all(Host::is_here)
    }

    /// Returns whether the other one has the same settings, and the files that they name have the
    /// same contents.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let (one, two) = (&self.settings, &other.settings);
        let is_same_target = |(one, two): (&Target, &Target)| one.is_same(two);
        // `Debug` does not show passwords and arguments, so they are compared separately.
        one.password.is_same(&two.password)
            && one.connect_command == two.connect_command
            && format!("{one:?}") == format!("{two:?}")
            && self.certificates == other.certificates
            && self.targets.iter().zip(&*other.targets).all(is_same_target)
    }

    /// Returns the passwords it connects with, one for each host, to redact them in logs.
    pub fn passwords(&self) -> impl Iterator<Item = &SecretString> {
        self.targets.iter().map(Target::password)
    }

    /// Returns whether it shares a host with the other one.
    pub(crate) fn is_on_a_server_of(&self, other: &Self) -> bool {
        let hosts = |database: &Self| database.settings.all_hosts();
        let others = hosts(other);
        hosts(self).iter().any(|host| others.contains(host))
    }

    /// Returns the order in which the hosts are tried.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.targets.len()).collect();
        if self.settings.host_order == HostOrder::Random {
            // Each hasher has a random key of its own.
            let random = RandomState::new();
            order.sort_by_cached_key(|index| random.hash_one(index));
        }
        order
    }

    pub(crate) fn targets(&self) -> &[Target] {
        &self.targets
    }

    pub(crate) fn connection_limit(&self) -> &ConnectionLimit {
        &self.limit
    }
}

impl fmt::Debug for Database {
    /// Leaves out the options of the driver, which show the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.settings).finish()
    }
}
