//! The lists of other directories.

use std::{collections::BTreeMap, time::Duration};

use ziggurat_mcp_auth::{
    ClaimRules, ClaimValue, ClientSecret, IdentityAssertion, Mapped, MappingRule, Provision,
    Upstream,
};
use ziggurat_runtime::config::{Section, Value};

use crate::section::secret;

/// Reads the providers that people sign in at, and the providers of assertions.
pub(super) fn read(file: &Section<'_>) -> (Vec<Upstream>, Vec<IdentityAssertion>) {
    let entries = |name: &str| file.key(name).list().unwrap_or_default().into_iter();
    let upstreams = entries("upstreams").map(|entry| upstream(&entry.into_section()));
    let upstreams = upstreams.collect();
    let assertions = entries("identity_assertion").map(|entry| assertion(&entry.into_section()));
    (upstreams, assertions.collect())
}

fn upstream(file: &Section<'_>) -> Upstream {
    let required = |name: &str| {
        let key = file.key(name);
        key.required(key.text())
    };
    let usual = Upstream::new(required("name"), required("issuer"), required("client_id"));
    let provision = file.key("provision").parsed(provision);
    Upstream {
        title: file.key("title").text().unwrap_or(usual.title),
        client_secret: secret(&file.key("client_secret_file")).map(ClientSecret::new),
        scopes: file.key("scopes").texts().unwrap_or(usual.scopes),
        rules: rules(file, &mapped),
        provision: provision.unwrap_or(usual.provision),
        recheck: time(file, "recheck", usual.recheck),
        without_refresh: time(file, "without_refresh", usual.without_refresh),
        ..usual
    }
}

fn assertion(file: &Section<'_>) -> IdentityAssertion {
    let (name, issuer) = (file.key("name"), file.key("issuer"));
    let usual = IdentityAssertion::new(name.required(name.text()), issuer.required(issuer.text()));
    let with_write = |file: &Section<'_>| Mapped {
        write: file.key("write").boolean().unwrap_or(false),
        ..mapped(file)
    };
    IdentityAssertion {
        jwks_url: file.key("jwks_url").text(),
        rules: rules(file, &with_write),
        access_lifetime: time(file, "access_lifetime", usual.access_lifetime),
        public_clients: file.key("public_clients").boolean().unwrap_or(false),
        ..usual
    }
}

fn time(file: &Section<'_>, name: &str, usual: Duration) -> Duration {
    file.key(name).time().unwrap_or(usual)
}

fn rules(file: &Section<'_>, then: &dyn Fn(&Section<'_>) -> Mapped) -> ClaimRules {
    let entries = file.key("map").list().unwrap_or_default().into_iter();
    let map = entries.map(|entry| {
        let rule = entry.into_section();
        MappingRule {
            when: values(&rule.key("when")),
            then: then(&rule.section("then")),
        }
    });
    let usual = ClaimRules::default();
    ClaimRules {
        require: values(&file.key("require")),
        groups_claim: file
            .key("groups_claim")
            .text()
            .unwrap_or(usual.groups_claim),
        map: map.collect(),
    }
}

fn mapped(file: &Section<'_>) -> Mapped {
    let texts = |name: &str| file.key(name).texts().unwrap_or_default();
    Mapped {
        groups: texts("groups"),
        roles: texts("roles"),
        tenant: file.key("tenant").text(),
        databases: file.key("databases").texts(),
        write: false,
    }
}

/// Reads claims with a value each.
fn values(key: &Value<'_>) -> BTreeMap<String, ClaimValue> {
    let written = key.any().map(serde_json::to_value);
    let Some(Ok(written)) = written else {
        return BTreeMap::new();
    };
    let Some(written) = written.as_object() else {
        key.problem("must be claims with a value each");
        return BTreeMap::new();
    };
    let values = written.iter().filter_map(|(name, value)| {
        let value = claim_value(value);
        if value.is_none() {
            key.problem(format!(
                "{name}: must be a text, a whole number, true or false"
            ));
        }
        Some((name.clone(), value?))
    });
    values.collect()
}

fn claim_value(value: &serde_json::Value) -> Option<ClaimValue> {
    if let Some(text) = value.as_str() {
        return Some(ClaimValue::Text(text.to_owned()));
    }
    let number = value.as_i64().map(ClaimValue::Number);
    number.or(value.as_bool().map(ClaimValue::Flag))
}

fn provision(text: &str) -> Result<Provision, &'static str> {
    match text {
        "none" => Ok(Provision::ByHand),
        "invited" => Ok(Provision::Invited),
        "mapped" => Ok(Provision::Mapped),
        _ => Err("must be none, invited or mapped"),
    }
}
