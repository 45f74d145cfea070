//! Versions of PostgreSQL that callers with a role each should not share.

use std::sync::atomic::Ordering;

use tracing::warn;
use ziggurat_postgres::driver::{Client, DriverError};

use crate::Configured;

/// The oldest version that is out of support.
const UNSUPPORTED: u32 = 14;

/// The minor versions that close the holes of August 2026, by major version.
const CLOSED: [(u32, u32); 4] = [(15, 19), (16, 15), (17, 11), (18, 6)];

const QUERY: &str = "SELECT pg_catalog.current_setting('server_version_num')";

/// Warns once of an old version, if the database knows its callers.
pub(crate) async fn warn_of(configured: &Configured, mut client: Client) {
    let is_asked = &configured.is_version_asked;
    if !configured.knows_callers() || is_asked.load(Ordering::Relaxed) {
        return;
    }
    // A failure is reported by the check of the next round.
    let Ok(number) = number(&mut client).await else {
        return;
    };
    is_asked.store(true, Ordering::Relaxed);
    if let Some(reason) = reason(number) {
        let database = configured.database.name();
        warn!(database, "a database that knows its callers: {reason}");
    }
}

async fn number(client: &mut Client) -> Result<u32, DriverError> {
    let rows = client.ask(QUERY).await?;
    let row = rows
        .first()
        .ok_or(DriverError::Protocol("a query has no rows"))?;
    row.text(0)?.parse().map_err(DriverError::value)
}

/// Returns why a version is too old, as `server_version_num` has it.
fn reason(number: u32) -> Option<String> {
    let (major, minor) = (number / 10_000, number % 10_000);
    if major <= UNSUPPORTED {
        return Some(format!("PostgreSQL {major} is out of support"));
    }
    let (_, closed) = CLOSED.into_iter().find(|(known, _)| *known == major)?;
    (minor < closed)
        .then(|| format!("PostgreSQL {major}.{minor} has holes that {major}.{closed} closes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_the_ones_without_known_holes_are_too_old() {
        for (number, expected) in [
            (140_099, Some("PostgreSQL 14 is out of support")),
            (
                150_018,
                Some("PostgreSQL 15.18 has holes that 15.19 closes"),
            ),
            (150_019, None),
            (170_002, Some("PostgreSQL 17.2 has holes that 17.11 closes")),
            (170_011, None),
            (180_005, Some("PostgreSQL 18.5 has holes that 18.6 closes")),
            (180_006, None),
            (190_000, None),
            (u32::MAX, None),
        ] {
            assert_eq!(reason(number).as_deref(), expected, "{number}");
        }
    }
}
