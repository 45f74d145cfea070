//! `dbhub.toml` of `DBHub`.

mod ssh;
#[cfg(test)]
mod tests;
mod tools;

use crate::{
    Adoption, Input, Surroundings,
    database::{Database, Reading},
    tree::Node,
    url,
};

/// Databases of other makers.
const OTHERS: [&str; 5] = ["mysql", "mariadb", "sqlserver", "sqlite", "oracle"];

/// Keys of a source that only other databases have, or that change nothing here.
const WITHOUT_EFFECT: [&str; 3] = ["id", "type", "lazy"];

/// Keys of a source without an equal here, and why.
const MISSING: [(&str, &str); 3] = [
    (
        "aws_iam_auth",
        "aws_iam_auth: use password_command with aws rds generate-db-auth-token",
    ),
    ("aws_region", "aws_region"),
    ("description", "description of a database"),
];

/// Reads the sources and the tools.
pub(crate) fn read(
    input: &Input<'_>,
    root: &Node,
    surroundings: &Surroundings<'_>,
    adoption: &mut Adoption,
) {
    let before = adoption.databases.len();
    let mut limited = Vec::new();
    for node in root.find("sources").map(Node::list).unwrap_or_default() {
        let name = node.find_text("id").unwrap_or_else(|| "default".to_owned());
        let mut reading = Reading {
            place: input.place(node.line, &name),
            surroundings,
            report: &mut adoption.report,
        };
        if let Some(database) = source(node, &name, &mut reading) {
            limited.push(false);
            adoption.add_database(database, input.place(node.line, &name));
        }
    }
    for node in root.find("tools").map(Node::list).unwrap_or_default() {
        tools::read(input, node, surroundings, adoption, &mut limited, before);
    }
    for (database, _) in (before..adoption.databases.len())
        .zip(limited)
        .filter(|(_, it)| !it)
    {
        let name = adoption.databases[database].name.clone();
        let sources = root
            .find("sources")
            .map(Node::list)
            .unwrap_or_default()
            .iter();
        let mut lines = sources.filter(|it| it.find_text("id").as_deref() == Some(&*name));
        let line = lines.next().map_or(1, |it| it.line);
        adoption
            .report
            .changed(input.place(line, &name), tools::READS_ONLY);
    }
    for (name, node) in root.members() {
        if !matches!(name.as_str(), "sources" | "tools") {
            adoption.report.missing(
                input.place(node.line, name),
                "a section that is not known here",
            );
        }
    }
}

fn source(node: &Node, name: &str, reading: &mut Reading<'_>) -> Option<Database> {
    let dsn = node.find_text("dsn");
    let kind = node.find_text("type").or_else(|| {
        let (scheme, _) = dsn.as_deref()?.split_once("://")?;
        Some(scheme.to_owned())
    });
    match kind.as_deref() {
        Some("postgres" | "postgresql") => {}
        Some(other) if OTHERS.contains(&other) => {
            reading.missing(format!("a {other} database"));
            return None;
        }
        _ => {
            reading.missing("a database that is not PostgreSQL");
            return None;
        }
    }
    let mut database = Database::new(name);
    let lines = reading.report.len();
    match dsn.as_deref() {
        Some(dsn) if url::is_url(dsn) => database.set_url(dsn, reading),
        Some(_) => database.set_url("", reading),
        None => {}
    }
    for (key, member) in node.members() {
        let text = member.text().unwrap_or_default();
        match key.as_str() {
            "host" if dsn.is_none() => database.set("host", &text, reading),
            "port" if dsn.is_none() => database.set("port", &text, reading),
            "database" if dsn.is_none() => database.set("database", &text, reading),
            "user" if dsn.is_none() => database.set("user", &text, reading),
            "dsn" | "host" | "port" | "database" | "user" => {}
            "password" => database.set_password(&text.into(), reading),
            "sslmode" => database.set_ssl_mode(&text, reading),
            "sslrootcert" => root_certificate(&mut database, &text, reading),
            "connection_timeout" => database.set_seconds("connect_timeout", &text, reading),
            "query_timeout" => database.set_seconds("query_timeout", &text, reading),
            "search_path" => search_path(&database, &text, reading),
            key if key.starts_with("ssh_") || WITHOUT_EFFECT.contains(&key) => {}
            key => match MISSING.iter().find(|(known, _)| *known == key) {
                Some((_, what)) => reading.missing(*what),
                None => reading.missing(format!("{key}: not known here")),
            },
        }
    }
    ssh::read(node, &mut database, reading);
    if reading.report.len() == lines {
        reading.same(format!("database {name}"));
    }
    Some(database)
}

/// Sets the file of certificates, in which `~` is the home of the person who reads it.
fn root_certificate(database: &mut Database, written: &str, reading: &mut Reading<'_>) {
    if written.starts_with("~/") {
        reading.changed("sslrootcert: write the path without ~");
        database.comment(format!("sslrootcert: {written}"));
    } else {
        database.set("sslrootcert", written, reading);
    }
}

fn search_path(database: &Database, written: &str, reading: &mut Reading<'_>) {
    let is_plain = |it: &str| {
        !it.is_empty()
            && it
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let schemas: Vec<_> = written.split(',').map(str::trim).collect();
    let user = database.text("user").unwrap_or("<user>");
    if schemas.iter().all(|it| is_plain(it)) {
        let (user, schemas) = (user.replace('"', "\"\""), schemas.join(", "));
        reading.changed(format!(
            "search_path: run ALTER ROLE \"{user}\" SET search_path = {schemas};"
        ));
    } else {
        reading.changed("search_path: run ALTER ROLE … SET search_path for its schemas");
    }
}
