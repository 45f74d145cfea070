mod connect;
mod libpq;

use std::time::Duration;

use secrecy::ExposeSecret as _;
use ziggurat_postgres::database::SslMode;
use ziggurat_postgres::database::{Host, HostOrder, MinTls, Password, TargetSessionAttrs};

use super::check;
use crate::configuration::{Entry, fixture::Case};

fn databases(case: &Case) -> Vec<Entry> {
    case.configuration().databases
}

fn names(case: &Case) -> Vec<String> {
    let entries = databases(case).into_iter();
    entries
        .map(|entry| entry.database.name().to_owned())
        .collect()
}

#[test]
fn every_key_of_a_database_is_taken() {
    let text = "
databases:
  - name: a
    host: h
    port: 1
    database: d
    user: u
    password: p
    sslmode: require
    allow_writes: true
    available_to_users: [alice]
    pool_max_conns: 2
    pool_min_conns: 1
    max_total_connections: 8
    lease_timeout: 7s
    application_name: n
    pool_max_conn_idle_time: 3s
    pool_max_conn_lifetime: 4s
    connect_timeout: 5s
    metadata_ttl: '0'
    query_timeout: '0'
    row_limit: 6
";
    let [entry] = &databases(&Case::new().file(text))[..] else {
        panic!("one");
    };
    let settings = entry.database.settings();
    assert_eq!(settings.name, "a");
    assert_eq!((settings.host.as_str(), settings.port), ("h", 1));
    assert_eq!(
        (settings.database.as_str(), settings.user.as_str()),
        ("d", "u")
    );
    assert!(matches!(settings.ssl_mode, SslMode::Require));
    assert!(settings.allow_writes);
    assert_eq!(entry.users, ["alice"]);
    assert_eq!(settings.max_connections, 2);
    assert_eq!(settings.max_idle, Duration::from_secs(3));
    assert_eq!(settings.max_lifetime, Duration::from_secs(4));
    assert_eq!(settings.connect_timeout, Duration::from_secs(5));
    assert_eq!(settings.metadata_ttl, Duration::ZERO);
    assert_eq!(settings.query_timeout, Duration::ZERO);
    assert_eq!(settings.row_limit, 6);
    assert_eq!(settings.lease_timeout, Duration::from_secs(7));
    assert_eq!(settings.min_connections, 1);
    assert_eq!(settings.max_total_connections, 8);
    assert_eq!(settings.application_name, "n");
}

#[test]
fn parameters_of_a_url_are_keys_too_and_another_host_has_another_address() {
    let text = "
databases:
  - name: a
    host: h
    hostaddr: 10.0.0.7
    user: u
    options: -c geqo=off
    ssl_min_protocol_version: TLSv1.3
    load_balance_hosts: random
";
    let case = Case::new().file(text);
    let [entry] = &databases(&case)[..] else {
        panic!("one");
    };
    let settings = entry.database.settings();
    let address = settings.hosts[0].address.map(|it| it.to_string());
    assert_eq!(settings.hosts[0].name, "h");
    assert_eq!(address.as_deref(), Some("10.0.0.7"));
    assert_eq!(settings.options.as_deref(), Some("-c geqo=off"));
    assert!(matches!(settings.min_tls, MinTls::V13));
    assert!(matches!(settings.host_order, HostOrder::Random));
    let other = case.env(&[("ZIGGURAT_DB_HOST", "other")]);
    let settings = databases(&other);
    let settings = settings[0].database.settings();
    assert_eq!((settings.host.as_str(), settings.hosts.len()), ("other", 0));
}

#[test]
fn every_entry_has_the_defaults() {
    let case = Case::new().file("databases: [{name: a, user: u}, {name: b, user: u}]");
    for entry in databases(&case) {
        let settings = entry.database.settings();
        assert_eq!((settings.host.as_str(), settings.port), ("localhost", 5432));
        assert_eq!(settings.database, "postgres");
        assert!(matches!(settings.ssl_mode, SslMode::Prefer));
        assert_eq!(settings.max_connections, 4);
        assert_eq!(settings.max_idle, Duration::from_mins(5));
        assert_eq!(settings.max_total_connections, 50);
        assert_eq!(settings.connect_timeout, Duration::from_secs(10));
        assert_eq!(settings.query_timeout, Duration::from_secs(30));
        assert_eq!(settings.metadata_ttl, Duration::from_mins(5));
        assert_eq!(settings.row_limit, 100);
    }
}

