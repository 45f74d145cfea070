//! The role and the settings that the statements of a caller run with.

#[cfg(test)]
mod tests;

use std::{fmt::Write as _, path::PathBuf, sync::OnceLock};

use aws_lc_rs::hmac;

use ziggurat_sql::{Refusal, keep_identity};

use crate::{
    database::seal::{SealKey, Sealed},
    driver::{DriverError, Row},
    quoted,
};

/// Longest name of a role, in bytes.
const LONGEST_ROLE: usize = 63;

/// Longest value of a setting, in bytes.
const LONGEST_VALUE: usize = 1024;

/// Settings of a role that are applied for it, besides those with a dot in their names.
const OWN_SETTINGS: [&str; 2] = ["search_path", "work_mem"];

/// The role and the settings that the statements of a caller run with, in place of the ones of the
/// database's own user.
///
/// ```
/// use ziggurat_postgres::database::{Acting, Way};
///
/// let acting = Acting::default().with_role("tenant_7", Way::SetRole)?;
/// let acting = acting.with_setting("app.tenant", "7")?;
/// assert_eq!(acting.role(), Some("tenant_7"));
/// assert!(Acting::default().with_role("pg_monitor", Way::SetRole).is_err());
/// # Ok::<_, ziggurat_postgres::database::InvalidActing>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Acting {
    role: Option<(String, Way)>,
    settings: Vec<(String, String)>,
    is_strict: bool,
    shows_plans: bool,
    mark: Box<str>,
    seal: Option<SealKey>,
}

/// Key of the marks under which roles and settings are recorded.
#[derive(Clone, Debug)]
pub struct IdentityKey(hmac::Key);

/// The way in which a connection gets its role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Way {
    /// It logs in as the role, with the files of the role in this folder; without a folder, with the
    /// password file.
    ConnectAs(Option<PathBuf>),
    /// It logs in as the database's own user, who is a member of the role.
    SetRole,
}

/// A role or a setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidActing {
    /// PostgreSQL cuts names that are longer.
    #[error("a role has 1 to {LONGEST_ROLE} bytes, and no NUL character")]
    RoleName,
    /// These roles have too many rights.
    #[error("role {0} is one of PostgreSQL's own")]
    RoleOfPostgres(String),
    /// The value cannot be a setting.
    #[error("the value of setting {0} has more than {LONGEST_VALUE} bytes, or a NUL character")]
    Value(String),
}

/// The commands in front of a caller's text that give it its role and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// Each begins with a semicolon.
    pub(crate) sql: String,
    /// Their number.
    pub(crate) commands: u32,
    /// The settings that some of them seal.
    pub(crate) sealed: Option<Box<Sealed>>,
}

/// Statements that show whether the role and the settings hold in a transaction, and end with it.
#[derive(Debug)]
pub(crate) struct Probe {
    /// Sets a value that no other connection has.
    pub(crate) mark: String,
    /// Asks for it, the role and the settings.
    pub(crate) question: String,
    /// The answer within the transaction.
    expected: Vec<String>,
}

/// The answer of a database to one caller.
#[derive(Debug)]
pub(super) enum Served {
    /// With this role and these settings.
    Acting(Acting),
    /// Not at all, for a reason that only the log has.
    Refused(String),
}

// === impl Acting ===

impl Acting {
    /// Sets the role.
    ///
    /// # Errors
    /// Fails if no caller may have the role.
    pub fn with_role(self, role: &str, way: Way) -> Result<Self, InvalidActing> {
        if !(1..=LONGEST_ROLE).contains(&role.len()) || role.contains('\0') {
            return Err(InvalidActing::RoleName);
        }
        if role == "postgres" || role.starts_with("pg_") {
            return Err(InvalidActing::RoleOfPostgres(role.to_owned()));
        }
        let role = Some((role.to_owned(), way));
        Ok(Self { role, ..self })
    }

