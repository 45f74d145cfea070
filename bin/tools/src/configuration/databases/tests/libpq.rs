//! Variables and services of libpq, and a comparison with psql.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::Command,
    task::{self, JoinSet},
    time,
};
use ziggurat_postgres::{
    database::{
        Database, MinTls,
        parameters::{REFUSED, VARIABLES},
    },
    pool::Pools,
};

use super::super::libpq::key;
use crate::configuration::fixture::Case;

const MANUAL: &str = include_str!("../../../../../../docs/src/databases.md");

/// Returns the database of a case.
fn database(case: &Case) -> Arc<Database> {
    Arc::clone(&case.configuration().databases[0].database)
}

/// Reads the table of the manual: the names of the variables and their effects.
fn table() -> BTreeMap<&'static str, &'static str> {
    let rows = MANUAL.lines().filter_map(|line| {
        let (name, effect) = line.strip_prefix("| `PG")?.split_once("` | ")?;
        Some((name, effect.trim_end_matches(" |")))
    });
    rows.collect()
}

#[test]
fn the_manual_names_the_variables_that_count_and_those_that_are_refused() {
    let elsewhere = [
        "PASSWORD",
        "PASSFILE",
        "SERVICE",
        "SERVICEFILE",
        "SYSCONFDIR",
    ];
    let read = VARIABLES
        .iter()
        .map(|(name, ..)| name.trim_start_matches("PG"));
    let read: BTreeSet<_> = read.chain(elsewhere).collect();
    let table = table();
    let (refused, counted): (Vec<_>, Vec<_>) = table
        .iter()
        .partition(|(_, effect)| effect.starts_with("refused"));
    let counted: BTreeSet<_> = counted.into_iter().map(|(name, _)| *name).collect();
    assert_eq!(counted, read);
    let expected = REFUSED.iter().map(|(name, value)| {
        let effect = value.map_or("refused".to_owned(), |value| {
            format!("refused if `{value}`")
        });
        (name.trim_start_matches("PG").to_owned(), effect)
    });
    let expected = expected.collect::<BTreeMap<_, _>>();
    let refused = refused
        .into_iter()
        .map(|(name, effect)| ((*name).to_owned(), (*effect).to_owned()));
    assert_eq!(refused.collect::<BTreeMap<_, _>>(), expected);
}

#[test]
fn each_variable_that_counts_changes_the_first_database_alone() {
    let file = "databases: [{name: a, hosts: []}, {name: b, user: u}]";
    let shown = |variables: &[(&str, &str)]| {
        let all = [&[("PGUSER", "u")], variables].concat();
        let databases = Case::new().file(file).env(&all).configuration().databases;
        [0, 1].map(|at| format!("{:?}", databases[at].database))
    };
    let [before, second] = shown(&[]);
    for (name, parameter) in VARIABLES {
        let key = key(parameter);
        let value = match key {
            "hostaddr" => "127.0.0.9",
            "port" => "99",
            "sslmode" => "require",
            "connect_timeout" => "7",
            "target_session_attrs" => "primary",
            "ssl_min_protocol_version" => "TLSv1.3",
            "load_balance_hosts" => "random",
            // A file that is not there is an error.
            "sslrootcert" | "sslcert" | "sslkey" => {
                let error = Case::new()
                    .file(file)
                    .env(&[("PGUSER", "u"), (name, "/no")])
                    .error();
                assert!(
                    error.contains("database 'a': sslcert and ")
                        || error.contains("cannot be read"),
                    "{error}"
                );
                continue;
            }
            _ => "other",
        };
        let [after, untouched] = shown(&[(name, value)]);
        assert_ne!(after, before, "{name}");
        assert_eq!(untouched, second, "{name}");
    }
}

#[test]
fn a_variable_that_would_weaken_the_connection_is_refused() {
    let with = |name: &str, value: &str| Case::new().env(&[("PGUSER", "u"), (name, value)]);
    for (name, value) in REFUSED {
        let error = with(name, value.unwrap_or("other")).error();
        assert!(
            error.ends_with(&format!("{name} is not supported")),
            "{error}"
        );
        if value.is_some() {
            database(&with(name, "prefer"));
        }
        // It does not matter without a database.
        let case = Case::new().env(&[(name, value.unwrap_or("other"))]);
        assert!(case.configuration().databases.is_empty());
    }
}

