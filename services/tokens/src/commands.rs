//! Commands that create, list and remove API tokens.

use std::fmt::Write as _;

use jiff::{Timestamp, tz::TimeZone};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use thiserror::Error;
use ziggurat_runtime::console::{Console, ConsoleError, moment, plain};

use crate::{
    Claims, CreatedToken, Expiry, InvalidExpiry, NewToken, TokenError, TokenFile, TokenRecord,
    file::FileError,
};

const SECONDS: &str = "%Y-%m-%d %H:%M:%S";

/// Database of a token that names none.
const FIRST: &str = "(first configured)";

/// A command about API tokens. A running server reloads the file by itself.
///
/// ```
/// use ziggurat_runtime::console::Console;
/// use ziggurat_tokens::{TokenCommand, TokenFile, TokenOptions, TokenTargets};
///
/// let folder = tempfile::tempdir()?;
/// let file = TokenFile::new(folder.path().join("tokens.yaml"));
/// let (mut output, mut remarks) = (Vec::new(), Vec::new());
/// let mut console = Console {
///     input: &mut "nightly report\n30d\n".as_bytes(),
///     output: &mut output,
///     remarks: &mut remarks,
///     is_terminal: true,
///     has_screen: false,
/// };
/// // This server has no databases to which a token could be bound.
/// let targets = TokenTargets::default();
/// TokenCommand::Add(TokenOptions::default()).run(&file, targets, &mut console)?;
/// assert_eq!(file.list()?[0].note, "nightly report");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum TokenCommand {
    /// Creates a token, and prints it.
    Add(TokenOptions),
    /// Lists the tokens.
    List,
    /// Lists the tokens as JSON.
    ListJson,
    /// Removes a token, by its id or the start of its hash.
    Remove(String),
}

/// Options of the command line for a new token. On a terminal the command asks for missing ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TokenOptions {
    /// Note about its use.
    pub note: Option<String>,
    /// Database to bind it to; empty for the first configured one.
    pub database: Option<String>,
    /// Its lifetime, as an [`Expiry`]; empty for a token that never expires.
    pub expiry: Option<String>,
    /// Claims of its holder.
    pub claims: Claims,
    /// Its toolsets.
    pub toolsets: Vec<String>,
}

/// Names that the record of a token may have.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenTargets<'a> {
    /// Databases that a token can be bound to, if it can.
    pub databases: Option<&'a [&'a str]>,
    /// The toolsets.
    pub toolsets: &'a [&'a str],
}

/// Reason why a command about API tokens failed. The message is for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The terminal cannot be used.
    #[error(transparent)]
    Console(#[from] ConsoleError),
    /// No database has this name.
    #[error("unknown database: {0}")]
    UnknownDatabase(String),
    /// No toolset has this name.
    #[error("unknown toolset: {0}")]
    UnknownToolset(String),
    /// No database has this number.
    #[error("invalid database number: {0} (must be 1-{1})")]
    DatabaseNumber(i64, usize),
    /// The lifetime is not valid.
    #[error("Invalid expiry duration: {0}")]
    Expiry(InvalidExpiry),
    /// The token cannot be created or removed.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

// === impl TokenCommand ===

impl TokenCommand {
    /// Returns the flag of the command.
    #[must_use]
    pub fn flag(&self) -> &'static str {
        match self {
            Self::Add(_) => "-add-token",
            Self::List | Self::ListJson => "-list-tokens",
            Self::Remove(_) => "-remove-token",
        }
    }

    /// Runs the command.
    ///
    /// # Errors
    /// Fails if an option is not valid, or the file or the console cannot be used.
    pub fn run(
        self,
        file: &TokenFile,
        targets: TokenTargets<'_>,
        console: &mut Console<'_>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Add(options) => add(options, file, targets, console),
            Self::List => list(file, targets.databases.is_some(), console),
            Self::ListJson => list_json(file, console),
            Self::Remove(identifier) => remove(&identifier, file, console),
        }
    }
}

