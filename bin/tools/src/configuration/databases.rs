//! The databases callers may use: from the file, numbered variables, or one from the
//! environment and the command line.

mod check;
mod raw;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, sync::Arc};

use ziggurat_services::{databases::Configured, pg::database::Database};

pub(super) use self::raw::RawDatabase;
use super::{Invalid, Surroundings, environment::Reader};
use crate::arguments::DatabaseFlags;

/// What the variables of databases start with.
const PREFIX: &str = "ZIGGURAT_DB_";

/// The name of the database nobody gave one.
const UNNAMED: &str = "default";

/// A database that can be connected to, and the users it is there for.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// How to connect to it, and what may be done there.
    pub(crate) database: Arc<Database>,
    /// Nobody in the list is no restriction.
    pub(crate) users: Vec<String>,
    /// The clients of an issuer it is there for.
    pub(crate) clients: Vec<String>,
}

/// Puts together what the file, the environment and the command line say, each before the last.
pub(super) fn overlay(list: &mut Vec<RawDatabase>, reader: &mut Reader<'_>, flags: &DatabaseFlags) {
    numbered(list, reader);
    let user = [reader.text("ZIGGURAT_DB_USER"), reader.text("PGUSER")];
    let is_described = user.iter().any(Option::is_some) || raw::are_any(flags);
    if list.is_empty() && is_described {
        list.push(RawDatabase::named(UNNAMED));
    }
    // Only for the first: the others would all be made the same.
    if let Some(first) = list.first_mut() {
        first.overlay(reader, PREFIX);
        first.overlay_flags(flags);
        first.fill(reader);
    }
}

/// Adds the databases of numbered variables, or corrects those of the file with their names.
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

/// Checks every database, and all together.
pub(super) fn check(list: Vec<RawDatabase>, around: &Surroundings) -> Result<Vec<Entry>, Invalid> {
    let mut names = HashSet::new();
    for (index, raw) in list.iter().enumerate() {
        let name = raw.name().ok_or(Invalid::NoName(index))?;
        if !names.insert(name) {
            return Err(Invalid::DuplicateName(name.to_owned()));
        }
    }
    let entries = list.into_iter().map(|raw| raw.check(around));
    entries.collect()
}

// === impl Entry ===

impl Entry {
    /// Whether both describe the same database for the same users, passwords included.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.users == other.users
            && self.clients == other.clients
            && self.database.is_same(&other.database)
    }

    /// The same for those who serve it.
    pub(crate) fn configured(&self) -> Configured {
        Configured::new(Arc::clone(&self.database))
            .with_users(self.users.iter().cloned())
            .with_clients(self.clients.iter().cloned())
    }
}
