//! The role, the settings and the masks of each caller of a database.
//!
//! A configuration has rules, [`Callers`]: the first that fits a caller gives its role. The database
//! that [`KnownCallers`] returns runs each statement with that role, and with the settings of the
//! caller. [`Masks`] are rules for the columns that are masked for a caller.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ziggurat_callers::{Callers, KnownCallers};
//! use ziggurat_postgres::database::{Database, Settings, Way};
//!
//! let settings = Settings { name: "shop".into(), user: "reader".into(), ..Settings::default() };
//! let database = Arc::new(Database::try_from(settings)?);
//! let callers = Callers {
//!     way: Some(Way::SetRole),
//!     otherwise: Some("guest".to_owned()),
//!     ..Callers::default()
//! };
//! let callers = KnownCallers::new(callers);
//! let one = callers.database(&database, None);
//! assert!(Arc::ptr_eq(&one, &callers.database(&database, None)), "the same role and settings");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod masks;
mod section;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    error::Error as _,
    sync::{Arc, Mutex},
};

use regex::Regex;
use thiserror::Error;
use ziggurat_postgres::database::{Acting, Database, IdentityKey, InvalidActing, SealKey, Way};
use ziggurat_runtime::lock;
use ziggurat_tokens::{
    CallerFacts, CallerId, CallerNames, Claim, Fact, Holder, Identity, LocalCaller,
};

pub use self::masks::{MaskedCallers, Masks, dotted_names, mask_key};

/// Claim with the address of a person. One of an issuer counts only with [`EMAIL_VERIFIED`].
pub const EMAIL: &str = "email";
/// Claim that says whether the issuer has verified the address.
pub const EMAIL_VERIFIED: &str = "email_verified";

/// The place of the claim in the name of a role.
const VALUE: &str = "{}";

/// Value of settings while no caller is known, and the name of one if there would be none.
const SAMPLE: &str = "ziggurat.sample";

/// Limit on the roles and settings that are kept for a database.
const MAX_KNOWN: usize = 1000;

/// Rules for the role and the settings of each caller.
#[derive(Clone, Debug, Default)]
pub struct Callers {
    /// The way in which connections get their roles; without it they stay with the database's own user.
    pub way: Option<Way>,
    /// The first that fits gives the role.
    pub roles: Vec<RoleRule>,
    /// The role of callers that no rule fits; without it they are refused.
    pub otherwise: Option<String>,
    /// Settings of each statement.
    pub settings: Vec<SettingRule>,
    /// Refuses connections on which a text could call `set_config`.
    pub is_strict: bool,
    /// Shows numbers of rows in plans, also where row security holds for the caller.
    pub shows_plans: bool,
    /// Key of the settings, if they are sealed.
    pub seal: Option<SealKey>,
    /// Key of the marks under which roles and settings are recorded.
    pub key: IdentityKey,
    /// The caller of standard input and of a server without authentication.
    pub local: LocalCaller,
}

/// A rule for the role of a caller.
#[derive(Clone, Debug)]
pub struct RoleRule {
    /// The callers that it is for.
    pub who: Who,
    /// The role; `{}` stands for the value of the claim.
    pub role: String,
}

/// The callers that a rule is for.
#[derive(Clone, Debug)]
pub enum Who {
    /// Callers by their names.
    Named(CallerNames),
    /// Callers with a claim; if there is a pattern, its value matches the whole of it.
    Claim(String, Option<Regex>),
}

/// A setting, and where its value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRule {
    /// Its name, two words with a dot between them.
    pub name: String,
    /// The fact about the caller.
    pub from: Fact,
    /// Refuses callers without the fact; else they have an empty value.
    pub is_required: bool,
}

/// A database, by the role and the settings of its callers.
#[derive(Debug)]
pub struct KnownCallers {
    callers: Callers,
    known: KnownRoles,
}

/// One database by roles and settings. Clones share it, for several sets of rules.
#[derive(Clone, Debug, Default)]
pub struct KnownRoles(Arc<Mutex<Known>>);

/// By whether it may be written to, the role and the settings.
type Known = HashMap<(bool, Resolved), Arc<Database>>;

/// The role of the statements of callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleUse {
    /// The role of the database's own user.
    Own,
    /// A role that the connection logs in as.
    Login,
    /// A role that is set for each transaction.
    Set,
}

