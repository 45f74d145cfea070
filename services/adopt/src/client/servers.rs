//! The entries that replace entries of servers that connect to a database.

use crate::{
    Adoption,
    client::{
        command::Command,
        paste::{Launch, Pairs},
    },
    report::Place,
    url,
};

/// The name of our program.
const PROGRAM: &str = "ziggurat-tools";

/// Stands for a secret in an entry.
const PASSWORD: &str = "<password>";

/// Names of this machine within a container.
const HOSTS_OF_MACHINE: [&str; 3] = [
    "host.docker.internal",
    "host.containers.internal",
    "172.17.0.1",
];

/// An entry that is being replaced.
pub(super) struct Replacement<'a> {
    pub(super) command: &'a Command,
    pub(super) place: Place<'a>,
    pub(super) config: &'a str,
    pub(super) adoption: &'a mut Adoption,
}

/// A connection URL without its password.
struct Target {
    url: String,
    has_password: bool,
    /// A variable of the client stands for the URL.
    is_variable: bool,
}

// === impl Replacement ===

impl Replacement<'_> {
    pub(super) fn changed(&mut self, what: impl Into<String>) {
        self.adoption.report.changed(self.place, what);
    }

    pub(super) fn missing(&mut self, what: impl Into<String>) {
        self.adoption.report.missing(self.place, what);
    }

    /// Replaces server-postgres.
    pub(super) fn reference(&mut self) -> Option<Launch> {
        let target = self.target(self.command.url())?;
        let compat = ["-compat", "server-postgres"].map(str::to_owned);
        self.adoption.report.same(
            self.place,
            "server-postgres: the tool query and its resources, by -compat server-postgres",
        );
        Some(self.with_argument(compat.to_vec(), target))
    }

    /// Replaces an entry of `DBHub` that names its database itself.
    pub(super) fn dbhub(&mut self) -> Option<Launch> {
        let command = self.command;
        if command.option("config").is_some() {
            self.missing("--config: give its dbhub.toml to -adopt");
            return None;
        }
        let dsn = command.option("dsn").or(command.variable("DSN"));
        let dsn = dsn.or(command.url());
        let target = self.target(dsn)?;
        self.changed(
            "execute_sql and search_objects are query_database and search_schema here; at most 100 \
             rows are returned unless row_limit is set",
        );
        if !command.has_option("readonly") && command.variable("READONLY") != Some("true") {
            self.reads_only("it may write");
        }
        if command.option("transport") == Some("http") {
            let port = command.option("port").unwrap_or("8080");
            let port = port.parse().unwrap_or(8080);
            return Some(self.over_http("--transport http", port, &target));
        }
        Some(self.with_argument(vec!["-negotiate".to_owned()], target))
    }

    /// Replaces postgres-mcp of Crystal DBA.
    pub(super) fn crystal(&mut self) -> Option<Launch> {
        let command = self.command;
        let uri = command.variable("DATABASE_URI").or(command.url());
        let target = self.target(uri)?;
        self.changed(
            "its nine tools have other names here, some of them in the administrator's pack, which \
             is on; the manual has a table",
        );
        self.adoption.dba = true;
        if command.option("access-mode") != Some("restricted") {
            self.reads_only("--access-mode=unrestricted");
        }
        let transport = command.option("transport");
        if let Some(transport @ ("sse" | "streamable-http")) = transport {
            let port = command.option(&format!("{transport}-port"));
            let port = port.and_then(|it| it.parse().ok()).unwrap_or(8000);
            return Some(self.over_http(&format!("--transport={transport}"), port, &target));
        }
        let mut env = vec![("DATABASE_URL", target.url)];
        env.extend(
            target
                .has_password
                .then(|| ("PGPASSWORD", PASSWORD.to_owned())),
        );
        let args = ["-negotiate", "-config", self.config].map(str::to_owned);
        Some(process(args.to_vec(), env))
    }

    /// Reports an entry of MCP Toolbox: its tools are in another file.
    pub(super) fn toolbox(&mut self) -> Option<Launch> {
        if self.command.option("prebuilt").is_some() {
            self.missing("--prebuilt: write the database into ziggurat-tools.yaml");
        } else {
            self.missing("MCP Toolbox: give its tools.yaml to -adopt");
        }
        None
    }

    fn reads_only(&mut self, why: &str) {
        self.changed(format!(
            "{why}: statements only read here; to let them write, set allow_writes: true of the \
             database, or ZIGGURAT_DB_ALLOW_WRITES=true"
        ));
    }

    fn target(&mut self, url: Option<&str>) -> Option<Target> {
        let Some(url) = url else {
            self.missing("no connection URL is named there");
            return None;
        };
        if url.starts_with("${") {
            return Some(Target {
                url: url.to_owned(),
                has_password: false,
                is_variable: true,
            });
        }
        match url::read(url) {
            Err(error) => {
                self.missing(error.to_string());
                None
            }
            Ok(read) => {
                if read.password.is_some() {
                    self.changed("the password is not in the URL any more: put it into PGPASSWORD");
                }
                let mut url = read.bare;
                let mut hosts = HOSTS_OF_MACHINE.iter();
                let is_host = |host: &&&str| read.hosts.split(':').next() == Some(host);
                if let Some(host) = hosts.find(is_host).filter(|_| self.command.is_container()) {
                    url = url.replacen(host, "localhost", 1);
                    self.changed(format!("{host} is localhost outside of a container"));
                }
                Some(Target {
                    url,
                    has_password: read.password.is_some(),
                    is_variable: false,
                })
            }
        }
    }

    /// Makes an entry with the URL as an argument, or as a variable if it may hold a password.
    fn with_argument(&mut self, mut args: Vec<String>, target: Target) -> Launch {
        let mut env = Vec::new();
        if target.is_variable {
            self.changed(
                "the URL is in DATABASE_URL, which other users of this machine cannot read",
            );
            env.push(("DATABASE_URL", target.url));
        } else {
            args.push(target.url);
        }
        env.extend(
            target
                .has_password
                .then(|| ("PGPASSWORD", PASSWORD.to_owned())),
        );
        process(args, env)
    }

    fn over_http(&mut self, why: &str, port: u16, target: &Target) -> Launch {
        let password = if target.has_password {
            " and PGPASSWORD"
        } else {
            ""
        };
        self.changed(format!(
            "{why}: start ziggurat-tools -config {} with DATABASE_URL={}{password}, and create the \
             token with -add-token",
            self.config, target.url
        ));
        self.adoption.address = Some(format!("127.0.0.1:{port}"));
        Launch::Http {
            kind: "http",
            url: format!("http://127.0.0.1:{port}/mcp"),
            headers: Pairs(vec![("Authorization", "Bearer <token>".to_owned())]),
        }
    }
}

fn process(args: Vec<String>, env: Vec<(&'static str, String)>) -> Launch {
    Launch::Process {
        command: PROGRAM,
        args,
        env: Pairs(env),
    }
}
