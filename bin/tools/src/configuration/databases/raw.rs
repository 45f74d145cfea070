//! Database entry as written: in the file, in the environment, on the command line or in a
//! connection URL.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_callers::Callers;
use ziggurat_postgres::database::{ConnectKeys, PreviewSettings};
use ziggurat_runtime::{
    config::{Section, Source, Value},
    flags::Flags,
};

use crate::configuration::databases::preview;

/// Keys that take texts.
const TEXTS: [&str; 18] = [
    "target_session_attrs",
    "database",
    "user",
    "password",
    "sslmode",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "require_auth",
    "application_name",
    "pooler",
    "service",
    "pool_max_conn_idle_time",
    "pool_max_conn_lifetime",
    "connect_timeout",
    "lease_timeout",
    "metadata_ttl",
    "query_timeout",
];

/// Keys that take texts, in the file only.
const FILE_TEXTS: [&str; 5] = [
    "host",
    "hostaddr",
    "options",
    "ssl_min_protocol_version",
    "load_balance_hosts",
];

/// Keys that take numbers.
const NUMBERS: [&str; 4] = [
    "pool_max_conns",
    "pool_min_conns",
    "max_total_connections",
    "row_limit",
];

/// Prefix of the variables of databases.
pub(super) const PREFIX: &str = "ZIGGURAT_DB_";

/// Entry as written, with the values of all sources.
#[derive(Clone, Default)]
pub(super) struct RawDatabase {
    /// Texts by key; none is empty.
    texts: BTreeMap<&'static str, String>,
    /// Hosts of the file; `hosts` in the texts is a list from another source.
    pub(super) hosts: Option<Vec<(String, Option<u16>)>>,
    pub(super) allow_writes: bool,
    pub(super) preview: PreviewSettings,
    pub(super) allow_dangerous_functions: bool,
    pub(super) max_changed_rows: u64,
    pub(super) users: Vec<String>,
    pub(super) clients: Vec<String>,
    pub(super) connect: ConnectKeys,
    /// The role of each caller.
    pub(super) callers: Option<Callers>,
    /// Keys with values of a service, which variables do not replace.
    pub(super) served: BTreeSet<&'static str>,
}

// === impl RawDatabase ===

impl RawDatabase {
    /// Reads an entry of the file, the variables with these prefixes, and the flags.
    pub(super) fn read(file: &Section<'_>, prefixes: &[String], flags: Option<&Flags>) -> Self {
        let value = |key: &str| value(file, key, prefixes, flags);
        let changed_rows = file.key("max_changed_rows").whole(0..=u64::MAX);
        let port = value("port").whole::<u16>(0..=u16::MAX);
        let mut raw = Self {
            allow_writes: value("allow_writes").boolean().unwrap_or(false),
            preview: preview::read(file),
            users: value("available_to_users").texts().unwrap_or_default(),
            clients: value("available_to_clients").texts().unwrap_or_default(),
            allow_dangerous_functions: file
                .key("allow_dangerous_functions")
                .boolean()
                .unwrap_or(false),
            max_changed_rows: changed_rows.unwrap_or_default(),
            hosts: file.key("hosts").list().map(hosts),
            connect: ConnectKeys::read(file),
            callers: Callers::read(file),
            texts: BTreeMap::new(),
            served: BTreeSet::new(),
        };
        raw.set("port", port.map(|port| port.to_string()));
        for key in TEXTS {
            raw.set(key, value(key).text());
        }
        for key in NUMBERS {
            let number = value(key).whole::<u32>(0..=u32::MAX);
            raw.set(key, number.map(|number| number.to_string()));
        }
        for key in FILE_TEXTS {
            raw.set(key, file.key(key).text());
        }
        for prefix in prefixes {
            let host = |key: &str| file.variable(&format!("{prefix}{key}")).map(str::to_owned);
            if raw.take_hosts(host("HOST"), host("HOSTS")) {
                took_hosts(file, Source::Environment);
            }
        }
        if let Some(flags) = flags {
            let (host, hosts) = (flags.owned("db-host"), flags.owned("db-hosts"));
            if raw.take_hosts(host, hosts) {
                took_hosts(file, Source::Flag);
            }
        }
        raw
    }

