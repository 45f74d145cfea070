//! Configured databases: from the file, from numbered variables, or one from the environment and
//! the command line.

mod check;
mod raw;
#[cfg(test)]
mod tests;
mod url;

use std::{collections::HashSet, sync::Arc};

use ziggurat_databases::Configured;
use ziggurat_postgres::database::Database;
use ziggurat_runtime::password_file;

pub(super) use self::raw::RawDatabase;
pub(crate) use self::url::{InvalidUrl, is_url};
use super::{ConfigSources, Invalid, environment::Reader};
use crate::arguments::Overrides;

/// Prefix of the variables of databases.
const PREFIX: &str = "ZIGGURAT_DB_";

/// Default name of a database.
const UNNAMED: &str = "default";

const PASSWORD_SHOWS: &str = "the password in the connection URL can be read by every account of \
    this machine; set PGPASSWORD or DATABASE_URL, or use the password file instead";

/// Database, and the users who may use it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Connection settings and permissions.
    pub(crate) database: Arc<Database>,
    /// Users who may use it; if empty, all may.
    pub(crate) users: Vec<String>,
    /// Clients of an issuer that may use it.
    pub(crate) clients: Vec<String>,
}

/// Merges the file, the environment and the command line; later ones override earlier ones.
///
/// # Errors
/// Fails on a malformed connection URL, or on one given in addition to other databases.
pub(super) fn overlay(
    list: &mut Vec<RawDatabase>,
    reader: &mut Reader<'_>,
    overrides: &Overrides,
) -> Result<(), Invalid> {
    numbered(list, reader);
    let flags = &overrides.database;
    if let Some(url) = url(list, reader, overrides)? {
        list.push(url);
    } else {
        let user = [reader.text("ZIGGURAT_DB_USER"), reader.text("PGUSER")];
        let is_described = user.iter().any(Option::is_some) || raw::are_any(flags);
        if list.is_empty() && is_described {
            list.push(RawDatabase::named(UNNAMED));
        }
        // Only the first database: otherwise the flags would make all databases the same.
        if let Some(first) = list.first_mut() {
            first.overlay(reader, PREFIX);
            first.overlay_flags(flags);
            first.fill(reader);
        }
    }
    for entry in list {
        entry.fill_password(reader);
    }
    Ok(())
}

/// Returns the database of the connection URL on the command line, or else of `DATABASE_URL` if no
/// `ZIGGURAT_` variable and no file names a database.
fn url(
    list: &[RawDatabase],
    reader: &mut Reader<'_>,
    overrides: &Overrides,
) -> Result<Option<RawDatabase>, Invalid> {
    let is_named = !list.is_empty() || raw::are_any(&overrides.database);
    let url = match &overrides.database_url {
        Some(_) if is_named => return Err(Invalid::UrlAndDatabases),
        Some(url) => {
            let url = url::read(url.expose()).map_err(Invalid::Url)?;
            if !url.lacks_password() {
                reader.warn(PASSWORD_SHOWS.to_owned());
            }
            url
        }
        None => {
            let named = ["USER", "HOST", "HOSTS", "NAME"]
                .map(|field| reader.text(&format!("{PREFIX}{field}")));
            let url = reader.text("DATABASE_URL");
            let Some(url) = url.filter(|_| !is_named && named.iter().all(Option::is_none)) else {
                return Ok(None);
            };
            if !is_url(&url) {
                reader.warn("DATABASE_URL is ignored: it is no postgres:// URL".to_owned());
                return Ok(None);
            }
            url::read(&url).map_err(Invalid::DatabaseUrl)?
        }
    };
    let mut entry = RawDatabase::named(url.database.as_deref().unwrap_or(UNNAMED));
    entry.overlay(reader, PREFIX);
    entry.overlay_url(url);
    entry.fill_url(reader);
    Ok(Some(entry))
}

/// Adds the databases of numbered variables, or overrides those of the file with the same names.
fn numbered(list: &mut Vec<RawDatabase>, reader: &mut Reader<'_>) {
    for number in reader.numbers(PREFIX) {
        let prefix = format!("{PREFIX}{number}_");
        let Some(name) = reader.text(&format!("{prefix}NAME")) else {
            reader.pass_over(&prefix);
            reader.warn(format!(
                "{prefix}NAME is not set, so the other variables {prefix}… are ignored"
            ));
            continue;
        };
        let known = list.iter().position(|known| known.is_named(&name));
        let at = known.unwrap_or_else(|| {
            list.push(RawDatabase::named(&name));
            list.len() - 1
        });
        list[at].overlay(reader, &prefix);
    }
}

/// Checks all databases.
///
/// # Errors
/// Fails with all problems.
pub(super) fn check(
    list: Vec<RawDatabase>,
    around: &ConfigSources,
    reader: &mut Reader<'_>,
    is_debug: bool,
) -> Result<Vec<Entry>, Vec<Invalid>> {
    if list.iter().any(RawDatabase::lacks_password)
        && let Some(warning) = password_file::warning(&around.environment)
    {
        reader.warn(warning);
    }
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    let mut names = HashSet::new();
    for (index, raw) in list.into_iter().enumerate() {
        match raw.name().map(str::to_owned) {
            None => problems.push(Invalid::NoName(index)),
            Some(name) if !names.insert(name.clone()) => {
                problems.push(Invalid::DuplicateName(name));
            }
            Some(_) => match raw.check(around, is_debug) {
                Ok(entry) => entries.push(entry),
                Err(problem) => problems.push(problem),
            },
        }
    }
    if problems.is_empty() {
        Ok(entries)
    } else {
        Err(problems)
    }
}

// === impl Entry ===

impl Entry {
    /// Returns whether both have the same database, users and passwords.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.users == other.users
            && self.clients == other.clients
            && self.database.is_same(&other.database)
    }

    /// Converts to the type that the database service uses.
    pub(crate) fn configured(&self) -> Configured {
        Configured::new(Arc::clone(&self.database))
            .with_users(self.users.iter().cloned())
            .with_clients(self.clients.iter().cloned())
    }
}