#[test]
fn a_service_fills_what_the_entry_leaves_out_and_comes_before_the_variables() {
    let case = Case::new();
    std::fs::write(
        case.path("services"),
        "[shop]\nhost=service\nport=7\nuser=service\npassword=swordfish\ndbname=service\n\
         ssl_min_protocol_version=TLSv1.3\n",
    )
    .expect("written");
    let path = case.path("services").display().to_string();
    let variables = [
        ("PGSERVICEFILE", &*path),
        ("PGHOST", "variable"),
        ("PGPORT", "8"),
        ("PGPASSWORD", "trout"),
        ("PGAPPNAME", "variable"),
    ];
    let case = case
        .file("databases: [{name: a, service: shop, user: entry}, {name: b, service: shop}]")
        .env(&variables)
        .words("-db-name flag");
    let databases = case.configuration().databases;
    let shown = |at: usize| {
        let settings = databases[at].database.settings();
        assert_eq!(settings.min_tls, MinTls::V13);
        assert_eq!(super::password(&databases[at]), "swordfish");
        let settings = settings.clone();
        (
            settings.host,
            settings.port,
            settings.user,
            settings.database,
            settings.application_name,
        )
    };
    let texts = |host: &str, port, user: &str, database: &str, name: &str| {
        (
            host.to_owned(),
            port,
            user.to_owned(),
            database.to_owned(),
            name.to_owned(),
        )
    };
    assert_eq!(shown(0), texts("service", 7, "entry", "flag", "variable"));
    assert_eq!(
        shown(1),
        texts("service", 7, "service", "service", "ziggurat")
    );
}

#[test]
fn an_unknown_service_and_an_unknown_key_name_the_file_and_the_line() {
    let case = Case::new();
    let path = case.path("services").display().to_string();
    std::fs::write(&path, "[shop]\nuser=u\nhots=db\n").expect("written");
    let case = case.env(&[("PGSERVICEFILE", &path), ("PGSERVICE", "shop")]);
    let expected = "database 'default': services:3: the key 'hots' is not known";
    assert!(case.error().contains(expected), "{}", case.error());
    let case = case.env(&[("PGSERVICEFILE", &path), ("PGSERVICE", "chop")]);
    let expected = "database 'default': services: the service 'chop' is not defined";
    assert!(case.error().contains(expected), "{}", case.error());
}

/// Servers that record how a client begins, and refuse it.
struct Recorder {
    ports: [u16; 3],
    seen: Arc<Mutex<Vec<String>>>,
    /// Clones belong to connections that are open.
    open: Arc<()>,
    _tasks: JoinSet<()>,
}

/// Addresses of the servers.
const ADDRESSES: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.1"];

impl Recorder {
    async fn start() -> Self {
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let open = Arc::new(());
        let mut tasks = JoinSet::new();
        let mut ports = [0; 3];
        for (at, address) in ADDRESSES.into_iter().enumerate() {
            let listener = TcpListener::bind((address, 0)).await.expect("a port");
            ports[at] = listener.local_addr().expect("bound").port();
            let (seen, open) = (Arc::clone(&seen), Arc::clone(&open));
            tasks.spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let _open = Arc::clone(&open);
                    let mut record = format!("{at}");
                    let _ = serve(stream, &mut record).await;
                    seen.lock().expect("no panic").push(record);
                }
            });
        }
        Self {
            ports,
            seen,
            open,
            _tasks: tasks,
        }
    }

    /// Returns how the last clients began, one after the other.
    async fn take(&self) -> Vec<String> {
        // Each server holds one as well.
        let closed = async {
            while Arc::strong_count(&self.open) > 1 + ADDRESSES.len() {
                task::yield_now().await;
            }
        };
        let closed = time::timeout(Duration::from_secs(20), closed).await;
        closed.expect("clients that have ended close");
        std::mem::take(&mut *self.seen.lock().expect("no panic"))
    }

    /// Replaces the names of ports.
    fn filled(&self, text: &str) -> String {
        let [a, b, c] = self.ports.map(|port| port.to_string());
        text.replace("{A}", &a)
            .replace("{B}", &b)
            .replace("{C}", &c)
    }
}

/// Reads the beginning of a connection: whether it asks for TLS, then its parameters.
async fn serve(mut stream: TcpStream, record: &mut String) -> io::Result<()> {
    loop {
        let length = stream.read_u32().await?;
        let code = stream.read_u32().await?;
        let mut rest = vec![
            0;
            usize::try_from(length.saturating_sub(8))
                .unwrap_or(0)
                .min(10_000)
        ];
        stream.read_exact(&mut rest).await?;
        // A request for TLS, and one for encryption by GSSAPI.
        if code == 80_877_103 || code == 80_877_104 {
            if code == 80_877_103 {
                record.push_str(" tls");
            }
            stream.write_all(b"N").await?;
            continue;
        }
        let text = String::from_utf8_lossy(&rest).into_owned();
        let words: Vec<_> = text.split('\0').collect();
        let named = ["user", "database", "application_name", "options"];
        let pairs: BTreeMap<_, _> = words
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        for name in named {
            let value = pairs.get(name).unwrap_or(&"");
            write!(record, " {name}={value}").expect("a string");
        }
        let fields = b"SFATAL\0VFATAL\0C28000\0Mno\0\0";
        let size = u32::try_from(fields.len() + 4).expect("short");
        stream.write_all(b"E").await?;
        stream.write_u32(size).await?;
        return stream.write_all(fields).await;
    }
}

