//! The file of user accounts.

mod table;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use rand::{
    TryRng as _,
    rngs::{SysError, SysRng},
};
use secrecy::SecretString;
use thiserror::Error;
use ziggurat_passwords::{PasswordError, Passwords};
use ziggurat_text::hidden::{self, Piece};
use ziggurat_tokens::{
    ClaimError, Claims, NewClaims,
    file::{Change, FileError, TableFile},
    whole_seconds,
};

use self::table::StoredUser;
pub(crate) use self::table::Users;

/// Default minimum length of a new password, in characters.
pub(crate) const MIN_LENGTH: usize = 12;

/// File of user accounts, for administration. A server may use the file at the same time.
///
/// ```
/// use ziggurat_accounts::{NewUser, UserFile};
///
/// let folder = tempfile::tempdir()?;
/// let users = UserFile::new(folder.path().join("users.yaml"));
/// let now = "2026-11-21T10:00:00Z".parse()?;
/// # let users = users.with_cost(4);
/// let password = "correct horse".into();
/// users.add(NewUser { note: "Developer", ..NewUser::new("alice", &password) }, now)?;
/// users.disable("alice")?;
/// assert!(!users.list()?[0].is_enabled);
///
/// let error = users.enable("bob").unwrap_err();
/// assert_eq!(error.to_string(), "user 'bob' not found");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct UserFile {
    file: TableFile<Users>,
    passwords: Passwords,
    min_length: usize,
    keeps_administrator: bool,
}

/// Stored data of a user.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// Login name.
    pub name: String,
    /// Id that state of the account is kept under: random, so that a new account of an old name has
    /// another one. An account of a file without ids has its name.
    pub id: String,
    /// Note of the administrator.
    pub note: String,
    /// Creation date, if the file has it.
    pub created_at: Option<Timestamp>,
    /// Time of the last login, to the hour.
    pub last_login: Option<Timestamp>,
    /// Is true if the user may log in.
    pub is_enabled: bool,
    /// Failed logins since the last successful one.
    pub failed_attempts: u64,
    /// Databases that the user may use; empty for all.
    pub databases: Vec<String>,
    /// Claims of the user.
    pub claims: Claims,
    /// Is true if the user administers the server.
    pub is_admin: bool,
    pub(super) password_hash: String,
}

/// An account to create.
#[derive(Clone, Debug)]
pub struct NewUser<'a> {
    /// Name of the user.
    pub name: &'a str,
    /// Password.
    pub password: &'a SecretString,
    /// Note of the administrator; may be empty.
    pub note: &'a str,
    /// Databases that the user may use; empty for all.
    pub databases: &'a [String],
    /// Claims of the user.
    pub claims: Claims,
    /// Is true if the user administers the server.
    pub is_admin: bool,
}

/// Changes of an account; fields with their default value change nothing.
#[derive(Clone, Debug, Default)]
pub struct UserChanges<'a> {
    /// Password.
    pub password: Option<&'a SecretString>,
    /// Note of the administrator; an empty one removes the note.
    pub note: Option<&'a str>,
    /// Claims of the user.
    pub claims: NewClaims,
    /// Is true if the user administers the server.
    pub is_admin: Option<bool>,
    /// Is true if the user may log in. Enabling also clears failed logins; disabling ends sessions.
    pub is_enabled: Option<bool>,
    /// Databases that the user may use; empty for all.
    pub databases: Option<&'a [String]>,
}

