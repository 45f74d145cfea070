//! The rows of a store in memory.

use std::collections::HashMap;

use crate::{
    clients::StoredClient,
    store::{
        Code, Digest, Factor, GivenConsent, Grant, GrantId, Seconds, Session,
        memory::{devices::Devices, directories::Directories, documents::Documents},
    },
};

/// Number of grants of a person.
const MAX_GRANTS: usize = 500;

/// Number of grants of a person for one client.
const MAX_GRANTS_OF_CLIENT: usize = 50;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) clients: HashMap<String, (StoredClient, Seconds)>,
    pub(super) grants: HashMap<GrantId, Grant>,
    pub(super) codes: HashMap<Digest, UsableCode>,
    pub(super) sessions: HashMap<Digest, Session>,
    /// The grants that forms made, and when these expire.
    pub(super) consents: HashMap<Digest, (GrantId, Seconds)>,
    /// Consents by person, client and resource.
    pub(super) given: HashMap<[String; 3], GivenConsent>,
    pub(super) devices: Devices,
    pub(super) factors: HashMap<String, Factor>,
    /// Numbers that hold once, and when they expire.
    pub(super) used: HashMap<Digest, Seconds>,
    pub(super) documents: Documents,
    pub(super) directories: Directories,
    swept_at: Seconds,
}

#[derive(Debug)]
pub(super) struct UsableCode {
    pub(super) code: Code,
    pub(super) is_used: bool,
}

/// Time in which the form of a consent may be sent again, in seconds.
const AGAIN: Seconds = 60;

/// Interval between two looks for ended entries.
const SWEEP: Seconds = 60;

/// Time that a used code is known for, so that a second use is noticed.
const KEPT_CODE: Seconds = 3600;

// === impl State ===

impl State {
    /// Removes ended entries.
    pub(super) fn sweep(&mut self, now: Seconds) {
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
        self.directories.sweep(now);
        let grants = &self.grants;
        let asserted = &mut self.directories.asserted;
        asserted.retain(|_, id| grants.contains_key(id));
        let day = 86_400;
        self.clients.retain(|id, (_, used_at)| {
            *used_at + day > now || grants.values().any(|grant| grant.client == *id)
        });
    }

    /// Gives a grant a new code in place of the one before, if it was made within a minute.
    pub(super) fn renew(&mut self, id: GrantId, code: Code, now: Seconds) -> bool {
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
    pub(super) fn is_young(&self, id: GrantId, now: Seconds) -> bool {
        let grant = self.grants.get(&id);
        grant.is_some_and(|grant| now <= grant.made_at + AGAIN)
    }

    /// Notes a number that holds once. Returns whether it was not used before.
    pub(super) fn note(&mut self, hash: Digest, ends_at: Seconds, now: Seconds) -> bool {
        let until = self.used.entry(hash).or_default();
        let is_new = *until <= now;
        if is_new {
            *until = ends_at;
        }
        is_new
    }

    /// Keeps the grant of an assertion, or prolongs the one before.
    pub(super) fn keep_asserted(&mut self, grant: Grant) -> Grant {
        let now = grant.made_at;
        let place = [&grant.person, &grant.client, &grant.resource].map(String::clone);
        let before = self.directories.asserted.get(&place);
        let before = before.and_then(|id| self.grants.get(id));
        let before = before.filter(|before| before.ends_at > now);
        let (id, made_at) = before.map_or((grant.id, now), |before| (before.id, before.made_at));
        let is_new = id == grant.id;
        let kept = Grant {
            id,
            made_at,
            ..grant
        };
        if is_new {
            self.keep(kept.clone());
        } else {
            self.grants.insert(id, kept.clone());
        }
        self.directories.asserted.insert(place, id);
        kept
    }

    /// Keeps a grant, and makes room for it.
    pub(super) fn keep(&mut self, grant: Grant) {
        let is_of_person = |other: &Grant| other.person == grant.person;
        let is_of_client = |other: &Grant| is_of_person(other) && other.client == grant.client;
        self.make_room(is_of_person, MAX_GRANTS);
        self.make_room(is_of_client, MAX_GRANTS_OF_CLIENT);
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
pub(super) fn oldest<T: Ord>(entries: impl Iterator<Item = (Seconds, T)>, most: usize) -> Vec<T> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable();
    let excess = (entries.len() + 1).saturating_sub(most);
    entries.truncate(excess);
    entries.into_iter().map(|(_, entry)| entry).collect()
}
