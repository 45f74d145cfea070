//! Assertions with which a provider admits a person for a client (ID-JAG).

use serde_json::Value;

use crate::{
    answer::OAuthError,
    clients::assertion,
    events::{Event, EventKind},
    form::Form,
    keys::{KeyError, Keys, digest, random},
    people::{People, Person, Unavailable},
    providers::configured::Mapped,
    providers::{
        Signer, Unsigned,
        configured::{IdentityAssertion, Provision},
        id_jag::{self, Asserted},
        id_token,
        mapping::Claims,
    },
    service::{Confirmed, Profile, Read, Shared},
    store::{Consent, Grant, Link, Origin, Store},
    token::{access::Access, proof::Proved, required},
};

/// Reasons why an assertion gives no token.
enum Refused {
    /// A check of this name failed.
    Check(&'static str),
    /// The keys, the accounts or the store cannot be used at the moment.
    Unavailable,
}

/// An assertion of a client.
struct Brought<'a> {
    form: &'a Form,
    client: &'a str,
    entry: &'a IdentityAssertion,
    assertion: &'a str,
}

impl From<Unavailable> for Refused {
    fn from(_: Unavailable) -> Self {
        Self::Unavailable
    }
}

impl From<KeyError> for Refused {
    fn from(_: KeyError) -> Self {
        Self::Unavailable
    }
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Exchanges an assertion. The first check that fails is in the record alone.
    pub(super) async fn by_assertion(
        &self,
        read: &Read,
        form: &Form,
        proved: &Proved,
    ) -> Result<Value, OAuthError> {
        let client = proved.client.id.as_str();
        let assertion = required(form, "assertion")?;
        // It only chooses the keys. The check of the issuer follows.
        let issuer = assertion::client_of(assertion);
        let mut entries = self.settings.identity_assertion.iter();
        let entry = entries.find(|entry| issuer.as_ref() == Some(&entry.issuer));
        if !proved.is_confidential() && !entry.is_some_and(|entry| entry.public_clients) {
            let problem = "this client proves nothing";
            return Err(OAuthError::new("unauthorized_client", problem));
        }
        let outcome = match entry {
            Some(entry) => {
                let brought = Brought {
                    form,
                    client,
                    entry,
                    assertion,
                };
                self.asserted(read, &brought).await
            }
            None => Err(Refused::Check("iss")),
        };
        match outcome {
            Ok(answer) => Ok(answer),
            Err(Refused::Unavailable) => Err(OAuthError::unavailable()),
            Err(Refused::Check(reason)) => {
                self.limits.count_wrong_proof(read.address, client);
                let event = Event::new(EventKind::AssertionRefused);
                self.record(read, event.with_client(client).with_reason(reason));
                let problem = "the assertion is not valid";
                Err(OAuthError::new("invalid_grant", problem))
            }
        }
    }

