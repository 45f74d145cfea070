//! The settings of other directories: providers that people sign in at, or that send their assertions.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::clients::address;

/// Seconds of an hour.
const HOUR: u64 = 3600;

/// Longest name of a provider.
const LONGEST_NAME: usize = 32;

/// Issuers of Entra that stand for accounts of any company, or of none.
const SHARED: [&str; 3] = ["common", "organizations", "consumers"];

/// Hosts of Entra.
const ENTRA: [&str; 3] = [
    "login.microsoftonline.",
    "login.partner.microsoftonline.",
    "sts.windows.net",
];

/// A provider that people sign in at (`OpenID` Connect).
///
/// ```
/// use ziggurat_mcp_auth::Upstream;
///
/// let upstream = Upstream {
///     title: "Acme single sign-on".to_owned(),
///     ..Upstream::new("corp", "https://login.example/realms/acme", "tools")
/// };
/// assert_eq!(upstream.scopes[0], "openid");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Its name in addresses and in the ids of people: a word of small letters, digits and dashes.
    pub name: String,
    /// Its name on the pages.
    pub title: String,
    /// Its issuer, to the letter.
    pub issuer: String,
    /// The id that this server has there.
    pub client_id: String,
    /// The secret that this server has there, if it has one.
    pub client_secret: Option<ClientSecret>,
    /// The scope that people are asked for there.
    pub scopes: Vec<String>,
    /// Rules for the claims of people.
    pub rules: ClaimRules,
    /// People whom the program makes an account for.
    pub provision: Provision,
    /// Time after which a person is confirmed again, and longest lifetime of an access token.
    pub recheck: Duration,
    /// Time after which a grant ends where the provider gave no refresh token.
    pub without_refresh: Duration,
}

/// A provider that admits people by signed assertions which clients bring (ID-JAG).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityAssertion {
    /// Its name: the one of the [`Upstream`] with this issuer, if there is one.
    pub name: String,
    /// Its issuer, to the letter.
    pub issuer: String,
    /// The address of its keys, if they are not those in the metadata of the issuer.
    pub jwks_url: Option<String>,
    /// Rules for the claims of people. A person whom no rule matches is refused.
    pub rules: ClaimRules,
    /// Lifetime of an access token.
    pub access_lifetime: Duration,
    /// Admits clients that prove nothing, too.
    pub public_clients: bool,
}

/// Rules for the claims of people.
///
/// ```
/// use ziggurat_mcp_auth::{ClaimRules, Mapped, MappingRule};
///
/// let rules = ClaimRules {
///     require: [("hd".to_owned(), "acme.example".into())].into(),
///     map: vec![MappingRule {
///         when: [("groups".to_owned(), "db-analysts".into())].into(),
///         then: Mapped { groups: vec!["analysts".to_owned()], ..Mapped::default() },
///     }],
///     ..ClaimRules::default()
/// };
/// assert_eq!(rules.groups_claim, "groups");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRules {
    /// Claims that a person must have: each is equal, or a list that contains the value.
    ///
    /// The claim `email` counts only beside `email_verified`. A name that begins with a slash is a
    /// JSON pointer.
    pub require: BTreeMap<String, ClaimValue>,
    /// The claim with the groups of a person: a name, or a JSON pointer.
    pub groups_claim: String,
    /// Rules that give access. All that match add up.
    pub map: Vec<MappingRule>,
}

/// A rule that gives access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingRule {
    /// Claims that a person must have. `groups` stands for the claim with the groups.
    pub when: BTreeMap<String, ClaimValue>,
    /// The access that they give.
    pub then: Mapped,
}

/// The access that rules give to a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Mapped {
    /// Groups of the person.
    pub groups: Vec<String>,
    /// Roles of the person.
    pub roles: Vec<String>,
    /// The tenant of the person. The first one counts.
    pub tenant: Option<String>,
    /// The databases of the person, if they are not all that the program gives.
    pub databases: Option<Vec<String>>,
    /// Allows changes to a client that brings an assertion.
    pub write: bool,
}

/// A value that a claim is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimValue {
    /// True or false.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

/// People whom the program makes an account for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provision {
    /// None: the administrator links people.
    ByHand,
    /// People with a verified address that has an open invite.
    Invited,
    /// People whom a rule matches.
    #[default]
    Mapped,
}

/// The secret that this server has at a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(String);

// === impl Upstream ===

