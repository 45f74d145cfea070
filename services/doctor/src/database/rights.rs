//! Checks of what a role may do.

use ziggurat_postgres::quoted;

use crate::{
    Finding,
    database::{each_or, facts::Facts},
};

const ROLE: &str = "db.role";
const WRITES: &str = "db.writes";
const READS: &str = "db.reads";

/// Attributes that make a role dangerous, whatever the program does.
const GRAVE: [&str; 2] = ["SUPERUSER", "BYPASSRLS"];

/// Checks the attributes and memberships of the role.
pub(super) fn role(facts: &Facts) -> Vec<Finding> {
    let role = quoted(&facts.role);
    let mut problems = Vec::new();
    for attribute in &facts.attributes {
        let finding = format!("the role {role} has {attribute}");
        let fix = format!("ALTER ROLE {role} NO{attribute};");
        problems.push(if GRAVE.contains(&&**attribute) {
            Finding::fail(ROLE, finding, fix)
        } else {
            Finding::warn(ROLE, finding, fix)
        });
    }
    for group in &facts.memberships {
        let finding = format!("the role {role} is a member of {group}");
        problems.push(Finding::fail(
            ROLE,
            finding,
            format!("REVOKE {group} FROM {role};"),
        ));
    }
    each_or(problems, || {
        Finding::ok(
            ROLE,
            format!("the role {role} has no privilege beyond its database"),
        )
    })
}

/// Checks what the role may change, against what the configuration allows.
pub(super) fn writes(allows_writes: bool, facts: &Facts) -> Vec<Finding> {
    if allows_writes {
        return vec![wanted(facts)];
    }
    each_or(unwanted(facts), || {
        Finding::ok(
            WRITES,
            "the role can change nothing, and allow_writes is off",
        )
    })
}

/// Checks that there is something to write to.
fn wanted(facts: &Facts) -> Finding {
    let role = quoted(&facts.role);
    if facts.is_standby {
        return Finding::warn(
            WRITES,
            "allow_writes is on, but the server is a standby and refuses writes",
            "target_session_attrs: primary",
        );
    }
    if facts.writable_count == 0 && facts.creatable.is_empty() {
        return Finding::warn(
            WRITES,
            "allow_writes is on, but the role may change no table",
            format!("GRANT INSERT, UPDATE, DELETE ON <table> TO {role};\nor allow_writes: false"),
        );
    }
    let count = facts.writable_count;
    Finding::ok(
        WRITES,
        format!("allow_writes is on, and the role may change {count} tables"),
    )
}

/// Returns a finding for each way to change something.
fn unwanted(facts: &Facts) -> Vec<Finding> {
    let (role, database) = (quoted(&facts.role), quoted(&facts.database));
    let mut problems = Vec::new();
    let mut warn = |finding: String, fix: String| {
        problems.push(Finding::warn(WRITES, finding, fix));
    };
    // Statements about a superuser would change nothing.
    if facts.is_superuser() {
        warn(
            "a superuser may change everything".to_owned(),
            "connect with a role that only reads".to_owned(),
        );
        return problems;
    }
    if facts.writable_count > 0 {
        let (count, names) = (facts.writable_count, facts.writable.join(", "));
        warn(
            format!("allow_writes is off, but the role may change {count} tables: {names}"),
            format!("REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON {names} FROM {role}, PUBLIC;"),
        );
    }
    if !facts.creatable.is_empty() {
        let names = facts.creatable.join(", ");
        warn(
            format!("the role may create tables in: {names}"),
            format!("REVOKE CREATE ON SCHEMA {names} FROM {role}, PUBLIC;"),
        );
    }
    if facts.creates_schemas {
        warn(
            format!("the role may create schemas in {database}"),
            format!("REVOKE CREATE ON DATABASE {database} FROM {role}, PUBLIC;"),
        );
    }
    if facts.makes_temporary {
        warn(
            "the role may create temporary tables".to_owned(),
            format!("REVOKE TEMPORARY ON DATABASE {database} FROM {role}, PUBLIC;"),
        );
    }
    if !facts.definers.is_empty() {
        let names = facts.definers.join(", ");
        warn(
            format!("the role may call functions with the rights of their owner: {names}"),
            format!("REVOKE EXECUTE ON FUNCTION {names} FROM {role}, PUBLIC;"),
        );
    }
    if !facts.dblink.is_empty() {
        let names = facts.dblink.join(", ");
        warn(
            "the role may open connections with dblink".to_owned(),
            format!("REVOKE EXECUTE ON FUNCTION {names} FROM {role}, PUBLIC;"),
        );
    }
    problems
}

/// Checks that the role sees a table.
pub(super) fn reads(facts: &Facts) -> Finding {
    if facts.tables > 0 {
        return Finding::ok(READS, format!("the role may read {} tables", facts.tables));
    }
    let role = quoted(&facts.role);
    let schemas = if facts.closed.is_empty() {
        vec!["public".to_owned()]
    } else {
        facts.closed.clone()
    };
    let schemas = schemas.join(", ");
    Finding::warn(
        READS,
        "the role may read no table",
        format!(
            "GRANT USAGE ON SCHEMA {schemas} TO {role};\n\
             GRANT SELECT ON ALL TABLES IN SCHEMA {schemas} TO {role};"
        ),
    )
}
