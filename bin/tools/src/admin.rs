//! Commands that change the account files and the knowledge base. They start no server; a running
//! server reloads the files by itself.

mod knowledge;
mod replicas;
mod sign_in;
mod users;

use ziggurat_calls::toolsets::Toolsets;
use ziggurat_runtime::console::Console;
use ziggurat_tokens::{TokenFile, TokenTargets};

use crate::{arguments::Command, configuration::Configuration};

/// Settings that the commands work with.
#[derive(Debug)]
pub(crate) struct AdminContext<'a> {
    pub(crate) configuration: &'a Configuration,
    /// True if the configuration sets the least length of a new password. Else a shorter password is
    /// a warning.
    pub(crate) refuses_short_passwords: bool,
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
    let configuration = admin_context.configuration;
    match command {
        Command::Tokens(command) => {
            let databases = configuration.databases.iter();
            let databases: Vec<_> = databases.map(|entry| entry.database.name()).collect();
            let toolsets = configuration.toolsets.as_ref().map(Toolsets::names);
            let toolsets = toolsets.unwrap_or_default();
            let targets = TokenTargets {
                databases: Some(&databases),
                toolsets: &toolsets,
            };
            let file = TokenFile::new(&configuration.auth.token_file);
            Ok(command.run(&file, targets, console)?)
        }
        Command::AddUser {
            username,
            given,
            claims,
            is_admin,
        } => users::add(username, given, claims, is_admin, admin_context, console),
        Command::UpdateUser {
            username,
            given,
            claims,
            is_admin,
        } => users::update(username, given, claims, is_admin, admin_context, console),
        Command::DeleteUser {
            username,
            is_sure,
            keeps_state,
        } => users::delete(username, is_sure, keeps_state, admin_context, console),
        Command::ListUsers { as_json } => users::list(as_json, admin_context, console),
        Command::EnableUser { username } => users::enable(username, admin_context, console),
        Command::DisableUser { username } => users::disable(username, admin_context, console),
        Command::SignIn(command) => sign_in::run(command, admin_context, console),
        Command::BuildKnowledgebase(options) => {
            knowledge::build(options, &configuration.knowledgebase, console)
        }
        // The others change nothing.
        _ => Ok(()),
    }
}
