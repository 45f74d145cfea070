//! Devices that wait for a person.

use std::collections::HashMap;

use crate::store::{Device, Digest, GrantId, Seconds};

/// Number of devices.
const MAX_DEVICES: usize = 10_000;

/// Time between two questions of a device at first, and what it grows by.
const INTERVAL: Seconds = 5;

/// Time that an expired device is known for.
const KEPT: Seconds = 3600;

/// Devices by the digests of their codes.
#[derive(Debug, Default)]
pub(super) struct Devices(HashMap<Digest, Waiting>);

#[derive(Debug)]
struct Waiting {
    device: Device,
    state: State,
    interval: Seconds,
    polled_at: Seconds,
}

/// The decision of a person about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waits,
    Denied,
    Approved(GrantId),
    /// The grant was given to the device.
    Given(GrantId),
}

/// Answers to a device, before its grant is looked up.
pub(super) enum Found {
    Unknown,
    Expired,
    Waits,
    TooSoon,
    Denied,
    Good(GrantId),
    Again(GrantId),
}

// === impl Devices ===

impl Devices {
    pub(super) fn sweep(&mut self, now: Seconds) {
        self.0.retain(|_, it| it.device.ends_at + KEPT > now);
    }

    pub(super) fn add(&mut self, device: Device, now: Seconds) -> bool {
        let is_taken = self.find(device.user_code, now).is_some();
        if is_taken || self.0.len() >= MAX_DEVICES {
            return false;
        }
        let waiting = Waiting {
            state: State::Waits,
            interval: INTERVAL,
            polled_at: 0,
            device,
        };
        self.0.insert(waiting.device.hash, waiting);
        true
    }

    pub(super) fn find(&self, user_code: Digest, now: Seconds) -> Option<&Device> {
        let found = self.0.values().find(|it| it.device.user_code == user_code);
        Some(&found.filter(|it| it.waits(now))?.device)
    }

    /// Approves a device that still waits.
    pub(super) fn approve(&mut self, hash: Digest, grant: GrantId, now: Seconds) -> bool {
        self.decide(hash, State::Approved(grant), now)
    }

    /// Denies a device that still waits.
    pub(super) fn deny(&mut self, hash: Digest, now: Seconds) -> bool {
        self.decide(hash, State::Denied, now)
    }

    fn decide(&mut self, hash: Digest, state: State, now: Seconds) -> bool {
        let Some(found) = self.0.get_mut(&hash).filter(|it| it.waits(now)) else {
            return false;
        };
        found.state = state;
        true
    }

    pub(super) fn poll(&mut self, hash: Digest, client: &str, now: Seconds) -> Found {
        let found = self.0.get_mut(&hash);
        let Some(found) = found.filter(|it| it.device.client == client) else {
            return Found::Unknown;
        };
        match found.state {
            State::Given(grant) => Found::Again(grant),
            _ if found.device.ends_at <= now => Found::Expired,
            State::Denied => Found::Denied,
            State::Approved(grant) => {
                found.state = State::Given(grant);
                Found::Good(grant)
            }
            State::Waits => {
                let is_too_soon = now < found.polled_at + found.interval;
                found.polled_at = now;
                if !is_too_soon {
                    return Found::Waits;
                }
                found.interval += INTERVAL;
                Found::TooSoon
            }
        }
    }
}

// === impl Waiting ===

impl Waiting {
    fn waits(&self, now: Seconds) -> bool {
        self.state == State::Waits && self.device.ends_at > now
    }
}
