use std::fmt::Write as _;

use proptest::prelude::*;
use secrecy::ExposeSecret as _;

use super::*;

fn read(url: &str) -> Result<Database, InvalidUrl> {
    Database::from_url(url, &Settings::default())
}

fn password(database: &Database) -> String {
    match &database.settings().password {
        Password::Given(password) => password.expose_secret().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// URL, hosts, database, user, password.
const SAID: [(&str, &str, &str, &str, &str); 10] = [
    ("postgres://app@db", "db:5432", "app", "app", ""),
    (
        "postgresql://app:x@db:5433/shop",
        "db:5433",
        "shop",
        "app",
        "x",
    ),
    (
        "postgres://a%40b:p%3Aq%2Fr@db/my%20db",
        "db:5432",
        "my db",
        "a@b",
        "p:q/r",
    ),
    ("postgres://app:a:b@db/", "db:5432", "app", "app", "a:b"),
    (
        "postgres://app:a,b@one,two:2/x",
        "one:5432,two:2",
        "x",
        "app",
        "a,b",
    ),
    ("postgres://app@[::1]:7/x", "[::1]:7", "x", "app", ""),
    (
        "postgres:///x?host=db&user=app&password=y%26",
        "db:5432",
        "x",
        "app",
        "y&",
    ),
    (
        "postgres://app@db/x?port=9&dbname=y",
        "db:9",
        "y",
        "app",
        "",
    ),
    (
        "postgres:///x?host=a,b&port=1,2&user=app",
        "a:1,b:2",
        "x",
        "app",
        "",
    ),
    (
        "postgres://app:one@db?password=two",
        "db:5432",
        "app",
        "app",
        "two",
    ),
];

#[test]
fn a_url_means_the_same_as_in_libpq() {
    for (url, hosts, database, user, secret) in SAID {
        let described = read(url).expect(url);
        let settings = described.settings();
        let found: Vec<_> = settings.hosts.iter().map(Host::to_string).collect();
        assert_eq!(found.join(","), hosts, "{url}");
        assert_eq!(settings.database, database, "{url}");
        assert_eq!(settings.user, user, "{url}");
        assert_eq!(password(&described), secret, "{url}");
    }
}

#[test]
fn a_url_is_shown_without_its_password_and_otherwise_as_it_is() {
    let cases = [
        (
            "postgres://app:secret@host:5432/db?sslmode=prefer",
            "postgres://app:***@host:5432/db?sslmode=prefer",
        ),
        ("postgres://app@host/db", "postgres://app@host/db"),
        ("postgres://app:@host/db", "postgres://app:@host/db"),
        (
            "postgres://app:a@host/db?password=b&sslmode=allow",
            "postgres://app:***@host/db?password=***&sslmode=allow",
        ),
    ];
    for (url, expected) in cases {
        assert_eq!(read(url).expect(url).name(), expected);
    }
}

#[test]
fn hosts_a_caller_may_not_use_are_refused() {
    use InvalidUrl::{Missing, Scheme, Socket, TooLong, Value};

    let long = format!("postgres://app@db/{}", "x".repeat(MAX_URL));
    let cases = [
        ("mysql://app@db/x", Scheme),
        ("postgres:app@db", Scheme),
        ("POSTGRES://app@db", Scheme),
        (&long, TooLong),
        ("postgres://db/x", Missing("user")),
        ("postgres://app@/x", Missing("host")),
        ("postgres://app@one,,two/x", Missing("host")),
        ("postgres://app@%2Frun/x", Socket),
        ("postgres://app@db,%2Frun/x", Socket),
        ("postgres://app@db/x?host=/run", Socket),
        ("postgres://app@db/x?host=%2Frun", Socket),
        ("postgres://app@db/x?host=a,%2Frun", Socket),
        ("postgres://app@%40run/x", Socket),
    ];
    for (url, expected) in cases {
        assert_eq!(read(url).err(), Some(expected), "{url}");
    }
    let many = "h,".repeat(32) + "h";
    assert_eq!(
        read(&format!("postgres://app@{many}/x")).err(),
        Some(Value("host"))
    );
}

#[test]
fn parameters_a_caller_may_not_set_are_refused() {
    use InvalidUrl::{File, Malformed, Parameter, Value};

    let cases = [
        ("postgres://app@db/x?sslcert=a", File("sslcert")),
        ("postgres://app@db/x?sslkey=a", File("sslkey")),
        ("postgres://app@db/x?sslrootcert=a", File("sslrootcert")),
        ("postgres://app@db/x?passfile=a", File("passfile")),
        ("postgres://app@db/x?service=a", File("service")),
        ("postgres://app@db/x?options=-crole%3Da", Parameter),
        ("postgres://app@db/x?SSLMODE=disable", Parameter),
        ("postgres://app@db/x?sslmode=maybe", Value("sslmode")),
        ("postgres://app@db/x?port=0", Value("port")),
        ("postgres://app@a,b,c/x?port=1,2", Value("port")),
        ("postgres://app@db/x?dbname=host%3D%2Frun", Value("dbname")),
        (
            "postgres://app@db/x?connect_timeout=-1",
            Value("connect_timeout"),
        ),
        (
            "postgres://app@db/x?sslmode",
            Malformed("a parameter without a value"),
        ),
        ("postgres://app:p@ss@db/x", Malformed("more than one '@'")),
        (
            "postgres://app:12/34@db/x",
            Malformed("an '@' after the host"),
        ),
        (
            "postgres://app:12?34@db/x",
            Malformed("an '@' after the host"),
        ),
        (
            "postgres://app:p#ss@db/x",
            Malformed("a character that is not allowed"),
        ),
        ("postgres://app:p%ss@db/x", Malformed("percent-encoding")),
        ("postgres://app:p%+1@db/x", Malformed("percent-encoding")),
        ("postgres://app:p%00@db/x", Malformed("percent-encoding")),
        ("postgres://app:p%ff@db/x", Malformed("percent-encoding")),
        ("postgres://app@db:x/x", Malformed("the host or its port")),
        ("postgres://app@[::1/x", Malformed("the host or its port")),
        ("postgres://app@[::1]x/x", Malformed("the host or its port")),
        ("postgres://app@d%20b/x", Malformed("the host or its port")),
    ];
    for (url, expected) in cases {
        assert_eq!(read(url).err(), Some(expected), "{url}");
    }
}

#[test]
fn a_url_gets_only_the_limits_from_the_server() {
    let base = Settings {
        host: "/run/own".into(),
        user: "owner".into(),
        password: "own-secret".to_owned().into(),
        ssl_root_cert: Some("/etc/own.crt".into()),
        ssl_cert: Some("/etc/own.crt".into()),
        ssl_key: Some("/etc/own.key".into()),
        allow_writes: true,
        min_connections: 3,
        row_limit: 7,
        connect_timeout: Duration::from_secs(5),
        ..Settings::default()
    };
    for (url, timeout) in [
        ("postgres://app@db/x", 5),
        ("postgres://app@db/x?connect_timeout=2", 2),
        ("postgres://app@db/x?connect_timeout=0", 5),
        ("postgres://app@db/x?connect_timeout=60", 5),
    ] {
        let database = Database::from_url(url, &base).expect(url);
        assert!(!database.allows_writes());
        assert_eq!(password(&database), "");
        assert_eq!(database.row_limit(), 7);
        let settings = database.settings();
        assert_eq!(settings.connect_timeout, Duration::from_secs(timeout));
        assert_eq!(settings.min_connections, 0);
        let shown = format!("{:?}", database.targets()[0].options);
        assert!(!shown.contains("own"), "{shown}");
    }
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        write!(out, "%{byte:02x}").expect("a string takes everything");
        out
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(url: String) {
        let _ = read(&url);
    }

    #[test]
    fn nothing_after_the_scheme_makes_it_panic(rest in r"[a-z0-9:/?@&=%,\[\].#-]{0,60}") {
        let _ = read(&format!("postgres://{rest}"));
    }

    #[test]
    fn an_encoded_password_arrives_and_shows_nowhere(secret in "[^\0]{1,20}Qq7") {
        for url in [
            format!("postgres://app:{}@db/x", encoded(&secret)),
            format!("postgres://app@db/x?password={}", encoded(&secret)),
        ] {
            let database = read(&url).expect("valid");
            prop_assert_eq!(password(&database), secret.as_str());
            let shown = format!("{} {database:?}", database.name());
            prop_assert!(!shown.contains("Qq7"), "{}", shown);
            prop_assert!(!shown.contains(&encoded("Qq7")), "{}", shown);
        }
    }

    #[test]
    fn a_password_that_was_not_encoded_shows_nowhere(
        before in r"[ -~]{0,12}", after in r"[ -~]{0,12}", rest in r"(/x)?(\?sslmode=allow)?",
    ) {
        let shown = match read(&format!("postgres://app:{before}Qq7{after}@db{rest}")) {
            Ok(database) => format!("{} {database:?}", database.name()),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!shown.contains("Qq7"), "{}", shown);
    }
}
