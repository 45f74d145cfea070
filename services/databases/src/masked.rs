//! The masks of each caller of a database.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use ziggurat_callers::Masks;
use ziggurat_postgres::database::{CallerMasks, Database};
use ziggurat_runtime::lock;
use ziggurat_tokens::Identity;

/// Limit on the databases that are kept for callers.
const MAX_KNOWN: usize = 1000;

/// A database, by the masks of its callers.
#[derive(Debug)]
pub(crate) struct KnownMasks {
    masks: Masks,
    base: Arc<Database>,
    known: Mutex<HashMap<(usize, Vec<bool>), Known>>,
}

/// A database as a caller sees it.
#[derive(Debug)]
struct Known {
    /// Keeps the address that the key has.
    _plain: Arc<Database>,
    masked: Arc<Database>,
}

// === impl KnownMasks ===

impl KnownMasks {
    pub(crate) fn new(masks: Masks, base: &Arc<Database>) -> Self {
        Self {
            masks,
            base: Arc::clone(base),
            known: Mutex::default(),
        }
    }

    pub(crate) fn masks(&self) -> &Masks {
        &self.masks
    }

    /// Returns a database as a caller sees it. Callers with the same masks share it.
    pub(crate) fn database(
        &self,
        plain: Arc<Database>,
        identity: Option<&Identity>,
    ) -> Arc<Database> {
        let holds = self.masks.hold(identity);
        if !holds.contains(&true) {
            return plain;
        }
        let mut known = lock(&self.known);
        let key = (Arc::as_ptr(&plain).addr(), holds);
        if let Some(known) = known.get(&key) {
            return Arc::clone(&known.masked);
        }
        let masks = CallerMasks::new(&self.masks.masking, &self.base, key.1.clone());
        let masked = Arc::new(plain.masked(masks));
        if known.len() >= MAX_KNOWN {
            // Connections of the others open again at their next use.
            known.retain(|_, known| Arc::strong_count(&known.masked) > 1);
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
        }
        let made = Known {
            _plain: plain,
            masked: Arc::clone(&masked),
        };
        known.insert(key, made);
        masked
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_callers::MaskedCallers;
    use ziggurat_postgres::database::{Enforcement, Masking, Settings};
    use ziggurat_tokens::CallerNames;

    use super::*;

    #[test]
    fn callers_with_the_same_masks_share_a_database_and_others_see_it_plain() {
        let settings = Settings {
            name: "main".into(),
            user: "reader".into(),
            ..Settings::default()
        };
        let plain = Arc::new(Database::try_from(settings).expect("valid"));
        let masking = Arc::new(Masking::new(Enforcement::Plan, Vec::new(), Vec::new()));
        let of = |callers: Vec<MaskedCallers>| {
            let masking = Arc::clone(&masking);
            KnownMasks::new(Masks { masking, callers }, &plain)
        };
        let all = of(vec![MaskedCallers::default()]);
        let one = all.database(Arc::clone(&plain), None);
        assert!(one.masks().is_some());
        assert!(Arc::ptr_eq(&one, &all.database(Arc::clone(&plain), None)));
        let others = MaskedCallers {
            only: Some(CallerNames::default()),
            unless: None,
        };
        let none = of(vec![others]).database(Arc::clone(&plain), None);
        assert!(Arc::ptr_eq(&none, &plain));
    }
}