fn add(
    options: TokenOptions,
    file: &TokenFile,
    targets: TokenTargets<'_>,
    console: &mut Console<'_>,
) -> Result<(), CommandError> {
    let databases = targets.databases;
    let mut toolsets = options.toolsets.iter();
    if let Some(unknown) = toolsets.find(|name| !targets.toolsets.contains(&name.as_str())) {
        return Err(CommandError::UnknownToolset(unknown.clone()));
    }
    let note = match options.note {
        Some(note) => note,
        None => console.ask("Enter annotation/note for this token (optional): ")?,
    };
    let database = match (databases, options.database) {
        (None, _) => None,
        (_, Some(name)) if name.is_empty() => None,
        (Some(known), Some(name)) if known.contains(&name.as_str()) => Some(name),
        (_, Some(name)) => return Err(CommandError::UnknownDatabase(name)),
        (Some(known), None) if console.is_terminal && !known.is_empty() => {
            ask_database(known, console)?
        }
        (Some(_), None) => None,
    };
    let expiry = match options.expiry {
        Some(text) => text,
        None if console.is_terminal => {
            console.ask("Enter expiry duration (e.g., '30d', '1y', or 'never'): ")?
        }
        None => {
            console.print_error("WARN the token never expires; -token-expiry gives it an end\n")?;
            String::new()
        }
    };
    let now = Timestamp::now();
    let expires_at = expiry_of(&expiry)?.after(now);

    console.announce(file.path(), "token")?;
    let new = NewToken {
        note,
        database,
        expires_at,
        toolsets: options.toolsets,
        claims: options.claims,
    };
    let created = file.add(new, now)?;
    console.print(&describe_created(&created, databases, now))?;
    Ok(())
}

fn ask_database(
    databases: &[&str],
    console: &mut Console<'_>,
) -> Result<Option<String>, CommandError> {
    let mut list = "Available databases:\n".to_owned();
    for (at, name) in databases.iter().enumerate() {
        let mark = if at == 0 { " (default)" } else { "" };
        let _ = writeln!(list, "  {}. {}{mark}", at + 1, plain(name));
    }
    console.print(&list)?;
    let answer =
        console.ask("Bind token to database (enter name or number, blank for default): ")?;
    chosen(&answer, databases)
}

/// Finds the chosen database. Names are compared before numbers, since a database may be called
/// `2`.
fn chosen(answer: &str, databases: &[&str]) -> Result<Option<String>, CommandError> {
    if answer.is_empty() {
        return Ok(None);
    }
    if databases.contains(&answer) {
        return Ok(Some(answer.to_owned()));
    }
    let Ok(number) = answer.parse::<i64>() else {
        return Err(CommandError::UnknownDatabase(answer.to_owned()));
    };
    usize::try_from(number)
        .ok()
        .and_then(|number| databases.get(number.checked_sub(1)?))
        .map(|name| Some((*name).to_owned()))
        .ok_or(CommandError::DatabaseNumber(number, databases.len()))
}

fn expiry_of(text: &str) -> Result<Expiry, CommandError> {
    if text.is_empty() {
        return Ok(Expiry::NEVER);
    }
    text.parse().map_err(CommandError::Expiry)
}

fn describe_created(created: &CreatedToken, databases: Option<&[&str]>, now: Timestamp) -> String {
    let first = match databases {
        Some([]) => "(the first one that will be configured)",
        _ => FIRST,
    };
    let TokenRecord {
        id,
        hash,
        note,
        expires_at,
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
        "\nToken created successfully:\n\nToken: {token}\nID: {id}\nNote: \
         {note}\n{database}{toolsets}Expiry: {expiry}\nHash (first 12 chars): {hash:.12}\n\nKeep the \
         token now: it is not stored and cannot be shown again.\n",
        token = created.token.expose_secret(),
        note = plain(note),
        database = database_line(&created.record, databases.map(|_| first)),
        toolsets = toolsets_line(&created.record),
    )
}

/// Returns the line with the toolsets of a token, if it has some of its own.
fn toolsets_line(record: &TokenRecord) -> String {
    if record.toolsets.is_empty() {
        return String::new();
    }
    format!("Toolsets: {}\n", plain(&record.toolsets.join(", ")))
}

/// Returns the line with the database of a token, where tokens are bound to databases. `first` says
/// which one that is for a token without a name of its own.
fn database_line(record: &TokenRecord, first: Option<&str>) -> String {
    let line = |first| {
        let name = record.database.as_deref().unwrap_or(first);
        format!("Database: {}\n", plain(name))
    };
    first.map(line).unwrap_or_default()
}

