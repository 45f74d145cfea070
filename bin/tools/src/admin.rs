//! Commands that change the account files and the knowledge base. They start no server; a running
//! server reloads the files by itself.

mod console;
mod knowledge;
mod replicas;
mod tokens;
mod users;

use std::{fs, path::Path};

use jiff::Timestamp;
use ziggurat_accounts::Claims;

pub(crate) use self::console::Console;
use crate::{
    arguments::Command,
    configuration::{Knowledgebase, State},
};

/// Files and settings that the commands work on, and the databases a token can be bound to.
#[derive(Debug)]
pub(crate) struct AdminContext<'a> {
    pub(crate) token_file: &'a Path,
    pub(crate) user_file: &'a Path,
    /// Least number of characters of a new password.
    pub(crate) min_password_length: usize,
    pub(crate) config_file: &'a Path,
    pub(crate) knowledgebase: &'a Knowledgebase,
    pub(crate) databases: Vec<&'a str>,
    /// Database that replicas share their state in.
    pub(crate) state: Option<&'a State>,
}

/// Runs an administration command.
///
/// # Errors
/// Fails with a message for the administrator.
pub(crate) fn run(
    command: Command,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    match command {
        Command::AddToken {
            note,
            database,
            expiry,
            claims,
        } => {
            let options = tokens::TokenOptions {
                note,
                database,
                expiry,
                claims,
            };
            tokens::add(options, admin_context, console)
        }
        Command::ListTokens => tokens::list(admin_context, console),
        Command::RemoveToken { identifier } => tokens::remove(&identifier, admin_context, console),
        Command::AddUser {
            username,
            password,
            note,
            claims,
        } => {
            let password = password.map(Into::into);
            users::add(username, password, note, claims, admin_context, console)
        }
        Command::UpdateUser {
            username,
            password,
            note,
            claims,
        } => {
            let password = password.map(Into::into);
            users::update(username, password, note, &claims, admin_context, console)
        }
        Command::DeleteUser { username } => users::delete(username, admin_context, console),
        Command::ListUsers => users::list(admin_context, console),
        Command::EnableUser { username } => users::enable(username, admin_context, console),
        Command::DisableUser { username } => users::disable(username, admin_context, console),
        Command::BuildKnowledgebase {
            folders,
            project,
            version,
            output,
        } => {
            let options = knowledge::BuildOptions {
                folders,
                project,
                version,
                output,
            };
            knowledge::build(options, admin_context.knowledgebase, console)
        }
        // The others change nothing.
        _ => Ok(()),
    }
}

/// Returns the name of the account of the system that runs the command, or its number.
pub(crate) fn account() -> String {
    let id = rustix::process::getuid().as_raw().to_string();
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number == id).then(|| name.to_owned())
    });
    name.unwrap_or(id)
}

/// Reports that a new file is created, so that a mistyped path is noticed.
fn announce(path: &Path, what: &str, console: &mut Console<'_>) -> anyhow::Result<()> {
    if path.exists() {
        return Ok(());
    }
    console.print_error(&format!("Creating new {what} file: {}\n", path.display()))
}

/// Formats a time for the lists, in UTC.
fn moment(at: Option<Timestamp>, format: &str, otherwise: &str) -> String {
    at.map_or_else(
        || otherwise.to_owned(),
        |at| at.strftime(format).to_string(),
    )
}

/// Adds a line with the names of claims, if there are any; the values may be secret.
fn push_claims(text: &mut String, indent: &str, claims: &Claims) {
    let names: Vec<_> = claims.names().collect();
    if !names.is_empty() {
        let line = format!("{indent}Claims: {}\n", plain(&names.join(", ")));
        text.push_str(&line);
    }
}

/// Replaces control characters, so that a text cannot send commands to the terminal.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