impl Upstream {
    /// Creates an upstream with the usual settings.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        issuer: impl Into<String>,
        client_id: impl Into<String>,
    ) -> Self {
        let name = name.into();
        let scopes = ["openid", "email", "profile", "offline_access"];
        Self {
            title: name.clone(),
            name,
            issuer: issuer.into(),
            client_id: client_id.into(),
            client_secret: None,
            scopes: scopes.map(str::to_owned).to_vec(),
            rules: ClaimRules::default(),
            provision: Provision::default(),
            recheck: Duration::from_secs(HOUR),
            without_refresh: Duration::from_secs(12 * HOUR),
        }
    }

    fn problem(&self) -> Option<String> {
        let minutes = Duration::from_secs(300);
        let problem = if self.title.is_empty() {
            "the title is empty"
        } else if self.client_id.is_empty() {
            "the client_id is empty"
        } else if !self.scopes.iter().any(|scope| scope == "openid") {
            "the scopes must have openid"
        } else if !(minutes..=Duration::from_secs(24 * HOUR)).contains(&self.recheck) {
            "recheck must be 5m to 24h"
        } else if !(minutes..=Duration::from_secs(720 * HOUR)).contains(&self.without_refresh) {
            "without_refresh must be 5m to 720h"
        } else {
            return common_problem(&self.name, &self.issuer, &self.rules);
        };
        Some(problem.to_owned())
    }
}

// === impl IdentityAssertion ===

impl IdentityAssertion {
    /// Creates a provider of assertions with the usual settings.
    #[must_use]
    pub fn new(name: impl Into<String>, issuer: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            issuer: issuer.into(),
            jwks_url: None,
            rules: ClaimRules::default(),
            access_lifetime: Duration::from_secs(HOUR),
            public_clients: false,
        }
    }

    fn problem(&self) -> Option<String> {
        let bounds = Duration::from_secs(300)..=Duration::from_secs(24 * HOUR);
        if !bounds.contains(&self.access_lifetime) {
            return Some("access_lifetime must be 5m to 24h".to_owned());
        }
        if self.jwks_url.as_deref().is_some_and(|url| !is_safe(url)) {
            return Some("jwks_url must be https, or http on a loopback host".to_owned());
        }
        if self.rules.map.is_empty() {
            return Some("there are no rules in map, so it would admit no person".to_owned());
        }
        common_problem(&self.name, &self.issuer, &self.rules)
    }
}

/// Returns the key and the problem of the first provider that cannot be used.
pub(crate) fn problem(
    upstreams: &[Upstream],
    assertions: &[IdentityAssertion],
) -> Option<(&'static str, String)> {
    let named = |name: &str, problem| format!("{name}: {problem}");
    for (place, upstream) in upstreams.iter().enumerate() {
        let name = &upstream.name;
        let mut before = upstreams[..place].iter();
        let is_twice = before.any(|it| it.name == *name || it.issuer == upstream.issuer);
        let twice = is_twice.then(|| "its name or its issuer is there twice".to_owned());
        if let Some(problem) = upstream.problem().or(twice) {
            return Some(("upstreams", named(name, problem)));
        }
    }
    for (place, entry) in assertions.iter().enumerate() {
        let name = &entry.name;
        let mut before = assertions[..place].iter();
        let is_twice = before.any(|it| it.name == *name || it.issuer == entry.issuer);
        let twice = is_twice.then(|| "its name or its issuer is there twice".to_owned());
        // The same name means the same people.
        let is_other = |it: &Upstream| (it.name == *name) != (it.issuer == entry.issuer);
        let other = upstreams.iter().any(is_other);
        let other = other.then(|| {
            "it must have the name of the upstream with its issuer, and no other".to_owned()
        });
        if let Some(problem) = entry.problem().or(twice).or(other) {
            return Some(("identity_assertion", named(name, problem)));
        }
    }
    None
}

fn common_problem(name: &str, issuer: &str, rules: &ClaimRules) -> Option<String> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_word = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_letter);
    let problem = if !is_word {
        "a name has 1 to 32 of the characters a-z, 0-9 and -"
    } else if !is_safe(issuer) {
        "the issuer must be https, or http on a loopback host"
    } else if is_shared(issuer) {
        "the issuer must be of one tenant, not common, organizations or consumers"
    } else if rules.groups_claim.is_empty() {
        "groups_claim is empty"
    } else {
        return None;
    };
    Some(problem.to_owned())
}

/// Returns whether an address is one that documents may come from.
pub(crate) fn is_safe(url: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'\\');
    let has_host = url
        .strip_prefix("https://")
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    url.bytes().all(is_plain) && (has_host || address::loopback_host(url).is_some())
}

/// Returns whether an issuer of Entra stands for accounts of more than one tenant.
fn is_shared(issuer: &str) -> bool {
    let issuer = issuer.to_ascii_lowercase();
    let Some((host, path)) = issuer
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('/'))
    else {
        return false;
    };
    let is_entra = ENTRA.iter().any(|entra| host.starts_with(entra));
    is_entra && path.split('/').any(|part| SHARED.contains(&part))
}

