//! The statements for a role: what it may read, and nothing more.

use std::fmt::Write as _;

use postgres_protocol::password::scram_sha_256;
use ziggurat_postgres::quoted;

use crate::setup::init::answers::Answers;

/// Limit on the connections of the role: what the server uses at most.
const CONNECTIONS: u32 = 50;

/// Writes the statements. They may be run again, also with other answers.
pub(super) fn statements(answers: &Answers, database: &str, password: &str) -> String {
    let (role, database) = (quoted(&answers.role), quoted(database));
    let verifier = scram_sha_256(password.as_bytes());
    let name = literal(&answers.role);
    let mut sql = format!(
        "-- The role of ziggurat-tools. An administrator of the database runs this, as often as needed.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = {name}) THEN
        CREATE ROLE {role};
    END IF;
END $$;
ALTER ROLE {role} LOGIN PASSWORD '{verifier}' CONNECTION LIMIT {CONNECTIONS};
GRANT CONNECT ON DATABASE {database} TO {role};
-- A role that makes temporary tables needs a grant of its own from now on.
REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC;
"
    );
    for schema in &answers.schemas {
        sql.push_str(&of_schema(&quoted(schema), &role, answers.writes));
    }
    sql.push_str(&settings(&role, answers.writes));
    sql
}

fn of_schema(schema: &str, role: &str, writes: bool) -> String {
    let rights = if writes {
        "SELECT, INSERT, UPDATE, DELETE"
    } else {
        "SELECT"
    };
    let mut sql = format!(
        "
GRANT USAGE ON SCHEMA {schema} TO {role};
REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role};
GRANT {rights} ON ALL TABLES IN SCHEMA {schema} TO {role};
-- Tables that the same administrator creates later.
ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT {rights} ON TABLES TO {role};
"
    );
    if writes {
        // Writing to a text cannot fail.
        let _ = write!(
            sql,
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};
ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {role};
"
        );
    }
    sql
}

fn settings(role: &str, writes: bool) -> String {
    let read_only = if writes { "off" } else { "on" };
    format!(
        "
-- For connections with this role that do not go through the server.
ALTER ROLE {role} SET default_transaction_read_only = {read_only};
-- A query may spill to the disk, up to here. Only a superuser may set this limit.
DO $$ BEGIN
    ALTER ROLE {role} SET temp_file_limit = '1GB';
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'temp_file_limit was not set: a superuser may set it';
END $$;
"
    )
}

/// Returns a text in single quotes.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