    /// Adds a setting.
    ///
    /// # Errors
    /// Fails if PostgreSQL would not take the value as it is.
    pub fn with_setting(mut self, name: &str, value: &str) -> Result<Self, InvalidActing> {
        if value.len() > LONGEST_VALUE || value.contains('\0') {
            return Err(InvalidActing::Value(name.to_owned()));
        }
        self.settings.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    /// Refuses connections on which the text of a caller could call `set_config`.
    #[must_use]
    pub fn with_strictness(self, is_strict: bool) -> Self {
        Self { is_strict, ..self }
    }

    /// Shows the numbers of plans, which count rows that the role does not see. Else texts that begin
    /// with EXPLAIN are refused.
    #[must_use]
    pub fn with_plans(self, shows_plans: bool) -> Self {
        Self {
            shows_plans,
            ..self
        }
    }

    /// Sets the mark under which the role and the settings are recorded.
    #[must_use]
    pub fn with_mark(self, key: &IdentityKey) -> Self {
        let mark = key.mark(self.role(), &self.settings);
        Self { mark, ..self }
    }

    /// Seals the settings, so that nothing in the database can forge them.
    #[must_use]
    pub fn with_seal(self, key: Option<&SealKey>) -> Self {
        let seal = key.cloned();
        Self { seal, ..self }
    }

    /// Returns the mark: 16 digits, which are equal for equal roles and settings.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Returns the role, if it is not the database's own user.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_ref().map(|(role, _)| &**role)
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    pub(super) fn way(&self) -> Option<&Way> {
        self.role.as_ref().map(|(_, way)| way)
    }

    /// Returns the role of the startup message.
    pub(super) fn startup_role(&self) -> Option<&str> {
        let is_set = self.way() == Some(&Way::SetRole);
        self.role().filter(|_| is_set)
    }

    fn has_open_settings(&self) -> bool {
        self.seal.is_none() && !self.settings.is_empty()
    }

    /// Returns whether the text of a caller could become another caller.
    fn is_guarded(&self) -> bool {
        self.has_open_settings() || self.startup_role().is_some()
    }

    /// Returns whether the numbers of plans are hidden where row security holds.
    pub(crate) fn hides_plans(&self) -> bool {
        !self.shows_plans
    }

    /// Refuses a text with which a caller could become another one.
    pub(crate) fn check(&self, text: &str) -> Result<(), Refusal> {
        if !self.is_guarded() {
            return Ok(());
        }
        keep_identity(text, |name| {
            let mut settings = self.settings.iter();
            settings.any(|(kept, _)| kept.eq_ignore_ascii_case(name))
        })
    }

    /// Returns the statements that probe a new connection, if a text could become another caller.
    pub(crate) fn probe(&self) -> Result<Option<Probe>, DriverError> {
        if !self.is_guarded() {
            return Ok(None);
        }
        let mut bytes = [0; 8];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| DriverError::Auth("no random bytes"))?;
        let mark = u64::from_ne_bytes(bytes).to_string();
        let mut question = "SELECT pg_catalog.current_setting('ziggurat.probe', true)".to_owned();
        let mut expected = vec![mark.clone()];
        if let Some(role) = self.startup_role() {
            question += ", current_user";
            expected.push(role.to_owned());
        }
        let open = self.settings.iter().filter(|_| self.has_open_settings());
        for (name, value) in open {
            write!(
                question,
                ", pg_catalog.current_setting({}, true)",
                literal(name)
            )
            .expect("a string takes everything");
            expected.push(value.clone());
        }
        Ok(Some(Probe {
            mark: format!("SET LOCAL ziggurat.probe TO '{mark}'"),
            question,
            expected,
        }))
    }

    /// Returns the columns of the first query on a connection that [`prefix`](Self::prefix) reads.
    pub(crate) fn question(&self) -> String {
        let role = self.role().map_or("session_user".to_owned(), literal);
        // An unknown role is an error of PostgreSQL.
        format!(
            "(SELECT pg_catalog.bool_or(rolsuper OR rolbypassrls OR rolreplication OR \
             rolcreaterole) FROM pg_catalog.pg_roles \
             WHERE rolname IN ({role}::pg_catalog.name, session_user)), \
             pg_catalog.has_function_privilege({role}::pg_catalog.name, \
             'pg_catalog.set_config(text, text, boolean)', 'EXECUTE'), \
             (SELECT pg_catalog.json_agg(entry ORDER BY s.setdatabase) \
             FROM pg_catalog.pg_db_role_setting s \
             JOIN pg_catalog.pg_roles r ON r.oid = s.setrole \
             CROSS JOIN pg_catalog.unnest(s.setconfig) AS entry \
             WHERE r.rolname = {role}::pg_catalog.name AND s.setdatabase IN (0, \
             (SELECT oid FROM pg_catalog.pg_database \
             WHERE datname = pg_catalog.current_database()))), \
             pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())::pg_catalog.int8"
        )
    }

