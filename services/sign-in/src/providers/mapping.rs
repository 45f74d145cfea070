//! The claims of a person at a provider, and the access that rules give for them.

use serde_json::{Map, Value};
use ziggurat_layers::access_token::Members;

use crate::providers::configured::{ClaimRules, ClaimValue, Mapped};

/// Longest name of a person, in characters.
const LONGEST_NAME: usize = 200;

/// Claims that a provider has signed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claims(Value);

/// A claim of another type than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Reasons why rules do not admit a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmapped {
    /// A required claim has another value.
    Required,
    /// The groups are not in the token but at another address.
    GroupsElsewhere,
}

// === impl Claims ===

impl Claims {
    /// Reads claims; returns `None` for other documents, and for one with a claim twice.
    pub(crate) fn read(document: &[u8]) -> Option<Self> {
        Members::parse(document)?;
        let claims: Map<String, Value> = serde_json::from_slice(document).ok()?;
        Some(Self(Value::Object(claims)))
    }

    /// Returns a claim by its name, or by a JSON pointer. An address that the provider has not
    /// verified is no claim: a person may have written any.
    pub(crate) fn find(&self, name: &str) -> Option<&Value> {
        let is_address = name.strip_prefix('/').unwrap_or(name) == "email";
        if is_address && !self.has_verified_address() {
            return None;
        }
        let found = if name.starts_with('/') {
            self.0.pointer(name)
        } else {
            self.0.get(name)
        };
        found.filter(|claim| !claim.is_null())
    }

    /// Returns a claim that is a text with a letter at least.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.find(name)?.as_str()?;
        (!text.is_empty()).then_some(text)
    }

    /// Returns a claim that is a whole number of seconds.
    pub(crate) fn seconds(&self, name: &str) -> Option<u64> {
        self.find(name)?.as_u64()
    }

    /// Returns a moment that may be absent.
    pub(crate) fn moment(&self, name: &str) -> Result<Option<u64>, Malformed> {
        let found = self.0.get(name).map(Value::as_u64);
        found.map(|at| at.ok_or(Malformed)).transpose()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    /// Returns the texts of a claim that is one, or a list of nothing else.
    pub(crate) fn texts(&self, name: &str) -> Option<Vec<&str>> {
        match self.find(name)? {
            Value::String(text) => Some(vec![text]),
            Value::Array(list) => list.iter().map(Value::as_str).collect(),
            _ => None,
        }
    }

    /// Returns the name that a person is shown by.
    pub(crate) fn shown_name(&self) -> Option<&str> {
        let name = self.text("preferred_username").or(self.text("email"))?;
        (name.chars().count() <= LONGEST_NAME).then_some(name)
    }

    fn has_verified_address(&self) -> bool {
        match self.0.get("email_verified") {
            Some(Value::Bool(is_verified)) => *is_verified,
            // Some providers write it as a text.
            Some(Value::String(text)) => text == "true",
            _ => false,
        }
    }

    /// Returns whether the groups of the person are at another address (Entra).
    fn has_groups_elsewhere(&self) -> bool {
        self.0.pointer("/_claim_names/groups").is_some()
            || self.0.get("hasgroups") == Some(&Value::Bool(true))
    }
}

// === impl ClaimRules ===

impl ClaimRules {
    /// Returns the access that the rules give together; `None` if no rule matches.
    pub(crate) fn mapped(&self, claims: &Claims) -> Result<Option<Mapped>, Unmapped> {
        let is_required = |(name, value): (&String, &ClaimValue)| value.is_in(claims.find(name));
        if !self.require.iter().all(is_required) {
            return Err(Unmapped::Required);
        }
        let groups = claims.find(&self.groups_claim);
        let mut asks_groups = self.map.iter().flat_map(|rule| rule.when.keys());
        let asks_groups = asks_groups.any(|name| name == "groups");
        if groups.is_none() && asks_groups && claims.has_groups_elsewhere() {
            return Err(Unmapped::GroupsElsewhere);
        }
        let is_met = |(name, value): (&String, &ClaimValue)| {
            let claim = if name == "groups" {
                groups
            } else {
                claims.find(name)
            };
            value.is_in(claim)
        };
        let matching = self.map.iter().filter(|rule| rule.when.iter().all(is_met));
        Ok(matching.map(|rule| rule.then.clone()).reduce(Mapped::and))
    }
}

