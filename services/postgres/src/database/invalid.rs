//! Reasons to refuse the settings of a database.

use std::io;

use thiserror::Error;

/// Reason to refuse the settings of a database.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidDatabase {
    /// It has no name.
    #[error("name is required")]
    NoName,
    /// It has no user, or one of its hosts has no name.
    #[error("database '{name}': {setting} is required")]
    Missing {
        /// The name of the database.
        name: String,
        /// Its key in the configuration file.
        setting: &'static str,
    },
    /// A setting is out of its range.
    #[error("database '{name}': {setting} must be {range}")]
    OutOfRange {
        /// The name of the database.
        name: String,
        /// Its key in the configuration file.
        setting: &'static str,
        /// The allowed range.
        range: &'static str,
    },
    /// Previews need something else.
    #[error("database '{name}': preview needs {needs}")]
    NoPreview {
        /// The name of the database.
        name: String,
        /// The key that is missing, or too small.
        needs: &'static str,
    },
    /// There is a client certificate without its key, or a key without its certificate.
    #[error("database '{name}': sslcert and sslkey must be set together")]
    HalfCertificate {
        /// The name of the database.
        name: String,
    },
    /// Nothing says which authorities may certify a server of any name.
    #[error(
        "database '{name}': sslmode verify-ca needs sslrootcert, a file with the certificates of \
         the authorities to trust"
    )]
    NoAuthorities {
        /// The name of the database.
        name: String,
    },
    /// The authorities of the system are trusted only together with the name of the host.
    #[error("database '{name}': sslrootcert system needs sslmode verify-full")]
    WeakMode {
        /// The name of the database.
        name: String,
    },
    /// Two keys have the same purpose.
    #[error("database '{name}': {keys} exclude each other")]
    Exclusive {
        /// The name of the database.
        name: String,
        /// The keys in the configuration file.
        keys: &'static str,
    },
    /// A password of a program would leave this machine in a way that others can read.
    #[error("database '{name}': password_command needs sslmode require or stronger")]
    NeedsTls {
        /// The name of the database.
        name: String,
    },
    /// The variable with the password is not set.
    #[error("database '{name}': the variable {variable} is not set")]
    UnsetVariable {
        /// The name of the database.
        name: String,
        /// The name of the variable.
        variable: String,
    },
    /// A file it names cannot be read.
    #[error("database '{name}': {setting} cannot be read")]
    Unreadable {
        /// The name of the database.
        name: String,
        /// The key of the file in the configuration file.
        setting: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// A file it names holds something else.
    #[error("database '{name}': {setting} has no PEM block of the expected kind")]
    NotPem {
        /// The name of the database.
        name: String,
        /// The key of the file in the configuration file.
        setting: &'static str,
    },
}