/// Reason why an operation on a user failed. The message is for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UserError {
    /// No name was given.
    #[error("username is required")]
    NoName,
    /// The name has a character that names may not have.
    #[error("username has the character {0:?}: leave out <, > and characters that cannot be seen")]
    BadName(char),
    /// The name is taken.
    #[error("user '{0}' already exists")]
    Exists(String),
    /// The user does not exist.
    #[error("user '{0}' not found")]
    NotFound(String),
    /// The user is the last one who administers the server.
    #[error("user '{0}' is the only enabled administrator: make another one first")]
    LastAdministrator(String),
    /// The password cannot be set.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// There are no random bytes.
    #[error("no random bytes for the id of the account")]
    Random(#[from] SysError),
    /// The claims cannot be set.
    #[error(transparent)]
    Claims(#[from] ClaimError),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Returns a character with which a name could look like another one, or like markup.
fn bad_character(name: &str) -> Option<char> {
    let is_bad = |found: &char| found.is_control() || matches!(found, '<' | '>');
    hidden::pieces(name).find_map(|piece| match piece {
        Piece::Visible(text) => text.chars().find(is_bad),
        Piece::Hidden(bad) => Some(bad),
    })
}

// === impl UserFile ===

impl UserFile {
    /// Uses this file, which need not exist.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            file: TableFile::new(path.into()),
            passwords: Passwords::default(),
            min_length: MIN_LENGTH,
            keeps_administrator: false,
        }
    }

    /// Sets the minimum length of new passwords in characters (12 by default). Existing passwords
    /// stay valid.
    #[must_use]
    pub fn with_min_length(self, min_length: usize) -> Self {
        Self { min_length, ..self }
    }

    /// Refuses changes after which no enabled user would administer the server, if one does now.
    #[must_use]
    pub fn with_administrator_kept(self) -> Self {
        Self {
            keeps_administrator: true,
            ..self
        }
    }

    /// Sets the bcrypt cost, as an exponent of two (12 by default). Each step doubles the time of a
    /// login and of a guess.
    #[must_use]
    pub fn with_cost(self, cost: u32) -> Self {
        let passwords = Passwords::with_cost(cost);
        Self { passwords, ..self }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the users by name.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read. A missing file has no users.
    pub fn list(&self) -> Result<Vec<UserRecord>, FileError> {
        let users = self.file.read()?;
        let mut records: Vec<_> = users.records().cloned().collect();
        records.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(records)
    }

    /// Creates an account. Hashing the password blocks for long.
    ///
    /// # Errors
    ///
    /// Fails if the name is taken or missing, the password cannot be set, or the file not written.
    pub fn add(&self, new: NewUser<'_>, now: Timestamp) -> Result<(), UserError> {
        let name = new.name;
        if name.is_empty() {
            return Err(UserError::NoName);
        }
        if let Some(bad) = bad_character(name) {
            return Err(UserError::BadName(bad));
        }
        let record = UserRecord {
            name: name.to_owned(),
            id: new_id()?,
            note: new.note.to_owned(),
            created_at: Some(whole_seconds(now)),
            last_login: None,
            is_enabled: true,
            failed_attempts: 0,
            databases: new.databases.to_vec(),
            claims: new.claims,
            is_admin: new.is_admin,
            password_hash: self.hash(new.password)?,
        };
        self.file
            .update(|users| users.add(record).map(Change::Write))
    }

    /// Changes the given values. Sessions stay unless the account is disabled; hashing a password
    /// blocks for long.
    ///
    /// # Errors
    ///
    /// Fails if the user does not exist, the password or the claims cannot be set, or the file not
    /// written.
    pub fn update(&self, name: &str, changes: &UserChanges<'_>) -> Result<(), UserError> {
        let hash = changes.password.map(|password| self.hash(password));
        let hash = hash.transpose()?;
        self.change(name, |stored| {
            let claims = changes.claims.applied_to(&stored.record.claims)?;
            if let Some(hash) = hash {
                stored.set_password_hash(hash);
            }
            if let Some(note) = changes.note {
                stored.set_note(note);
            }
            stored.set_claims(claims);
            if let Some(is_admin) = changes.is_admin {
                stored.set_admin(is_admin);
            }
            if let Some(is_enabled) = changes.is_enabled {
                stored.enable(is_enabled);
            }
            if let Some(databases) = changes.databases {
                stored.set_databases(databases);
            }
            Ok(())
        })
    }

    /// Sets a new password that does not contain the name of the user, if the account is still as it
    /// was when its present password was checked. Returns whether it is. Blocks for long.
    pub(crate) fn replace_password(
        &self,
        checked: &UserRecord,
        password: &SecretString,
    ) -> Result<bool, UserError> {
        let name = &*checked.name;
        let hash = self.passwords.hash_new(password, self.min_length, name)?;
        self.file.update(|users| {
            let found = users.find_mut(name);
            let found = found.filter(|it| it.record.password_hash == checked.password_hash);
            let Some(stored) = found else {
                return Ok(Change::Leave(false));
            };
            stored.set_password_hash(hash);
            Ok(Change::Write(true))
        })
    }

    /// Enables an account and clears its failed logins.
    ///
    /// # Errors
    ///
    /// Fails if the user does not exist, or the file cannot be written.
    pub fn enable(&self, name: &str) -> Result<(), UserError> {
        self.change(name, |stored| {
            stored.enable(true);
            Ok(())
        })
    }

    /// Disables an account, and ends its sessions.
    ///
    /// # Errors
    ///
    /// Fails if the user does not exist, or the file cannot be written.
    pub fn disable(&self, name: &str) -> Result<(), UserError> {
        self.change(name, |stored| {
            stored.enable(false);
            Ok(())
        })
    }

    /// Deletes an account, and ends its sessions. Returns the deleted record.
    ///
    /// # Errors
    ///
    /// Fails if the user does not exist, or the file cannot be written.
    pub fn delete(&self, name: &str) -> Result<UserRecord, UserError> {
        self.change_table(name, |users| users.remove(name))
    }

    /// Makes a random password that a user of this file may have.
    ///
    /// # Errors
    ///
    /// Fails if there are no random bytes.
    pub fn make_password(&self) -> Result<SecretString, PasswordError> {
        ziggurat_passwords::made(self.min_length)
    }

    /// Hashes a password that an administrator chose, who may use the name in it.
    fn hash(&self, password: &SecretString) -> Result<String, PasswordError> {
        self.passwords.hash_new(password, self.min_length, "")
    }

    fn change(
        &self,
        name: &str,
        change: impl FnOnce(&mut StoredUser) -> Result<(), UserError>,
    ) -> Result<(), UserError> {
        self.change_table(name, |users| {
            let found = users.find_mut(name);
            change(found.ok_or_else(|| UserError::NotFound(name.to_owned()))?)
        })
    }

    /// Applies a change to the account of this name.
    fn change_table<T>(
        &self,
        name: &str,
        change: impl FnOnce(&mut Users) -> Result<T, UserError>,
    ) -> Result<T, UserError> {
        self.file.update(|users| {
            let had_administrator = users.have_administrator();
            let changed = change(users)?;
            if self.keeps_administrator && had_administrator && !users.have_administrator() {
                return Err(UserError::LastAdministrator(name.to_owned()));
            }
            Ok(Change::Write(changed))
        })
    }
}

/// Makes an id that no other account has or had.
fn new_id() -> Result<String, SysError> {
    let mut random = [0; 16];
    SysRng.try_fill_bytes(&mut random)?;
    // No YAML parser reads it as a number.
    Ok(format!("account_{:032x}", u128::from_be_bytes(random)))
}

// === impl NewUser ===

impl<'a> NewUser<'a> {
    /// Creates an account with this name and password, without a note and claims.
    #[must_use]
    pub fn new(name: &'a str, password: &'a SecretString) -> Self {
        Self {
            name,
            password,
            note: "",
            databases: &[],
            claims: Claims::default(),
            is_admin: false,
        }
    }
}

// === impl UserRecord ===

impl fmt::Debug for UserRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the hash, from which passwords can be guessed.
        f.debug_struct("UserRecord")
            .field("name", &self.name)
            .field("is_enabled", &self.is_enabled)
            .finish_non_exhaustive()
    }
}
