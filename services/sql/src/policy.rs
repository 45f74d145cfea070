//! Policies for statements that a read-only transaction does not prevent.
//!
//! `BEGIN READ ONLY` prevents a statement from changing tables, and little else. In such a
//! transaction a superuser can still read files of the server, run programs and end other sessions;
//! and `EXPLAIN ANALYZE CREATE TABLE … AS` writes, for any role that may create a table. A
//! [`Policy`] refuses such statements before they are sent, and gives the reason.
//!
//! ```
//! use ziggurat_sql::Policy;
//!
//! let policy = Policy::read_only();
//! let refusal = policy.check("SELECT pg_read_file('/etc/passwd')").expect_err("a file");
//! assert_eq!(
//!     refusal.to_string(),
//!     "query rejected: pg_read_file is not allowed: it accesses files of the database server, \
//!      even in a read-only transaction",
//! );
//! assert!(policy.check("SELECT 'pg_read_file(1)', now()").is_ok());
//! ```
//!
//! # Refused statements
//!
//! | Statement | On a read-only database | Where writes are allowed |
//! | --- | --- | --- |
//! | INSERT, UPDATE, DELETE, MERGE, also in WITH; SELECT INTO, FOR UPDATE; CREATE, ALTER, DROP, GRANT, TRUNCATE, REFRESH; `nextval`, `setval`; temporary tables | PostgreSQL | allowed |
//! | VACUUM, ALTER SYSTEM, CREATE DATABASE and others that cannot run in a transaction | PostgreSQL | PostgreSQL |
//! | BEGIN, COMMIT and similar; a second statement | policy | allowed |
//! | DO, `SET ROLE`, `SESSION AUTHORIZATION`, `READ WRITE`, DISCARD | policy | allowed |
//! | EXPLAIN of CREATE or SELECT INTO: with ANALYZE, PostgreSQL runs it | policy | allowed |
//! | ANALYZE, CLUSTER, REINDEX, LOCK, CHECKPOINT, which rewrite tables or block without changing a row | policy | allowed |
//! | PREPARE, DECLARE, LISTEN, NOTIFY, which outlive their transaction | policy | allowed |
//! | SET, except for settings that only affect the results of the session | policy | allowed |
//! | `COPY` with a file or a program, LOAD | policy | policy |
//! | functions with effects on files, the network, other sessions, the server, replication | policy | policy |
//! | catalogues that show passwords, their hashes or lines of files (`pg_authid`, `pg_shadow`, `pg_hba_file_rules`, `pg_user_mapping`, `pg_subscription` …) | policy | policy |
//! | functions that write large objects or pages in place, take advisory locks, use up transaction ids, change settings, or run a text as SQL (`query_to_xml`, `ts_stat`) | policy | allowed |
//! | thousands of tables, joins, sort keys or windows, which PostgreSQL cannot cancel comparing | policy | policy |
//! | thousands of adjacent comments or operators, which PostgreSQL cannot cancel reading | policy | policy |
//! | a sleep, an endless join | its time limit | its time limit |
//!
//! [`with_dangerous_functions`](Policy::with_dangerous_functions) lifts the rows about functions
//! and catalogues, except those that would break the read-only guarantee itself.
//!
//! Names are compared the way PostgreSQL resolves them: with or without a schema, quotes, `U&"…"`
//! escapes or comments in between, and in the form `('a'::text).pg_read_file`, which is also a
//! call.
//!
//! # Limits of a policy
//!
//! Only names that the text contains are recognised. A view, an operator or a function of the
//! database that calls something in this table is not, nor is a function of an unknown extension.
//! Where writes are allowed, a caller may also create a function that hides anything, so the rows
//! about functions are only a precaution there. This module also does not decide which role may
//! read what: a superuser can read in `pg_statistic` samples of `pg_authid`. So connect as a role
//! with few privileges:
//!
//! ```sql
//! CREATE ROLE reader LOGIN PASSWORD '…'
//!     NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 20;
//! GRANT CONNECT ON DATABASE shop TO reader;
//! GRANT USAGE ON SCHEMA public TO reader;
//! GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
//! ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader;
//! -- The role can create no tables, not even temporary ones.
//! REVOKE CREATE ON SCHEMA public FROM PUBLIC;
//! REVOKE TEMPORARY ON DATABASE shop FROM PUBLIC;
//! -- Limits the temporary files of a query (only a superuser can set this).
//! ALTER ROLE reader SET temp_file_limit = '1GB';
//! -- For clients that connect without this server.
//! ALTER ROLE reader SET default_transaction_read_only = on;
//! -- Functions of an extension that every role may call.
//! REVOKE EXECUTE ON FUNCTION dblink_connect(text), dblink_connect(text, text) FROM PUBLIC;
//! ```
//!
//! Row security that depends on a setting (`current_setting('app.tenant')`) does not restrict a
//! caller that may run `SET`: make it depend on the role.