// === impl ClaimValue ===

impl ClaimValue {
    /// Returns whether a claim is equal, or a list that contains the value.
    fn is_in(&self, claim: Option<&Value>) -> bool {
        match claim {
            Some(Value::Array(list)) => list.iter().any(|member| self.is(member)),
            Some(claim) => self.is(claim),
            None => false,
        }
    }

    fn is(&self, claim: &Value) -> bool {
        match self {
            Self::Flag(flag) => claim.as_bool() == Some(*flag),
            Self::Number(number) => claim.as_i64() == Some(*number),
            Self::Text(text) => claim.as_str() == Some(text),
        }
    }
}

// === impl Mapped ===

impl Mapped {
    /// Adds the access of another rule.
    fn and(mut self, other: Self) -> Self {
        add(&mut self.groups, other.groups);
        add(&mut self.roles, other.roles);
        self.tenant = self.tenant.or(other.tenant);
        if let Some(databases) = other.databases {
            add(self.databases.get_or_insert_default(), databases);
        }
        self.write |= other.write;
        self
    }
}

fn add(names: &mut Vec<String>, more: Vec<String>) {
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::providers::configured::MappingRule;

    fn claims(claims: &Value) -> Claims {
        Claims::read(claims.to_string().as_bytes()).expect("claims")
    }

    fn values(name: &str, value: impl Into<ClaimValue>) -> BTreeMap<String, ClaimValue> {
        [(name.to_owned(), value.into())].into()
    }

    fn rule(when: BTreeMap<String, ClaimValue>, group: &str) -> MappingRule {
        let then = Mapped {
            groups: vec![group.to_owned()],
            ..Mapped::default()
        };
        MappingRule { when, then }
    }

    #[test]
    fn a_required_claim_is_equal_or_a_list_that_contains_it() {
        let required = |name: &str, value: ClaimValue, found: Value| {
            let rules = ClaimRules {
                require: values(name, value),
                ..ClaimRules::default()
            };
            rules.mapped(&claims(&json!({"a": found}))).is_ok()
        };
        let text = ClaimValue::from;
        for (name, value, found, expected) in [
            ("a", text("x"), json!("x"), true),
            ("a", text("x"), json!(["w", "x"]), true),
            ("/a/b", text("x"), json!({"b": ["x"]}), true),
            ("a", true.into(), json!(true), true),
            ("a", ClaimValue::Number(7), json!([7]), true),
            ("a", text("x"), json!("X"), false),
            ("a", text("x"), json!([["x"]]), false),
            ("a", text("true"), json!(true), false),
            ("a", true.into(), json!("true"), false),
            ("a", true.into(), json!(1), false),
            ("a", text("7"), json!(7), false),
            ("a", text("x"), json!(null), false),
            ("b", text("x"), json!("x"), false),
            ("/a/c", text("x"), json!({"b": "x"}), false),
        ] {
            assert_eq!(
                required(name, value.clone(), found.clone()),
                expected,
                "{value:?} {found}"
            );
        }
    }

    #[test]
    fn all_rules_that_match_add_up_and_the_first_tenant_counts() {
        let then = |tenant: &str, databases: Option<&[&str]>| Mapped {
            groups: vec!["analysts".to_owned(), tenant.to_owned()],
            tenant: Some(tenant.to_owned()),
            databases: databases.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            write: tenant == "two",
            ..Mapped::default()
        };
        let rules = ClaimRules {
            groups_claim: "/realm/roles".to_owned(),
            map: vec![
                MappingRule {
                    when: values("groups", "a"),
                    then: then("one", None),
                },
                MappingRule {
                    when: values("groups", "b"),
                    then: then("two", Some(&["shop"])),
                },
                MappingRule {
                    when: values("groups", "c"),
                    then: then("three", Some(&["logs"])),
                },
                MappingRule {
                    when: values("hd", "acme"),
                    then: then("four", Some(&["shop", "x"])),
                },
            ],
            ..ClaimRules::default()
        };
        let mapped = |found: Value| rules.mapped(&claims(&found)).expect("required");
        let both = mapped(json!({"realm": {"roles": ["a", "b"]}, "hd": "acme"}));
        let both = both.expect("matched");
        assert_eq!(both.groups, ["analysts", "one", "two", "four"]);
        assert_eq!(both.tenant.as_deref(), Some("one"));
        assert_eq!(
            both.databases,
            Some(vec!["shop".to_owned(), "x".to_owned()])
        );
        assert!(both.write);
        let one = mapped(json!({"realm": {"roles": "a"}})).expect("matched");
        assert_eq!((one.databases, one.write), (None, false));
        // The usual claim is not the one with the groups here.
        assert_eq!(mapped(json!({"groups": ["a"]})), None);
        assert_eq!(mapped(json!({})), None);
    }

    #[test]
    fn a_rule_without_conditions_matches_all_people() {
        let rules = ClaimRules {
            map: vec![rule(BTreeMap::new(), "staff")],
            ..ClaimRules::default()
        };
        let mapped = rules.mapped(&claims(&json!({}))).expect("required");
        assert_eq!(mapped.expect("matched").groups, ["staff"]);
    }

    #[test]
    fn an_address_that_is_not_verified_is_no_claim() {
        for name in ["email", "/email"] {
            let rules = ClaimRules {
                require: values(name, "ann@acme.example"),
                map: vec![rule(values(name, "ann@acme.example"), "staff")],
                ..ClaimRules::default()
            };
            for (verified, expected) in [
                (json!(true), true),
                (json!("true"), true),
                (json!(false), false),
                (json!("false"), false),
                (json!(1), false),
                (json!(null), false),
            ] {
                let found = json!({"email": "ann@acme.example", "email_verified": verified});
                let found = claims(&found);
                assert_eq!(rules.mapped(&found).is_ok(), expected, "{verified}");
                assert_eq!(found.shown_name().is_some(), expected, "{verified}");
            }
            let missing = claims(&json!({"email": "ann@acme.example"}));
            assert_eq!(rules.mapped(&missing), Err(Unmapped::Required));
        }
    }

    #[test]
    fn groups_that_do_not_fit_into_the_token_are_noticed_where_a_rule_needs_them() {
        let elsewhere = json!({"_claim_names": {"groups": "src1"}, "hd": "acme"});
        let by_groups = ClaimRules {
            map: vec![
                rule(values("groups", "a"), "x"),
                rule(values("hd", "acme"), "y"),
            ],
            ..ClaimRules::default()
        };
        let refused = by_groups.mapped(&claims(&elsewhere));
        assert_eq!(refused, Err(Unmapped::GroupsElsewhere));
        let by_host = ClaimRules {
            map: vec![rule(values("hd", "acme"), "y")],
            ..ClaimRules::default()
        };
        assert!(by_host.mapped(&claims(&elsewhere)).is_ok());
        let by_roles = ClaimRules {
            groups_claim: "roles".to_owned(),
            ..by_groups
        };
        let with_roles = json!({"_claim_names": {"groups": "src1"}, "roles": ["a"]});
        assert!(by_roles.mapped(&claims(&with_roles)).is_ok());
    }

    #[test]
    fn a_claim_twice_is_no_document() {
        assert_eq!(Claims::read(br#"{"hd": "a", "hd": "b"}"#), None);
        assert_eq!(Claims::read(b"[]"), None);
    }
}
