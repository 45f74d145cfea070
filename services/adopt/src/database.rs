//! A database entry of ours, made from the source of another server.

use ziggurat_runtime::Secret;

use crate::{
    Surroundings,
    document::{Members, Yaml},
    report::{Place, Report},
    url::{self, Url},
    variables::{self, Filled},
};

/// Values of `sslmode`.
const SSL_MODES: [&str; 6] = [
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
];

/// Parameters of a URL that are named like our keys.
const PARAMETERS: [&str; 12] = [
    "user",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "require_auth",
    "target_session_attrs",
    "application_name",
    "hostaddr",
    "options",
    "service",
    "ssl_min_protocol_version",
    "load_balance_hosts",
];

/// A database entry.
#[derive(Debug, Default)]
pub struct Database {
    pub(crate) name: String,
    members: Members,
    texts: Vec<(&'static str, String)>,
    pub(crate) password: Password,
    /// The command that carries the connection.
    command: Vec<String>,
    /// True if a person has to fill in the host.
    pub(crate) lacks_host: bool,
}

/// Origin of the password of a database.
#[derive(Debug, Default)]
pub enum Password {
    /// Nothing is written about it: a password file or `PGPASSWORD`.
    #[default]
    Elsewhere,
    /// The variable of this name.
    Variable(String),
    /// A password in the configuration of the other server. It is used to ask for types, and never
    /// written.
    LeftOut(Secret),
}

/// A source that is being read, with its place and the facts besides it.
pub(crate) struct Reading<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) surroundings: &'a Surroundings<'a>,
    pub(crate) report: &'a mut Report,
}

// === impl Password ===

impl Password {
    /// Returns the password to connect with; `variable` looks up a variable of the environment.
    #[must_use]
    pub fn find<'a>(&'a self, variable: impl Fn(&str) -> Option<&'a str>) -> &'a str {
        match self {
            Self::LeftOut(password) => password.expose(),
            Self::Variable(name) => variable(name).unwrap_or_default(),
            Self::Elsewhere => variable("PGPASSWORD").unwrap_or_default(),
        }
    }
}

// === impl Database ===

