//! Commands that create, list and remove API tokens.

use std::fmt::Write as _;

use anyhow::{anyhow, bail};
use jiff::{Timestamp, tz::TimeZone};
use secrecy::ExposeSecret as _;
use ziggurat_accounts::{Claims, CreatedToken, Expiry, NewToken, TokenFile, TokenRecord};

use super::{AdminContext, Console, announce, moment, plain, push_claims};

const SECONDS: &str = "%Y-%m-%d %H:%M:%S";

/// Options of the command line for a new token; the command asks for missing ones.
#[derive(Debug, Default)]
pub(super) struct TokenOptions {
    pub(super) note: Option<String>,
    pub(super) database: Option<String>,
    pub(super) expiry: Option<String>,
    pub(super) claims: Claims,
}

pub(super) fn add(
    options: TokenOptions,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    check_databases(admin_context)?;
    let note = match options.note {
        Some(note) => note,
        None => console.ask("Enter annotation/note for this token (optional): ")?,
    };
    let database = match options.database {
        Some(name) if name.is_empty() => None,
        Some(name) if admin_context.databases.contains(&name.as_str()) => Some(name),
        Some(name) => bail!("unknown database: {name}"),
        None => ask_database(&admin_context.databases, console)?,
    };
    let expiry = match options.expiry {
        Some(text) => text,
        None => console.ask("Enter expiry duration (e.g., '30d', '1y', or 'never'): ")?,
    };
    let now = Timestamp::now();
    let expires_at = expiry_of(&expiry)?.after(now);

    let file = TokenFile::new(admin_context.token_file);
    announce(file.path(), "token", console)?;
    let new = NewToken {
        note,
        database,
        expires_at,
        claims: options.claims,
    };
    let created = file.add(new, now)?;
    console.print(&describe_created(&created, now))
}

/// Fails if no database is configured, because a token is for a database.
fn check_databases(admin_context: &AdminContext<'_>) -> anyhow::Result<()> {
    if !admin_context.databases.is_empty() {
        return Ok(());
    }
    let path = admin_context.config_file.display();
    if admin_context.config_file.exists() {
        bail!("No databases configured in {path}");
    }
    bail!("Configuration file not found: {path}")
}

fn ask_database(databases: &[&str], console: &mut Console<'_>) -> anyhow::Result<Option<String>> {
    let mut list = "Available databases:\n".to_owned();
    for (at, name) in databases.iter().enumerate() {
        let mark = if at == 0 { " (default)" } else { "" };
        writeln!(list, "  {}. {}{mark}", at + 1, plain(name))?;
    }
    console.print(&list)?;
    let answer =
        console.ask("Bind token to database (enter name or number, blank for default): ")?;
    chosen(&answer, databases)
}

/// Finds the chosen database. Names are compared before numbers, since a database may be called
/// `2`.
fn chosen(answer: &str, databases: &[&str]) -> anyhow::Result<Option<String>> {
    if answer.is_empty() {
        return Ok(None);
    }
    if databases.contains(&answer) {
        return Ok(Some(answer.to_owned()));
    }
    let Ok(number) = answer.parse::<i64>() else {
        bail!("unknown database: {answer}");
    };
    let count = databases.len();
    usize::try_from(number)
        .ok()
        .and_then(|number| databases.get(number.checked_sub(1)?))
        .map(|name| Some((*name).to_owned()))
        .ok_or_else(|| anyhow!("invalid database number: {number} (must be 1-{count})"))
}

fn expiry_of(text: &str) -> anyhow::Result<Expiry> {
    if text.is_empty() {
        return Ok(Expiry::NEVER);
    }
    text.parse()
        .map_err(|error| anyhow!("Invalid expiry duration: {error}"))
}

fn describe_created(created: &CreatedToken, now: Timestamp) -> String {
    let TokenRecord {
        id,
        hash,
        note,
        expires_at,
        database,
        ..
    } = &created.record;
    let expiry = expires_at.map_or_else(
        || "Never".to_owned(),
        |at| {
            let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date();
            let days = (day(at) - day(now)).get_days();
            format!("{} ({days} days from now)", day(at))
        },
    );
    format!(
        "\nToken created successfully:\n\nToken: {token}\nID: {id}\nNote: {note}\nDatabase: \
         {database}\nExpiry: {expiry}\nHash (first 12 chars): {hash:.12}\n\nKeep the token now: \
         it is not stored and cannot be shown again.\n",
        token = created.token.expose_secret(),
        note = plain(note),
        database = plain(database.as_deref().unwrap_or("(first configured)")),
    )
}

pub(super) fn list(
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let records = TokenFile::new(admin_context.token_file).list()?;
    if records.is_empty() {
        return console.print("No tokens found.\n");
    }
    let mut text = "API Tokens:\n===========\n".to_owned();
    let now = Timestamp::now();
    for record in &records {
        let status = if record.is_expired(now) {
            "Expired"
        } else {
            "Valid"
        };
        let database = record.database.as_deref().unwrap_or("(first configured)");
        write!(
            text,
            "\nID: {}\nNote: {}\nDatabase: {}\nHash (first 12 chars): {:.12}\nCreated: \
             {}\nExpires: {}\nStatus: {status}\n",
            plain(&record.id),
            plain(&record.note),
            plain(database),
            record.hash,
            moment(record.created_at, SECONDS, "Unknown"),
            moment(record.expires_at, SECONDS, "Never"),
        )?;
        push_claims(&mut text, "", &record.claims);
    }
    write!(text, "\nTotal tokens: {}\n", records.len())?;
    console.print(&text)
}

pub(super) fn remove(
    identifier: &str,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    TokenFile::new(admin_context.token_file).remove(identifier)?;
    console.print(&format!(
        "Token removed successfully: {}\n",
        plain(identifier)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_chosen_by_name_or_by_number() {
        let databases = ["main", "2", "docs"];
        let cases = [
            ("", Ok(None)),
            ("docs", Ok(Some("docs"))),
            ("1", Ok(Some("main"))),
            ("2", Ok(Some("2"))),
            ("3", Ok(Some("docs"))),
            ("0", Err("invalid database number: 0 (must be 1-3)")),
            ("4", Err("invalid database number: 4 (must be 1-3)")),
            ("-1", Err("invalid database number: -1 (must be 1-3)")),
            ("shop", Err("unknown database: shop")),
        ];
        for (answer, expected) in cases {
            let chosen = chosen(answer, &databases).map_err(|error| error.to_string());
            let expected = expected
                .map(|name| name.map(str::to_owned))
                .map_err(str::to_owned);
            assert_eq!(chosen, expected, "{answer}");
        }
    }
}
