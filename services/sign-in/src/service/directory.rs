//! People who come from other providers, with the access that the rules give them.

use std::{error::Error, time::Duration};

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::{
    keys::{KeyError, Keys, Seal},
    people::{Newcomer, People, Person, Unavailable},
    providers::{
        AskProvider, Providers, Signer,
        configured::{ClaimRules, Mapped, Provision, Upstream},
        mapping::{Claims, Unmapped},
    },
    service::Shared,
    settings::Settings,
    store::{Grant, Link, Origin, Seconds, Session, Store},
};

/// A person with the databases that rules leave.
#[derive(Debug)]
pub(crate) struct Entitled {
    pub(crate) person: Person,
    /// The databases of the rules, if they name any. A token always has them.
    pub(crate) databases: Option<Vec<String>>,
}

/// The name and the access of a person as a provider said at last.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Profile {
    name: Option<String>,
    /// The address, if the provider has verified it.
    email: Option<String>,
    pub(crate) access: Mapped,
}

/// A person whom a provider has confirmed.
#[derive(Clone, Copy)]
pub(crate) struct Confirmed<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) origin: &'a Origin,
    pub(crate) profile: &'a Profile,
    pub(crate) provision: Provision,
}

/// Reasons why a person whom a provider has confirmed gets no access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAccess {
    /// A required claim has another value.
    Required,
    /// No rule matches.
    NoRule,
    /// The groups are not in the token but at another address.
    GroupsElsewhere,
    /// The program does not admit the person.
    NotAdmitted,
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Returns the person of a session or a grant, who may still sign in.
    pub(crate) async fn entitled(
        &self,
        person: &str,
        origin: Option<&Origin>,
    ) -> Result<Option<Entitled>, Unavailable> {
        let profile = match origin {
            Some(origin) => {
                let link = self.store.link(origin).await?;
                let link = link.filter(|link| {
                    self.settings.has_provider(&origin.provider)
                        && link.person == person
                        && !link.is_refused()
                });
                let Some(link) = link else { return Ok(None) };
                Profile::of(&link)
            }
            None => Profile::default(),
        };
        let found = self.people.find(person).await?;
        Ok(found.map(|person| profile.entitle(person)))
    }

    /// Returns the person whom a provider has confirmed, if the program admits the person. The link of
    /// a person is kept.
    pub(crate) async fn admitted(
        &self,
        confirmed: Confirmed<'_>,
        before: Option<&Link>,
    ) -> Result<Option<Person>, Unavailable> {
        let Confirmed {
            issuer,
            origin,
            profile,
            provision,
        } = confirmed;
        let newcomer = Newcomer {
            provider: &origin.provider,
            issuer,
            subject: &origin.subject,
            person: before.map(|link| &*link.person),
            name: profile.name.as_deref(),
            email: profile.email.as_deref(),
            tenant: profile.access.tenant.as_deref(),
            provision,
        };
        match self.people.admit(&newcomer).await? {
            Some(id) => self.people.find(&id).await,
            None => Ok(None),
        }
    }

    /// Returns the moment at which a grant ends in any case. Without a refresh token of the provider
    /// it ends some time after the sign-in there.
    pub(crate) async fn grant_ends_at(
        &self,
        session: &Session,
        now: Seconds,
    ) -> Result<Seconds, Unavailable> {
        let ends_at = now + self.settings.refresh_lifetime.as_secs();
        let Some(origin) = &session.origin else {
            return Ok(ends_at);
        };
        let Some(upstream) = self.settings.upstream(&origin.provider) else {
            return Ok(now);
        };
        let link = self.store.link(origin).await?;
        if link.is_some_and(|link| link.refresh.is_some()) {
            return Ok(ends_at);
        }
        let unconfirmed = session.signed_in_at + upstream.without_refresh.as_secs();
        Ok(ends_at.min(unconfirmed))
    }
}

// === impl Seal ===

impl Seal {
    /// Seals the refresh token of a provider for its account.
    pub(crate) fn close_refresh(&self, origin: &Origin, token: &str) -> Result<String, KeyError> {
        self.close(&purpose(origin), token.as_bytes().to_vec())
    }

    /// Opens the refresh token of a link. A change of the seal loses it.
    pub(crate) fn open_refresh(&self, link: &Link) -> Option<String> {
        let token = self.open(&purpose(&link.origin), link.refresh.as_deref()?)?;
        String::from_utf8(token).ok()
    }
}

fn purpose(origin: &Origin) -> String {
    format!("upstream {} {}", origin.provider, origin.subject)
}

// === impl Settings ===

