//! Command that a command line selects.

use std::path::PathBuf;

use crate::configuration::Secret;

use super::{
    Refusal,
    flags::{DescriptionFlags, Flags, KnowledgeFlags, Overrides, TokenFlags, UserFlags},
};

const BUILD: &str = "-build-knowledgebase";

/// Command of the program. It asks the administrator for missing values.
#[derive(Debug)]
pub(crate) enum Command {
    /// Print the usage.
    Help,
    /// Run the server.
    Serve,
    /// Print the `OpenAPI` document.
    Describe,
    /// Print the version.
    Version,
    /// Print what is wrong with the configuration.
    Check,
    /// Create an API token.
    AddToken {
        note: Option<String>,
        database: Option<String>,
        expiry: Option<String>,
    },
    /// List the API tokens.
    ListTokens,
    /// Remove an API token, by its id or the start of its hash.
    RemoveToken { identifier: String },
    /// Create an account.
    AddUser {
        username: Option<String>,
        password: Option<Secret>,
        note: Option<String>,
    },
    /// Change an account; an empty note removes the existing one.
    UpdateUser {
        username: Option<String>,
        password: Option<Secret>,
        note: Option<String>,
    },
    /// Delete an account.
    DeleteUser { username: Option<String> },
    /// List the accounts.
    ListUsers,
    /// Unlock an account.
    EnableUser { username: Option<String> },
    /// Lock an account.
    DisableUser { username: Option<String> },
    /// Build the knowledge base from documents.
    BuildKnowledgebase {
        folders: Vec<PathBuf>,
        project: Option<String>,
        version: Option<String>,
        output: Option<PathBuf>,
    },
}

/// Selects the command from the flags.
///
/// # Errors
/// Fails if the flags select two commands, have options of a command that is not selected, or
/// exclude each other.
pub(super) fn choose(flags: Flags) -> Result<(Command, Overrides), Refusal> {
    let Flags {
        overrides,
        description,
        tokens,
        users,
        knowledge,
    } = flags;
    let asked = asked(&description, &tokens, &users, &knowledge);
    let chosen = match asked[..] {
        [] => None,
        [one] => Some(one),
        [one, two, ..] => {
            return Err(Refusal::conflict(format!(
                "{one} and {two} exclude each other"
            )));
        }
    };
    belongs(chosen, &tokens, &users, &knowledge)?;
    let command = match chosen {
        None => {
            check_serving(&overrides)?;
            Command::Serve
        }
        Some(BUILD) => Command::BuildKnowledgebase {
            folders: knowledge.build_knowledgebase,
            project: knowledge.kb_project,
            version: knowledge.kb_version,
            output: knowledge.kb_output,
        },
        Some(name) => administration(name, tokens, users),
    };
    Ok((command, overrides))
}

/// Returns the commands among the flags, in the order of the usage.
fn asked(
    description: &DescriptionFlags,
    tokens: &TokenFlags,
    users: &UserFlags,
    knowledge: &KnowledgeFlags,
) -> Vec<&'static str> {
    [
        ("-openapi", description.openapi == Some(true)),
        ("-version", description.version == Some(true)),
        ("-check-config", description.check_config == Some(true)),
        ("-add-token", tokens.add_token == Some(true)),
        ("-list-tokens", tokens.list_tokens == Some(true)),
        // An empty text counts too: a script with an empty variable must not start a server.
        ("-remove-token", tokens.remove_token.is_some()),
        ("-add-user", users.add_user == Some(true)),
        ("-update-user", users.update_user == Some(true)),
        ("-delete-user", users.delete_user == Some(true)),
        ("-list-users", users.list_users == Some(true)),
        ("-enable-user", users.enable_user == Some(true)),
        ("-disable-user", users.disable_user == Some(true)),
        (BUILD, !knowledge.build_knowledgebase.is_empty()),
    ]
    .into_iter()
    .filter_map(|(name, is_asked)| is_asked.then_some(name))
    .collect()
}

/// Refuses options of commands that are not selected.
fn belongs(
    chosen: Option<&str>,
    tokens: &TokenFlags,
    users: &UserFlags,
    knowledge: &KnowledgeFlags,
) -> Result<(), Refusal> {
    const ADD: &[&str] = &["-add-token"];
    const WRITE: &[&str] = &["-add-user", "-update-user"];
    const ONE_USER: &[&str] = &[
        "-add-user",
        "-update-user",
        "-delete-user",
        "-enable-user",
        "-disable-user",
    ];
    let details = [
        ("-token-note", tokens.token_note.is_some(), ADD),
        ("-token-database", tokens.token_database.is_some(), ADD),
        ("-token-expiry", tokens.token_expiry.is_some(), ADD),
        ("-username", users.username.is_some(), ONE_USER),
        ("-password", users.password.is_some(), WRITE),
        ("-user-note", users.user_note.is_some(), WRITE),
        ("-kb-project", knowledge.kb_project.is_some(), &[BUILD]),
        ("-kb-version", knowledge.kb_version.is_some(), &[BUILD]),
        ("-kb-output", knowledge.kb_output.is_some(), &[BUILD]),
    ];
    for (name, is_there, commands) in details {
        if is_there && !chosen.is_some_and(|chosen| commands.contains(&chosen)) {
            let commands = commands.join(" or ");
            return Err(Refusal::conflict(format!("{name} goes with {commands}")));
        }
    }
    Ok(())
}

fn administration(name: &str, tokens: TokenFlags, users: UserFlags) -> Command {
    let (username, password, note) = (users.username, users.password, users.user_note);
    match name {
        "-openapi" => Command::Describe,
        "-version" => Command::Version,
        "-check-config" => Command::Check,
        "-add-token" => Command::AddToken {
            note: tokens.token_note,
            database: tokens.token_database,
            expiry: tokens.token_expiry,
        },
        "-list-tokens" => Command::ListTokens,
        "-remove-token" => Command::RemoveToken {
            identifier: tokens.remove_token.unwrap_or_default(),
        },
        "-add-user" => Command::AddUser {
            username,
            password,
            note,
        },
        "-update-user" => Command::UpdateUser {
            username,
            password,
            note,
        },
        "-delete-user" => Command::DeleteUser { username },
        "-enable-user" => Command::EnableUser { username },
        "-disable-user" => Command::DisableUser { username },
        _ => Command::ListUsers,
    }
}

/// Refuses combinations that are wrong whatever the configuration file contains.
fn check_serving(overrides: &Overrides) -> Result<(), Refusal> {
    let transport = &overrides.transport;
    let is_about_tls = transport.tls == Some(true)
        || [&transport.cert, &transport.key, &transport.chain]
            .iter()
            .any(|path| path.is_some());
    if is_about_tls && transport.http != Some(true) {
        return Err(Refusal::before_start(
            "TLS options (-tls, -cert, -key, -chain) require -http flag",
            true,
        ));
    }
    let database = &overrides.database;
    if database.host.is_some() && database.hosts.is_some() {
        return Err(Refusal::before_start(
            "-db-host and -db-hosts exclude each other",
            false,
        ));
    }
    Ok(())
}
