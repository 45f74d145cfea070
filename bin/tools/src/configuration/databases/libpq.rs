//! Variables and services of libpq, which provide what an entry leaves out.

use ziggurat_postgres::database::{
    parameters::{self, VARIABLES},
    service_file::{self, InvalidService},
};
use ziggurat_runtime::config::{Section, Source};

use crate::configuration::databases::raw::RawDatabase;

/// Keys of an address, which a list of hosts replaces.
const ADDRESS: [&str; 3] = ["host", "hostaddr", "port"];

/// Reports variables that are refused.
pub(super) fn refuse(nothing: &Section<'_>) {
    for name in parameters::refused(nothing.environment()) {
        nothing.complain(format_args!("{name} is not supported"));
    }
}

/// Returns the key of a parameter.
pub(super) fn key(parameter: &'static str) -> &'static str {
    if parameter == "dbname" {
        "database"
    } else {
        parameter
    }
}

/// Returns the value of a key that a variable replaces, also if it is written.
fn default(key: &str) -> &'static str {
    match key {
        "host" => "localhost",
        "port" => "5432",
        "database" => "postgres",
        "sslmode" => "prefer",
        _ => "",
    }
}

impl RawDatabase {
    /// Fills the gaps from a service: one that the entry names, else the one given.
    ///
    /// # Errors
    /// Fails if the service cannot be read.
    pub(super) fn fill_service(
        &mut self,
        otherwise: Option<&str>,
        nothing: &Section<'_>,
    ) -> Result<(), InvalidService> {
        let Some(service) = self.text("service").or(otherwise) else {
            return Ok(());
        };
        let values = service_file::read(service, nothing.environment())?;
        let has_hosts = self.has_hosts();
        for (name, value) in values {
            let key = key(name);
            let is_set = self.text(key).is_some()
                || (has_hosts && ADDRESS.contains(&key))
                || (key == "password" && self.connect.has_password());
            if !is_set {
                self.set(key, converted(key, value.expose()));
                self.served.insert(key);
                nothing.took(key, Source::File);
            }
        }
        Ok(())
    }

    /// Fills the gaps of an entry from the variables.
    pub(super) fn fill_defaults(&mut self, nothing: &Section<'_>) {
        for (variable, parameter) in VARIABLES {
            let key = key(parameter);
            self.fill_variable(variable, key, default(key), nothing);
        }
    }

    /// Fills the gaps of a connection URL from the variables, then with the name of the operating
    /// system's user, which is also the default name of the database.
    pub(super) fn fill_url(&mut self, nothing: &Section<'_>) {
        for (variable, parameter) in VARIABLES {
            self.fill_variable(variable, key(parameter), "", nothing);
        }
        self.fill_variable("USER", "user", "", nothing);
        let user = self.text("user").map(str::to_owned);
        self.fill("database", "", user, nothing);
    }

    fn fill_variable(
        &mut self,
        variable: &str,
        key: &'static str,
        default: &str,
        nothing: &Section<'_>,
    ) {
        if self.served.contains(key) || (self.has_hosts() && ADDRESS.contains(&key)) {
            return;
        }
        let text = match (key, nothing.variable(variable)) {
            (_, None) => None,
            // An invalid number is ignored with a warning.
            ("port", Some(port)) if !port.contains(',') => {
                let port = nothing.key("port").var(variable).whole(0..=u16::MAX);
                port.map(|port| port.to_string())
            }
            (_, Some(text)) => converted(key, text),
        };
        self.fill(key, default, text, nothing);
    }
}

/// Returns a value as the key of the file has it.
fn converted(key: &str, text: &str) -> Option<String> {
    let seconds = text.trim().parse::<i64>().ok();
    match seconds.filter(|_| key == "connect_timeout") {
        // As in libpq, zero means no limit; the default of the server stays.
        Some(seconds) => (seconds > 0).then(|| format!("{seconds}s")),
        None => Some(text.to_owned()),
    }
}
