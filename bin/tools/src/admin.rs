//! Commands that change the account files and the knowledge base. They start no server; a running
//! server reloads the files by itself.

mod knowledge;
mod replicas;
mod secret;
mod users;

use std::path::Path;

use anyhow::bail;
use ziggurat_runtime::console::Console;
use ziggurat_tokens::{TokenCommand, TokenFile, TokenTargets};

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
    /// Toolsets that a token can have.
    pub(crate) toolsets: Vec<&'a str>,
    /// Database that replicas share their state in.
    pub(crate) state: Option<&'a State>,
    /// Folder with the state of a server without replicas.
    pub(crate) data_folder: &'a Path,
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
        Command::Tokens(command) => {
            if matches!(command, TokenCommand::Add(_)) {
                check_databases(admin_context)?;
            }
            let file = TokenFile::new(admin_context.token_file);
            let targets = TokenTargets {
                databases: Some(&admin_context.databases),
                toolsets: &admin_context.toolsets,
            };
            command.run(&file, targets, console)?;
            Ok(())
        }
        Command::AddUser {
            username,
            password,
            note,
            claims,
            is_admin,
        } => {
            let given = users::Given {
                password: password.map(Into::into),
                note,
            };
            users::add(username, given, claims, is_admin, admin_context, console)
        }
        Command::UpdateUser {
            username,
            password,
            note,
            claims,
            is_admin,
        } => {
            let given = users::Given {
                password: password.map(Into::into),
                note,
            };
            users::update(username, given, claims, is_admin, admin_context, console)
        }
        Command::DeleteUser {
            username,
            keeps_state,
        } => users::delete(username, keeps_state, admin_context, console),
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
