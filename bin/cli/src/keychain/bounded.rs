//! A timeout for every call of a keychain.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use crate::keychain::{Keychain, KeychainError};

/// Maximum time for one call.
const LIMIT: Duration = Duration::from_secs(3);

/// Calls another keychain, each time in a thread that is abandoned if it does not respond.
#[derive(Debug)]
pub(crate) struct Bounded<K> {
    inner: Arc<K>,
    limit: Duration,
    /// Reason why it is not called again.
    given_up: Mutex<Option<KeychainError>>,
}

// === impl Bounded ===

impl<K: Keychain + 'static> Bounded<K> {
    /// Limits each call to three seconds.
    pub(crate) fn new(inner: K) -> Self {
        Self {
            inner: Arc::new(inner),
            limit: LIMIT,
            given_up: Mutex::new(None),
        }
    }

    #[cfg(test)]
    fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&K) -> Result<T, KeychainError> + Send + 'static,
    ) -> Result<T, KeychainError> {
        let mut given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &*given_up {
            return Err(error.clone());
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let inner = Arc::clone(&self.inner);
        let started = thread::Builder::new()
            .name("keychain".to_owned())
            .spawn(move || {
                // The caller may have stopped waiting.
                let _ = sender.send(question(&inner));
            });
        let answer = match started {
            Ok(_) => receiver.recv_timeout(self.limit).unwrap_or_else(|_| {
                let limit = self.limit;
                Err(KeychainError::Unavailable(format!(
                    "keychain: unavailable: no answer within {limit:?}"
                )))
            }),
            Err(error) => Err(KeychainError::Unavailable(format!(
                "keychain: unavailable: {error}"
            ))),
        };
        if let Err(error @ KeychainError::Unavailable(_)) = &answer {
            *given_up = Some(error.clone());
        }
        answer
    }
}

impl<K: Keychain + 'static> Keychain for Bounded<K> {
    fn read(&self, account: &str) -> Result<String, KeychainError> {
        let account = account.to_owned();
        self.ask(move |inner| inner.read(&account))
    }

    fn store(&self, account: &str, secret: &str) -> Result<(), KeychainError> {
        let (account, secret) = (account.to_owned(), secret.to_owned());
        self.ask(move |inner| inner.store(&account, &secret))
    }

    fn delete(&self, account: &str) -> Result<(), KeychainError> {
        let account = account.to_owned();
        self.ask(move |inner| inner.delete(&account))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Never responds, and counts its calls.
    #[derive(Debug, Default)]
    struct Hanging(Arc<AtomicUsize>);

    impl Keychain for Hanging {
        fn read(&self, _: &str) -> Result<String, KeychainError> {
            self.0.fetch_add(1, Ordering::SeqCst);
            loop {
                thread::park();
            }
        }

        fn store(&self, account: &str, _: &str) -> Result<(), KeychainError> {
            self.read(account).map(drop)
        }

        fn delete(&self, account: &str) -> Result<(), KeychainError> {
            self.read(account).map(drop)
        }
    }

    #[test]
    fn a_keychain_that_hangs_is_given_up_and_not_asked_again() {
        let asked = Arc::new(AtomicUsize::new(0));
        let hanging = Hanging(Arc::clone(&asked));
        let keychain = Bounded::new(hanging).with_limit(Duration::from_millis(20));
        let error =
            KeychainError::Unavailable("keychain: unavailable: no answer within 20ms".to_owned());
        assert_eq!(keychain.read("a"), Err(error.clone()));
        assert_eq!(keychain.store("a", "b"), Err(error.clone()));
        assert_eq!(keychain.delete("a"), Err(error));
        assert!(asked.load(Ordering::SeqCst) <= 1);
    }

    #[test]
    fn the_limit_is_three_seconds_and_is_in_the_message() {
        assert_eq!(
            format!("{:?}", Bounded::new(Hanging::default()).limit),
            "3s"
        );
    }
}