use std::fmt;

use crate::{
    Lexer, Token,
    guard::{Reader, Refusal},
    pairs::Pairs,
    statement_shape::StatementShape,
};

/// Rules for the texts that are sent to PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Policy {
    pub(super) writes: bool,
    dangerous: bool,
}

/// Reason to refuse a function: an effect that no kind of transaction prevents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Danger {
    /// Reads, writes or lists files of the server.
    Files,
    /// Connects to other servers.
    Network,
    /// Ends, interrupts or signals other sessions.
    Sessions,
    /// Controls the server for all of its users.
    Server,
    /// Changes replication.
    Replication,
    /// Writes large objects; PostgreSQL prevents that since version 16.
    LargeObjects,
    /// Writes catalogues, statistics or pages without the usual checks.
    InPlace,
    /// Has an effect that outlives the transaction.
    Outlives,
    /// Shows hashes of passwords, passwords of other servers, or lines of files.
    Secrets,
    /// Takes locks that other programs wait for.
    Locks,
    /// Changes a setting.
    Settings,
    /// Runs one of its arguments as SQL.
    Sql,
}

// === impl Policy ===

impl Policy {
    /// Returns the policy for a transaction that must not change anything.
    pub fn read_only() -> Self {
        Self {
            writes: false,
            dangerous: false,
        }
    }

    /// Returns the policy for a database where the operator allows writes: to its data, not to its
    /// host.
    pub fn writable() -> Self {
        Self {
            writes: true,
            dangerous: false,
        }
    }

    /// Allows functions with effects beyond the database, and on a writable database also COPY.
    pub fn with_dangerous_functions(self, dangerous: bool) -> Self {
        Self { dangerous, ..self }
    }

    /// Refuses a text that this policy does not allow, and returns the shape of any other. The
    /// text is read once for both.
    ///
    /// This gives a clear message and is a second line of defence. The first is the transaction: an
    /// INSERT passes here, and PostgreSQL refuses it.
    ///
    /// # Errors
    /// Fails when the text must not be sent; the message is for its author.
    pub fn check(self, text: &str) -> Result<StatementShape<'_>, Refusal> {
        if text.contains('\0') {
            return Err(Refusal::Nul);
        }
        let mut shape = StatementShape::default();
        let mut reader = Reader::new(self);
        let mut pairs = Pairs::default();
        let mut lexer = Lexer::new(text);
        for token in lexer.by_ref() {
            shape.read(token);
            if token == Token::Symbol(b';') {
                reader.finish()?;
                reader = Reader::new(self);
                pairs = Pairs::default();
            } else if shape.is_several() && !self.writes {
                return Err(Refusal::Several);
            } else if pairs.read(token) {
                reader.read(token)?;
            } else {
                return Err(Refusal::Lists);
            }
        }
        reader.finish()?;
        if lexer.put_back_bytes() > MAX_PUT_BACK {
            return Err(Refusal::Operators);
        }
        Ok(shape)
    }

    /// Returns whether every text passes that PostgreSQL accepts.
    pub(super) fn is_open(self) -> bool {
        self.writes && self.dangerous
    }

    /// Refuses the names of secret catalogues anywhere in a text.
    pub(super) fn refuses_to_name(self, name: &str) -> Option<Refusal> {
        let named = SECRETS
            .iter()
            .find(|known| name.eq_ignore_ascii_case(known))?;
        (!self.dangerous).then_some(Refusal::Dangerous {
            call: named,
            danger: Danger::Secrets,
        })
    }

    /// Returns the reason to refuse a call of the function, if there is one.
    pub(super) fn refuses(self, name: &str) -> Option<Refusal> {
        let (call, danger) = found(name)?;
        let is_refused = match (self.writes, self.dangerous) {
            (false, false) => true,
            (false, true) => matches_any(name, ALWAYS).is_some(),
            (true, false) => danger.reaches_beyond_the_database(),
            (true, true) => false,
        };
        is_refused.then_some(Refusal::Dangerous { call, danger })
    }
}

