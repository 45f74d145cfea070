//! Allocations of statements where previews, limits on changed rows and receipts are off.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use tokio::{runtime::Builder, task::JoinSet};
use ziggurat_local_pg::{LocalPg, TestDatabase};
use ziggurat_postgres::{
    call_context::{CallContext, Evidence},
    database::{Database, PreviewMode, PreviewSettings, Settings},
    pool::{Pool, Pools},
    statement::Statement,
};

/// Runs of each statement. The fewest allocations count, since an answer may come in pieces.
const RUNS: u32 = 50;

const READ: &str = "SELECT id FROM book";

const WRITE: &str = "UPDATE book SET id = id";

/// A PostgreSQL with pools of it.
struct Server {
    // Dropped before the server it is on.
    database: TestDatabase,
    pg: LocalPg,
    pools: Pools,
    _reaper: JoinSet<()>,
}

impl Server {
    async fn start() -> Self {
        let pg = LocalPg::start().await.expect("a PostgreSQL");
        let database = pg.database().await.expect("a database");
        let (pools, reaper) = Pools::new();
        let mut reaping = JoinSet::new();
        reaping.spawn(reaper.run());
        let server = Self {
            database,
            pg,
            pools,
            _reaper: reaping,
        };
        let pool = server.pool("first", Settings::default());
        run(&pool, "CREATE TABLE book AS SELECT 1 AS id").await;
        server
    }

    /// Returns a pool of the database with settings.
    fn pool(&self, name: &str, settings: Settings) -> Pool {
        let url = self.database.url();
        let login = url
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('@'));
        let password = login.and_then(|(login, _)| login.split_once(':'));
        let database = Database::try_from(Settings {
            name: name.to_owned(),
            host: self.pg.host().to_owned(),
            port: self.pg.port(),
            database: self.database.name().to_owned(),
            user: self.pg.user().to_owned(),
            password: password
                .map_or("", |(_, password)| password)
                .to_owned()
                .into(),
            allow_writes: true,
            ..settings
        });
        let database = Arc::new(database.expect("valid settings"));
        self.pools.pool(name, &database)
    }
}

async fn run(pool: &Pool, sql: &str) {
    let statement = Statement::new(pool.database(), sql).expect(sql);
    let lease = pool.lease().await.expect("a connection");
    let mut rows = statement.run(lease).await.expect(sql);
    while rows.try_next().await.expect(sql).is_some() {}
}

/// Returns the allocations of a read and of a write.
async fn counts(pool: &Pool) -> [u64; 2] {
    let mut counts = [u64::MAX; 2];
    for _ in 0..RUNS {
        for (count, sql) in counts.iter_mut().zip([READ, WRITE]) {
            let before = dhat::HeapStats::get().total_blocks;
            run(pool, sql).await;
            *count = (*count).min(dhat::HeapStats::get().total_blocks - before);
        }
    }
    counts
}

/// Checks that settings that are off cost as much as unnamed ones, and that the count would tell.
pub(crate) fn assert_what_is_off_allocates_nothing() {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let server = Server::start().await;
        let usual = counts(&server.pool("usual", Settings::default())).await;
        let named = Settings {
            max_changed_rows: 0,
            preview: PreviewSettings {
                mode: PreviewMode::Off,
                ignored: vec!["public.book.id".to_owned()],
                ..PreviewSettings::default()
            },
            ..Settings::default()
        };
        assert_eq!(counts(&server.pool("named", named)).await, usual, "off");
        let [read, write] = usual;
        let limited = Settings {
            max_changed_rows: 10,
            ..Settings::default()
        };
        let [_, limited_write] = counts(&server.pool("limited", limited)).await;
        assert!(limited_write > write, "a limit on changed rows: {write}");
        let evidence = CallContext::default().with_evidence(Evidence::new(false, false));
        let receipted = server
            .pool("usual", Settings::default())
            .with_call(evidence);
        let [receipted_read, _] = counts(&receipted).await;
        assert!(receipted_read > read, "a receipt: {read}");
    });
}
