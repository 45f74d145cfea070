//! Configured databases: from the file, from numbered variables, or one from the environment and
//! the command line.

mod check;
mod entry;
mod libpq;
mod preview;
mod raw;
#[cfg(test)]
mod tests;
mod url;

use std::collections::HashSet;

use anyhow::{Context as _, bail};
use ziggurat_postgres::{database::Settings, url::after_scheme};
use ziggurat_runtime::{
    Secret,
    config::{Section, Source, Value},
    password_file,
};

pub(crate) use self::entry::Entry;
use self::raw::{PREFIX, RawDatabase};
use crate::configuration::limits::Limits;

/// Default name of a database.
const DEFAULT_NAME: &str = "default";

const PASSWORD_SHOWS: &str = "other users of this machine can read the password in the connection \
                              URL; use PGPASSWORD, DATABASE_URL or the password file instead";

/// A database of the list, and the variables that override its keys.
struct NamedDatabase<'a> {
    name: Option<String>,
    file: Section<'a>,
    prefixes: Vec<String>,
}

/// Returns what databases have that their entries do not set.
pub(super) fn defaults(shows_causes: bool, limits: &Limits) -> Settings {
    let max_statement_bytes = limits.max_statement_bytes.try_into();
    Settings {
        shows_causes,
        max_statement_bytes: max_statement_bytes.unwrap_or(usize::MAX),
        ..Settings::default()
    }
}

/// Reads the file, the environment and the command line; later ones override earlier ones, and all
/// of them the defaults.
pub(super) fn read(list: &Value<'_>, url: Option<&Secret>, defaults: &Settings) -> Vec<Entry> {
    let nothing = list.absent(0);
    let mut named = named(list, &nothing);
    let flags = nothing.flags();
    let has_flags = flags.names().any(|name| name.starts_with("db-"));
    let is_named = !named.is_empty() || has_flags;
    let mut databases = Vec::new();
    match self::url(is_named, url, &nothing) {
        Err(error) => nothing.complain(format_args!("{error:#}")),
        Ok(Some(database)) => databases.push(database),
        Ok(None) => {
            let user = ["ZIGGURAT_DB_USER", "PGUSER", "PGSERVICE"];
            let is_user = |name: &&str| nothing.variable(name).is_some();
            if named.is_empty() && (has_flags || user.iter().any(is_user)) {
                let name = Some(DEFAULT_NAME.to_owned());
                named.push(NamedDatabase::new(name, nothing.clone()));
            }
            // Only the first database: otherwise the flags would make all databases the same.
            if let Some(first) = named.first_mut() {
                first.prefixes.push(PREFIX.to_owned());
            }
        }
    }
    for (
        index,
        NamedDatabase {
            name,
            file,
            prefixes,
        },
    ) in named.into_iter().enumerate()
    {
        let flags = (index == 0).then_some(flags);
        let mut raw = RawDatabase::read(&file, &prefixes, flags);
        let of_all = nothing.variable("PGSERVICE").filter(|_| index == 0);
        if let Err(error) = raw.fill_service(of_all, &nothing) {
            let name = name.as_deref().unwrap_or_default();
            nothing.complain(format_args!("database '{name}': {error}"));
        }
        if index == 0 {
            libpq::refuse(&nothing);
            raw.fill_defaults(&nothing);
        }
        databases.push((name, raw));
    }
    for (_, raw) in &mut databases {
        raw.fill_password(&nothing);
    }
    check(databases, &nothing, defaults)
}