impl Default for Policy {
    /// Returns the read-only policy.
    fn default() -> Self {
        Self::read_only()
    }
}

// === impl Danger ===

impl Danger {
    fn reaches_beyond_the_database(self) -> bool {
        matches!(
            self,
            Self::Files
                | Self::Network
                | Self::Sessions
                | Self::Server
                | Self::Replication
                | Self::Secrets
        )
    }
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "it accesses files of the database server",
            Self::Network => "it connects to other servers",
            Self::Sessions => "it acts on other sessions",
            Self::Server => "it controls the database server",
            Self::Replication => "it changes replication",
            Self::LargeObjects => "it writes large objects",
            Self::InPlace => "it writes without the checks of PostgreSQL",
            Self::Outlives => "its effect remains after the statement",
            Self::Secrets => "it reveals passwords, hashes of passwords or contents of files",
            Self::Locks => "it takes locks that other programs wait for",
            Self::Settings => "it changes settings of the session",
            Self::Sql => "it runs text as SQL, which cannot be checked",
        })
    }
}

/// Limit on the bytes that PostgreSQL's lexer may read again, some tenths of a second: meanwhile it
/// checks neither for a cancellation nor for `statement_timeout`.
const MAX_PUT_BACK: usize = 32 << 20;

/// Names of refused functions; a star stands for any end of a name.
///
/// Functions that PostgreSQL itself refuses in a read-only transaction, in every version since 14,
/// are not listed. Some of these are from extensions.
const CALLS: &[(Danger, &[&str])] = &[
    (
        Danger::Files,
        &[
            "pg_read_file*",
            "pg_read_binary_file*",
            "pg_ls_*",
            "pg_stat_file*",
            "pg_file_*",
            "pg_logdir_ls",
            "pg_current_logfile",
            "lo_import*",
            "lo_export",
            "autoprewarm_dump_now",
        ],
    ),
    (
        Danger::Network,
        &[
            "dblink*",
            "postgres_fdw_disconnect*",
            "http",
            "http_*",
            "query_export_to_s3",
            "table_import_from_s3",
            "run_command_on_*",
            "master_run_on_worker",
        ],
    ),
    (
        Danger::Sessions,
        &[
            "pg_cancel_backend",
            "pg_terminate_backend",
            "pg_log_backend_memory_contexts",
            "pg_background_*",
            "autoprewarm_start_worker",
        ],
    ),
    (
        Danger::Server,
        &[
            "pg_reload_conf",
            "pg_rotate_logfile*",
            "pg_logfile_rotate",
            "pg_promote",
            "pg_switch_wal",
            "pg_create_restore_point",
            "pg_backup_*",
            "pg_start_backup",
            "pg_stop_backup",
            "pg_wal_replay_*",
            "pg_log_standby_snapshot",
            "pg_logical_emit_message",
            "pg_buffercache_evict*",
        ],
    ),
    (
        Danger::Replication,
        &[
            "pg_create_physical_replication_slot",
            "pg_create_logical_replication_slot",
            "pg_copy_physical_replication_slot",
            "pg_copy_logical_replication_slot",
            "pg_drop_replication_slot",
            "pg_replication_slot_advance",
            "pg_replication_origin_*",
            "pg_sync_replication_slots",
            "pg_logical_slot_*",
        ],
    ),
    (
        Danger::LargeObjects,
        &[
            "lo_creat",
            "lo_create",
            "lo_from_bytea",
            "lo_put",
            "lo_truncate*",
            "lo_unlink",
            "lowrite",
        ],
    ),
    (
        Danger::InPlace,
        &[
            "pg_stat_reset*",
            "pg_stat_statements_reset",
            "pg_restore_relation_stats",
            "pg_restore_attribute_stats",
            "pg_restore_extended_stats",
            "pg_clear_relation_stats",
            "pg_clear_attribute_stats",
            "pg_clear_extended_stats",
            "pg_import_system_collations",
            "pg_nextoid",
            "pg_stop_making_pinned_objects",
            "brin_summarize_*",
            "brin_desummarize_range",
            "gin_clean_pending_list",
            "pg_truncate_visibility_map",
            "heap_force_*",
        ],
    ),
    (
        Danger::Outlives,
        &[
            "pg_advisory_lock*",
            "pg_try_advisory_lock*",
            "pg_notify",
            // They use up a transaction id; `…_if_assigned` does not.
            "txid_current",
            "pg_current_xact_id",
        ],
    ),
    (
        Danger::Locks,
        &["pg_advisory_xact_lock*", "pg_try_advisory_xact_lock*"],
    ),
    (
        Danger::Secrets,
        &["pg_show_all_file_settings", "get_raw_page*"],
    ),
    (Danger::Settings, &["set_config"]),
    (
        Danger::Sql,
        &[
            "query_to_xml*",
            "cursor_to_xml*",
            // These read tables that their text argument names.
            "table_to_xml*",
            "schema_to_xml*",
            "database_to_xml*",
            "ts_stat",
            "ts_rewrite",
            "crosstab*",
            "connectby",
            "xpath_table",
            "pgr_*",
        ],
    ),
];