fn list(
    file: &TokenFile,
    has_databases: bool,
    console: &mut Console<'_>,
) -> Result<(), CommandError> {
    let records = file.list()?;
    if records.is_empty() {
        console.print("No tokens found.\n")?;
        return Ok(());
    }
    let mut text = "API Tokens:\n===========\n".to_owned();
    let now = Timestamp::now();
    for record in &records {
        let status = if record.is_expired(now) {
            "Expired"
        } else {
            "Valid"
        };
        let _ = write!(
            text,
            "\nID: {}\nNote: {}\n{}{}Hash (first 12 chars): {:.12}\nCreated: {}\nExpires: \
             {}\nStatus: {status}\n",
            plain(&record.id),
            plain(&record.note),
            database_line(record, has_databases.then_some(FIRST)),
            toolsets_line(record),
            record.hash,
            moment(record.created_at, SECONDS, "Unknown"),
            moment(record.expires_at, SECONDS, "Never"),
        );
        push_claims(&mut text, "", &record.claims);
    }
    let _ = writeln!(text, "\nTotal tokens: {}", records.len());
    console.print(&text)?;
    Ok(())
}

fn list_json(file: &TokenFile, console: &mut Console<'_>) -> Result<(), CommandError> {
    let now = Timestamp::now();
    let shown = |record: TokenRecord| {
        json!({
            "id": record.id,
            "note": record.note,
            "hash_prefix": format!("{:.12}", record.hash),
            "database": record.database,
            "toolsets": record.toolsets,
            "claims": record.claims.names().collect::<Vec<_>>(),
            "created_at": record.created_at.map(|at| at.to_string()),
            "expires_at": record.expires_at.map(|at| at.to_string()),
            "expired": record.is_expired(now),
        })
    };
    let tokens: Vec<_> = file.list()?.into_iter().map(shown).collect();
    console.print(&format!("{:#}\n", Value::from(tokens)))?;
    Ok(())
}

fn remove(
    identifier: &str,
    file: &TokenFile,
    console: &mut Console<'_>,
) -> Result<(), CommandError> {
    file.remove(identifier)?;
    console.print(&format!(
        "Token removed successfully: {}\n",
        plain(identifier)
    ))?;
    Ok(())
}

