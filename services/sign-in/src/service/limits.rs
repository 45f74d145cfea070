//! Limits of what an address or a client may ask for.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use ziggurat_layers::{
    clock::Clock,
    rate_limit::{
        Attempt, FailureWindow, Key, Limited, Outcome, Permit as _, Policy as _, Quota, Steady,
    },
};

use crate::store::Seconds;

/// The time of the service, which tests set.
#[derive(Clone)]
pub(super) struct Time(pub(super) Arc<dyn Fn() -> Seconds + Send + Sync>);

/// The limits of the service. They hold for one process.
#[derive(Debug)]
pub(crate) struct Limits {
    requests: Steady<Time>,
    registrations: Steady<Time>,
    attempts: Steady<Time>,
    documents: Steady<Time>,
    documents_of_addresses: Steady<Time>,
    proofs_of_addresses: FailureWindow<Time>,
    proofs_of_clients: FailureWindow<Time>,
    user_codes: FailureWindow<Time>,
    factors_of_addresses: FailureWindow<Time>,
    factors_of_people: FailureWindow<Time>,
}

/// An attempt that counts as wrong unless it turns out to be right.
#[must_use]
pub(crate) struct Guess([Option<Attempt<Time>>; 2]);

// === impl Time ===

impl Clock for Time {
    fn now(&self) -> Duration {
        Duration::from_secs((self.0)())
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Time(..)")
    }
}

// === impl Limits ===

impl Limits {
    pub(super) fn new(time: &Time) -> Self {
        let steady = |quota| Steady::new(known(quota)).with_clock(time.clone());
        let window = |quota| FailureWindow::new(known(quota)).with_clock(time.clone());
        Self {
            requests: steady("60 per minute"),
            registrations: steady("20 per hour"),
            attempts: steady("30 per minute"),
            documents: steady("60 per minute"),
            documents_of_addresses: steady("10 per minute"),
            proofs_of_addresses: window("30 per 15 minutes"),
            proofs_of_clients: window("60 per minute"),
            user_codes: window("10 per 15 minutes").with_in_flight_counted(),
            factors_of_addresses: window("30 per 15 minutes").with_in_flight_counted(),
            factors_of_people: window("20 per 15 minutes").with_in_flight_counted(),
        }
    }

    /// Admits an authorization request.
    pub(crate) fn request(&self, address: Option<IpAddr>) -> Result<(), Limited> {
        let admitted = self.requests.admit(key(address), self.requests.limit());
        admitted.map(drop)
    }

    /// Admits the registration of a client that is new.
    pub(crate) fn registration(&self, address: Option<IpAddr>) -> Result<(), Limited> {
        let limit = self.registrations.limit();
        let admitted = self.registrations.admit(key(address), limit);
        admitted.map(drop)
    }

    /// Admits a sign-in at another provider.
    pub(crate) fn attempt(&self, address: Option<IpAddr>) -> Result<(), Limited> {
        let admitted = self.attempts.admit(key(address), self.attempts.limit());
        admitted.map(drop)
    }

    /// Admits the fetch of a document for an address.
    pub(super) fn document(&self, address: Option<IpAddr>) -> Result<(), Limited> {
        let limit = self.documents_of_addresses.limit();
        self.documents_of_addresses.admit(key(address), limit)?;
        let admitted = self.documents.admit(Key::UNKNOWN, self.documents.limit());
        admitted.map(drop)
    }

    /// Refuses an address that sent too many wrong proofs of clients.
    pub(crate) fn proof_from(&self, address: Option<IpAddr>) -> Result<(), Limited> {
        is_admitted(&self.proofs_of_addresses, key(address))
    }

    /// Refuses a client that was sent too many wrong proofs of.
    pub(crate) fn proof_of(&self, client: &str) -> Result<(), Limited> {
        is_admitted(&self.proofs_of_clients, Key::of(client))
    }

    /// Admits an attempt to name a device by its code.
    pub(crate) fn user_code(&self, address: Option<IpAddr>) -> Result<Guess, Limited> {
        let guess = guess(&self.user_codes, key(address))?;
        Ok(Guess([Some(guess), None]))
    }

    /// Admits an attempt to give the second factor of a person.
    pub(crate) fn factor(&self, address: Option<IpAddr>, person: &str) -> Result<Guess, Limited> {
        let by_address = guess(&self.factors_of_addresses, key(address))?;
        match guess(&self.factors_of_people, Key::of(person)) {
            Ok(by_person) => Ok(Guess([Some(by_address), Some(by_person)])),
            Err(limited) => {
                by_address.settle(Outcome::Neither);
                Err(limited)
            }
        }
    }

    /// Counts a wrong proof of a client.
    pub(crate) fn count_wrong_proof(&self, address: Option<IpAddr>, client: &str) {
        count(&self.proofs_of_addresses, key(address));
        count(&self.proofs_of_clients, Key::of(client));
    }
}

// === impl Guess ===

impl Guess {
    pub(crate) fn was_right(self) {
        for attempt in self.0.into_iter().flatten() {
            attempt.settle(Outcome::Neither);
        }
    }
}

fn guess(failures: &FailureWindow<Time>, key: Key) -> Result<Attempt<Time>, Limited> {
    failures.admit(key, failures.limit())
}

fn is_admitted(failures: &FailureWindow<Time>, key: Key) -> Result<(), Limited> {
    failures.admit(key, failures.limit()).map(drop)
}

fn count(failures: &FailureWindow<Time>, key: Key) {
    if let Ok(attempt) = failures.admit(key, failures.limit()) {
        attempt.settle(Outcome::Failed);
    }
}

fn key(address: Option<IpAddr>) -> Key {
    address.map_or(Key::UNKNOWN, Key::from)
}

fn known(quota: &str) -> Quota {
    quota.parse().expect("a quota of this file is well formed")
}