    /// Returns the text of a key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    /// Replaces the text of a key, if there is one.
    pub(super) fn set(&mut self, key: &'static str, text: Option<String>) {
        match text {
            None => {}
            Some(text) if text.is_empty() => drop(self.texts.remove(key)),
            Some(text) => drop(self.texts.insert(key, text)),
        }
    }

    /// Sets one host or several; each replaces the other. Returns whether there are any.
    pub(super) fn take_hosts(&mut self, host: Option<String>, hosts: Option<String>) -> bool {
        let is_given = host.is_some() || hosts.is_some();
        if is_given {
            self.hosts = None;
            // An address belongs to the host that is replaced.
            for (key, text) in [("host", host), ("hosts", hosts), ("hostaddr", None)] {
                self.set(key, Some(text.unwrap_or_default()));
            }
        }
        is_given
    }

    /// Applies a connection URL from a source.
    pub(super) fn overlay(&mut self, mut url: Self, nothing: &Section<'_>, source: Source) {
        let (host, hosts) = (url.texts.remove("host"), url.texts.remove("hosts"));
        if self.take_hosts(host, hosts) {
            took_hosts(nothing, source);
        }
        for key in url.texts.keys() {
            nothing.took(key, source);
        }
        self.texts.append(&mut url.texts);
    }

    /// Takes the password of the environment if no other is set.
    pub(super) fn fill_password(&mut self, nothing: &Section<'_>) {
        if self.connect.has_password() {
            return;
        }
        let password = nothing.variable("PGPASSWORD").map(str::to_owned);
        self.fill("password", "", password, nothing);
    }

    pub(super) fn lacks_password(&self) -> bool {
        self.text("password").is_none() && !self.connect.has_password()
    }

    /// Sets a text of the environment that is missing, or is the default.
    pub(super) fn fill(
        &mut self,
        key: &'static str,
        default: &str,
        text: Option<String>,
        nothing: &Section<'_>,
    ) {
        if self.text(key).is_none_or(|text| text == default) {
            if text.is_some() {
                nothing.took(key, Source::Environment);
            }
            self.set(key, text);
        }
    }

    pub(super) fn has_hosts(&self) -> bool {
        let list = self.hosts.as_ref();
        self.text("hosts").is_some() || list.is_some_and(|hosts| !hosts.is_empty())
    }
}

fn took_hosts(file: &Section<'_>, source: Source) {
    file.took("host", source);
    file.took("hosts", source);
}

/// Returns a key with the variables and the flag that come before the file.
fn value<'a>(
    file: &Section<'a>,
    key: &str,
    prefixes: &[String],
    flags: Option<&Flags>,
) -> Value<'a> {
    let mut value = file.key(key);
    for prefix in prefixes {
        // `ZIGGURAT_DB_NAME` is the database in PostgreSQL; with a number in the prefix, `DATABASE`
        // is.
        let field = match key {
            "database" if prefix == PREFIX => "NAME".to_owned(),
            key => key.to_uppercase(),
        };
        value = value.var(&format!("{prefix}{field}"));
    }
    match (flags, key) {
        (None, _) => value,
        (_, "database") => value.flag("db-name"),
        (_, key) => value.flag(&format!("db-{}", key.replace('_', "-"))),
    }
}

fn hosts(list: Vec<Value<'_>>) -> Vec<(String, Option<u16>)> {
    let list = list.into_iter().map(|host| {
        let host = host.into_section();
        // An empty name is reported later, by the database.
        let name = host.key("host").text().unwrap_or_default();
        (name, host.key("port").whole(0..=u16::MAX))
    });
    list.collect()
}
