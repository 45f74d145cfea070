//! A store in memory: for tests, examples, and one process that may forget.

mod devices;
mod documents;

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    clients::StoredClient,
    people::Unavailable,
    store::{
        Code, Consent, Device, Digest, Factor, GivenConsent, Grant, GrantId, KeptDocument, Polled,
        Rotated, Rotation, Seconds, Session, Store, UsedCode, Why,
    },
};

use self::{
    devices::{Devices, Found},
    documents::Documents,
};

/// Number of clients that may register themselves.
const MAX_CLIENTS: usize = 10_000;

/// Number of grants of a person.
const MAX_GRANTS: usize = 500;

/// Number of grants of a person for one client.
const MAX_GRANTS_OF_CLIENT: usize = 50;

/// Number of sessions of a person.
const MAX_SESSIONS: usize = 50;

/// Number of consents of a person.
const MAX_CONSENTS: usize = 500;

/// A store in memory. It ends with the process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    clients: HashMap<String, (StoredClient, Seconds)>,
    grants: HashMap<GrantId, Grant>,
    codes: HashMap<Digest, UsableCode>,
    sessions: HashMap<Digest, Session>,
    /// The grants that forms made, and when these expire.
    consents: HashMap<Digest, (GrantId, Seconds)>,
    /// Consents by person, client and resource.
    given: HashMap<[String; 3], GivenConsent>,
    devices: Devices,
    factors: HashMap<String, Factor>,
    /// Numbers that hold once, and when they expire.
    used: HashMap<Digest, Seconds>,
    documents: Documents,
    swept_at: Seconds,
}

#[derive(Debug)]
struct UsableCode {
    code: Code,
    is_used: bool,
}

/// Time in which the form of a consent may be sent again, in seconds.
const AGAIN: Seconds = 60;

/// Interval between two looks for ended entries.
const SWEEP: Seconds = 60;

/// Time that a used code is known for, so that a second use is noticed.
const KEPT_CODE: Seconds = 3600;

// === impl MemoryStore ===

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, now: Seconds) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.sweep(now);
        state
    }
}

impl Store for MemoryStore {
    async fn client(&self, id: &str, now: Seconds) -> Result<Option<StoredClient>, Unavailable> {
        let mut state = self.at(now);
        let found = state.clients.get_mut(id);
        Ok(found.map(|(client, used_at)| {
            *used_at = now;
            client.clone()
        }))
    }

    async fn add_client(&self, client: StoredClient, now: Seconds) -> Result<bool, Unavailable> {
        let mut state = self.at(now);
        let is_known = state.clients.contains_key(&client.id);
        if !is_known && state.clients.len() >= MAX_CLIENTS {
            return Ok(false);
        }
        state.clients.insert(client.id.clone(), (client, now));
        Ok(true)
    }

    async fn add_grant(
        &self,
        grant: Grant,
        code: Code,
        consent: Consent,
    ) -> Result<bool, Unavailable> {
        let now = grant.made_at;
        let mut state = self.at(now);
        if let Some((made, _)) = state.consents.get(&consent.hash) {
            let made = *made;
            return Ok(state.renew(made, code, now));
        }
        let is_used = false;
        state.codes.insert(code.hash, UsableCode { code, is_used });
        state.keep(grant, consent);
        Ok(true)
    }

    async fn use_code(&self, hash: Digest, now: Seconds) -> Result<UsedCode, Unavailable> {
        let mut state = self.at(now);
        let Some(found) = state.codes.get_mut(&hash) else {
            return Ok(UsedCode::Unknown);
        };
        let code = found.code.clone();
        if found.is_used {
            state.grants.remove(&code.grant);
            return Ok(UsedCode::Again(code.grant));
        }
        found.is_used = true;
        let grant = state.grants.get(&code.grant).cloned();
        Ok(match grant {
            Some(grant) if code.ends_at > now => UsedCode::Good(Box::new((code, grant))),
            _ => UsedCode::Unknown,
        })
    }

    async fn rotate(
        &self,
        id: GrantId,
        generation: u32,
        rules: Rotation,
    ) -> Result<Rotated, Unavailable> {
        let now = rules.now;
        let mut state = self.at(now);
        let Some(grant) = state.grants.get_mut(&id) else {
            return Ok(Rotated::Unknown);
        };
        let is_over = grant.ends_at <= now || grant.used_at + rules.idle.as_secs() <= now;
        if is_over || generation > grant.generation {
            return Ok(Rotated::Unknown);
        }
        if generation == grant.generation {
            grant.generation += 1;
            grant.rotated_at = now;
            grant.used_at = now;
            return Ok(Rotated::To(Box::new(grant.clone())));
        }
        let is_retry =
            generation + 1 == grant.generation && now <= grant.rotated_at + rules.grace.as_secs();
        if is_retry {
            return Ok(Rotated::To(Box::new(grant.clone())));
        }
        let ended = state.grants.remove(&id);
        Ok(ended.map_or(Rotated::Unknown, |grant| Rotated::Reused(Box::new(grant))))
    }

