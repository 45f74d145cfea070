//! The table of users, parsed and as written.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use ziggurat_runtime::yaml::{Map, Node, Scalar, Unexpected};
use ziggurat_tokens::{
    Claims,
    file::{Change, Table},
    whole_seconds,
    yaml::{claims_of, set_claims},
};

use crate::users::{UserError, UserRecord};

/// Member of administrators.
const ADMIN: &str = "admin";

/// Member with the id of an account.
const ID: &str = "id";

/// Member with the databases of a user.
const DATABASES: &str = "available_databases";

/// Precision of the time of a user's last login.
const PRECISION: SignedDuration = SignedDuration::from_hours(1);

/// Content of the user file.
#[derive(Clone, Default)]
pub(crate) struct Users {
    /// Members of the document other than the users.
    rest: Map,
    users: Vec<StoredUser>,
}

/// A user, parsed and as written.
#[derive(Clone)]
pub(super) struct StoredUser {
    pub(super) record: UserRecord,
    members: Map,
}

// === impl Users ===

impl Users {
    pub(crate) fn records(&self) -> impl Iterator<Item = &UserRecord> {
        self.users.iter().map(|stored| &stored.record)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&UserRecord> {
        self.records().find(|record| record.name == name)
    }

    /// Adds an account.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub(super) fn add(&mut self, record: UserRecord) -> Result<(), UserError> {
        if self.find(&record.name).is_some() {
            return Err(UserError::Exists(record.name));
        }
        self.users.push(StoredUser::new(record));
        Ok(())
    }

    /// Removes an account.
    ///
    /// # Errors
    /// Fails if it does not exist.
    pub(super) fn remove(&mut self, name: &str) -> Result<UserRecord, UserError> {
        let mut users = self.users.iter();
        match users.position(|stored| stored.record.name == name) {
            Some(place) => Ok(self.users.remove(place).record),
            None => Err(UserError::NotFound(name.to_owned())),
        }
    }

    /// Returns an error if two accounts have the same id: each would read the state of the other.
    fn check_ids(&self) -> Result<(), Unexpected> {
        let mut owners = HashMap::new();
        for UserRecord { name, id, .. } in self.records() {
            if let Some(other) = owners.insert(id, name) {
                return Err(Unexpected::new(
                    &format!("users.{name}.id"),
                    &format!("another text than that of user '{other}'"),
                ));
            }
        }
        Ok(())
    }

    /// Returns whether an enabled user administers the server.
    pub(super) fn have_administrator(&self) -> bool {
        let mut users = self.records();
        users.any(|user| user.is_enabled && user.is_admin)
    }

