//! The file of user accounts.

#[cfg(test)]
mod tests;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use ziggurat_tokens::{
    ClaimError, Claims, NewClaims,
    file::{Change, FileError, Table, TableFile},
    whole_seconds,
    yaml::{Map, Node, Unexpected},
};

use crate::password::{PasswordError, Passwords};

/// Default minimum length of a new password, in characters.
const MIN_LENGTH: usize = 12;

/// Member of administrators.
const ADMIN: &str = "admin";

/// Precision of the time of a user's last login.
const PRECISION: SignedDuration = SignedDuration::from_hours(1);

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
}

/// Stored data of a user.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// Login name.
    pub name: String,
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
    /// Claims of the user.
    pub claims: Claims,
    /// Is true if the user administers the server.
    pub is_admin: bool,
}

/// Changes of an account; what is none stays as it is.
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
}

/// Reason why an operation on a user failed. The message is for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UserError {
    /// No name was given.
    #[error("username is required")]
    NoName,
    /// The name is taken.
    #[error("user '{0}' already exists")]
    Exists(String),
    /// The user does not exist.
    #[error("user '{0}' not found")]
    NotFound(String),
    /// The password cannot be set.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The claims cannot be set.
    #[error(transparent)]
    Claims(#[from] ClaimError),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Content of the user file.
#[derive(Clone, Default)]
pub(super) struct Users {
    /// Members of the document other than the users.
    rest: Map,
    users: Vec<StoredUser>,
}

/// A user, parsed and as written.
#[derive(Clone)]
struct StoredUser {
    record: UserRecord,
    members: Map,
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
        }
    }

    /// Sets the minimum length of new passwords in characters (12 by default). Existing passwords
    /// stay valid.
    #[must_use]
    pub fn with_min_length(self, min_length: usize) -> Self {
        Self { min_length, ..self }
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
        let record = UserRecord {
            name: name.to_owned(),
            note: new.note.to_owned(),
            created_at: Some(whole_seconds(now)),
            last_login: None,
            is_enabled: true,
            failed_attempts: 0,
            databases: Vec::new(),
            claims: new.claims,
            is_admin: new.is_admin,
            password_hash: self.hash(new.password)?,
        };
        self.file.update(|users| {
            if users.find(name).is_some() {
                return Err(UserError::Exists(name.to_owned()));
            }
            users.users.push(StoredUser::new(record));
            Ok(Change::Write(()))
        })?;
        Ok(())
    }

    /// Changes the given values. Sessions stay; hashing a password blocks for long.
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
            Ok(())
        })
    }

    /// Enables an account and clears its failed logins.
    ///
    /// # Errors
    ///
    /// Fails if the user does not exist, or the file cannot be written.
    pub fn enable(&self, name: &str) -> Result<(), UserError> {
        self.change(name, |stored| {
            stored.set_enabled(true);
            stored.set_failed_attempts(0);
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
            stored.set_enabled(false);
            Ok(())
        })
    }

    /// Deletes an account, and ends its sessions.
    ///
    /// # Errors
    ///
    /// Fails if the user does not exist, or the file cannot be written.
    pub fn delete(&self, name: &str) -> Result<(), UserError> {
        self.file.update(|users| {
            let before = users.users.len();
            users.users.retain(|stored| stored.record.name != name);
            if users.users.len() == before {
                return Err(UserError::NotFound(name.to_owned()));
            }
            Ok(Change::Write(()))
        })?;
        Ok(())
    }

    fn hash(&self, password: &SecretString) -> Result<String, PasswordError> {
        let length = password.expose_secret().chars().count();
        if (1..self.min_length).contains(&length) {
            return Err(PasswordError::TooShort(self.min_length));
        }
        self.passwords.hash(password)
    }

    fn change(
        &self,
        name: &str,
        change: impl FnOnce(&mut StoredUser) -> Result<(), UserError>,
    ) -> Result<(), UserError> {
        self.file.update(|users| {
            let found = users.find_mut(name);
            change(found.ok_or_else(|| UserError::NotFound(name.to_owned()))?)?;
            Ok::<_, UserError>(Change::Write(()))
        })?;
        Ok(())
    }
}

// === impl Users ===

impl Users {
    pub(super) fn records(&self) -> impl Iterator<Item = &UserRecord> {
        self.users.iter().map(|stored| &stored.record)
    }

    pub(super) fn find(&self, name: &str) -> Option<&UserRecord> {
        self.records().find(|record| record.name == name)
    }

    /// Records a successful login, if the record changes: times are kept to the hour, so that not
    /// every login writes the file. Returns whether it changed.
    pub(super) fn note_success(&mut self, name: &str, now: Timestamp) -> bool {
        let Some(stored) = self.find_mut(name) else {
            return false;
        };
        let last = stored.record.last_login;
        let is_recent = last.is_some_and(|last| now.duration_since(last).abs() < PRECISION);
        if is_recent && stored.record.failed_attempts == 0 {
            return false;
        }
        stored.set_last_login(whole_seconds(now));
        stored.set_failed_attempts(0);
        true
    }

