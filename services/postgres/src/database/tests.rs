use secrecy::ExposeSecret as _;

use super::*;
use crate::driver::Endpoint;

fn settings() -> Settings {
    Settings {
        name: "main".into(),
        user: "reader".into(),
        ..Settings::default()
    }
}

#[test]
fn a_description_out_of_range_says_which_setting() {
    type Break = fn(&mut Settings);
    let cases: [(Break, &str); 13] = [
        (|s| s.name.clear(), "name is required"),
        (|s| s.user.clear(), "database 'main': user is required"),
        (|s| s.host.clear(), "database 'main': host is required"),
        (
            |s| s.hosts = vec![Host::new("a", 1), Host::new("", 1)],
            "database 'main': host is required",
        ),
        (
            |s| s.hosts = vec![Host::new("a", 1); 33],
            "database 'main': hosts must be 32 at most",
        ),
        (
            |s| s.row_limit = 0,
            "database 'main': row_limit must be between 1 and 10000000",
        ),
        (
            |s| s.row_limit = 10_000_001,
            "database 'main': row_limit must be between 1 and 10000000",
        ),
        (
            |s| s.max_connections = 0,
            "database 'main': pool_max_conns must be between 1 and 1000",
        ),
        (
            |s| s.min_connections = 5,
            "database 'main': pool_min_conns must be pool_max_conns at most",
        ),
        (
            |s| s.max_total_connections = 0,
            "database 'main': max_total_connections must be between 1 and 10000",
        ),
        (
            |s| s.connect_timeout = Duration::ZERO,
            "database 'main': connect_timeout must be longer than 0",
        ),
        (
            |s| s.lease_timeout = Duration::ZERO,
            "database 'main': lease_timeout must be longer than 0",
        ),
        (
            |s| s.query_timeout = Duration::from_hours(600),
            "database 'main': query_timeout must be 24 days at most",
        ),
    ];
    for (spoil, expected) in cases {
        let mut settings = settings();
        spoil(&mut settings);
        let error = Database::try_from(settings).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn several_hosts_replace_the_one() {
    let hosts = vec![Host::new("a", 1), Host::new("b", 2)];
    let database = Database::try_from(Settings {
        hosts: hosts.clone(),
        ..settings()
    });
    let database = database.expect("valid");
    let targets: Vec<_> = database.targets().iter().map(|t| t.host.clone()).collect();
    assert_eq!(targets, hosts);
}

#[test]
fn certificates_are_read_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        Some(path)
    };
    let made = rcgen::generate_simple_self_signed(["db".to_owned()]).expect("a certificate");
    let cert = write("cert", &made.cert.pem());
    let key = write("key", &made.signing_key.serialize_pem());
    let junk = write("junk", "no PEM");
    let missing = Some(folder.path().join("missing"));

    let cases = [
        (None, cert.clone(), key.clone(), None),
        (cert.clone(), None, None, None),
        (
            None,
            cert.clone(),
            None,
            Some("sslcert and sslkey must be set together"),
        ),
        (
            None,
            None,
            key.clone(),
            Some("sslcert and sslkey must be set together"),
        ),
        (missing, None, None, Some("sslrootcert cannot be read")),
        (
            junk.clone(),
            None,
            None,
            Some("sslrootcert has no PEM block of the expected kind"),
        ),
        (
            None,
            cert.clone(),
            junk,
            Some("sslkey has no PEM block of the expected kind"),
        ),
    ];
    for (ssl_root_cert, ssl_cert, ssl_key, expected) in cases {
        let error = Database::try_from(Settings {
            ssl_root_cert,
            ssl_cert,
            ssl_key,
            ..settings()
        });
        let error = error.err().map(|error| error.to_string());
        let expected = expected.map(|why| format!("database 'main': {why}"));
        assert_eq!(error, expected);
    }
}

