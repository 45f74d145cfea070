//! The databases callers may use: from the file, numbered variables, or one from the
//! environment and the command line.

mod raw;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, time::Duration};

use ziggurat_services::pg::database::{Database, Settings};

pub(super) use self::raw::RawDatabase;
use self::raw::RawHost;
use super::{Invalid, Surroundings, duration, environment::Reader};
use crate::arguments::DatabaseFlags;

/// What the variables of databases start with.
const PREFIX: &str = "ZIGGURAT_DB_";

/// The name of the database nobody gave one.
const UNNAMED: &str = "default";

/// A database, and what the server has to know about it besides.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// How to connect to it, and what may be done there.
    pub(crate) settings: Settings,
    /// The users it is there for; nobody in the list is no restriction.
    pub(crate) users: Vec<String>,
    /// How old what is known of its tables may be; zero to look every time.
    pub(crate) metadata_ttl: Duration,
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
    /// How old what is known of tables may be, unless somebody says otherwise.
    const METADATA_TTL: Duration = Duration::from_mins(5);

    /// Whether both describe the same database, password included.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let databases = (self.database(), other.database());
        self.users == other.users
            && self.metadata_ttl == other.metadata_ttl
            && matches!(databases, (Ok(one), Ok(two)) if one.is_same(&two))
    }

    /// The database, which was found to be valid before.
    pub(crate) fn database(&self) -> Result<Database, Invalid> {
        Ok(Database::try_from(self.settings.clone())?)
    }
}

/// Reads a duration of a database.
fn time(
    text: Option<String>,
    default: Duration,
    (name, key): (&str, &'static str),
) -> Result<Duration, Invalid> {
    match text.filter(|text| !text.is_empty()) {
        None => Ok(default),
        Some(text) => duration::parse(&text).map_err(|error| Invalid::Setting {
            name: name.to_owned(),
            key,
            reason: format!("'{text}' is {error}"),
        }),
    }
}

/// Reads `host:port,host:port`; a host without a port has `port`.
fn hosts(text: &str, port: u16) -> Option<Vec<RawHost>> {
    text.split(',')
        .map(|item| host(item.trim(), port))
        .collect()
}

fn host(text: &str, port: u16) -> Option<RawHost> {
    let (host, number) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']')? {
            (host, "") => (host, None),
            (host, after) => (host, Some(after.strip_prefix(':')?)),
        },
        // An IPv6 address without brackets would lose its end.
        None if text.matches(':').count() > 1 => return None,
        None => match text.split_once(':') {
            Some((host, number)) => (host, Some(number)),
            None => (text, None),
        },
    };
    let port = match number {
        Some(number) => number.parse().ok()?,
        None => port,
    };
    (!host.is_empty()).then(|| RawHost::new(host, port))
}