#[test]
fn the_environment_and_the_command_line_configure_the_first_database() {
    let file = "databases: [{name: a, user: f, host: f}, {name: b, user: f, host: f}]";
    let case = Case::new()
        .file(file)
        .env(&[
            ("ZIGGURAT_DB_HOST", "e"),
            ("ZIGGURAT_DB_PORT", "2"),
            ("ZIGGURAT_DB_NAME", "e"),
            ("ZIGGURAT_DB_USER", "e"),
            ("ZIGGURAT_DB_SSLMODE", "disable"),
            ("ZIGGURAT_DB_ALLOW_WRITES", "1"),
            ("ZIGGURAT_DB_ROW_LIMIT", "7"),
        ])
        .words("-db-user c -db-port 3");
    let entries = databases(&case);
    let first = entries[0].database.settings();
    assert_eq!(
        (first.name.as_str(), first.host.as_str(), first.port),
        ("a", "e", 3)
    );
    assert_eq!((first.database.as_str(), first.user.as_str()), ("e", "c"));
    assert!(matches!(first.ssl_mode, SslMode::Disable));
    assert!(first.allow_writes);
    assert_eq!(first.row_limit, 7);
    let second = entries[1].database.settings();
    assert_eq!(
        (second.name.as_str(), second.host.as_str(), second.port),
        ("b", "f", 5432)
    );
    assert_eq!(
        (second.database.as_str(), second.user.as_str()),
        ("postgres", "f")
    );
    assert!(!second.allow_writes);
}

#[test]
fn a_user_or_a_flag_adds_a_database_if_none_is_configured() {
    for (case, expected) in [
        (Case::new(), &[][..]),
        (Case::new().env(&[("PGUSER", "u")]), &["default"]),
        (Case::new().env(&[("ZIGGURAT_DB_USER", "u")]), &["default"]),
        (
            Case::new().env(&[("PGHOST", "h"), ("ZIGGURAT_DB_HOST", "h")]),
            &[],
        ),
        (Case::new().words("-db-user u"), &["default"]),
        (
            Case::new()
                .file("databases: [{name: a, user: u}]")
                .env(&[("PGUSER", "u")]),
            &["a"],
        ),
        (
            Case::new()
                .file("databases: [{name: a, user: u}]")
                .words("-db-user c"),
            &["a"],
        ),
    ] {
        assert_eq!(names(&case), expected, "{case:?}");
    }
    let error = Case::new().words("-db-port 1").error();
    assert!(
        error.contains("database 'default': user is required"),
        "{error}"
    );
}

#[test]
fn variables_of_libpq_fill_settings_that_were_left_out() {
    let all = [
        ("PGHOST", "pg"),
        ("PGPORT", "9"),
        ("PGDATABASE", "pg"),
        ("PGUSER", "pg"),
        ("PGPASSWORD", "pg"),
        ("PGSSLMODE", "disable"),
    ];
    let file = "
databases:
  - {name: a}
  - {name: b, user: u}
";
    let entries = databases(&Case::new().file(file).env(&all));
    let show = |entry: &Entry| {
        let s = entry.database.settings();
        format!(
            "{} {} {} {} {:?}",
            s.host, s.port, s.database, s.user, s.ssl_mode
        )
    };
    assert_eq!(show(&entries[0]), "pg 9 pg pg Disable");
    assert_eq!(show(&entries[1]), "localhost 5432 postgres u Prefer");
    assert_eq!(password(&entries[0]), "pg");
    // The password is used for every database that has none.
    assert_eq!(password(&entries[1]), "pg");

    // Writing a default explicitly does not change its meaning.
    let file =
        "databases: [{name: a, host: localhost, port: 5432, database: postgres, sslmode: prefer}]";
    assert_eq!(
        show(&databases(&Case::new().file(file).env(&all))[0]),
        "pg 9 pg pg Disable"
    );

    let file = "databases: [{name: a, host: h, port: 1, database: d, user: u, password: p, sslmode: allow}]";
    let entries = databases(&Case::new().file(file).env(&all));
    assert_eq!(show(&entries[0]), "h 1 d u Allow");
    assert_eq!(password(&entries[0]), "p");

    let case = Case::new().env(&all).words("-db-host h -db-password p");
    assert_eq!(show(&databases(&case)[0]), "h 9 pg pg Disable");
    assert_eq!(password(&databases(&case)[0]), "p");
}

#[test]
fn numbered_variables_add_databases_and_override_those_of_the_file() {
    let file = "databases: [{name: a, user: f, host: f}, {name: b, user: f, host: f}]";
    let case = Case::new().file(file).env(&[
        ("ZIGGURAT_DB_1_NAME", "b"),
        ("ZIGGURAT_DB_1_HOST", "e"),
        ("ZIGGURAT_DB_1_DATABASE", "d"),
        ("ZIGGURAT_DB_3_NAME", "c"),
        ("ZIGGURAT_DB_3_USER", "e"),
        ("ZIGGURAT_DB_3_AVAILABLE_TO_USERS", "alice, bob"),
        ("ZIGGURAT_DB_4_HOST", "nowhere"),
    ]);
    assert_eq!(names(&case), ["a", "b", "c"]);
    let entries = databases(&case);
    let second = entries[1].database.settings();
    assert_eq!((second.host.as_str(), second.user.as_str()), ("e", "f"));
    assert_eq!(second.database, "d");
    assert_eq!(entries[2].users, ["alice", "bob"]);
    assert_eq!(
        case.warnings(),
        ["ZIGGURAT_DB_4_NAME is not set, so the other variables ZIGGURAT_DB_4_… are ignored"]
    );
}

