//! Commands that create, change, list, lock and delete users.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use ziggurat_accounts::{LockedAccounts, NewUser, UserChanges, UserFile, UserRecord};
use ziggurat_runtime::console::{Console, moment, plain};
use ziggurat_tokens::{Claims, NewClaims, push_claims};

use crate::{
    admin::{
        AdminContext,
        replicas::{delete_state, with_shared},
    },
    arguments::Given,
};

const MINUTES: &str = "%Y-%m-%d %H:%M";

/// Width of the notes in the table of users.
const NOTE_WIDTH: usize = 20;

const ASK_NOTE: &str = "Enter annotation/note for this user (optional): ";

pub(super) fn add(
    username: Option<String>,
    given: Given,
    claims: Claims,
    is_admin: bool,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let name = name(username, console)?;
    let password = match given_password(given.password, console)? {
        Some(password) if password.expose_secret().is_empty() => bail!("password is required"),
        Some(password) => password,
        None => ask_password(console)?,
    };
    let note = match given.note {
        Some(note) => note,
        None => console.ask(ASK_NOTE)?,
    };
    let file = file(admin_context);
    console.announce(file.path(), "user")?;
    warn_of_short(&password, admin_context, console)?;
    let new = NewUser {
        note: &note,
        claims,
        is_admin,
        ..NewUser::new(&name, &password)
    };
    file.add(new, Timestamp::now())
        .context("failed to add user")?;

    let mut text = format!(
        "\nUser created successfully!\n\nUsername: {}\n",
        plain(&name)
    );
    if !note.is_empty() {
        writeln!(text, "Note:     {}", plain(&note))?;
    }
    text.push_str("Status:   Enabled\n");
    if is_admin {
        text.push_str("Rights:   Administrator\n");
    }
    Ok(console.print(&text)?)
}

pub(super) fn update(
    username: Option<String>,
    given: Given,
    claims: NewClaims,
    is_admin: Option<bool>,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let name = name(username, console)?;
    let has_rights = !claims.is_empty() || is_admin.is_some();
    let is_empty = |given: &Given| given.password.is_none() && given.note.is_none() && !has_rights;
    let given = Given {
        password: given_password(given.password, console)?,
        ..given
    };
    let given = if is_empty(&given) && console.is_terminal {
        ask_changes(console)?
    } else {
        given
    };
    if is_empty(&given) {
        bail!("no updates specified");
    }
    if let Some(password) = &given.password {
        warn_of_short(password, admin_context, console)?;
    }
    let changes = UserChanges {
        password: given.password.as_ref(),
        note: given.note.as_deref(),
        claims,
        is_admin,
        ..UserChanges::default()
    };
    file(admin_context)
        .update(&name, &changes)
        .context("failed to update user")?;
    Ok(console.print(&format!("User '{}' updated successfully\n", plain(&name)))?)
}

fn ask_changes(console: &mut Console<'_>) -> anyhow::Result<Given> {
    let password = console
        .confirm("Update password? (y/N): ")?
        .then(|| ask_password(console))
        .transpose()?;
    let note = console
        .confirm("Update annotation? (y/N): ")?
        .then(|| console.ask(ASK_NOTE))
        .transpose()?;
    Ok(Given { password, note })
}

pub(super) fn delete(
    username: Option<String>,
    is_sure: bool,
    keeps_state: bool,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let name = name(username, console)?;
    let shown = plain(&name);
    let question = format!("Are you sure you want to delete user '{shown}'? (y/N): ");
    if !is_sure && !console.confirm(&question).context("give y, or -yes")? {
        return Ok(console.print("Deletion canceled\n")?);
    }
    let file = UserFile::new(&admin_context.configuration.auth.user_file);
    let users = file.list().context("failed to delete user")?;
    // Before the user, so that the command can be repeated if it fails.
    if let Some(user) = users.iter().find(|user| user.name == name && !keeps_state) {
        delete_state(&user.id, admin_context).context(
            "failed to delete the conversations and the library of the user, who stays; \
             -keep-state deletes the user without them",
        )?;
    }
    file.delete(&name).context("failed to delete user")?;
    Ok(console.print(&format!("User '{shown}' deleted successfully\n"))?)
}

pub(super) fn enable(
    username: Option<String>,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let name = name(username, console)?;
    UserFile::new(&admin_context.configuration.auth.user_file)
        .enable(&name)
        .context("failed to enable user")?;
    if let Some(state) = &admin_context.configuration.state {
        with_shared(state, async |shared| shared.unlock(&name).await)
            .context("failed to enable user")?;
    }
    Ok(console.print(&format!("User '{}' enabled successfully\n", plain(&name)))?)
}