/// Returns the databases of the file, each with the numbered variables of the same name, and then
/// the databases of other numbered variables.
fn named<'a>(list: &Value<'a>, nothing: &Section<'a>) -> Vec<NamedDatabase<'a>> {
    let entries = list.list().unwrap_or_default().into_iter();
    let entries = entries.map(|entry| {
        let file = entry.into_section();
        NamedDatabase::new(file.key("name").text(), file)
    });
    let mut entries: Vec<_> = entries.collect();
    for number in nothing.numbers(PREFIX) {
        let prefix = format!("{PREFIX}{number}_");
        let Some(name) = nothing.variable(&format!("{prefix}NAME")) else {
            nothing.pass_over(&prefix);
            nothing.warn(format!(
                "{prefix}NAME is not set, so the other variables {prefix}… are ignored"
            ));
            continue;
        };
        let is_known = |entry: &NamedDatabase<'_>| entry.name.as_deref() == Some(name);
        let at = entries.iter().position(is_known).unwrap_or_else(|| {
            let file = list.absent(entries.len());
            entries.push(NamedDatabase::new(Some(name.to_owned()), file));
            entries.len() - 1
        });
        entries[at].prefixes.push(prefix);
    }
    entries
}

/// Returns the database of the connection URL on the command line, or else of `DATABASE_URL` if no
/// `ZIGGURAT_` variable, no flag and no file names a database.
///
/// # Errors
/// Fails on a malformed connection URL, or on one given in addition to other databases.
fn url(
    is_named: bool,
    given: Option<&Secret>,
    nothing: &Section<'_>,
) -> anyhow::Result<Option<(Option<String>, RawDatabase)>> {
    let source = given.map_or(Source::Environment, |_| Source::Flag);
    let url = match given {
        Some(_) if is_named => {
            bail!("a connection URL and configured databases exclude each other");
        }
        Some(url) => {
            let url = url::read(url.expose()).context("invalid connection URL")?;
            if !url.lacks_password() {
                nothing.warn(PASSWORD_SHOWS);
            }
            url
        }
        None => {
            let named = ["USER", "HOST", "HOSTS", "NAME"]
                .map(|field| nothing.variable(&format!("{PREFIX}{field}")));
            let url = nothing.variable("DATABASE_URL");
            let Some(url) = url.filter(|_| !is_named && named.iter().all(Option::is_none)) else {
                return Ok(None);
            };
            if after_scheme(url).is_none() {
                nothing.warn("DATABASE_URL is ignored: it is not a postgres:// URL");
                return Ok(None);
            }
            url::read(url).context("DATABASE_URL: invalid connection URL")?
        }
    };
    let name = url.text("database").unwrap_or(DEFAULT_NAME).to_owned();
    let mut raw = RawDatabase::read(nothing, &[PREFIX.to_owned()], None);
    raw.overlay(url, nothing, source);
    raw.fill_service(nothing.variable("PGSERVICE"), nothing)
        .with_context(|| format!("database '{name}'"))?;
    libpq::refuse(nothing);
    raw.fill_url(nothing);
    Ok(Some((Some(name), raw)))
}

/// Checks all databases.
fn check(
    list: Vec<(Option<String>, RawDatabase)>,
    nothing: &Section<'_>,
    defaults: &Settings,
) -> Vec<Entry> {
    if list.iter().any(|(_, raw)| raw.lacks_password())
        && let Some(warning) = password_file::warning(nothing.environment())
    {
        nothing.warn(warning);
    }
    let (mut entries, mut names) = (Vec::new(), HashSet::new());
    for (index, (name, raw)) in list.into_iter().enumerate() {
        let Some(name) = name else {
            nothing.complain(format_args!("database at index {index}: name is required"));
            continue;
        };
        if !names.insert(name.clone()) {
            nothing.complain(format_args!("duplicate database name: {name}"));
            continue;
        }
        match raw.check(&name, nothing.sources(), defaults.clone()) {
            Ok(entry) => entries.push(entry),
            Err(error) => nothing.complain(format_args!("{error:#}")),
        }
    }
    entries
}

// === impl NamedDatabase ===

impl<'a> NamedDatabase<'a> {
    fn new(name: Option<String>, file: Section<'a>) -> Self {
        let prefixes = Vec::new();
        Self {
            name,
            file,
            prefixes,
        }
    }
}
