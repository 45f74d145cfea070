//! Settings of the database that replicas share, as a configuration file has them.

use std::path::PathBuf;

use ziggurat_postgres::database::{
    ConnectKeys, Database, Parameters, Password, Settings, service_file,
};
use ziggurat_runtime::{Secret, config::Section};

use crate::state_database::{InvalidState, database_of, defaults};

/// Settings of the database that replicas share.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSettings {
    address: Address,
    /// Authorities to trust.
    root_cert: Option<PathBuf>,
    /// Client certificate.
    cert: Option<PathBuf>,
    /// Private key of the client certificate.
    key: Option<PathBuf>,
    /// Source of the password, and the program that connects.
    connect: ConnectKeys,
}

/// Address of the database, and the login.
#[derive(Clone, Debug, PartialEq)]
enum Address {
    /// Connection URL, which may have a password.
    Url(Secret),
    /// Parameters of a service.
    Service(Parameters),
}

// === impl StateSettings ===

impl StateSettings {
    /// Reads the section. The URL may come from elsewhere. Without it and without a service, there
    /// is no such database.
    #[must_use]
    pub fn read(file: &Section<'_>, url: Option<Secret>) -> Option<Self> {
        let path = |key: &str| file.key(key).path();
        let (root_cert, cert, key) = (path("sslrootcert"), path("sslcert"), path("sslkey"));
        let connect = ConnectKeys::read(file);
        let named = file.key("service");
        let service = named.parsed(|name| service_file::read(name, file.environment()));
        let (at, address) = match (url, named.text()) {
            (Some(_), Some(_)) => {
                named.problem("url and service exclude each other");
                return None;
            }
            (Some(url), None) => (file.key("url"), Address::Url(url)),
            (None, _) => (named, Address::Service(service?)),
        };
        let settings = Self {
            address,
            root_cert,
            cert,
            key,
            connect,
        };
        if let Err(error) = settings.database() {
            at.problem(error);
        }
        Some(settings)
    }

    /// Returns the URL, if the database has one.
    #[must_use]
    pub fn url(&self) -> Option<&Secret> {
        match &self.address {
            Address::Url(url) => Some(url),
            Address::Service(_) => None,
        }
    }

    /// Returns the key that names the database.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match &self.address {
            Address::Url(_) => "state.url",
            Address::Service(_) => "state.service",
        }
    }

    /// Returns the connection settings. Reads the named files.
    ///
    /// # Errors
    /// Fails if the settings or a file cannot be used; the message contains nothing of the URL.
    pub fn database(&self) -> Result<Database, InvalidState> {
        let settings = match &self.address {
            Address::Url(url) => Settings::from_url(url.expose(), &defaults())?,
            Address::Service(parameters) => self.of_service(parameters)?,
        };
        database_of(settings, |settings| {
            for (setting, path) in [
                (&mut settings.ssl_root_cert, &self.root_cert),
                (&mut settings.ssl_cert, &self.cert),
                (&mut settings.ssl_key, &self.key),
            ] {
                *setting = path.clone().or(setting.take());
            }
            self.connect.apply(settings)
        })
    }

    fn of_service(&self, parameters: &Parameters) -> Result<Settings, InvalidState> {
        let mut settings = Settings {
            database: String::new(),
            ..defaults()
        };
        settings.take_parameters(parameters)?;
        if settings.database.is_empty() {
            // As in libpq.
            settings.database.clone_from(&settings.user);
        }
        if self.connect.has_password() {
            settings.password = Password::PasswordFile;
        }
        Ok(settings)
    }
}