    /// Checks an assertion, and returns the answer to its client.
    async fn asserted(&self, read: &Read, brought: &Brought<'_>) -> Result<Value, Refused> {
        let Brought {
            form,
            client,
            entry,
            assertion,
        } = *brought;
        let claims = self.claims_of(read, entry, assertion).await?;
        let found = id_jag::check(&claims, entry, &self.settings, client, read.now);
        let found = found.map_err(Refused::Check)?;
        let resource = id_jag::resource(&claims, form.get("resource"), client, &self.settings);
        let (resource, alias) = resource.ok_or(Refused::Check("resource"))?;
        let profile = Profile::read(&claims, &entry.rules, Provision::Mapped);
        let profile = profile.map_err(|reason| Refused::Check(reason.name()))?;
        let origin = Origin {
            provider: entry.name.clone(),
            subject: found.subject.to_owned(),
        };
        let person = self.person_of(entry, &origin, &profile, read).await?;
        let tenant = person.tenant(profile.access.tenant.as_deref());
        let tenant = tenant.map_err(|_| Refused::Check("tenant"))?;
        let Mapped {
            write, databases, ..
        } = profile.access.clone();
        let entitled = profile.entitle(person).within(tenant.as_deref());
        let entitled = entitled.ok_or(Refused::Check("tenant"))?;
        let person = &entitled.person;
        let scope = id_jag::scope(&claims, form.get("scope"), &self.settings, person, write);
        let scope = scope.ok_or(Refused::Check("scope"))?;
        let grant = Grant {
            id: random()?,
            person: person.id.clone(),
            tenant,
            client: client.to_owned(),
            resource: resource.uri.clone(),
            alias,
            scope,
            databases,
            is_renewable: false,
            signed_in_at: found.signed_in_at,
            amr: id_token::ways(&claims),
            origin: Some(origin),
            made_at: read.now,
            used_at: read.now,
            ends_at: read.now + entry.access_lifetime.as_secs(),
            generation: 0,
            rotated_at: read.now,
        };
        let grant = self.kept(read, grant, used(entry, &found)).await?;
        let access = Access {
            grant: &grant,
            person: &entitled,
            scope: &grant.scope,
            now: read.now,
            longest: entry.access_lifetime,
        };
        self.signed(&access).map_err(|_| Refused::Unavailable)
    }

    /// Keeps the grant of an assertion, which counts once.
    async fn kept(&self, read: &Read, grant: Grant, used: Consent) -> Result<Grant, Refused> {
        let kept = self.store.assert_grant(grant, used).await?;
        let grant = kept.ok_or(Refused::Check("jti"))?;
        for kind in [EventKind::AssertionOk, EventKind::TokenIssued] {
            let event = Event::new(kind).with_grant(&grant);
            self.record(read, event.with_grant_type("jwt-bearer"));
        }
        Ok(grant)
    }

    /// Returns the claims of an assertion that a key of the provider has signed.
    async fn claims_of(
        &self,
        read: &Read,
        entry: &IdentityAssertion,
        assertion: &str,
    ) -> Result<Claims, Refused> {
        if assertion.len() > id_jag::LONGEST {
            return Err(Refused::Check("length"));
        }
        let signer = Signer::Assertion(entry);
        let payload = self.providers.payload(signer, assertion, read.now).await;
        let payload = payload.map_err(|reason| match reason {
            Unsigned::Invalid => Refused::Check("signature"),
            Unsigned::Unreachable => Refused::Unavailable,
        })?;
        Claims::read(&payload).ok_or(Refused::Check("claims"))
    }

    /// Returns the person of an assertion, whom the program admits, and keeps the link of a new one.
    async fn person_of(
        &self,
        entry: &IdentityAssertion,
        origin: &Origin,
        profile: &Profile,
        read: &Read,
    ) -> Result<Person, Refused> {
        let before = self.store.link(origin).await?;
        let confirmed = Confirmed {
            issuer: &entry.issuer,
            origin,
            profile,
            provision: Provision::Mapped,
        };
        let person = self.admitted(confirmed, before.as_ref()).await?;
        let person = person.ok_or(Refused::Check("the person is not admitted"))?;
        // The link of a person who has signed in there in a browser stays as it is.
        if before.is_none() {
            let link = Link {
                origin: origin.clone(),
                person: person.id.clone(),
                claims: profile.text()?,
                refresh: None,
                checked_at: read.now,
            };
            self.store.keep_link(link).await?;
        }
        Ok(person)
    }
}

/// Returns the number of an assertion, which is good once for its issuer.
fn used(entry: &IdentityAssertion, found: &Asserted<'_>) -> Consent {
    let named = format!("id-jag\0{}\0{}", entry.issuer, found.id);
    Consent {
        hash: digest(named.as_bytes()),
        ends_at: found.ends_at,
    }
}

// === impl Proved ===

impl Proved {
    /// Returns whether only one program can give the proof. The secret of a client that registered
    /// itself proves nothing: another program that registers the same gets it.
    fn is_confidential(&self) -> bool {
        self.has_proof && !self.client.has_shared_secret()
    }
}