    async fn end_grant(&self, id: GrantId, _: Why, now: Seconds) -> Result<bool, Unavailable> {
        Ok(self.at(now).grants.remove(&id).is_some())
    }

    async fn grant(&self, id: GrantId, now: Seconds) -> Result<Option<Grant>, Unavailable> {
        let found = self.at(now).grants.get(&id).cloned();
        Ok(found.filter(|grant| grant.ends_at > now))
    }

    async fn add_device(&self, device: Device, now: Seconds) -> Result<bool, Unavailable> {
        Ok(self.at(now).devices.add(device, now))
    }

    async fn device(&self, user_code: Digest, now: Seconds) -> Result<Option<Device>, Unavailable> {
        Ok(self.at(now).devices.find(user_code, now).cloned())
    }

    async fn approve_device(
        &self,
        hash: Digest,
        grant: Grant,
        consent: Consent,
    ) -> Result<bool, Unavailable> {
        let now = grant.made_at;
        let mut state = self.at(now);
        if let Some((made, _)) = state.consents.get(&consent.hash) {
            return Ok(state.is_young(*made, now));
        }
        let is_approved = state.devices.approve(hash, grant.id, now);
        if is_approved {
            state.keep(grant, consent);
        }
        Ok(is_approved)
    }

    async fn deny_device(&self, hash: Digest, now: Seconds) -> Result<bool, Unavailable> {
        Ok(self.at(now).devices.deny(hash, now))
    }

    async fn poll_device(
        &self,
        hash: Digest,
        client: &str,
        now: Seconds,
    ) -> Result<Polled, Unavailable> {
        let mut state = self.at(now);
        Ok(match state.devices.poll(hash, client, now) {
            Found::Unknown => Polled::Unknown,
            Found::Expired => Polled::Expired,
            Found::Waits => Polled::Waits,
            Found::TooSoon => Polled::TooSoon,
            Found::Denied => Polled::Denied,
            Found::Good(id) => match state.grants.get(&id) {
                Some(grant) => Polled::Good(Box::new(grant.clone())),
                None => Polled::Unknown,
            },
            Found::Again(id) => {
                state.grants.remove(&id);
                Polled::Again(id)
            }
        })
    }

    async fn grants(&self, person: &str, now: Seconds) -> Result<Vec<Grant>, Unavailable> {
        let state = self.at(now);
        let grants = state.grants.values();
        let grants = grants.filter(|grant| grant.person == person && grant.ends_at > now);
        let mut grants: Vec<_> = grants.cloned().collect();
        grants.sort_unstable_by_key(|grant| (Reverse(grant.used_at), grant.id));
        Ok(grants)
    }

    async fn end_grants(
        &self,
        person: &str,
        _: Why,
        now: Seconds,
    ) -> Result<Vec<Grant>, Unavailable> {
        let mut state = self.at(now);
        let ended = state.grants.extract_if(|_, grant| grant.person == person);
        let ended = ended.map(|(_, grant)| grant);
        Ok(ended.filter(|grant| grant.ends_at > now).collect())
    }

    async fn keep_consent(&self, consent: GivenConsent) -> Result<(), Unavailable> {
        let mut state = self.at(consent.given_at);
        let place = [&consent.person, &consent.client, &consent.resource].map(String::clone);
        state.given.remove(&place);
        let of_person = state.given.iter();
        let of_person = of_person.filter(|(_, other)| other.person == consent.person);
        let of_person = of_person.map(|(place, other)| (other.given_at, place.clone()));
        for place in oldest(of_person, MAX_CONSENTS) {
            state.given.remove(&place);
        }
        state.given.insert(place, consent);
        Ok(())
    }

    async fn consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> Result<Option<GivenConsent>, Unavailable> {
        let place = [person, client, resource].map(str::to_owned);
        Ok(self.state().given.get(&place).cloned())
    }

    async fn withdraw_consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> Result<bool, Unavailable> {
        let place = [person, client, resource].map(str::to_owned);
        Ok(self.state().given.remove(&place).is_some())
    }

    async fn factor(&self, person: &str) -> Result<Option<Factor>, Unavailable> {
        Ok(self.state().factors.get(person).cloned())
    }

