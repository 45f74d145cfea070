//! Parameters of libpq, as a service file and variables have them.

use std::{
    collections::BTreeMap, fmt::Display, net::IpAddr, path::PathBuf, str::FromStr, time::Duration,
};

use thiserror::Error;
use ziggurat_runtime::{Environment, Secret};

use crate::database::{Host, HostOrder, Settings};

/// Values by the name of their parameter; one may be a password.
pub type Parameters = BTreeMap<&'static str, Secret>;

/// Variables, each with the parameter that it sets.
pub const VARIABLES: [(&str, &str); 15] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "user"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGAPPNAME", "application_name"),
    ("PGOPTIONS", "options"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
];

/// Variables that are refused, since ignoring them weakens a connection; some only with one value.
pub const REFUSED: [(&str, Option<&str>); 5] = [
    ("PGREQUIREAUTH", None),
    ("PGCHANNELBINDING", Some("require")),
    ("PGGSSENCMODE", Some("require")),
    ("PGSSLCRL", None),
    ("PGSSLCRLDIR", None),
];

/// Reason why parameters cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidParameter {
    /// A list does not fit the list of hosts.
    #[error("{key} has {values} values for {hosts} hosts")]
    Count {
        /// The parameter.
        key: &'static str,
        /// Its number of values.
        values: usize,
        /// Number of hosts.
        hosts: usize,
    },
    /// A parameter has an invalid value.
    #[error("{key} {problem}")]
    Value {
        /// The parameter.
        key: &'static str,
        /// The problem, which does not show the value.
        problem: String,
    },
}

// === impl Settings ===

impl Settings {
    /// Takes the values of the parameters; settings without a parameter stay.
    ///
    /// # Errors
    /// Fails if a value is invalid.
    pub fn take_parameters(&mut self, parameters: &Parameters) -> Result<(), InvalidParameter> {
        let text = |key: &str| {
            let text = parameters.get(key).map(Secret::expose);
            text.filter(|text| !text.is_empty())
        };
        let one_port = text("port").filter(|port| !port.contains(','));
        self.port = one_port.map(port).transpose()?.unwrap_or(self.port);
        self.hosts = hosts(["host", "hostaddr", "port"].map(text), self.port)?;
        for (key, setting) in [
            ("host", &mut self.host),
            ("dbname", &mut self.database),
            ("user", &mut self.user),
            ("application_name", &mut self.application_name),
        ] {
            if let Some(text) = text(key) {
                text.clone_into(setting);
            }
        }
        for (key, setting) in [
            ("sslrootcert", &mut self.ssl_root_cert),
            ("sslcert", &mut self.ssl_cert),
            ("sslkey", &mut self.ssl_key),
        ] {
            *setting = text(key).map(PathBuf::from).or(setting.take());
        }
        if let Some(password) = text("password") {
            self.password = password.to_owned().into();
        }
        if let Some(options) = text("options") {
            self.options = Some(options.to_owned());
        }
        let auth = parsed("require_auth", text("require_auth"))?;
        self.require_auth = auth.or(self.require_auth);
        self.ssl_mode = parsed("sslmode", text("sslmode"))?.unwrap_or(self.ssl_mode);
        let key = "ssl_min_protocol_version";
        self.min_tls = parsed(key, text(key))?.unwrap_or(self.min_tls);
        let key = "target_session_attrs";
        self.target_session_attrs = parsed(key, text(key))?.unwrap_or(self.target_session_attrs);
        self.host_order = match text("load_balance_hosts") {
            None => self.host_order,
            Some("disable") => HostOrder::Listed,
            Some("random") => HostOrder::Random,
            Some(_) => Err(invalid("load_balance_hosts", "must be disable or random"))?,
        };
        // As in libpq, zero and less mean no limit; the default of the server stays.
        let seconds = parsed::<i64>("connect_timeout", text("connect_timeout"))?;
        if let Some(seconds @ 1..) = seconds {
            self.connect_timeout = Duration::from_secs(seconds.unsigned_abs());
        }
        Ok(())
    }
}

/// Returns the variables that are set and refused.
pub fn refused(environment: &Environment) -> impl Iterator<Item = &'static str> {
    let refused = REFUSED.into_iter().filter(|(name, refused)| {
        let value = environment.get(name);
        value.is_some_and(|value| refused.is_none_or(|refused| value == refused))
    });
    refused.map(|(name, _)| name)
}

fn invalid(key: &'static str, problem: impl Display) -> InvalidParameter {
    let problem = problem.to_string();
    InvalidParameter::Value { key, problem }
}

