//! Everything that a statement could change, as text.

use std::{collections::BTreeMap, fs, path::Path};

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

/// The state of a database server.
pub(crate) type Snapshot = BTreeMap<String, String>;

/// Relations and views; all of their rows are compared.
const CATALOGUES: &[&str] = &[
    "pg_class",
    "pg_attribute",
    "pg_namespace",
    "pg_proc",
    "pg_type",
    "pg_operator",
    "pg_cast",
    "pg_trigger",
    "pg_rewrite",
    "pg_policy",
    "pg_constraint",
    "pg_index",
    "pg_depend",
    "pg_shdepend",
    "pg_default_acl",
    "pg_statistic",
    "pg_collation",
    "pg_extension",
    "pg_foreign_server",
    "pg_foreign_data_wrapper",
    "pg_user_mapping",
    "pg_event_trigger",
    "pg_publication",
    "pg_subscription",
    "pg_authid",
    "pg_auth_members",
    "pg_database",
    "pg_tablespace",
    "pg_db_role_setting",
    "pg_description",
    "pg_largeobject",
    "pg_largeobject_metadata",
    "pg_replication_slots",
    "pg_replication_origin",
    "pg_prepared_xacts",
    "pg_file_settings",
    "account",
];

/// Single values that are compared.
const VALUES: &[&str] = &[
    "SELECT last_value::text || is_called::text FROM counter",
    "SELECT pg_conf_load_time()::text",
    "SELECT pg_postmaster_start_time()::text",
    "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory'",
    "SELECT COALESCE(max(stats_reset)::text, '') FROM pg_stat_database",
    "SELECT stats_reset::text FROM pg_stat_bgwriter",
    "SELECT count(*)::text FROM pg_stat_activity WHERE usename = 'bystander'",
];

/// Takes a snapshot of a database and, as a superuser, of its server.
pub(crate) async fn take(connection: &mut PgConnection, canary: &Path) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for relation in CATALOGUES {
        let sql = format!(
            "SELECT count(*) || ' ' || COALESCE(md5(string_agg(x::text, '|' ORDER BY x::text)), '')
               FROM {relation} x"
        );
        let digest = ask(connection, sql).await;
        snapshot.insert((*relation).to_owned(), digest);
    }
    for value in VALUES {
        snapshot.insert(
            (*value).to_owned(),
            ask(connection, (*value).to_owned()).await,
        );
    }
    let data = ask(connection, "SHOW data_directory".to_owned()).await;
    list(data.as_ref(), data.as_ref(), &mut snapshot);
    list(canary, canary, &mut snapshot);
    snapshot
}

/// Returns what differs.
pub(crate) fn differences(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let mut keys: Vec<_> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .map(|key| format!("{key}: {:?} -> {:?}", before.get(key), after.get(key)))
        .collect()
}

async fn ask(connection: &mut PgConnection, sql: String) -> String {
    let row = sqlx::raw_sql(AssertSqlSafe(sql.clone()))
        .fetch_one(connection)
        .await
        .expect(&sql);
    row.try_get(0).expect("a text")
}

/// Files that a server writes in the background.
const RESTLESS: &[&str] = &[
    "pg_wal",
    "pg_xact",
    "pg_subtrans",
    "pg_multixact",
    "pg_logical",
    "pg_notify",
    "pg_stat",
    "pg_stat_tmp",
    "pgsql_tmp",
    "postmaster.pid",
    "pg_control",
    "pg_internal.init",
];

fn list(top: &Path, folder: &Path, snapshot: &mut Snapshot) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Free space and visibility maps change when tables are read.
        let is_map = name.contains("_fsm") || name.contains("_vm");
        if is_map || RESTLESS.contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            list(top, &path, snapshot);
            continue;
        }
        let is_relation =
            path.starts_with(top.join("base")) || path.starts_with(top.join("global"));
        let seen = if is_relation {
            "there".to_owned()
        } else {
            format!("{:?}", fs::read(&path).expect("readable"))
        };
        snapshot.insert(path.to_string_lossy().into_owned(), seen);
    }
}