    /// Records a successful login, if the record changes: times are kept to the hour, so that not
    /// every login writes the file. Returns whether it changed.
    pub(crate) fn note_success(&mut self, name: &str, now: Timestamp) -> bool {
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
    pub(crate) fn note_failure(&mut self, name: &str, limit: u64) -> Change<bool> {
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

    pub(super) fn find_mut(&mut self, name: &str) -> Option<&mut StoredUser> {
        self.users
            .iter_mut()
            .find(|stored| stored.record.name == name)
    }
}

impl Table for Users {
    fn from_document(document: Node) -> Result<Self, Unexpected> {
        let mut rest = document.into_document("a map with `users`")?;
        let users = match rest.take("users").unwrap_or_default() {
            none if none.is_null() => Vec::new(),
            Node::Map(by_name) => by_name
                .into_members()
                .map(|(name, node)| StoredUser::from_member(name, node))
                .collect::<Result<_, _>>()?,
            _ => return Err(Unexpected::new("users", "a map")),
        };
        let table = Self { rest, users };
        table.check_ids()?;
        Ok(table)
    }

    fn to_document(&self) -> Node {
        let by_name = self.users.iter().map(|StoredUser { record, members }| {
            (record.name.clone(), Node::Map(members.clone()))
        });
        let mut document = self.rest.clone();
        document.push("users".to_owned(), Node::Map(by_name.collect()));
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
        let created_at = record.created_at.map_or_else(Node::default, date);
        stored.members.set("username", Node::text(record.name));
        stored.set_password_hash(record.password_hash);
        stored.members.set("created_at", created_at);
        stored.members.set("last_login", Node::default());
        stored.set_enabled(record.is_enabled);
        stored.set_note(&record.note);
        stored.set_failed_attempts(record.failed_attempts);
        stored.members.set(ID, Node::text(record.id));
        stored.set_databases(&record.databases);
        stored.set_claims(record.claims);
        stored.set_admin(record.is_admin);
        stored
    }

    fn from_member(name: String, node: Node) -> Result<Self, Unexpected> {
        let place = format!("users.{name}");
        let mut members = node.into_map(&place, "a map")?;
        let record = UserRecord::from_members(name, &members);
        let record = record.map_err(|problem| problem.within(&place))?;
        // Written with the next change of the file, so that the account keeps it under another name.
        members.set(ID, Node::text(&record.id));
        Ok(Self { record, members })
    }

    pub(super) fn set_password_hash(&mut self, hash: String) {
        self.members.set("password_hash", Node::text(hash.clone()));
        self.record.password_hash = hash;
    }

    pub(super) fn set_note(&mut self, note: &str) {
        self.members.set("annotation", Node::text(note));
        note.clone_into(&mut self.record.note);
    }

    pub(super) fn set_claims(&mut self, claims: Claims) {
        set_claims(&mut self.members, &claims);
        self.record.claims = claims;
    }

    /// Writes only what restricts, so that files of users of all databases stay as they are.
    pub(super) fn set_databases(&mut self, databases: &[String]) {
        if databases.is_empty() {
            self.members.take(DATABASES);
        } else {
            let names = databases.iter().map(Node::text);
            self.members.set(DATABASES, Node::List(names.collect()));
        }
        databases.clone_into(&mut self.record.databases);
    }

    /// Enables the account and clears its failed logins, or disables it.
    pub(super) fn enable(&mut self, is_enabled: bool) {
        self.set_enabled(is_enabled);
        if is_enabled {
            self.set_failed_attempts(0);
        }
    }

    /// Writes only `true`, so that files without administrators stay as they are.
    pub(super) fn set_admin(&mut self, is_admin: bool) {
        if is_admin {
            self.members.set(ADMIN, Scalar::Boolean(true));
        } else {
            self.members.take(ADMIN);
        }
        self.record.is_admin = is_admin;
    }

    fn set_enabled(&mut self, is_enabled: bool) {
        self.members.set("enabled", Scalar::Boolean(is_enabled));
        self.record.is_enabled = is_enabled;
    }

    fn set_failed_attempts(&mut self, failed: u64) {
        self.members.set("failed_attempts", failed);
        self.record.failed_attempts = failed;
    }

    fn set_last_login(&mut self, at: Timestamp) {
        self.members.set("last_login", date(at));
        self.record.last_login = Some(at);
    }
}

fn date(at: Timestamp) -> Node {
    Node::text(at.to_string())
}

// === impl UserRecord ===

impl UserRecord {
    /// Returns whether there is a password to compare others with.
    #[must_use]
    pub fn has_password(&self) -> bool {
        !self.password_hash.is_empty()
    }

    fn from_members(name: String, members: &Map) -> Result<Self, Unexpected> {
        let hash = members.find_text("password_hash")?;
        let id = members.find_text(ID)?.filter(|id| !id.is_empty());
        Ok(Self {
            id: id.unwrap_or_else(|| name.clone()),
            name,
            note: members.find_text("annotation")?.unwrap_or_default(),
            created_at: members.find_date("created_at")?,
            last_login: members.find_date("last_login")?,
            is_enabled: members.find_bool("enabled")?.unwrap_or(true),
            failed_attempts: members.find_number("failed_attempts")?.unwrap_or_default(),
            databases: members.find_texts(DATABASES)?.unwrap_or_default(),
            claims: claims_of(members)?,
            is_admin: members.find_bool(ADMIN)?.unwrap_or(false),
            password_hash: hash.ok_or_else(|| Unexpected::new("password_hash", "a text"))?,
        })
    }
}