pub(super) fn disable(
    username: Option<String>,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let name = name(username, console)?;
    UserFile::new(&admin_context.configuration.auth.user_file)
        .disable(&name)
        .context("failed to disable user")?;
    Ok(console.print(&format!("User '{}' disabled successfully\n", plain(&name)))?)
}

pub(super) fn list(
    as_json: bool,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let users = UserFile::new(&admin_context.configuration.auth.user_file).list()?;
    if users.is_empty() && !as_json {
        return Ok(console.print("No users found.\n")?);
    }
    let locked = match &admin_context.configuration.state {
        Some(state) => with_shared(state, LockedAccounts::read)?,
        None => LockedAccounts::default(),
    };
    if as_json {
        let users: Vec<_> = users.iter().map(|user| shown(user, &locked)).collect();
        return Ok(console.print(&format!("{:#}\n", Value::from(users)))?);
    }
    let (thick, thin) = ("=".repeat(90), "-".repeat(90));
    let mut text = format!("\nUsers:\n{thick}\n");
    push_row(
        &mut text,
        ["Username", "Created", "Last Login", "Status", "Annotation"],
    );
    writeln!(text, "{thin}")?;
    for user in &users {
        let is_enabled = user.is_enabled && !locked.contains(user);
        let row = [
            &*plain(&user.name),
            &moment(user.created_at, MINUTES, "Unknown"),
            &moment(user.last_login, MINUTES, "Never"),
            if is_enabled { "Enabled" } else { "DISABLED" },
            &shortened(&plain(&user.note)),
        ];
        push_row(&mut text, row);
        if user.is_admin {
            text.push_str("  administrator\n");
        }
        push_claims(&mut text, "  ", &user.claims);
    }
    writeln!(text, "{thick}")?;
    Ok(console.print(&text)?)
}

fn shown(user: &UserRecord, locked: &LockedAccounts) -> Value {
    json!({
        "username": user.name,
        "note": user.note,
        "enabled": user.is_enabled && !locked.contains(user),
        "admin": user.is_admin,
        "databases": user.databases,
        "claims": user.claims.names().collect::<Vec<_>>(),
        "created_at": user.created_at.map(|at| at.to_string()),
        "last_login": user.last_login.map(|at| at.to_string()),
        "failed_attempts": user.failed_attempts,
    })
}

fn push_row(text: &mut String, [name, created, last_login, status, note]: [&str; 5]) {
    let row = format!("{name:<20} {created:<25} {last_login:<20} {status:<10} {note}");
    text.push_str(row.trim_end());
    text.push('\n');
}

fn shortened(note: &str) -> String {
    if note.chars().count() <= NOTE_WIDTH {
        return note.to_owned();
    }
    let mut short: String = note.chars().take(NOTE_WIDTH - 3).collect();
    short.push_str("...");
    short
}

/// Opens the user file with the rules for new passwords that the configuration sets.
fn file(admin_context: &AdminContext<'_>) -> UserFile {
    let length = admin_context.configuration.auth.min_password_length;
    let is_rule = admin_context.refuses_short_passwords;
    UserFile::new(&admin_context.configuration.auth.user_file).with_min_length(if is_rule {
        length
    } else {
        0
    })
}

/// Warns of a password that the console would refuse.
fn warn_of_short(
    password: &SecretString,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let length = admin_context.configuration.auth.min_password_length;
    let is_short = password.expose_secret().chars().count() < length;
    if is_short && !admin_context.refuses_short_passwords {
        console.print_error(&format!(
            "WARN the password has fewer than {length} characters; \
             http.auth.min_password_length refuses such passwords here, too\n"
        ))?;
    }
    Ok(())
}

/// Returns the password of the flag, which may be on standard input.
fn given_password(
    given: Option<SecretString>,
    console: &mut Console<'_>,
) -> anyhow::Result<Option<SecretString>> {
    match given {
        Some(password) if password.expose_secret() == "-" => {
            Ok(Some(console.read_secret("-password -")?))
        }
        given => Ok(given),
    }
}

fn name(given: Option<String>, console: &mut Console<'_>) -> anyhow::Result<String> {
    let name = match given {
        Some(name) => name,
        None => console.ask_required("username", "-username")?,
    };
    if name.is_empty() {
        bail!("username is required");
    }
    Ok(name)
}

fn ask_password(console: &mut Console<'_>) -> anyhow::Result<SecretString> {
    let mut ask = |question| console.ask_secret(question, "password", "-password");
    let password = ask("Enter password: ")?;
    if password.expose_secret().is_empty() {
        bail!("password is required");
    }
    let again = ask("Confirm password: ")?;
    if password.expose_secret() != again.expose_secret() {
        bail!("passwords do not match");
    }
    Ok(password)
}