// === impl ClaimRules ===

impl Default for ClaimRules {
    fn default() -> Self {
        Self {
            require: BTreeMap::new(),
            groups_claim: "groups".to_owned(),
            map: Vec::new(),
        }
    }
}

// === impl ClaimValue ===

impl From<&str> for ClaimValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<bool> for ClaimValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

// === impl ClientSecret ===

impl ClientSecret {
    /// Keeps a secret out of logs.
    #[must_use]
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corp() -> Upstream {
        Upstream::new("corp", "https://login.example/realms/acme", "tools")
    }

    fn acme() -> IdentityAssertion {
        let mut acme = IdentityAssertion::new("acme", "https://acme.okta.example");
        acme.rules.map.push(MappingRule::default());
        acme
    }

    #[test]
    fn an_upstream_out_of_bounds_is_refused() {
        assert_eq!(problem(&[corp()], &[]), None);
        let changed = |change: fn(&mut Upstream)| {
            let mut upstream = corp();
            change(&mut upstream);
            problem(&[upstream], &[]).map(|(key, _)| key)
        };
        let refused: [fn(&mut Upstream); 13] = [
            |it| it.name = String::new(),
            |it| it.name = "Corp".to_owned(),
            |it| it.name = "corp/x".to_owned(),
            |it| it.name = "c".repeat(33),
            |it| it.title = String::new(),
            |it| it.issuer = "http://login.example".to_owned(),
            |it| it.issuer = "https://".to_owned(),
            |it| it.issuer = "https://login.example/#x".to_owned(),
            |it| it.client_id = String::new(),
            |it| it.scopes = vec!["email".to_owned()],
            |it| it.recheck = Duration::from_secs(299),
            |it| it.without_refresh = Duration::from_secs(720 * HOUR + 1),
            |it| it.rules.groups_claim = String::new(),
        ];
        for (place, change) in refused.into_iter().enumerate() {
            assert_eq!(changed(change), Some("upstreams"), "{place}");
        }
        assert_eq!(changed(|it| it.name = "a-1".repeat(10)), None);
        assert_eq!(
            changed(|it| it.issuer = "http://localhost:8080".to_owned()),
            None
        );
        assert!(problem(&[corp(), corp()], &[]).is_some());
    }

    #[test]
    fn an_issuer_of_entra_is_of_one_tenant() {
        for tenant in SHARED {
            let issuer = format!("https://login.microsoftonline.com/{tenant}/v2.0");
            let upstream = Upstream::new("entra", issuer, "tools");
            assert!(problem(&[upstream], &[]).is_some(), "{tenant}");
            let mut entry = acme();
            entry.issuer = format!("https://LOGIN.microsoftonline.us/{tenant}/");
            assert!(problem(&[], &[entry]).is_some(), "{tenant}");
        }
        for issuer in [
            "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
            "https://keycloak.example/realms/common",
        ] {
            assert_eq!(
                problem(&[Upstream::new("entra", issuer, "tools")], &[]),
                None
            );
        }
    }

    #[test]
    fn assertions_have_bounds_and_the_name_of_their_upstream() {
        assert_eq!(problem(&[corp()], &[acme()]), None);
        let changed = |change: fn(&mut IdentityAssertion)| {
            let mut entry = acme();
            change(&mut entry);
            problem(&[corp()], &[entry]).map(|(key, _)| key)
        };
        let refused: [fn(&mut IdentityAssertion); 7] = [
            |it| it.access_lifetime = Duration::from_secs(299),
            |it| it.access_lifetime = Duration::from_secs(24 * HOUR + 1),
            |it| it.jwks_url = Some("http://acme.example/keys".to_owned()),
            |it| it.rules.map.clear(),
            |it| it.name = "corp".to_owned(),
            |it| it.issuer = corp().issuer,
            |it| it.name = "a b".to_owned(),
        ];
        for (place, change) in refused.into_iter().enumerate() {
            assert_eq!(changed(change), Some("identity_assertion"), "{place}");
        }
        let both = |it: &mut IdentityAssertion| {
            it.name = "corp".to_owned();
            it.issuer = corp().issuer;
        };
        assert_eq!(changed(both), None);
        assert!(problem(&[], &[acme(), acme()]).is_some());
    }

    #[test]
    fn a_secret_is_not_in_the_log() {
        let upstream = Upstream {
            client_secret: Some(ClientSecret::new("hush")),
            ..corp()
        };
        assert!(!format!("{upstream:?}").contains("hush"));
    }
}