/// The role and the settings of a caller, or the reason of its refusal.
type Resolved = Result<Acting, Refused>;

/// A reason to refuse a caller. Only the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
enum Refused {
    /// The caller has no identity, and is not the local one.
    #[error("the caller has proved nothing")]
    NoProof,
    /// There is no role for it.
    #[error("no rule fits the caller")]
    NoRule,
    /// A list could be more than one role.
    #[error("several values of claim {0} fit a rule")]
    Several(String),
    /// A setting is required.
    #[error("setting {0} needs a fact that is missing")]
    NoFact(String),
    /// The role or the setting cannot be used.
    #[error(transparent)]
    Invalid(#[from] InvalidActing),
}

// === impl Callers ===

impl Callers {
    /// Returns whether a rule is about the address of a person, which an issuer may not have verified.
    #[must_use]
    pub fn goes_by_email(&self) -> bool {
        let mut rules = self.roles.iter();
        rules.any(|rule| matches!(&rule.who, Who::Claim(name, _) if name == EMAIL))
    }

    /// Returns which role the statements of callers have.
    #[must_use]
    pub fn role_use(&self) -> RoleUse {
        match self.way {
            None => RoleUse::Own,
            Some(Way::SetRole) => RoleUse::Set,
            Some(_) => RoleUse::Login,
        }
    }

    /// Returns whether a rule may give this role to a caller.
    #[must_use]
    pub fn may_give(&self, role: &str) -> bool {
        self.otherwise.as_deref() == Some(role) || self.roles.iter().any(|it| it.may_give(role))
    }

    /// Returns the role and the settings of a caller, or why it is refused.
    fn resolve(&self, identity: Option<&Identity>) -> Resolved {
        let facts = CallerFacts {
            identity,
            local: &self.local,
            role: None,
        };
        if identity.is_none() && self.local.get().is_anonymous {
            return Err(Refused::NoProof);
        }
        let mut acting = Acting::default()
            .with_strictness(self.is_strict)
            .with_plans(self.shows_plans);
        if let Some(way) = &self.way {
            let role = self.role(&facts)?;
            acting = acting.with_role(&role, way.clone())?;
        }
        for rule in &self.settings {
            let value = facts.value(&rule.from).as_ref().and_then(text);
            let value = match value {
                Some(value) => value,
                None if rule.is_required => {
                    return Err(Refused::NoFact(rule.name.clone()));
                }
                None => String::new(),
            };
            acting = acting.with_setting(&rule.name, &value)?;
        }
        Ok(acting)
    }

    /// Returns a role and settings for a connection while no caller is known. The role is the first one
    /// that is the same for all callers of a rule. Without such a rule the connection keeps the
    /// database's own user, since the names of roles come from claims.
    fn sample(&self) -> Resolved {
        let roles = self.roles.iter().map(|rule| &rule.role);
        let role = roles.chain(&self.otherwise).find(|it| !it.contains(VALUE));
        // The own user of a database may call more than a caller.
        let is_strict = self.is_strict && (role.is_some() || self.way.is_none());
        let mut acting = Acting::default().with_strictness(is_strict);
        match (role, &self.way) {
            (Some(role), Some(way)) => acting = acting.with_role(role, way.clone())?,
            _ => acting = acting.with_setting(SAMPLE, SAMPLE)?,
        }
        for rule in &self.settings {
            acting = acting.with_setting(&rule.name, SAMPLE)?;
        }
        Ok(acting)
    }

    fn role(&self, facts: &CallerFacts<'_>) -> Result<String, Refused> {
        for rule in &self.roles {
            if let Some(role) = rule.role_of(facts)? {
                return Ok(role);
            }
        }
        self.otherwise.clone().ok_or(Refused::NoRule)
    }
}

/// Returns the text of a claim with one value.
fn text(claim: &Claim) -> Option<String> {
    match claim {
        Claim::Text(text) | Claim::Number(text) => Some(text.to_string()),
        Claim::Boolean(value) => Some(value.to_string()),
        Claim::Texts(_) => None,
    }
}

// === impl RoleRule ===

impl RoleRule {
    fn may_give(&self, role: &str) -> bool {
        let Who::Claim(_, Some(pattern)) = &self.who else {
            return self.role == role;
        };
        let inner = pattern.as_str().trim_start_matches('^');
        let inner = inner.trim_end_matches('$');
        let parts: Vec<_> = self.role.split(VALUE).map(regex::escape).collect();
        let whole = Regex::new(&format!("^(?:{})$", parts.join(inner)));
        whole.is_ok_and(|whole| whole.is_match(role))
    }