impl Settings {
    /// Asks each provider for its documents, as the service does. Returns the issuers, with the reason
    /// why the documents cannot be used.
    pub async fn try_providers(
        &self,
        ask: impl AskProvider,
    ) -> Vec<(String, Option<Box<dyn Error + Send + Sync>>)> {
        let providers = Providers::default();
        providers.set(ask);
        let logins = self.upstreams.iter().map(Signer::Login);
        let assertions = self.identity_assertion.iter().map(Signer::Assertion);
        let mut tried = Vec::new();
        for signer in logins.chain(assertions) {
            tried.push((signer.issuer().to_owned(), providers.tried(signer).await));
        }
        tried
    }

    /// Returns the upstream of this name.
    pub(crate) fn upstream(&self, name: &str) -> Option<&Upstream> {
        self.upstreams.iter().find(|it| it.name == name)
    }

    fn has_provider(&self, name: &str) -> bool {
        let mut assertions = self.identity_assertion.iter();
        self.upstream(name).is_some() || assertions.any(|it| it.name == name)
    }

    /// Returns the longest lifetime of an access token of a grant.
    pub(crate) fn access_lifetime_of(&self, grant: &Grant) -> Duration {
        let origin = grant.origin.as_ref();
        let upstream = origin.and_then(|origin| self.upstream(&origin.provider));
        let usual = self.access_lifetime;
        upstream.map_or(usual, |upstream| usual.min(upstream.recheck))
    }
}

// === impl Profile ===

impl Profile {
    /// Returns the profile of a person by the rules of a provider.
    pub(crate) fn read(
        claims: &Claims,
        rules: &ClaimRules,
        provision: Provision,
    ) -> Result<Self, NoAccess> {
        let access = rules.mapped(claims).map_err(|reason| match reason {
            Unmapped::Required => NoAccess::Required,
            Unmapped::GroupsElsewhere => NoAccess::GroupsElsewhere,
        })?;
        if access.is_none() && provision == Provision::Mapped {
            return Err(NoAccess::NoRule);
        }
        Ok(Self {
            name: claims.shown_name().map(str::to_owned),
            email: claims.text("email").map(str::to_owned),
            access: access.unwrap_or_default(),
        })
    }

    /// Returns the profile that a link keeps. One that cannot be read gives no database.
    pub(crate) fn of(link: &Link) -> Self {
        serde_json::from_str(&link.claims).unwrap_or_else(|_| Self {
            access: Mapped {
                databases: Some(Vec::new()),
                ..Mapped::default()
            },
            ..Self::default()
        })
    }

    /// Returns the text that a link keeps.
    pub(crate) fn text(&self) -> Result<String, Unavailable> {
        serde_json::to_string(self).map_err(|_| Unavailable)
    }

    /// Adds the access of the rules to a person.
    pub(crate) fn entitle(self, mut person: Person) -> Entitled {
        if let Some(name) = self.name {
            person.name = name;
        }
        person.email = self.email.or(person.email);
        let Mapped {
            groups,
            roles,
            databases,
            ..
        } = self.access;
        for (names, more) in [(&mut person.groups, groups), (&mut person.roles, roles)] {
            let new: Vec<_> = more.into_iter().filter(|it| !names.contains(it)).collect();
            names.extend(new);
        }
        if let Some(databases) = &databases {
            person.databases.retain(|it| databases.contains(&it.name));
        }
        Entitled { person, databases }
    }
}

// === impl Entitled ===

impl Entitled {
    /// Returns the person with the claims of a tenant; `None` for a tenant that the person is not in.
    pub(crate) fn within(self, tenant: Option<&str>) -> Option<Self> {
        let person = self.person.within(tenant)?;
        Some(Self { person, ..self })
    }

    /// Returns the databases of a token, if they are not all that the person may use.
    pub(crate) fn narrowed(&self, allowed: Option<&[String]>) -> Option<Vec<String>> {
        match (allowed, self.databases.as_deref()) {
            (Some(allowed), Some(left)) => {
                let both = allowed.iter().filter(|name| left.contains(name));
                Some(both.cloned().collect())
            }
            (Some(one), None) | (None, Some(one)) => Some(one.to_vec()),
            (None, None) => None,
        }
    }
}

// === impl Link ===

impl Link {
    /// Returns whether the provider refused the person at last.
    pub(crate) fn is_refused(&self) -> bool {
        self.checked_at == 0
    }
}

// === impl NoAccess ===

impl NoAccess {
    /// Returns the name in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Required => "a required claim",
            Self::NoRule => "no rule matches",
            Self::GroupsElsewhere => "the groups are not in the token",
            Self::NotAdmitted => "the person is not admitted",
        }
    }

    /// Returns the text for the person.
    pub(crate) fn page(self) -> (StatusCode, &'static str) {
        let text = match self {
            Self::GroupsElsewhere => "Your groups do not fit into the token; ask for app roles.",
            Self::Required | Self::NoRule | Self::NotAdmitted => "Your account has no access here.",
        };
        (StatusCode::FORBIDDEN, text)
    }
}
