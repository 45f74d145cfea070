//! One database an operator has configured.
//!
//! ```
//! use ziggurat_services::pg::database::{Database, Settings};
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
//! # Ok::<(), ziggurat_services::pg::database::InvalidDatabase>(())
//! ```

use std::{fmt, time::Duration};

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::{
    ConnectOptions as _,
    postgres::{PgConnectOptions, PgSslMode},
};
use thiserror::Error;

/// The most rows one call returns, whatever it asks for.
pub const MAX_ROWS: u32 = 1000;

/// What PostgreSQL lists the connections of this server as.
const APPLICATION_NAME: &str = "ziggurat";

/// What the operator says about a database, not checked yet. The defaults are the documented
/// ones.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name it goes by here, which is not its name in PostgreSQL.
    pub name: String,
    /// A host name, an address, or the folder of a Unix socket.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The name of the database in PostgreSQL.
    pub database: String,
    /// The role to connect as.
    pub user: String,
    /// Empty to look it up as libpq does: `PGPASSWORD`, then the password file.
    pub password: SecretString,
    /// How much the connection is to be trusted.
    pub ssl_mode: PgSslMode,
    /// Whether statements may change data.
    pub allow_writes: bool,
    /// Rows returned by a call that does not say how many it wants.
    pub row_limit: u32,
    /// How long a statement may run; zero for no limit.
    pub query_timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Connections of one caller.
    pub max_connections: u32,
    /// How long a connection is kept unused.
    pub max_idle: Duration,
    /// How long a connection is kept at all.
    pub max_lifetime: Duration,
}

/// A description that can be connected to.
#[derive(Clone)]
pub struct Database {
    settings: Settings,
    options: PgConnectOptions,
}

/// Why a description is no good.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidDatabase {
    /// It has no name.
    #[error("name is required")]
    NoName,
    /// It has no user.
    #[error("database '{name}': user is required")]
    NoUser {
        /// Which one.
        name: String,
    },
    /// A setting is out of its range.
    #[error("database '{name}': {setting} must be {range}")]
    OutOfRange {
        /// Which one.
        name: String,
        /// Its key in the configuration file.
        setting: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// The connection settings make no sense together.
    #[error("database '{name}': connection settings are not usable")]
    Options {
        /// Which one.
        name: String,
        /// What sqlx makes of them.
        source: sqlx::Error,
    },
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            host: "localhost".to_owned(),
            port: 5432,
            database: "postgres".to_owned(),
            user: String::new(),
            password: SecretString::default(),
            ssl_mode: PgSslMode::Prefer,
            allow_writes: false,
            row_limit: 100,
            query_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            max_connections: 4,
            max_idle: Duration::from_mins(30),
            max_lifetime: Duration::from_hours(1),
        }
    }
}

impl Settings {
    fn check(&self) -> Result<(), InvalidDatabase> {
        if self.name.is_empty() {
            return Err(InvalidDatabase::NoName);
        }
        if self.user.is_empty() {
            return Err(InvalidDatabase::NoUser {
                name: self.name.clone(),
            });
        }
        // PostgreSQL counts milliseconds in an int4.
        let longest = Duration::from_millis(i32::MAX.unsigned_abs().into());
        let ranges = [
            (
                (1..=MAX_ROWS).contains(&self.row_limit),
                "row_limit",
                "between 1 and 1000",
            ),
            (
                self.query_timeout <= longest,
                "query_timeout",
                "24 days at most",
            ),
            (
                !self.connect_timeout.is_zero(),
                "connect_timeout",
                "longer than nothing",
            ),
            (
                (1..=1000).contains(&self.max_connections),
                "pool_max_conns",
                "between 1 and 1000",
            ),
        ];
        match ranges.into_iter().find(|(is_good, ..)| !is_good) {
            None => Ok(()),
            Some((_, setting, range)) => Err(InvalidDatabase::OutOfRange {
                name: self.name.clone(),
                setting,
                range,
            }),
        }
    }

    fn options(&self) -> sqlx::Result<PgConnectOptions> {
        let password = self.password.expose_secret();
        let options = if password.is_empty() {
            // Parsed, because sqlx consults the password file only for what comes from a URL.
            let host = encode(&self.host);
            let (port, user, database) = (self.port, encode(&self.user), encode(&self.database));
            format!("postgres:///?host={host}&port={port}&user={user}&dbname={database}").parse()?
        } else {
            PgConnectOptions::new_without_pgpass().password(password)
        };
        Ok(options
            .host(&self.host)
            .port(self.port)
            .username(&self.user)
            .database(&self.database)
            .ssl_mode(self.ssl_mode)
            .application_name(APPLICATION_NAME)
            // Poolers refuse start-up parameters they do not know, and the default is good.
            .extra_float_digits(None)
            // Proofs are not kept: what a text means depends on settings that may change.
            .statement_cache_capacity(1)
            // Statements hold what their authors know.
            .disable_statement_logging())
    }
}

