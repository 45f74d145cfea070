//! Sources: connections to databases.

use crate::{
    Adoption, Input, Surroundings,
    database::{Database, Reading},
    toolbox::Item,
    tree::{Node, Value},
    url,
    variables::{Filled, fill},
};

/// The sources of a configuration that are databases of PostgreSQL, by the positions of our entries.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<(String, usize)>);

// === impl Sources ===

impl Sources {
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, at)| *at)
    }

    pub(super) fn read(
        &mut self,
        input: &Input<'_>,
        item: Item<'_>,
        surroundings: &Surroundings<'_>,
        adoption: &mut Adoption,
    ) {
        let place = input.place(item.node.line, item.name);
        let mut reading = Reading {
            place,
            surroundings,
            report: &mut adoption.report,
        };
        let kind = item.kind();
        let database = match kind.as_str() {
            "postgres" => entry(item, &mut reading),
            "cloud-sql-postgres" | "alloydb-postgres" => cloud(item, &kind, &mut reading),
            kind => {
                reading.missing(format!("a source of the kind {kind}"));
                return;
            }
        };
        if let Some(at) = adoption.add_database(database, place) {
            self.0.push((item.name.to_owned(), at));
        }
    }
}

fn entry(item: Item<'_>, reading: &mut Reading<'_>) -> Database {
    let lines = reading.report.len();
    let mut database = Database::new(item.name);
    for key in ["host", "port", "database", "user"] {
        if let Some(text) = item.node.find_text(key) {
            database.set(key, &text, reading);
        }
    }
    credentials(item.node, &mut database, reading);
    if reading.report.len() == lines {
        reading.same(format!("database {}", item.name));
    }
    database
}

fn credentials(node: &Node, database: &mut Database, reading: &mut Reading<'_>) {
    if let Some(password) = node.find_text("password") {
        database.set_password(&password.into(), reading);
    }
    if let Some(parameters) = node.find("queryParams") {
        let pairs = match &parameters.value {
            Value::Text(written) => pairs(written, reading),
            _ => parameters
                .members()
                .iter()
                .filter_map(|(name, it)| Some((name.clone(), it.text()?)))
                .collect(),
        };
        database.set_parameters(&pairs, reading);
    }
    if node.find_bool("readOnly") == Some(false) {
        reading.changed("readOnly: false: statements only read here, unless allow_writes is true");
    }
    if node.find("queryExecMode").is_some() {
        reading.changed("queryExecMode: behind a pooler, see pooler");
    }
}

/// Returns the parameters of a text such as `sslmode=require&a=b`.
fn pairs(written: &str, reading: &mut Reading<'_>) -> Vec<(String, String)> {
    let filled = match fill(written, reading.surroundings.variable) {
        Filled::Text(text) | Filled::Default(text, _) => text,
        Filled::Unset(name) => {
            reading.changed(format!(
                "queryParams: {name} is not filled in: write its value"
            ));
            return Vec::new();
        }
    };
    let read = url::read(&format!("postgres:///?{filled}"));
    if read.is_err() {
        reading.changed("queryParams: it is not name=value, with & in between");
    }
    read.map(|url| url.parameters).unwrap_or_default()
}

/// Reads a source of a cloud, which names an instance instead of a host.
fn cloud(item: Item<'_>, kind: &str, reading: &mut Reading<'_>) -> Database {
    let mut database = Database::new(item.name);
    database.lacks_host = true;
    let parts = ["project", "region", "cluster", "instance"];
    let parts: Vec<_> = parts
        .iter()
        .filter_map(|key| item.node.find_text(key))
        .collect();
    let instance = parts.join(":");
    database.comment(format!("host: the address of {instance}"));
    reading.changed(format!("host: fill in the address of {instance}"));
    for key in ["database", "user"] {
        if let Some(text) = item.node.find_text(key) {
            database.set(key, &text, reading);
        }
    }
    if item.node.find("password").is_some() {
        credentials(item.node, &mut database, reading);
    } else {
        let command = match kind {
            "cloud-sql-postgres" => ["gcloud", "sql", "generate-login-token"],
            _ => ["gcloud", "auth", "print-access-token"],
        };
        database.set_password_command(command.map(str::to_owned).to_vec());
        database.set_ssl_mode("require", reading);
        reading.changed("IAM: password_command asks gcloud for a token; user is the IAM user");
        if item.node.find("user").is_none() {
            database.comment("user: the IAM user");
        }
    }
    database
}
