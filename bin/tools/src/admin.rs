//! Commands that change the account files and the knowledge base. They start no server; a running
//! server reloads the files by itself.

mod knowledge;
mod replicas;
mod users;

use std::path::Path;

use ziggurat_runtime::console::Console;
use ziggurat_tokens::{TokenFile, TokenTargets};

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
    /// True if the configuration sets that number. Else a shorter password is a warning.
    pub(crate) refuses_short_passwords: bool,
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
            let targets = TokenTargets {
                databases: Some(&admin_context.databases),
                toolsets: &admin_context.toolsets,
            };
            Ok(command.run(&TokenFile::new(admin_context.token_file), targets, console)?)
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
            is_sure,
            keeps_state,
        } => users::delete(username, is_sure, keeps_state, admin_context, console),
        Command::ListUsers { as_json } => users::list(as_json, admin_context, console),
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