fn parsed<T>(key: &'static str, text: Option<&str>) -> Result<Option<T>, InvalidParameter>
where
    T: FromStr,
    T::Err: Display,
{
    let parsed = text.map(|text| text.trim().parse()).transpose();
    parsed.map_err(|error| invalid(key, error))
}

fn port(text: &str) -> Result<u16, InvalidParameter> {
    let port = text.parse();
    port.map_err(|_| invalid("port", "must be a number"))
}

/// Returns the hosts of texts with commas, or of addresses in place of names: of `host`, `hostaddr`
/// and `port`. Returns none for a single host without an address.
///
/// # Errors
/// Fails if the texts do not fit each other, or an address or a port is malformed.
pub fn hosts(texts: [Option<&str>; 3], default: u16) -> Result<Vec<Host>, InvalidParameter> {
    let [names, addresses, ports] = texts.map(|text| match text {
        Some(text) => text.split(',').map(str::trim).collect(),
        None => Vec::new(),
    });
    if addresses.is_empty() && names.len() < 2 && ports.len() < 2 {
        return Ok(Vec::new());
    }
    let count = addresses.len().max(names.len()).max(1);
    for (key, given) in [("host", &names), ("hostaddr", &addresses), ("port", &ports)] {
        let fits = given.is_empty() || given.len() == count || key == "port" && given.len() == 1;
        if !fits {
            return Err(InvalidParameter::Count {
                key,
                values: given.len(),
                hosts: count,
            });
        }
    }
    let host = |at: usize| {
        let address = addresses.get(at).map(|text| text.parse::<IpAddr>());
        let address = address
            .transpose()
            .map_err(|_| invalid("hostaddr", "must be an address"))?;
        let name = names.get(at).copied().filter(|name| !name.is_empty());
        let name = name.or(addresses.get(at).copied()).unwrap_or("localhost");
        let own = ports
            .get(at)
            .or(ports.first())
            .filter(|port| !port.is_empty());
        let own = own.map(|text| port(text)).transpose()?;
        let mut host = Host::new(name, own.unwrap_or(default));
        host.address = address;
        Ok(host)
    };
    (0..count).map(host).collect()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::database::{MinTls, Password, SslMode, TargetSessionAttrs};

    fn taken(parameters: &[(&'static str, &str)]) -> Result<Settings, String> {
        let parameters = parameters.iter().map(|&(key, value)| (key, value.into()));
        let mut settings = Settings::default();
        let taken = settings.take_parameters(&parameters.collect());
        taken.map(|()| settings).map_err(|error| error.to_string())
    }

    #[test]
    fn each_parameter_sets_what_it_names() {
        let settings = taken(&[
            ("host", "db.example"),
            ("port", "5433"),
            ("dbname", "shop"),
            ("user", "reader"),
            ("password", "swordfish"),
            ("sslmode", "verify-full"),
            ("sslrootcert", "/ca"),
            ("sslcert", "/cert"),
            ("sslkey", "/key"),
            ("ssl_min_protocol_version", "TLSv1.3"),
            ("require_auth", "scram-sha-256"),
            ("connect_timeout", "7"),
            ("target_session_attrs", "read-only"),
            ("application_name", "shop of books"),
            ("options", "-c work_mem=64MB"),
            ("load_balance_hosts", "random"),
        ]);
        let settings = settings.expect("good");
        assert_eq!(settings.all_hosts(), [Host::new("db.example", 5433)]);
        assert_eq!((&*settings.database, &*settings.user), ("shop", "reader"));
        let Password::Given(password) = &settings.password else {
            panic!("{settings:?}");
        };
        assert_eq!(password.expose_secret(), "swordfish");
        assert_eq!(settings.ssl_mode, SslMode::VerifyFull);
        let files = [
            &settings.ssl_root_cert,
            &settings.ssl_cert,
            &settings.ssl_key,
        ];
        let files = files.map(|file| file.as_ref().and_then(|path| path.to_str()));
        assert_eq!(files, [Some("/ca"), Some("/cert"), Some("/key")]);
        assert_ne!(settings.min_tls, MinTls::default());
        assert!(settings.require_auth.is_some());
        assert_eq!(settings.connect_timeout, Duration::from_secs(7));
        assert_eq!(settings.target_session_attrs, TargetSessionAttrs::ReadOnly);
        assert_eq!(settings.application_name, "shop of books");
        assert_eq!(settings.options.as_deref(), Some("-c work_mem=64MB"));
        assert_eq!(settings.host_order, HostOrder::Random);
    }

    #[test]
    fn several_hosts_have_one_port_or_one_each() {
        let hosts = |parameters: &[_]| taken(parameters).map(|settings| settings.all_hosts());
        let two = [Host::new("a", 5433), Host::new("b", 5433)];
        assert_eq!(
            hosts(&[("host", "a,b"), ("port", "5433")]),
            Ok(two.to_vec())
        );
        let texts = [Some("a,b"), None, Some("5433")];
        assert_eq!(super::hosts(texts, 1).expect("good"), two);
        let two = [Host::new("a", 1), Host::new("b", 2)];
        assert_eq!(hosts(&[("host", "a,b"), ("port", "1,2")]), Ok(two.into()));
        let mut here = Host::new("a", 5432);
        here.address = Some(IpAddr::from([127, 0, 0, 1]));
        let here = Ok(vec![here]);
        assert_eq!(hosts(&[("host", "a"), ("hostaddr", "127.0.0.1")]), here);
    }

    #[test]
    fn an_invalid_value_names_its_parameter() {
        for (parameters, expected) in [
            (&[("port", "x")][..], "port must be a number"),
            (&[("hostaddr", "db")], "hostaddr must be an address"),
            (
                &[("host", "a,b"), ("port", "1,2,3")],
                "port has 3 values for 2 hosts",
            ),
            (&[("load_balance_hosts", "x")], "load_balance_hosts must be"),
            (&[("sslmode", "x")], "sslmode "),
            (&[("require_auth", "x")], "require_auth "),
            (&[("connect_timeout", "x")], "connect_timeout "),
            (&[("target_session_attrs", "x")], "target_session_attrs "),
            (
                &[("ssl_min_protocol_version", "x")],
                "ssl_min_protocol_version ",
            ),
        ] {
            let error = taken(parameters).expect_err(expected);
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