#[test]
fn descriptions_are_the_same_when_all_their_settings_are() {
    let described = |change: fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        Database::try_from(settings).expect("valid")
    };
    let one = described(|s| s.password = "one".to_owned().into());
    assert!(one.is_same(&described(|s| s.password = "one".to_owned().into())));
    assert!(!one.is_same(&described(|s| s.password = "two".to_owned().into())));
    assert!(!one.is_same(&described(|s| s.password = Password::PasswordFile)));
    assert!(!one.is_same(&described(|s| {
        s.password = "one".to_owned().into();
        s.hosts = vec![Host::new("elsewhere", 1)];
    })));
    let through = |word: &str| {
        let settings = Settings {
            connect_command: CommandLine::new(vec!["nc".to_owned(), word.to_owned()]),
            ..settings()
        };
        Database::try_from(settings).expect("valid")
    };
    assert!(through("one").is_same(&through("one")));
    assert!(!through("one").is_same(&through("two")));
}

#[test]
fn the_password_shows_nowhere() {
    let database = Database::try_from(Settings {
        password: "s3cret/fish".to_owned().into(),
        ..settings()
    })
    .expect("valid");
    assert!(!format!("{database:?}").contains("s3cret"));
    assert!(!format!("{:?}", database.settings()).contains("s3cret"));
}

#[test]
fn odd_names_reach_the_driver_unchanged() {
    for password in ["", "p@ss:w/rd?"] {
        let database = Database::try_from(Settings {
            host: "/run/my sockets".into(),
            user: "a@b&c=d".into(),
            database: "my/db?x#y".into(),
            password: password.to_owned().into(),
            ..settings()
        })
        .expect("valid");
        let options = &database.targets()[0].options;
        assert_eq!(options.user, "a@b&c=d");
        assert_eq!(options.database, "my/db?x#y");
        assert_eq!(options.password.expose_secret(), password);
        let socket = Endpoint::Unix("/run/my sockets/.s.PGSQL.5432".into());
        assert_eq!(options.endpoint, socket);
    }
}

#[test]
fn a_timeout_of_zero_is_none() {
    let database = Database::try_from(Settings {
        query_timeout: Duration::ZERO,
        ..settings()
    });
    assert_eq!(database.expect("valid").query_timeout(), None);
}

#[test]
fn a_database_is_local_if_no_network_is_in_between() {
    for (host, expected) in [
        ("localhost", true),
        ("127.0.0.1", true),
        ("::1", true),
        ("/var/run/postgresql", true),
        ("db.example", false),
        ("10.0.0.1", false),
    ] {
        let settings = Settings {
            name: "main".into(),
            host: host.into(),
            user: "reader".into(),
            ..Settings::default()
        };
        let database = Database::try_from(settings).expect("valid");
        assert_eq!(database.is_local(), expected, "{host}");
    }
}

#[test]
fn a_password_of_a_program_leaves_this_machine_only_with_tls() {
    let command = CommandLine::new(vec!["get-password".to_owned()]).expect("a program");
    let hosts = [
        "db.example",
        "10.0.0.1",
        "localhost",
        "127.0.0.2",
        "::1",
        "/run",
    ];
    for (ssl_mode, refused) in [
        (SslMode::Disable, 2),
        (SslMode::Allow, 2),
        (SslMode::Prefer, 2),
        (SslMode::Require, 0),
        (SslMode::VerifyFull, 0),
    ] {
        let described = |host: &&str| {
            Database::try_from(Settings {
                host: (*host).to_owned(),
                ssl_mode,
                password: Password::Command(PasswordCommand {
                    command: command.clone(),
                    lifetime: Duration::ZERO,
                    timeout: Duration::from_secs(1),
                }),
                ..settings()
            })
        };
        let errors: Vec<_> = hosts
            .iter()
            .filter_map(|host| described(host).err())
            .map(|error| error.to_string())
            .collect();
        let expected = "database 'main': password_command needs sslmode require or stronger";
        assert_eq!(errors, vec![expected; refused], "{ssl_mode}");
    }
}
