//! The callers of a proof, as the configuration knows them.

use anyhow::{Context as _, anyhow};
use ziggurat_databases::Databases;
use ziggurat_prove::{Party, Side};
use ziggurat_tokens::{CallerFacts, Claim, Identity, LocalCaller};

use crate::{
    arguments::{CallerName, ProveOptions, ProvedCaller},
    check::identity::identity,
    configuration::Configuration,
};

/// Both callers.
pub(super) struct Callers([KnownCaller; 2]);

/// A caller with the identity of its requests; none of the local user.
pub(super) struct KnownCaller {
    name: CallerName,
    pub(super) identity: Option<Identity>,
}

// === impl Callers ===

impl Callers {
    pub(super) fn find(
        options: &ProveOptions,
        configuration: &Configuration,
    ) -> anyhow::Result<Self> {
        let find = |flag: &str, caller: &ProvedCaller| {
            let name = &caller.name;
            let found = identity(name, &configuration.auth);
            let found = found.map_err(|error| anyhow!("-{flag} {name}: {error:#}"))?;
            let found = found.map(|it| match name {
                CallerName::Client(..) => it.with_claims(caller.claims.clone()),
                _ => it,
            });
            anyhow::Ok(KnownCaller {
                name: name.clone(),
                identity: found,
            })
        };
        Ok(Self([
            find("as", &options.caller)?,
            find("against", &options.other)?,
        ]))
    }

    pub(super) fn all(&self) -> &[KnownCaller; 2] {
        &self.0
    }

    pub(super) fn identity(&self, side: Side) -> Option<&Identity> {
        let [one, two] = &self.0;
        let caller = match side {
            Side::A => one,
            Side::B => two,
        };
        caller.identity.as_ref()
    }
}

// === impl KnownCaller ===

impl KnownCaller {
    /// Describes the caller in the first database.
    pub(super) async fn party(
        &self,
        configuration: &Configuration,
        databases: &Databases,
    ) -> anyhow::Result<Party> {
        let entry = &configuration.databases[0];
        let (name, caller) = (entry.database.name(), &self.name);
        let current = databases.named(self.identity.as_ref(), name);
        let current = current.with_context(|| format!("{caller} may not use database '{name}'"))?;
        let local = &configuration.identities.local;
        let facts = self.facts(local);
        let rules = entry.callers.iter().flat_map(|callers| &callers.settings);
        let settings = rules.filter_map(|rule| {
            let facts = CallerFacts {
                identity: self.identity.as_ref(),
                local,
                role: None,
            };
            let value = facts.value(&rule.from)?;
            Some((rule.name.clone(), texts(&value).next()?))
        });
        let party = Party::new(current.pool().clone(), facts, settings.collect());
        party.await.with_context(|| caller.to_string())
    }

    /// Returns its claims and its name.
    fn facts(&self, local: &LocalCaller) -> Vec<(String, String)> {
        let claims = CallerFacts {
            identity: self.identity.as_ref(),
            local,
            role: None,
        }
        .claims();
        let mut facts = Vec::new();
        for name in claims.names() {
            let values = claims.find(name).into_iter().flat_map(texts);
            facts.extend(values.map(|value| (name.to_owned(), value)));
        }
        if let Some(identity) = &self.identity {
            facts.push((identity.kind().to_owned(), identity.name().to_owned()));
        }
        facts
    }
}

fn texts(claim: &Claim) -> impl Iterator<Item = String> {
    let one = match claim {
        Claim::Number(text) => Some(text.to_string()),
        Claim::Boolean(value) => Some(value.to_string()),
        _ => None,
    };
    let texts: Vec<_> = claim.texts().map(str::to_owned).collect();
    one.into_iter().chain(texts)
}