    /// Counts a failed login, and disables the account at the limit. Returns whether it was
    /// disabled now; disabled and missing accounts are not counted.
    pub(super) fn note_failure(&mut self, name: &str, limit: u64) -> Change<bool> {
        let Some(stored) = self
            .find_mut(name)
            .filter(|stored| stored.record.is_enabled)
        else {
            return Change::Leave(false);
        };
        let failed = stored.record.failed_attempts.saturating_add(1);
        stored.set_failed_attempts(failed);
        stored.set_enabled(failed < limit);
        Change::Write(failed >= limit)
    }

    fn find_mut(&mut self, name: &str) -> Option<&mut StoredUser> {
        self.users
            .iter_mut()
            .find(|stored| stored.record.name == name)
    }
}

impl Table for Users {
    fn from_document(document: Node) -> Result<Self, Unexpected> {
        let mut rest = document.into_document("a map with `users`")?;
        let users = match rest.take("users").unwrap_or(Node::Null) {
            Node::Null => Vec::new(),
            Node::Map(by_name) => by_name
                .into_members()
                .map(|(name, node)| StoredUser::from_member(name, node))
                .collect::<Result<_, _>>()?,
            _ => return Err(Unexpected::new("users", "a map")),
        };
        Ok(Self { rest, users })
    }

    fn to_document(&self) -> Node {
        let mut by_name = Map::default();
        for stored in &self.users {
            by_name.push(
                stored.record.name.clone(),
                Node::Map(stored.members.clone()),
            );
        }
        let mut document = self.rest.clone();
        document.push("users".to_owned(), Node::Map(by_name));
        Node::Map(document)
    }
}

// === impl StoredUser ===

impl StoredUser {
    fn new(record: UserRecord) -> Self {
        let mut stored = Self {
            members: Map::default(),
            record: record.clone(),
        };
        let created_at = record.created_at.map_or(Node::Null, date);
        stored.members.set("username", Node::Text(record.name));
        stored.set_password_hash(record.password_hash);
        stored.members.set("created_at", created_at);
        stored.members.set("last_login", Node::Null);
        stored.set_enabled(record.is_enabled);
        stored.set_note(&record.note);
        stored.set_failed_attempts(record.failed_attempts);
        stored.set_claims(record.claims);
        stored.set_admin(record.is_admin);
        stored
    }

    fn from_member(name: String, node: Node) -> Result<Self, Unexpected> {
        let place = format!("users.{name}");
        let members = node.into_map(&place, "a map")?;
        let record = UserRecord::from_members(name, &members);
        let record = record.map_err(|problem| problem.within(&place))?;
        Ok(Self { record, members })
    }

    fn set_password_hash(&mut self, hash: String) {
        self.members.set("password_hash", Node::Text(hash.clone()));
        self.record.password_hash = hash;
    }

    fn set_note(&mut self, note: &str) {
        self.members.set("annotation", Node::text(note));
        note.clone_into(&mut self.record.note);
    }

    fn set_claims(&mut self, claims: Claims) {
        self.members.set_claims(&claims);
        self.record.claims = claims;
    }

    /// Writes only what is not the default, so that files without administrators stay as they are.
    fn set_admin(&mut self, is_admin: bool) {
        if is_admin {
            self.members.set(ADMIN, Node::Bool(true));
        } else {
            self.members.take(ADMIN);
        }
        self.record.is_admin = is_admin;
    }

    fn set_enabled(&mut self, is_enabled: bool) {
        self.members.set("enabled", Node::Bool(is_enabled));
        self.record.is_enabled = is_enabled;
    }

    fn set_failed_attempts(&mut self, failed: u64) {
        let node = i64::try_from(failed).map_or(Node::Large(failed), Node::Whole);
        self.members.set("failed_attempts", node);
        self.record.failed_attempts = failed;
    }

    fn set_last_login(&mut self, at: Timestamp) {
        self.members.set("last_login", date(at));
        self.record.last_login = Some(at);
    }
}

fn date(at: Timestamp) -> Node {
    Node::Text(at.to_string())
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
            claims: Claims::default(),
            is_admin: false,
        }
    }
}

// === impl UserRecord ===

impl UserRecord {
    fn from_members(name: String, members: &Map) -> Result<Self, Unexpected> {
        let hash = members.find_text("password_hash")?;
        Ok(Self {
            name,
            note: members.find_text("annotation")?.unwrap_or_default(),
            created_at: members.find_date("created_at")?,
            last_login: members.find_date("last_login")?,
            is_enabled: members.find_bool("enabled")?.unwrap_or(true),
            failed_attempts: members.find_number("failed_attempts")?.unwrap_or_default(),
            databases: members
                .find_texts("available_databases")?
                .unwrap_or_default(),
            claims: members.find_claims()?,
            is_admin: members.find_bool(ADMIN)?.unwrap_or(false),
            password_hash: hash.ok_or_else(|| Unexpected::new("password_hash", "a text"))?,
        })
    }
}

impl fmt::Debug for UserRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the hash, from which passwords can be guessed.
        f.debug_struct("UserRecord")
            .field("name", &self.name)
            .field("is_enabled", &self.is_enabled)
            .finish_non_exhaustive()
    }
}
