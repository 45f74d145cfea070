//! Databases that nobody connects to, for tests of whoever may use them.

use ziggurat_postgres::{
    database::{Database, Settings},
    lease::Pools,
};

use super::{Configured, Databases};

/// `main` and `docs` for everybody, and `team` for ann.
pub(crate) fn databases() -> Databases {
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