impl Database {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the name of the entry.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text of a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        let mut texts = self.texts.iter();
        texts
            .find(|(known, _)| *known == key)
            .map(|(_, text)| &**text)
    }

    /// Returns the origin of the password.
    #[must_use]
    pub fn password(&self) -> &Password {
        &self.password
    }

    /// Returns whether a connection can be made without running a command.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.command.is_empty() && !self.lacks_host && self.text("service").is_none()
    }

    /// Sets a key to a text, with the variables in it filled in.
    pub(crate) fn set(&mut self, key: &'static str, written: &str, reading: &mut Reading<'_>) {
        match variables::fill(written, reading.surroundings.variable) {
            Filled::Text(text) => self.put(key, text, None),
            Filled::Default(text, name) => {
                reading.changed(format!("{key}: the default of {name} is taken"));
                self.put(key, text, Some(format!("default of {name}")));
            }
            Filled::Unset(name) => {
                reading.changed(format!("{key}: {name} is not filled in: write its value"));
                self.members.comment(format!("{key}: ${{{name}}}"));
            }
        }
    }

    /// Sets a key to a text that is already checked. The last of several texts counts, as in libpq.
    pub(crate) fn put(&mut self, key: &'static str, text: String, note: Option<String>) {
        if text.is_empty() {
            return;
        }
        let is_number =
            matches!(key, "port" | "row_limit") && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = if is_number {
            Yaml::Plain(text.clone())
        } else {
            Yaml::Text(text.clone())
        };
        self.members.replace(key, value, note);
        self.texts.retain(|(known, _)| *known != key);
        self.texts.push((key, text));
    }

    /// Sets a time that is written as a number of seconds.
    pub(crate) fn set_seconds(
        &mut self,
        key: &'static str,
        written: &str,
        reading: &mut Reading<'_>,
    ) {
        match written.parse::<u32>() {
            Ok(0) => {}
            Ok(seconds) => self.put(key, format!("{seconds}s"), None),
            Err(_) => reading.changed(format!("{key}: it is not a number of seconds")),
        }
    }

    pub(crate) fn set_ssl_mode(&mut self, written: &str, reading: &mut Reading<'_>) {
        match written {
            // A mode of node-postgres.
            "no-verify" => self.put("sslmode", "require".to_owned(), None),
            mode if SSL_MODES.contains(&mode) => self.put("sslmode", mode.to_owned(), None),
            _ => reading.changed("sslmode: the value is not known here; it is prefer"),
        }
    }

    /// Takes a password, which is never written.
    pub(crate) fn set_password(&mut self, written: &Secret, reading: &mut Reading<'_>) {
        let text = written.expose();
        if text.is_empty() {
            return;
        }
        if let Some(variable) = variables::whole(text) {
            let name = variable.name;
            if variable.default.is_some_and(|default| !default.is_empty()) {
                reading.changed(format!(
                    "password: the default of {name} is left out: set {name}"
                ));
            }
            self.members.replace("password_env", name.as_str(), None);
            self.password = Password::Variable(name);
            return;
        }
        reading.changed(
            "password: it is left out; put it into the password file (~/.pgpass), or into a variable \
             that password_env names",
        );
        if !variables::has_any(text) {
            self.password = Password::LeftOut(written.clone());
        }
    }

    /// Takes the parts of a connection URL.
    pub(crate) fn set_url(&mut self, written: &str, reading: &mut Reading<'_>) {
        match url::read(written) {
            Ok(url) => self.set_parts(&url, reading),
            Err(error) => {
                self.lacks_host = true;
                reading.missing(error.to_string());
            }
        }
    }

    fn set_parts(&mut self, url: &Url, reading: &mut Reading<'_>) {
        if url.hosts.contains(',') {
            reading.changed("several hosts: write them as hosts");
            self.lacks_host = true;
        } else {
            self.set_host(&url.hosts, reading);
        }
        if let Some(database) = &url.database {
            self.set("database", database, reading);
        }
        if let Some(user) = &url.user {
            self.set("user", user, reading);
        }
        if let Some(password) = &url.password {
            self.set_password(password, reading);
        }
        self.set_parameters(&url.parameters, reading);
    }

    fn set_host(&mut self, written: &str, reading: &mut Reading<'_>) {
        let (host, port) = match written.strip_prefix('[').and_then(|it| it.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            // The default of a variable has a colon too.
            None if variables::whole(written).is_some() => (written, None),
            None => match written.rsplit_once(':') {
                Some((host, port)) if !port.ends_with('}') || port.starts_with("${") => {
                    (host, Some(port))
                }
                _ => (written, None),
            },
        };
        if !host.is_empty() {
            self.set("host", host, reading);
        }
        if let Some(port) = port.filter(|port| !port.is_empty()) {
            self.set("port", port, reading);
        }
    }

    /// Takes the parameters of a URL.
    pub(crate) fn set_parameters(
        &mut self,
        parameters: &[(String, String)],
        reading: &mut Reading<'_>,
    ) {
        // An address is only for a host that has no name, or belongs to its name.
        let (addresses, others): (Vec<_>, Vec<_>) =
            parameters.iter().partition(|(name, _)| name == "hostaddr");
        for (name, value) in others.into_iter().chain(addresses) {
            match name.as_str() {
                "password" | "sslpassword" => {
                    self.set_password(&value.as_str().into(), reading);
                }
                "host" => self.set("host", value, reading),
                "hostaddr" if self.text("host").is_none() => self.set("host", value, reading),
                "port" => self.set("port", value, reading),
                "dbname" => self.set("database", value, reading),
                "sslmode" => self.set_ssl_mode(value, reading),
                "connect_timeout" => self.set_seconds("connect_timeout", value, reading),
                "channel_binding" if value != "require" => {}
                name => match PARAMETERS.iter().find(|known| **known == name) {
                    Some(key) => self.set(key, value, reading),
                    None => reading.missing("a parameter of the connection that is not known here"),
                },
            }
        }
    }

    /// Sets the command that carries the connection.
    pub(crate) fn set_command(&mut self, command: Vec<String>) {
        self.command = command;
    }

    /// Sets the command that prints the password.
    pub(crate) fn set_password_command(&mut self, command: Vec<String>) {
        self.members.set("password_command", command);
    }

    /// Adds a comment to the entry.
    pub(crate) fn comment(&mut self, text: impl Into<String>) {
        self.members.comment(text);
    }

    /// Returns the entry of the configuration.
    pub(crate) fn entry(&self) -> Members {
        let mut entry = Members::default();
        entry.set("name", self.name.as_str());
        entry.extend(&self.members);
        if !self.command.is_empty() {
            entry.set("connect_command", self.command.clone());
        }
        entry
    }
}

// === impl Reading ===

impl Reading<'_> {
    pub(crate) fn same(&mut self, what: impl Into<String>) {
        self.report.same(self.place, what);
    }

    pub(crate) fn changed(&mut self, what: impl Into<String>) {
        self.report.changed(self.place, what);
    }

    pub(crate) fn missing(&mut self, what: impl Into<String>) {
        self.report.missing(self.place, what);
    }
}