#[test]
fn passwords_are_not_in_debug_output() {
    let case = Case::new()
        .file("databases: [{name: a, user: u, password: swordfish}]")
        .env(&[
            ("ZIGGURAT_DB_2_NAME", "b"),
            ("ZIGGURAT_DB_2_USER", "u"),
            ("ZIGGURAT_DB_2_PASSWORD", "trout"),
        ]);
    let text = format!("{:?}", case.load().expect("good"));
    assert!(
        !text.contains("swordfish") && !text.contains("trout"),
        "{text}"
    );
}

#[test]
fn one_host_and_several_replace_each_other() {
    const LIST: &str =
        "databases: [{name: a, user: u, port: 7, hosts: [{host: f1, port: 1}, {host: f2}]}]";
    const ONE: &str = "databases: [{name: a, user: u, port: 7, host: f}]";
    let several = |text: &str| vec![text.to_owned()];
    let of = |case: &Case| -> Vec<String> {
        let hosts = databases(case)[0].database.settings().all_hosts();
        hosts.iter().map(Host::to_string).collect()
    };
    let env = |name: &'static str, value: &'static str| [(name, value)];
    for (case, expected) in [
        (
            Case::new().file(LIST),
            vec!["f1:1".to_owned(), "f2:7".to_owned()],
        ),
        (
            Case::new().file(LIST).env(&env("ZIGGURAT_DB_HOST", "e")),
            several("e:7"),
        ),
        (
            Case::new().file(LIST).env(&env("PGHOST", "pg")),
            of(&Case::new().file(LIST)),
        ),
        (Case::new().file(LIST).words("-db-host c"), several("c:7")),
        (
            Case::new().file(ONE).env(&env("ZIGGURAT_DB_HOSTS", "e:2")),
            several("e:2"),
        ),
        (
            Case::new()
                .file(ONE)
                .env(&env("ZIGGURAT_DB_HOST", "e"))
                .words("-db-hosts c"),
            several("c:7"),
        ),
        (
            Case::new().words("-db-user u -db-hosts a:1,b:2"),
            vec!["a:1".to_owned(), "b:2".to_owned()],
        ),
    ] {
        assert_eq!(of(&case), expected, "{case:?}");
    }
    let both = [("ZIGGURAT_DB_HOST", "a"), ("ZIGGURAT_DB_HOSTS", "b")];
    assert_eq!(
        Case::new().file(ONE).env(&both).error(),
        "invalid configuration: database 'a': hosts and host exclude each other"
    );
}

#[test]
fn the_required_host_state_is_read_from_each_source() {
    let target = |case: &Case| databases(case)[0].database.settings().target_session_attrs;
    let file =
        || Case::new().file("databases: [{name: a, user: u, target_session_attrs: standby}]");
    assert_eq!(target(&file()), TargetSessionAttrs::Standby);
    let env = file().env(&[("ZIGGURAT_DB_TARGET_SESSION_ATTRS", "primary")]);
    assert_eq!(target(&env), TargetSessionAttrs::Primary);
    let flag = env.words("-db-target-session-attrs any");
    assert_eq!(target(&flag), TargetSessionAttrs::Any);
}

#[test]
fn certificates_are_read_when_the_configuration_is_checked() {
    let case = Case::new().words("-db-user u -db-sslrootcert /nonexistent/root.pem");
    assert_eq!(
        case.error(),
        "invalid configuration: database 'default': sslrootcert cannot be read: No such file or directory (os error 2)"
    );
    let case = Case::new().words("-db-user u -db-sslcert /nonexistent/c.pem");
    assert_eq!(
        case.error(),
        "invalid configuration: database 'default': sslcert and sslkey must be set together"
    );
}

#[test]
fn lists_of_hosts_are_parsed() {
    for (text, expected) in [
        ("a", Some(&[("a", 7)][..])),
        ("a:1", Some(&[("a", 1)])),
        ("a:1, b", Some(&[("a", 1), ("b", 7)])),
        ("[::1]:1,[::2]", Some(&[("::1", 1), ("::2", 7)])),
        (
            "/run/postgresql,10.0.0.1:2",
            Some(&[("/run/postgresql", 7), ("10.0.0.1", 2)]),
        ),
        ("", None),
        ("a,", None),
        (":1", None),
        ("a:x", None),
        ("a:65536", None),
        ("::1", None),
    ] {
        let expected: Option<Vec<Host>> = expected.map(|list| {
            list.iter()
                .map(|&(host, port)| Host::new(host, port))
                .collect()
        });
        assert_eq!(check::hosts(text, 7), expected, "{text}");
    }
}

/// Returns the configured password; empty if the password file is used.
fn password(entry: &Entry) -> String {
    match &entry.database.settings().password {
        Password::Given(password) => password.expose_secret().to_owned(),
        Password::PasswordFile => String::new(),
        other => panic!("{other:?}"),
    }
}