/// Adds a line with the names of claims, if there are any; the values may be secret.
pub fn push_claims(text: &mut String, indent: &str, claims: &Claims) {
    let names: Vec<_> = claims.names().collect();
    if !names.is_empty() {
        let line = format!("{indent}Claims: {}\n", plain(&names.join(", ")));
        text.push_str(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output, remarks and result of `-add-token` in a new folder.
    struct Added {
        text: String,
        remarks: String,
        result: Result<(), CommandError>,
        /// The tokens that the file then has.
        kept: Vec<TokenRecord>,
    }

    /// Runs `-add-token` with this standard input.
    fn add_token(
        options: TokenOptions,
        databases: &[&str],
        input: &str,
        is_terminal: bool,
    ) -> Added {
        let folder = tempfile::tempdir().expect("a folder");
        let file = TokenFile::new(folder.path().join("tokens.yaml"));
        let (mut output, mut remarks) = (Vec::new(), Vec::new());
        let mut console = Console {
            input: &mut input.as_bytes(),
            output: &mut output,
            remarks: &mut remarks,
            is_terminal,
            has_screen: false,
        };
        let targets = TokenTargets {
            databases: Some(databases),
            toolsets: &[],
        };
        let result = TokenCommand::Add(options).run(&file, targets, &mut console);
        Added {
            text: String::from_utf8(output).expect("text"),
            remarks: String::from_utf8(remarks).expect("text"),
            result,
            kept: file.list().expect("read"),
        }
    }

    const DATABASES: [&str; 2] = ["main", "docs"];

    fn options(note: Option<&str>, database: Option<&str>, expiry: Option<&str>) -> TokenOptions {
        TokenOptions {
            note: note.map(str::to_owned),
            database: database.map(str::to_owned),
            expiry: expiry.map(str::to_owned),
            ..TokenOptions::default()
        }
    }

    #[test]
    fn on_a_terminal_missing_values_are_asked_for() {
        let input = "my note\n2\n30d\n";
        let added = add_token(TokenOptions::default(), &DATABASES, input, true);
        let asked = "Enter annotation/note for this token (optional): Available databases:\n  1. main \
                     (default)\n  2. docs\nBind token to database (enter name or number, blank for \
                     default): Enter expiry duration (e.g., '30d', '1y', or 'never'): ";
        assert!(added.text.starts_with(asked), "{}", added.text);
        assert!(
            added.text.contains(" (30 days from now)\n"),
            "{}",
            added.text
        );
        let [token] = &added.kept[..] else {
            panic!("{:?}", added.kept)
        };
        assert_eq!(token.note, "my note");
        assert_eq!(token.database.as_deref(), Some("docs"));

        let added = add_token(
            options(Some("n"), None, Some("1y")),
            &DATABASES,
            "docs\n",
            true,
        );
        assert!(
            added.text.starts_with("Available databases:\n"),
            "{}",
            added.text
        );
        assert!(!added.text.contains("Enter expiry"), "{}", added.text);
        assert_eq!(added.kept[0].database.as_deref(), Some("docs"));
    }

    #[test]
    fn on_a_terminal_enter_takes_the_default_and_the_end_of_input_is_an_error() {
        let added = add_token(TokenOptions::default(), &DATABASES, "\n\n\n", true);
        assert!(
            added
                .text
                .contains("\nNote: \nDatabase: (first configured)\nExpiry: Never\n")
        );
        assert_eq!(added.kept[0].database, None);
        for (options, input, question) in [
            (
                options(None, None, None),
                "",
                "Enter annotation/note for this token (optional)",
            ),
            (
                options(Some("n"), None, Some("1d")),
                "",
                "Bind token to database (enter name or number, blank for default)",
            ),
            (
                options(None, Some("main"), None),
                "n\n",
                "Enter expiry duration (e.g., '30d', '1y', or 'never')",
            ),
        ] {
            let added = add_token(options, &DATABASES, input, true);
            let error = added.result.expect_err(question).to_string();
            assert!(error.contains(question), "{error}");
            assert!(added.kept.is_empty(), "nothing was made");
        }
    }

    #[test]
    fn on_a_terminal_an_invalid_answer_creates_nothing() {
        for (input, message) in [
            ("n\n3\n", "invalid database number: 3 (must be 1-2)"),
            ("n\nshop\n", "unknown database: shop"),
            (
                "\n\nsoon\n",
                "Invalid expiry duration: invalid number in duration: it must be a whole number",
            ),
        ] {
            let added = add_token(TokenOptions::default(), &DATABASES, input, true);
            assert_eq!(added.result.expect_err(input).to_string(), message);
            assert!(added.kept.is_empty());
        }
    }

    #[test]
    fn a_script_is_asked_nothing_and_told_that_the_token_never_expires() {
        // The input may be the list that a loop of the script reads.
        let input = "the next line of a loop\n";
        let added = add_token(options(Some("n"), None, None), &DATABASES, input, false);
        added.result.expect("made");
        let made = "\nToken created successfully:\n\nToken: ";
        assert!(added.text.starts_with(made), "{}", added.text);
        assert!(added.remarks.contains("WARN"), "{}", added.remarks);
        assert!(added.remarks.contains("-token-expiry"), "{}", added.remarks);
        assert_eq!(
            (&*added.kept[0].note, added.kept[0].expires_at),
            ("n", None)
        );

        let added = add_token(options(None, None, Some("never")), &DATABASES, input, false);
        assert!(!added.remarks.contains("WARN"), "{}", added.remarks);
    }

    #[test]
    fn a_token_that_is_made_before_any_database_says_so() {
        for is_terminal in [false, true] {
            let options = options(Some("n"), None, Some("1d"));
            let added = add_token(options, &[], "", is_terminal);
            added.result.expect("made");
            let line = "\nDatabase: (the first one that will be configured)\n";
            assert!(added.text.contains(line), "{}", added.text);
            assert_eq!(added.kept[0].database, None);
        }
        let added = add_token(options(None, Some("docs"), None), &[], "", false);
        let error = added.result.expect_err("none has that name").to_string();
        assert_eq!(error, "unknown database: docs");
    }

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
