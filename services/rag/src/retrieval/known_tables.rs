//! The descriptions of a table, one for each role that searches it.
//!
//! The scores of keyword search depend on the lengths and words of all rows, so they would tell an
//! asker of rows that it does not see, or of masked columns. Askers with different roles, settings or
//! masks share no figure.

mod known_table;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use tokio::{sync::Semaphore, time::Instant};
use ziggurat_postgres::database::{CallerMasks, Database};
use ziggurat_runtime::lock;
use ziggurat_vector_search::retrieval_queries::TextConfiguration;

pub(super) use self::known_table::KnownTable;
use crate::retrieval::askers::Asker;

/// Maximum age of a cached table description.
pub(super) const MAX_AGE: Duration = Duration::from_mins(5);

/// Limit on the askers for which a table is described.
const MAX_ASKERS: usize = 64;

/// The description of a table for those who see the same rows.
#[derive(Debug)]
pub(super) struct Known<T> {
    pub(super) table: ArcSwapOption<T>,
    /// Permit to load the description again: one task at a time does so.
    pub(super) loading: Semaphore,
}

/// A database as an asker reaches it, the masks that hold for it, and the description of a table.
type KnownAsker<T> = (Arc<Database>, Option<Arc<CallerMasks>>, Arc<Known<T>>);

/// The descriptions of a table, and the lexemes of words.
#[derive(Debug)]
pub(super) struct KnownTables<T, L> {
    /// For the database's own user.
    own: Arc<Known<T>>,
    /// For the roles, settings and masks of askers, the last used at the end.
    askers: Mutex<Vec<KnownAsker<T>>>,
    /// The lexemes, which no row decides, by the configuration that makes them.
    lexemes: Mutex<Vec<(TextConfiguration, L, Instant)>>,
}

// === impl Known ===

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self {
            table: ArcSwapOption::empty(),
            loading: Semaphore::new(1),
        }
    }
}

// === impl KnownTables ===

impl<T, L> Default for KnownTables<T, L> {
    fn default() -> Self {
        Self {
            own: Arc::default(),
            askers: Mutex::default(),
            lexemes: Mutex::default(),
        }
    }
}

impl<T, L: Clone + Default> KnownTables<T, L> {
    /// Returns the description for the database's own user.
    pub(super) fn own(&self) -> &Known<T> {
        &self.own
    }

    /// Returns the description for the role of an asker and its masks.
    pub(super) fn of(&self, asker: &Asker) -> Arc<Known<T>> {
        let (database, masks) = (asker.pool.database(), &asker.masks);
        if !database.is_acting() && masks.is_none() {
            return Arc::clone(&self.own);
        }
        let is_it = |(other, others, _): &KnownAsker<T>| {
            Arc::ptr_eq(other, database)
                && others.as_ref().map(Arc::as_ptr) == masks.as_ref().map(Arc::as_ptr)
        };
        let mut askers = lock(&self.askers);
        let place = askers.iter().position(is_it);
        let entry = match place {
            Some(place) => askers.remove(place),
            None => (Arc::clone(database), masks.clone(), Arc::default()),
        };
        if askers.len() >= MAX_ASKERS {
            askers.remove(0);
        }
        let known = Arc::clone(&entry.2);
        askers.push(entry);
        known
    }

    /// Returns the lexemes of words that are known of a configuration.
    pub(super) fn lexemes(&self, configuration: &TextConfiguration) -> L {
        let mut all = lock(&self.lexemes);
        all.retain(|(_, _, since)| since.elapsed() < MAX_AGE);
        let mut known = all.iter();
        if let Some((_, known, _)) = known.find(|(other, ..)| other == configuration) {
            return known.clone();
        }
        let fresh = L::default();
        all.push((configuration.clone(), fresh.clone(), Instant::now()));
        fresh
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_postgres::{
        database::{Acting, Enforcement, Masking, Settings},
        pool::Pools,
    };

    use super::*;

    #[test]
    fn each_asker_has_a_description_of_its_own_and_the_last_ones_are_kept() {
        let settings = Settings {
            name: "shop".to_owned(),
            user: "reader".to_owned(),
            ..Settings::default()
        };
        let database = Arc::new(Database::try_from(settings).expect("good"));
        let (pools, _reaper) = Pools::new();
        let pool = |tenant: usize| {
            let acting = Acting::default().with_setting("app.tenant", &tenant.to_string());
            let acting = database.acting(acting.expect("good")).expect("usable");
            Asker {
                pool: pools.pool(&format!("tenant-{tenant}"), &Arc::new(acting)),
                masks: None,
            }
        };
        let known = KnownTables::<(), ()>::default();
        let mut server = Asker {
            pool: pools.pool("server", &database),
            masks: None,
        };
        let own = known.of(&server);
        assert!(Arc::ptr_eq(&own, &known.own));
        let masking = Masking::new(Enforcement::Plan, Vec::new(), Vec::new());
        let masks = CallerMasks::new(&Arc::new(masking), &database, Vec::new());
        server.masks = Some(Arc::new(masks));
        let masked = known.of(&server);
        assert!(!Arc::ptr_eq(&masked, &own) && Arc::ptr_eq(&masked, &known.of(&server)));
        let many: Vec<_> = (0..=MAX_ASKERS).map(pool).collect();
        let first = known.of(&many[0]);
        let second = known.of(&many[1]);
        assert!(!Arc::ptr_eq(&first, &own) && !Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&first, &known.of(&many[0])));
        for pool in &many[2..] {
            let other = known.of(pool);
            assert!(!Arc::ptr_eq(&other, &first) && !Arc::ptr_eq(&other, &second));
        }
        assert!(
            Arc::ptr_eq(&first, &known.of(&many[0])),
            "used after the second"
        );
        assert!(!Arc::ptr_eq(&second, &known.of(&many[1])), "forgotten");
        assert_eq!(lock(&known.askers).len(), MAX_ASKERS);
    }
}