/// Relations, and functions of the same names, that a superuser can read but no caller should.
const SECRETS: &[&str] = &[
    "pg_authid",
    "pg_shadow",
    "pg_hba_file_rules",
    "pg_file_settings",
    "pg_ident_file_mappings",
    "pg_user_mapping",
    "pg_user_mappings",
    "_pg_user_mappings",
    "user_mapping_options",
    "pg_subscription",
];

/// Functions that are refused on a read-only database even if dangerous functions are allowed.
const ALWAYS: &[&str] = &[
    "dblink*",
    "set_config",
    "lo_export",
    "pg_file_write",
    "pg_file_unlink",
    "pg_file_rename",
];

/// Returns the function of this name, if it runs one of its arguments as SQL.
pub(super) fn runs_text(name: &str) -> Option<&'static str> {
    found(name)
        .filter(|(_, danger)| *danger == Danger::Sql)
        .map(|(call, _)| call)
}

fn found(name: &str) -> Option<(&'static str, Danger)> {
    CALLS
        .iter()
        .find_map(|&(danger, names)| matches_any(name, names).map(|call| (call, danger)))
}

/// Returns the pattern that a name matches.
fn matches_any(name: &str, patterns: &[&'static str]) -> Option<&'static str> {
    patterns.iter().find_map(|pattern| {
        let (start, is_whole) = match pattern.strip_suffix('*') {
            Some(start) => (start, false),
            None => (*pattern, true),
        };
        let (head, rest) = name.as_bytes().split_at_checked(start.len())?;
        let fits = head.eq_ignore_ascii_case(start.as_bytes()) && (!is_whole || rest.is_empty());
        fits.then_some(if rest.is_empty() { start } else { pattern })
    })
}