// === impl Database ===

impl TryFrom<Settings> for Database {
    type Error = InvalidDatabase;

    /// Checks a description, and reads the password file if it has no password.
    fn try_from(settings: Settings) -> Result<Self, InvalidDatabase> {
        settings.check()?;
        match settings.options() {
            Ok(options) => Ok(Self { settings, options }),
            Err(source) => Err(InvalidDatabase::Options {
                name: settings.name,
                source,
            }),
        }
    }
}

impl Database {
    /// The name it goes by here.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// What the operator said about it.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether statements may change data.
    #[must_use]
    pub fn allows_writes(&self) -> bool {
        self.settings.allow_writes
    }

    /// Rows returned by a call that does not say how many it wants.
    #[must_use]
    pub fn row_limit(&self) -> u32 {
        self.settings.row_limit
    }

    /// How long a statement may run, if there is a limit.
    #[must_use]
    pub fn query_timeout(&self) -> Option<Duration> {
        let timeout = self.settings.query_timeout;
        (!timeout.is_zero()).then_some(timeout)
    }

    /// Whether the other one is described in the same words, the password included.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let (one, two) = (&self.settings, &other.settings);
        // The password is not shown by `Debug`, so it is compared by itself.
        one.password.expose_secret() == two.password.expose_secret()
            && format!("{one:?}") == format!("{two:?}")
    }

    pub(crate) fn options(&self) -> &PgConnectOptions {
        &self.options
    }
}

impl fmt::Debug for Database {
    /// Leaves out the options of the driver, which show the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.settings).finish()
    }
}

/// Percent-encodes everything but the unreserved characters (RFC 3986, section 2.3).
fn encode(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            out.push('%');
            out.push(HEX[usize::from(byte >> 4)].into());
            out.push(HEX[usize::from(byte & 15)].into());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            name: "main".into(),
            user: "reader".into(),
            ..Settings::default()
        }
    }

    #[test]
    fn a_description_out_of_range_says_which_setting() {
        type Break = fn(&mut Settings);
        let cases: [(Break, &str); 7] = [
            (|s| s.name.clear(), "name is required"),
            (|s| s.user.clear(), "database 'main': user is required"),
            (
                |s| s.row_limit = 0,
                "database 'main': row_limit must be between 1 and 1000",
            ),
            (
                |s| s.row_limit = 1001,
                "database 'main': row_limit must be between 1 and 1000",
            ),
            (
                |s| s.max_connections = 0,
                "database 'main': pool_max_conns must be between 1 and 1000",
            ),
            (
                |s| s.connect_timeout = Duration::ZERO,
                "database 'main': connect_timeout must be longer than nothing",
            ),
            (
                |s| s.query_timeout = Duration::from_hours(600),
                "database 'main': query_timeout must be 24 days at most",
            ),
        ];
        for (spoil, expected) in cases {
            let mut settings = settings();
            spoil(&mut settings);
            let error = Database::try_from(settings).expect_err(expected);
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn the_password_shows_nowhere() {
        let database = Database::try_from(Settings {
            password: "s3cret/fish".to_owned().into(),
            ..settings()
        })
        .expect("valid");
        assert!(!format!("{database:?}").contains("s3cret"));
        assert!(!format!("{:?}", database.settings()).contains("s3cret"));
    }

    #[test]
    fn odd_names_reach_the_driver_unchanged() {
        for password in ["", "p@ss:w/rd?"] {
            let database = Database::try_from(Settings {
                host: "/run/my sockets".into(),
                user: "a@b&c=d".into(),
                database: "my/db?x#y".into(),
                password: password.to_owned().into(),
                ..settings()
            })
            .expect("valid");
            let options = database.options();
            assert_eq!(options.get_username(), "a@b&c=d");
            assert_eq!(options.get_database(), Some("my/db?x#y"));
            assert_eq!(options.get_host(), "/run/my sockets");
        }
    }

    #[test]
    fn a_timeout_of_zero_is_none() {
        let database = Database::try_from(Settings {
            query_timeout: Duration::ZERO,
            ..settings()
        });
        assert_eq!(database.expect("valid").query_timeout(), None);
    }
}