    /// Returns the role of a caller that the rule is for.
    fn role_of(&self, facts: &CallerFacts<'_>) -> Result<Option<String>, Refused> {
        match &self.who {
            Who::Named(names) => {
                let id = facts.identity.map_or(CallerId::Local, Identity::caller_id);
                Ok(names.fit(&id).then(|| self.role.clone()))
            }
            Who::Claim(name, pattern) => {
                let value = claimed(facts, name, pattern.as_ref())?;
                Ok(value.map(|value| self.role.replace(VALUE, &value)))
            }
        }
    }
}

/// Returns the value of a claim that matches, or the empty text if any value does.
fn claimed(
    facts: &CallerFacts<'_>,
    name: &str,
    pattern: Option<&Regex>,
) -> Result<Option<String>, Refused> {
    let claims = facts.claims();
    let is_of_issuer = matches!(
        facts.identity.map(Identity::holder),
        Some(Holder::Client { .. })
    );
    if name == EMAIL && is_of_issuer && claims.find(EMAIL_VERIFIED) != Some(&Claim::Boolean(true)) {
        return Ok(None);
    }
    let Some(claim) = claims.find(name) else {
        return Ok(None);
    };
    let Some(pattern) = pattern else {
        return Ok(Some(String::new()));
    };
    let values = match text(claim) {
        Some(one) => vec![one],
        None => claim.texts().map(str::to_owned).collect(),
    };
    let mut fitting = values.into_iter().filter(|value| pattern.is_match(value));
    let found = fitting.next();
    if fitting.next().is_some() {
        return Err(Refused::Several(name.to_owned()));
    }
    Ok(found)
}

// === impl KnownCallers ===

impl KnownCallers {
    /// Takes the rules.
    #[must_use]
    pub fn new(callers: Callers) -> Self {
        let known = KnownRoles::default();
        Self { callers, known }
    }

    /// Shares the roles of the database with other rules for it.
    #[must_use]
    pub fn with_known(self, known: KnownRoles) -> Self {
        Self { known, ..self }
    }

    /// Returns a database as a caller reaches it. Callers with the same role and settings share it.
    #[must_use]
    pub fn database(&self, database: &Arc<Database>, identity: Option<&Identity>) -> Arc<Database> {
        let resolved = self.callers.resolve(identity);
        let key = (database.allows_writes(), resolved);
        if let Some(known) = lock(&self.known.0).get(&key) {
            return Arc::clone(known);
        }
        let made = match self.made(database, &key.1) {
            Ok(made) => made,
            // Not kept, since the operator may mend the file.
            Err(refusing) => return refusing,
        };
        let mut known = lock(&self.known.0);
        if known.len() >= MAX_KNOWN {
            // Connections of the others open again at their next use.
            known.retain(|_, database| Arc::strong_count(database) > 1);
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
        }
        Arc::clone(known.entry(key).or_insert(made))
    }

    /// Returns a database as a caller could reach it, to try it while no caller is known.
    #[must_use]
    pub fn sample(&self, database: &Database) -> Arc<Database> {
        let (Ok(made) | Err(made)) = self.made(database, &self.callers.sample());
        made
    }

    /// Makes a database for a role and settings. If a file of the role cannot be used, the error is a
    /// database that refuses its callers.
    fn made(
        &self,
        database: &Database,
        resolved: &Resolved,
    ) -> Result<Arc<Database>, Arc<Database>> {
        let acting = match resolved {
            Ok(acting) => acting.clone().with_mark(&self.callers.key),
            Err(why) => return Ok(database.refusing(why.to_string()).into()),
        };
        let made = database.acting(acting.with_seal(self.callers.seal.as_ref()));
        made.map(Arc::new).map_err(|error| {
            let cause = error.source();
            let cause = cause.map_or_else(String::new, |it| format!(": {it}"));
            database.refusing(format!("{error}{cause}")).into()
        })
    }
}
