//! Checks of a server: its version, its limits, what stands before it, and its extensions.

use std::time::Duration;

use ziggurat_postgres::{
    database::{Pooler, Settings},
    quoted,
};

use crate::{
    Finding,
    database::{Needs, each_or, facts::Facts},
};

const VERSION: &str = "db.version";
const LIMITS: &str = "db.limits";
const POOLER: &str = "db.pooler";
const EXTENSIONS: &str = "db.extensions";

/// The oldest release that works.
const OLDEST: u32 = 14;

/// The oldest release with updates.
const SUPPORTED: u32 = 15;

/// The newest update of each release with updates, as of 2026-11-12.
const UPDATES: [(u32, u32); 4] = [(18, 6), (17, 11), (16, 15), (15, 19)];

/// Checks the version of the server.
pub(super) fn version(facts: &Facts) -> Finding {
    let (major, minor) = (facts.version_number / 10_000, facts.version_number % 10_000);
    let shown = format!("PostgreSQL {}", facts.version);
    if major < OLDEST {
        let finding = format!("{shown} is older than {OLDEST}");
        return Finding::fail(VERSION, finding, "upgrade the server to a newer release");
    }
    if major < SUPPORTED {
        return Finding::warn(
            VERSION,
            format!("{shown} gets no security updates since November 2026"),
            "upgrade the server to a newer release",
        );
    }
    match UPDATES.iter().find(|(release, _)| *release == major) {
        Some((_, newest)) if minor < *newest => Finding::warn(
            VERSION,
            format!("{shown} lacks security updates"),
            format!("update the server to {major}.{newest} or later"),
        ),
        _ => Finding::ok(VERSION, shown),
    }
}

/// Checks limits of the server and the role against the limits of the configuration.
pub(super) fn limits(settings: &Settings, facts: &Facts) -> Vec<Finding> {
    let role = quoted(&facts.role);
    let mut problems = Vec::new();
    let server = Duration::from_millis(facts.statement_timeout);
    let ours = settings.query_timeout;
    if !server.is_zero() && (server < ours || ours.is_zero()) {
        problems.push(Finding::warn(
            LIMITS,
            format!("statement_timeout of the role ({server:?}) is shorter than query_timeout ({ours:?}), which replaces it"),
            format!("query_timeout: {}ms", server.as_millis()),
        ));
    }
    let most = i64::from(settings.max_total_connections);
    let limit = facts.connection_limit;
    if (0..most).contains(&limit) {
        problems.push(Finding::warn(
            LIMITS,
            format!("the role may have {limit} connections, and max_total_connections is {most}"),
            format!(
                "max_total_connections: {limit}\nor ALTER ROLE {role} CONNECTION LIMIT {most};"
            ),
        ));
    }
    let free = facts.free_connections;
    if free < most {
        problems.push(Finding::warn(
            LIMITS,
            format!("the server has {free} connections for all its users, and max_total_connections is {most}"),
            format!("max_total_connections: {}", (free / 2).max(1)),
        ));
    }
    if facts.temp_file_limit < 0 {
        problems.push(Finding::warn(
            LIMITS,
            "a query may fill the disk of the server with temporary files",
            format!("ALTER ROLE {role} SET temp_file_limit = '1GB';"),
        ));
    }
    each_or(problems, || {
        Finding::ok(
            LIMITS,
            "the limits of the server fit the limits of the configuration",
        )
    })
}

/// Says what stands between this program and the server.
pub(super) fn pooler(settings: &Settings, is_pooled: bool) -> Finding {
    match (settings.pooler, is_pooled) {
        (Pooler::Transaction, _) => Finding::ok(
            POOLER,
            "a pooler that lends connections for a transaction, as configured",
        ),
        (_, true) => Finding::ok(
            POOLER,
            "a pooler was found; it is taken for one that lends connections for a transaction",
        ),
        (Pooler::Session, false) => {
            Finding::ok(POOLER, "connections last for a session, as configured")
        }
        _ => Finding::ok(POOLER, "no pooler was found"),
    }
}

/// Checks the extensions that features need.
pub(super) fn extensions(needs: Needs, facts: &Facts) -> Vec<Finding> {
    let mut problems = Vec::new();
    if needs.vectors && !facts.has_extension("vector") {
        problems.push(Finding::warn(
            EXTENSIONS,
            "vectors are searched, but the extension vector is not in the database",
            "CREATE EXTENSION vector;",
        ));
    }
    if needs.vectors {
        problems.extend(facts.unindexed.iter().map(|[table, column]| {
            Finding::warn(
                EXTENSIONS,
                format!(
                    "the vectors in {table}.{column} have no index, so a search reads them all"
                ),
                format!("CREATE INDEX ON {table} USING hnsw ({column} vector_cosine_ops);"),
            )
        }));
    }
    if needs.statistics && !facts.has_extension("pg_stat_statements") {
        problems.push(Finding::warn(
            EXTENSIONS,
            "statistics of statements are shown, but the extension pg_stat_statements is not in \
             the database",
            "CREATE EXTENSION pg_stat_statements;",
        ));
    }
    each_or(problems, || {
        let names = match &facts.extensions[..] {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        Finding::ok(EXTENSIONS, format!("extensions: {names}"))
    })
}