/// Sources of settings: variables, a service, and the parameters of a URL or none for flags.
type Sources = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const ENVIRONMENTS: [&[(&str, &str)]; 6] = [
    &[("PGUSER", "e"), ("PGHOST", "127.0.0.1"), ("PGPORT", "{A}"), ("PGDATABASE", "e")],
    &[("PGUSER", "e"), ("PGHOST", "localhost"), ("PGHOSTADDR", "127.0.0.2"), ("PGPORT", "{B}"), ("PGDATABASE", "e"), ("PGSSLMODE", "disable"), ("PGAPPNAME", "e")],
    &[("PGUSER", "e"), ("PGHOST", "127.0.0.1,127.0.0.2"), ("PGPORT", "{A},{B}"), ("PGDATABASE", "e"), ("PGSSLMODE", "require")],
    &[("PGUSER", "e"), ("PGHOST", "127.0.0.1,127.0.0.1"), ("PGPORT", "{C},{A}"), ("PGDATABASE", "e"), ("PGOPTIONS", "-c work_mem=1MB"), ("PGSSLMODE", "disable")],
    &[("PGUSER", "e"), ("PGHOSTADDR", "127.0.0.1"), ("PGPORT", "{C}"), ("PGDATABASE", "e"), ("PGSSLMODE", "allow"), ("PGCONNECT_TIMEOUT", "9")],
    &[("PGUSER", "e"), ("PGHOST", "127.0.0.1"), ("PGPORT", "{C}"), ("PGDATABASE", "e"), ("PGAPPNAME", "a b"), ("PGGSSENCMODE", "disable")],
];

const SERVICES: [&str; 5] = [
    "",
    "host=127.0.0.1\nport={C}\nuser=s\ndbname=s\n",
    "host=127.0.0.2\nport={B}\nsslmode=disable\napplication_name=s\n",
    "user=s\nsslmode=require\nconnect_timeout=5\n",
    "host=127.0.0.1\nhostaddr=127.0.0.2\nport={B}\ndbname=s\noptions=-c geqo=off\n",
];

const URLS: [&str; 5] = [
    "postgres://",
    "postgres://u@127.0.0.1:{A}/u",
    "postgres://u@/u?sslmode=disable&application_name=u",
    "postgres://127.0.0.1:{C}/?hostaddr=127.0.0.1&sslmode=prefer",
    "postgresql:///u?host=127.0.0.2&port={B}&user=u&sslmode=require",
];

fn combinations() -> impl Iterator<Item = Sources> {
    ENVIRONMENTS.into_iter().flat_map(|environment| {
        SERVICES
            .into_iter()
            .flat_map(move |service| URLS.into_iter().map(move |url| (environment, service, url)))
    })
}

#[tokio::test]
async fn a_url_a_service_and_variables_lead_where_psql_goes() {
    let Some(psql) = psql() else {
        eprintln!("there is no psql to compare with");
        return;
    };
    let recorder = Recorder::start().await;
    let (pools, _reaper) = Pools::new();
    let mut count = 0;
    for (environment, service, url) in combinations() {
        let mut variables: Vec<_> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), recorder.filled(value)))
            .collect();
        let case = Case::new();
        if !service.is_empty() {
            let path = case.path("services");
            let text = recorder.filled(&format!("[s]\n{service}"));
            std::fs::write(&path, text).expect("written");
            variables.push(("PGSERVICEFILE".to_owned(), path.display().to_string()));
            variables.push(("PGSERVICE".to_owned(), "s".to_owned()));
        }
        let url = recorder.filled(url);
        let status = Command::new(&psql)
            .args(["-X", "-w", "-c", "SELECT 1", &url])
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(!status.await.expect("psql").success());
        // After a refusal, this server tries more than psql.
        let first = |seen: Vec<String>| seen.into_iter().next();
        let expected = first(recorder.take().await);
        let given: Vec<_> = variables
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        // Both refuse lists of hosts and ports that differ in length.
        if let Ok(loaded) = case.env(&given).words(&url).load() {
            let database = &loaded.value.databases[0].database;
            assert!(pools.connect_once(database).await.is_err());
        }
        let found = first(recorder.take().await);
        // psql and this server have names of their own for the application.
        let names = ["application_name=psql", "application_name=ziggurat"];
        let own = |seen: Option<String>| {
            let replaced = |text: String, name: &&str| text.replace(name, "own");
            seen.map(|seen| names.iter().fold(seen, replaced))
        };
        let has_begun = expected.is_some();
        assert_eq!(own(found), own(expected), "{given:?} {url}");
        count += usize::from(has_begun);
    }
    assert_eq!(combinations().count(), 150);
    assert!(count > 100, "{count} have begun");
}

/// Returns the program psql, if there is one.
fn psql() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&path);
    folders.find_map(|folder| Some(folder.join("psql")).filter(|psql| psql.is_file()))
}
