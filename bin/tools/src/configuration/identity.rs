//! Facts about callers that parameters of SQL tools are filled with.

use std::collections::BTreeSet;

use ziggurat_runtime::config::{Section, Value};
use ziggurat_tokens::{Claims, KeptClaims, Local, LocalCaller, MAX_CLAIMS, is_claim_name};

/// Limit on the characters of the name of the local caller.
const MAX_NAME: usize = 256;

/// Facts about callers that are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identities {
    /// The names of the claims that are kept of an issuer's tokens.
    pub(crate) claims: KeptClaims,
    /// The caller over standard input and output, and without authentication.
    pub(crate) local: LocalCaller,
    /// True if plans show numbers of rows, also where row security holds for the caller.
    pub(crate) shows_plans: bool,
}

// === impl Identities ===

impl Identities {
    /// Takes the facts of another configuration, if they differ, also for services that have these.
    pub(crate) fn replace(self, other: &Self) -> Self {
        if self != *other {
            self.claims.replace(&other.claims);
            self.local.replace(&other.local);
        }
        let shows_plans = other.shows_plans;
        Self {
            shows_plans,
            ..self
        }
    }

    pub(super) fn read(file: &Section<'_>) -> Self {
        let local = file.section("local");
        Self {
            claims: KeptClaims::new(names(&file.key("claims"))),
            local: LocalCaller::new(Local {
                name: name(&local.key("name")).map(Into::into),
                claims: claims(&local.key("claims")),
                is_anonymous: false,
            }),
            shows_plans: file.key("explain").parsed(shows_plans) == Some(true),
        }
    }
}

/// Reads the form of plans.
fn shows_plans(text: &str) -> Result<bool, &'static str> {
    match text {
        "shape" => Ok(false),
        "full" => Ok(true),
        _ => Err("must be shape or full"),
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

#[cfg(test)]
mod tests {
    use ziggurat_tokens::Claim;

    use crate::configuration::fixture::Case;

    #[test]
    fn claims_of_the_local_caller_are_those_of_the_file() {
        let identities = Case::new()
            .file(
                "identity: {claims: [tenant, realm.roles], local: {name: laptop, claims: \
                 {tenant: acme, realm: {roles: [a, b], level: 7}}}}",
            )
            .configuration()
            .identities;
        assert_eq!(**identities.claims.names(), ["tenant", "realm.roles"]);
        let local = identities.local.get();
        assert_eq!(local.name.as_deref(), Some("laptop"));
        let found = |name: &str| local.claims.find(name).cloned();
        assert_eq!(found("tenant"), Some(Claim::Text("acme".into())));
        let roles = ["a".into(), "b".into()].into();
        assert_eq!(found("realm.roles"), Some(Claim::Texts(roles)));
        assert_eq!(found("realm.level"), Some(Claim::Number("7".into())));
        assert_eq!(found("realm"), None);
    }

    #[test]
    fn facts_are_replaced_for_all_that_share_them() {
        let of = |yaml: &str| {
            let case = Case::new().file(&format!("identity: {yaml}"));
            case.configuration().identities
        };
        let mut running = of("{claims: [a], local: {name: b}}");
        let shared = running.clone();
        for yaml in [
            "{claims: [a], local: {name: b}}",
            "{claims: [a, c], local: {name: b}}",
            "{claims: [a], local: {name: c}}",
            "{claims: [a], local: {name: b, claims: {d: e}}}",
        ] {
            running = running.replace(&of(yaml));
            assert_eq!(shared, of(yaml), "{yaml}");
        }
        assert!(running.replace(&of("{explain: full}")).shows_plans);
    }

    #[test]
    fn claims_that_are_not_valid_are_refused_without_their_values() {
        let long = "x".repeat(1025);
        let many: Vec<_> = (0..33).map(|it| format!("c{it}")).collect();
        let many = many.join(", ");
        for (yaml, expected) in [
            ("{claims: [a, b.]}", "claims: invalid name of a claim: b."),
            ("{claims: [a, a]}", "claims: claim 'a' is given twice"),
            (
                &*format!("{{claims: [{many}]}}"),
                "claims: more than 32 claims",
            ),
            (
                "{local: {claims: {a: [1]}}}",
                "local.claims: claim 'a' is not a text, a number, true, false or a list of texts",
            ),
            (
                &*format!("{{local: {{claims: {{a: {long}}}}}}}"),
                "local.claims: claim 'a' has more than 1024 bytes",
            ),
            (
                "{local: {claims: [a]}}",
                "local.claims: expected a map of claims",
            ),
            (
                "{local: {name: \"a\\nb\"}}",
                "local.name: must be a line of at most 256 characters",
            ),
        ] {
            let error = Case::new().file(&format!("identity: {yaml}")).error();
            let expected = format!("invalid configuration: identity.{expected}");
            assert_eq!(error, expected, "{yaml}");
        }
        let error = Case::new().file("identity: {roles: []}").error();
        assert!(error.contains("unknown key 'identity.roles'"), "{error}");
    }
}
