//! Commands that create, change, list, lock and delete users.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use ziggurat_accounts::{LockedAccounts, NewUser, UserChanges, UserFile};
use ziggurat_runtime::console::{Console, moment, plain};
use ziggurat_tokens::{Claims, NewClaims, push_claims};

use super::{
    AdminContext,
    replicas::{delete_state, with_shared},
    secret::ask_secret,
};

const MINUTES: &str = "%Y-%m-%d %H:%M";

/// Width of the notes in the table of users.
const NOTE_WIDTH: usize = 20;

const ASK_NOTE: &str = "Enter annotation/note for this user (optional): ";

/// Values of an account that the administrator is asked for unless they are given.
pub(super) struct Given {
    pub(super) password: Option<SecretString>,
    pub(super) note: Option<String>,
}

pub(super) fn add(
    username: Option<String>,
    given: Given,
    claims: Claims,
    is_admin: bool,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let name = name(username, console)?;
    let password = match given.password {
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
    let given = if is_empty(&given) {
        ask_changes(console)?
    } else {
        given
    };
    if is_empty(&given) {
        bail!("no updates specified");
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
    keeps_state: bool,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let name = name(username, console)?;
    let shown = plain(&name);
    if !console.confirm(&format!(
        "Are you sure you want to delete user '{shown}'? (y/N): "
    ))? {
        return Ok(console.print("Deletion canceled\n")?);
    }
    let file = UserFile::new(admin_context.user_file);
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
    UserFile::new(admin_context.user_file)
        .enable(&name)
        .context("failed to enable user")?;
    if let Some(state) = admin_context.state {
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
    UserFile::new(admin_context.user_file)
        .disable(&name)
        .context("failed to disable user")?;
    Ok(console.print(&format!("User '{}' disabled successfully\n", plain(&name)))?)
}

pub(super) fn list(
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let users = UserFile::new(admin_context.user_file).list()?;
    if users.is_empty() {
        return Ok(console.print("No users found.\n")?);
    }
    let locked = match admin_context.state {
        Some(state) => with_shared(state, LockedAccounts::read)?,
        None => LockedAccounts::default(),
    };
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

/// Opens the user file with the configured rules for new passwords.
fn file(admin_context: &AdminContext<'_>) -> UserFile {
    UserFile::new(admin_context.user_file).with_min_length(admin_context.min_password_length)
}

fn name(given: Option<String>, console: &mut Console<'_>) -> anyhow::Result<String> {
    let name = match given {
        Some(name) => name,
        None => console.ask("Enter username: ")?,
    };
    if name.is_empty() {
        bail!("username is required");
    }
    Ok(name)
}

fn ask_password(console: &mut Console<'_>) -> anyhow::Result<SecretString> {
    let password = ask_secret(console, "Enter password: ")?;
    if password.expose_secret().is_empty() {
        bail!("password is required");
    }
    let again = ask_secret(console, "Confirm password: ")?;
    if password.expose_secret() != again.expose_secret() {
        bail!("passwords do not match");
    }
    Ok(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_at_the_end_of_its_column() {
        for (note, shown) in [
            ("Developer", "Developer"),
            ("exactly twenty chars", "exactly twenty chars"),
            ("one more than twenty!", "one more than twe..."),
            ("äöüäöüäöüäöüäöüäöüäöü", "äöüäöüäöüäöüäöüäö..."),
        ] {
            assert_eq!(shortened(note), shown);
        }
    }
}