    async fn add_factor(&self, factor: Factor) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let is_new = !state.factors.contains_key(&factor.person);
        if is_new {
            state.factors.insert(factor.person.clone(), factor);
        }
        Ok(is_new)
    }

    async fn remove_factor(&self, person: &str) -> Result<bool, Unavailable> {
        Ok(self.state().factors.remove(person).is_some())
    }

    async fn use_step(&self, person: &str, step: u64) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let factor = state.factors.get_mut(person);
        let factor = factor.filter(|factor| factor.last_step < step);
        Ok(factor.map(|factor| factor.last_step = step).is_some())
    }

    async fn use_recovery(&self, person: &str, hash: Digest) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let Some(factor) = state.factors.get_mut(person) else {
            return Ok(false);
        };
        let before = factor.recovery.len();
        factor.recovery.retain(|other| *other != hash);
        Ok(factor.recovery.len() < before)
    }

    async fn use_once(
        &self,
        hash: Digest,
        ends_at: Seconds,
        now: Seconds,
    ) -> Result<bool, Unavailable> {
        let mut state = self.at(now);
        let until = state.used.entry(hash).or_default();
        let is_new = *until <= now;
        if is_new {
            *until = ends_at;
        }
        Ok(is_new)
    }

    async fn add_session(&self, session: Session) -> Result<(), Unavailable> {
        let mut state = self.at(session.used_at);
        let of_person = state.sessions.values();
        let of_person = of_person.filter(|other| other.person == session.person);
        let of_person = of_person.map(|it| (it.used_at, it.hash));
        for hash in oldest(of_person, MAX_SESSIONS) {
            state.sessions.remove(&hash);
        }
        state.sessions.insert(session.hash, session);
        Ok(())
    }

    async fn session(
        &self,
        hash: Digest,
        idle: Duration,
        now: Seconds,
    ) -> Result<Option<Session>, Unavailable> {
        let mut state = self.at(now);
        let Some(session) = state.sessions.get_mut(&hash) else {
            return Ok(None);
        };
        if session.ends_at <= now || session.used_at + idle.as_secs() <= now {
            state.sessions.remove(&hash);
            return Ok(None);
        }
        session.used_at = now;
        Ok(Some(session.clone()))
    }

    async fn end_session(&self, hash: Digest) -> Result<(), Unavailable> {
        self.state().sessions.remove(&hash);
        Ok(())
    }

    async fn end_sessions(&self, person: &str) -> Result<(), Unavailable> {
        let mut state = self.state();
        state.sessions.retain(|_, session| session.person != person);
        Ok(())
    }

    async fn document(&self, url: &str) -> Result<Option<KeptDocument>, Unavailable> {
        Ok(self.state().documents.get(url))
    }

    async fn keep_document(&self, url: &str, document: KeptDocument) -> Result<(), Unavailable> {
        let mut state = self.at(document.fetched_at);
        *state.documents.row(url) = document;
        Ok(())
    }

    async fn document_failed(&self, url: &str, now: Seconds) -> Result<(), Unavailable> {
        self.at(now).documents.row(url).failed_at = Some(now);
        Ok(())
    }
}

// === impl State ===

impl State {
    /// Removes ended entries.
    fn sweep(&mut self, now: Seconds) {
        if now < self.swept_at + SWEEP {
            return;
        }
        self.swept_at = now;
        self.grants.retain(|_, grant| grant.ends_at > now);
        self.codes
            .retain(|_, usable| usable.code.ends_at + KEPT_CODE > now);
        self.sessions.retain(|_, session| session.ends_at > now);
        self.consents.retain(|_, (_, until)| *until > now);
        self.devices.sweep(now);
        self.used.retain(|_, ends_at| *ends_at > now);
        self.documents.sweep(now);
        let grants = &self.grants;
        let day = 86_400;
        self.clients.retain(|id, (_, used_at)| {
            *used_at + day > now || grants.values().any(|grant| grant.client == *id)
        });
    }

    /// Gives a grant a new code in place of the one before, if it was made within a minute.
    fn renew(&mut self, id: GrantId, code: Code, now: Seconds) -> bool {
        if !self.is_young(id, now) {
            return false;
        }
        self.codes.retain(|_, usable| usable.code.grant != id);
        let code = Code { grant: id, ..code };
        let is_used = false;
        self.codes.insert(code.hash, UsableCode { code, is_used });
        true
    }

    /// Returns whether a grant was made within a minute.
    fn is_young(&self, id: GrantId, now: Seconds) -> bool {
        let grant = self.grants.get(&id);
        grant.is_some_and(|grant| now <= grant.made_at + AGAIN)
    }

    /// Keeps a grant and the consent that made it.
    fn keep(&mut self, grant: Grant, consent: Consent) {
        let is_of_person = |other: &Grant| other.person == grant.person;
        let is_of_client = |other: &Grant| is_of_person(other) && other.client == grant.client;
        self.make_room(is_of_person, MAX_GRANTS);
        self.make_room(is_of_client, MAX_GRANTS_OF_CLIENT);
        self.consents
            .insert(consent.hash, (grant.id, consent.ends_at));
        self.grants.insert(grant.id, grant);
    }

    /// Removes the oldest grants of a kind, until there is room for one more.
    fn make_room(&mut self, is_of_kind: impl Fn(&Grant) -> bool, most: usize) {
        let of_kind = self.grants.values().filter(|grant| is_of_kind(grant));
        for id in oldest(of_kind.map(|grant| (grant.used_at, grant.id)), most) {
            self.grants.remove(&id);
        }
    }
}

/// Returns the oldest entries, which leave room for one more.
fn oldest<T: Ord>(entries: impl Iterator<Item = (Seconds, T)>, most: usize) -> Vec<T> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable();
    let excess = (entries.len() + 1).saturating_sub(most);
    entries.truncate(excess);
    entries.into_iter().map(|(_, entry)| entry).collect()
}