    /// Returns the commands in front of each text, for a connection that gave this answer to the
    /// [`question`](Self::question), which begins at this column.
    pub(crate) fn prefix(
        &self,
        answer: &Row,
        first: usize,
        process: i32,
    ) -> Result<Prefix, DriverError> {
        // Without a role of its own, the database's own user is the operator's choice.
        if self.role.is_some() && answer.text(first)? != "f" {
            let why = "it, or the user of the database, is a superuser, or has BYPASSRLS, \
                       REPLICATION or CREATEROLE";
            return Err(self.refusal(why));
        }
        if self.is_strict && self.is_guarded() && answer.text(first + 1)? != "f" {
            let why = "it may execute set_config; run: REVOKE EXECUTE ON FUNCTION \
                       pg_catalog.set_config(text, text, boolean) FROM PUBLIC";
            return Err(self.refusal(why));
        }
        let mut prefix = Prefix::default();
        if self.startup_role().is_some() {
            let own = answer.get::<Option<String>>(first + 2)?;
            let own = own.as_deref().unwrap_or("[]");
            let own: Vec<String> = serde_json::from_str(own).map_err(DriverError::value)?;
            for entry in &own {
                prefix.add_own(entry);
            }
        }
        let role = self.startup_role();
        let role = role.map(|role| format!("; SET LOCAL ROLE {}", quoted(role)));
        if let Some(key) = &self.seal {
            let clock = answer
                .text(first + 3)?
                .parse()
                .map_err(DriverError::value)?;
            let role = role.unwrap_or_default();
            let sealed = Sealed::new(key, &self.settings, (process, clock), prefix, role);
            return Ok(sealed.prefix());
        }
        for (name, value) in &self.settings {
            prefix.add(name, &literal(value));
        }
        if let Some(role) = role {
            prefix.sql += &role;
            prefix.commands += 1;
        }
        Ok(prefix)
    }

    fn refusal(&self, why: &str) -> DriverError {
        let role = self.role().unwrap_or("of the database's own user");
        DriverError::Role(format!("role {role}: {why}").into())
    }
}

// === impl IdentityKey ===

impl IdentityKey {
    /// Makes the key of a secret that several servers share.
    #[must_use]
    pub fn of(secret: &[u8]) -> Self {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derived = hmac::sign(&secret, b"ziggurat identities of callers");
        Self(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    /// Returns the random key of this process.
    ///
    /// # Panics
    /// Panics if the operating system has no random bytes.
    #[must_use]
    pub fn of_process() -> Self {
        static KEY: OnceLock<IdentityKey> = OnceLock::new();
        let random = || {
            let mut bytes = [0; 32];
            aws_lc_rs::rand::fill(&mut bytes).expect("random bytes");
            Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
        };
        KEY.get_or_init(random).clone()
    }

    fn mark(&self, role: Option<&str>, settings: &[(String, String)]) -> Box<str> {
        let text = serde_json::to_vec(&(role, settings)).expect("texts only");
        let digest = hmac::sign(&self.0, &text);
        let digits = digest.as_ref().iter().take(8);
        digits.map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Default for IdentityKey {
    fn default() -> Self {
        Self::of_process()
    }
}

// === impl Probe ===

impl Probe {
    /// Returns whether a row is the answer within the transaction.
    pub(crate) fn is_answered(&self, row: &Row) -> bool {
        self.expected
            .iter()
            .enumerate()
            .all(|(column, expected)| row.text(column).is_ok_and(|it| it == expected))
    }
}

// === impl Prefix ===

impl Prefix {
    /// Makes an old seal anew.
    pub(crate) fn renew(&mut self) {
        if let Some(sealed) = self.sealed.take_if(|sealed| sealed.is_old()) {
            *self = sealed.prefix();
        }
    }

    pub(super) fn add(&mut self, name: &str, value: &str) {
        let parts: Vec<_> = name.split('.').map(quoted).collect();
        write!(self.sql, "; SET LOCAL {} TO {value}", parts.join("."))
            .expect("a string takes everything");
        self.commands += 1;
    }

    /// Adds a setting of the role, which PostgreSQL applies only at the login of the role.
    fn add_own(&mut self, entry: &str) {
        let Some((name, value)) = entry.split_once('=') else {
            return;
        };
        if !name.contains('.') && !OWN_SETTINGS.contains(&name) {
            return;
        }
        let value = if name == "search_path" {
            let schemas: Vec<_> = schemas(value).iter().map(|it| literal(it)).collect();
            schemas.join(", ")
        } else {
            literal(value)
        };
        self.add(name, if value.is_empty() { "''" } else { &value });
    }
}

/// Returns the names of a list of schemas, as PostgreSQL keeps it: in quotes where they need them.
fn schemas(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = list.trim_start();
    while !rest.is_empty() {
        let mut name = String::new();
        if let Some(inner) = rest.strip_prefix('"') {
            let mut letters = inner.char_indices().peekable();
            let mut end = inner.len();
            while let Some((at, letter)) = letters.next() {
                if letter != '"' {
                    name.push(letter);
                } else if letters.next_if(|(_, next)| *next == '"').is_some() {
                    name.push('"');
                } else {
                    end = at + 1;
                    break;
                }
            }
            rest = &inner[end..];
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            rest[..end].trim_end().clone_into(&mut name);
            rest = &rest[end..];
        }
        names.push(name);
        rest = rest.trim_start().trim_start_matches(',').trim_start();
    }
    names
}

/// Returns a text in quotes that means the same whatever `standard_conforming_strings` is.
pub(super) fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') {
        format!(" E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}
