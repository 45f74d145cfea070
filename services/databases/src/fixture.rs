//! Databases for tests that connect to none of them.

use ziggurat_postgres::{
    database::{Database, Settings},
    pool::Pools,
};

use super::{Configured, Databases};

impl Databases {
    /// Replaces the list for all handles but fixed ones.
    pub fn replace(&self, list: impl IntoIterator<Item = Configured>) {
        self.adopt(&self.prepare(list));
    }
}

/// Creates `main` and `docs` for all callers, and `team` for ann.
///
/// # Panics
/// Never: the descriptions are valid.
#[must_use]
pub fn databases() -> Databases {
    let named = |name: &str| {
        let settings = Settings {
            name: name.into(),
            host: "db.example".into(),
            database: "shop".into(),
            user: "reader".into(),
            password: "swordfish".to_owned().into(),
            ..Settings::default()
        };
        Configured::new(Database::try_from(settings).expect("valid"))
    };
    let (pools, _) = Pools::new();
    let list = [
        named("main"),
        named("docs"),
        named("team").with_users(["ann"]),
    ];
    Databases::new(pools, list)
}
