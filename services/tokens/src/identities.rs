//! Facts about callers that a configuration keeps or gives: the section `identity`.

use std::collections::BTreeSet;

use ziggurat_runtime::config::{Section, Value};

use crate::{Claims, KeptClaims, Local, LocalCaller, MAX_CLAIMS, is_claim_name};

/// Limit on the characters of the name of the local caller.
const MAX_NAME: usize = 256;

/// Facts about callers that are kept, from the section `identity`.
///
/// ```
/// use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
/// use ziggurat_tokens::Identities;
///
/// let (sources, flags) = (ConfigSources::default(), Flags::default());
/// let yaml = "identity: {claims: [tenant], local: {name: laptop}}";
/// let loaded = Input::new(&sources, &flags).load_text(yaml, Identities::read)?;
/// assert_eq!(**loaded.value.claims.names(), ["tenant"]);
/// assert_eq!(loaded.value.local.get().name.as_deref(), Some("laptop"));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identities {
    /// The names of the claims that are kept of an issuer's tokens.
    pub claims: KeptClaims,
    /// The caller over standard input and output, and without authentication.
    pub local: LocalCaller,
}

// === impl Identities ===

impl Identities {
    /// Takes the facts of another configuration, if they differ, also for services that have these.
    pub fn replace(&self, other: &Self) {
        if self != other {
            self.claims.replace(&other.claims);
            self.local.replace(&other.local);
        }
    }

    /// Reads the section of a file.
    #[must_use]
    pub fn read(file: &Section<'_>) -> Self {
        let file = file.section("identity");
        let local = file.section("local");
        Self {
            claims: KeptClaims::new(names(&file.key("claims"))),
            local: LocalCaller::new(Local {
                name: name(&local.key("name")).map(Into::into),
                claims: claims(&local.key("claims")),
                is_anonymous: false,
            }),
        }
    }
}

/// Reads the names of claims.
fn names(key: &Value<'_>) -> Vec<String> {
    let names = key.texts().unwrap_or_default();
    if names.len() > MAX_CLAIMS {
        key.problem(format_args!("more than {MAX_CLAIMS} claims"));
    }
    let mut seen = BTreeSet::new();
    for name in &names {
        let shown = name.escape_debug();
        if !is_claim_name(name) {
            key.problem(format_args!("invalid name of a claim: {shown}"));
        } else if !seen.insert(name) {
            key.problem(format_args!("claim '{shown}' is given twice"));
        }
    }
    names
}

fn name(key: &Value<'_>) -> Option<String> {
    let name = key.text()?;
    let is_good = name.chars().count() <= MAX_NAME && !name.contains(char::is_control);
    key.check(is_good, "must be a line of at most 256 characters");
    Some(name)
}

/// Reads the claims of the local caller.
fn claims(key: &Value<'_>) -> Claims {
    let written = key.any().map(serde_json::to_value);
    let Some(Ok(written)) = written else {
        return Claims::default();
    };
    Claims::of_file(written).unwrap_or_else(|error| {
        key.problem(error);
        Claims::default()
    })
}
