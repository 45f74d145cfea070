//! Tests of the six TLS modes, with a server that supports TLS and one that does not.

mod doorman;

use std::{fs, path::PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;

use self::doorman::Doorman;
use super::{private::Private, *};
use crate::{
    database::{
        Host, Settings,
        SslMode::{self, Allow, Disable, Prefer, Require, VerifyCa, VerifyFull},
    },
    error::QueryError,
};

/// Certificate authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([]).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// Returns a certificate and its key.
    fn certify(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

/// Server with TLS as `localhost`, and the files for its clients.
struct Bench {
    private: Private,
    /// A TLS proxy, if PostgreSQL was built without TLS.
    doorman: Option<Doorman>,
    files: TempDir,
}

/// `pg_hba.conf` with users that need TLS, no TLS, a certificate, or none of these, but no
/// password.
const WHO: &str = "local all all trust
hostssl all tls_only 127.0.0.1/32 trust
hostnossl all plain_only 127.0.0.1/32 trust
hostssl all certified 127.0.0.1/32 cert
host all ziggurat 127.0.0.1/32 trust
";

impl Bench {
    async fn new() -> Self {
        let (own, foreign) = (Authority::new("own"), Authority::new("foreign"));
        let private = Private::start().await;
        private
            .given(&[
                "CREATE ROLE tls_only LOGIN",
                "CREATE ROLE plain_only LOGIN",
                "CREATE ROLE certified LOGIN",
            ])
            .await;
        let mut connection = private.try_connect().await.expect("a connection");
        let library: String = sqlx::query_scalar("SELECT current_setting('ssl_library')")
            .fetch_one(&mut connection)
            .await
            .expect("a setting");
        let server = own.certify("localhost");
        let doorman = if library.is_empty() {
            Some(Doorman::start(&private, &own.pem, &server).await)
        } else {
            speak_tls(&private, &own.pem, &server).await;
            None
        };
        let files = tempfile::tempdir().expect("a folder");
        let (certificate, key) = own.certify("certified");
        for (name, text) in [
            ("own", &own.pem),
            ("foreign", &foreign.pem),
            ("certificate", &certificate),
            ("key", &key),
        ] {
            fs::write(files.path().join(name), text).expect("a file");
        }
        let bench = Self {
            private,
            doorman,
            files,
        };
        let is_ready = async || bench.enter(Require, "tls_only", "localhost", |_| {}).await;
        time::timeout(Duration::from_secs(30), async {
            while is_ready().await.is_err() {
                task::yield_now().await;
            }
        })
        .await
        .expect("it reads its configuration in time");
        bench
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Returns whether the connection is encrypted, or the error.
    async fn enter(
        &self,
        mode: SslMode,
        user: &str,
        host: &str,
        change: impl FnOnce(&mut Settings),
    ) -> Result<bool, String> {
        let database = self.private.describe(|settings| {
            let port = self.doorman.as_ref().map(|doorman| doorman.port);
            settings.hosts = vec![Host::new(host, port.unwrap_or(self.private.pg.port()))];
            settings.user = user.to_owned();
            settings.ssl_mode = mode;
            change(settings);
        });
        let pool = self.private.pools.pool("caller", &database);
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        match ask(&pool, sql).await {
            Ok((answer, _)) => Ok(match &self.doorman {
                Some(doorman) => doorman.saw_tls(),
                None => answer.ends_with("true"),
            }),
            Err(QueryError::Lease(error)) => Err(error.to_string()),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Enables TLS in PostgreSQL itself.
async fn speak_tls(private: &Private, root: &str, (certificate, key): &(String, String)) {
    private.write("server.crt", certificate).await;
    private.write("server.key", key).await;
    private.write("root.crt", root).await;
    private.write("pg_hba.conf", WHO).await;
    private
        .given(&[
            "ALTER SYSTEM SET ssl_ca_file = 'root.crt'",
            "ALTER SYSTEM SET ssl = on",
            "SELECT pg_reload_conf()",
        ])
        .await;
}

fn failed(why: &str) -> Result<bool, String> {
    Err(format!("failed to connect to database 'main': {why}"))
}

fn no_entry(user: &str, encryption: &str) -> Result<bool, String> {
    failed(&format!(
        "FATAL: no pg_hba.conf entry for host \"127.0.0.1\", user \"{user}\", \
         database \"postgres\", {encryption} (SQLSTATE 28000)"
    ))
}

#[tokio::test]
async fn every_mode_does_with_a_server_what_libpq_does() {
    let bench = Bench::new().await;
    let unknown = || failed("the certificate of the server is refused: its issuer is not known");
    let other = || failed("the certificate of the server is refused: it is for another host");
    let cases = [
        (Disable, "ziggurat", "localhost", "", Ok(false)),
        (
            Disable,
            "tls_only",
            "localhost",
            "",
            no_entry("tls_only", "no encryption"),
        ),
        (Allow, "ziggurat", "localhost", "", Ok(false)),
        (Allow, "plain_only", "localhost", "", Ok(false)),
        (Allow, "tls_only", "localhost", "", Ok(true)),
        (Prefer, "ziggurat", "localhost", "", Ok(true)),
        (Prefer, "plain_only", "localhost", "", Ok(false)),
        (Prefer, "tls_only", "localhost", "foreign", unknown()),
        (Require, "ziggurat", "127.0.0.1", "", Ok(true)),
        (Require, "ziggurat", "127.0.0.1", "own", Ok(true)),
        (Require, "ziggurat", "127.0.0.1", "foreign", unknown()),
        (
            Require,
            "plain_only",
            "localhost",
            "",
            no_entry("plain_only", "SSL encryption"),
        ),
        (VerifyCa, "ziggurat", "127.0.0.1", "own", Ok(true)),
        (VerifyCa, "ziggurat", "localhost", "foreign", unknown()),
        (VerifyFull, "ziggurat", "localhost", "own", Ok(true)),
        (VerifyFull, "ziggurat", "127.0.0.1", "own", other()),
        (VerifyFull, "ziggurat", "localhost", "foreign", unknown()),
    ];
    for (mode, user, host, root, expected) in cases {
        let entered = bench.enter(mode, user, host, |settings| {
            settings.ssl_root_cert = (!root.is_empty()).then(|| bench.file(root));
        });
        assert_eq!(entered.await, expected, "{mode:?} {user} {host} {root}");
    }
}

/// Answers of psql 15.18 to this server. Each pair is for `sslrootcert` absent, with the authority of
/// the server, and with another; in a pair, the certificate has the name of the host or not. `t` is a
/// connection with TLS, `p` one without, `-` none.
const LIBPQ: [(SslMode, &str, &str); 11] = [
    (Disable, "ziggurat", "pp pp pp"),
    (Disable, "tls_only", "-- -- --"),
    (Allow, "ziggurat", "pp pp pp"),
    (Allow, "tls_only", "tt tt --"),
    (Prefer, "ziggurat", "tt tt pp"),
    (Prefer, "tls_only", "tt tt --"),
    (Require, "ziggurat", "tt tt --"),
    (Require, "tls_only", "tt tt --"),
    (VerifyCa, "ziggurat", "-- tt --"),
    (VerifyCa, "tls_only", "-- tt --"),
    (VerifyFull, "ziggurat", "-- t- --"),
];

#[tokio::test]
async fn each_mode_trusts_the_authorities_that_libpq_trusts() {
    let bench = Bench::new().await;
    for (mode, user, expected) in LIBPQ {
        let mut found = Vec::new();
        for root in [None, Some("own"), Some("foreign")] {
            let mut pair = String::new();
            for host in ["localhost", "127.0.0.1"] {
                let settings = Settings {
                    name: "main".to_owned(),
                    user: user.to_owned(),
                    ssl_mode: mode,
                    ssl_root_cert: root.map(|name| bench.file(name)),
                    ..Settings::default()
                };
                let entered = match Database::try_from(settings) {
                    Err(error) => Err(error.to_string()),
                    Ok(database) => {
                        let root = database.settings().ssl_root_cert.clone();
                        let change = |settings: &mut Settings| settings.ssl_root_cert = root;
                        bench.enter(mode, user, host, change).await
                    }
                };
                pair.push(match entered {
                    Ok(true) => 't',
                    Ok(false) => 'p',
                    Err(_) => '-',
                });
            }
            found.push(pair);
        }
        assert_eq!(found.join(" "), expected, "{mode:?} {user}");
    }
}

#[test]
fn authorities_that_certify_every_server_need_a_name_to_compare() {
    for (mode, root, host, expected) in [
        (
            VerifyCa,
            None,
            "db",
            Some("sslmode verify-ca needs sslrootcert, a file with"),
        ),
        // A socket has no TLS.
        (VerifyCa, None, "/run/postgresql", None),
        (VerifyFull, None, "db", None),
        (
            VerifyCa,
            Some("system"),
            "db",
            Some("sslrootcert system needs sslmode verify-full"),
        ),
        (
            Prefer,
            Some("system"),
            "db",
            Some("sslrootcert system needs sslmode verify-full"),
        ),
    ] {
        let described = Database::try_from(Settings {
            name: "main".to_owned(),
            user: "reader".to_owned(),
            host: host.to_owned(),
            ssl_mode: mode,
            ssl_root_cert: root.map(PathBuf::from),
            ..Settings::default()
        });
        let error = described.err().map(|error| error.to_string());
        let is_expected = match (&error, expected) {
            (Some(error), Some(part)) => error.contains(part),
            (error, expected) => error.is_none() && expected.is_none(),
        };
        assert!(is_expected, "{mode:?} {root:?} {host}: {error:?}");
    }
}

#[tokio::test]
async fn a_certificate_is_shown_to_a_server_that_asks_for_one() {
    let bench = Bench::new().await;
    for (shows, expected) in [
        (true, Ok(true)),
        (
            false,
            failed("FATAL: connection requires a valid client certificate (SQLSTATE 28000)"),
        ),
    ] {
        let entered = bench.enter(VerifyFull, "certified", "localhost", |settings| {
            settings.ssl_root_cert = Some(bench.file("own"));
            if shows {
                settings.ssl_cert = Some(bench.file("certificate"));
                settings.ssl_key = Some(bench.file("key"));
            }
        });
        assert_eq!(entered.await, expected, "{shows}");
    }
}

#[tokio::test]
async fn a_server_without_tls_gets_no_connection_that_needs_it() {
    let private = Private::start().await;
    let root = private.folder().join("root.pem");
    fs::write(&root, Authority::new("own").pem).expect("a file");
    for mode in [Allow, Disable, Prefer, Require, VerifyCa, VerifyFull] {
        let is_secure = matches!(mode, Require | VerifyCa | VerifyFull);
        for is_socket in [false, true] {
            let database = private.describe(|settings| {
                settings.ssl_mode = mode;
                settings.ssl_root_cert = Some(root.clone());
                // The login is refused, which shows that the connection was made.
                settings.user = "nobody_at_all".into();
                if !is_socket {
                    settings.hosts = vec![Host::new("127.0.0.1", private.pg.port())];
                }
            });
            let pool = private.pools.pool("caller", &database);
            let error = pool.lease().await.expect_err("nobody").to_string();
            let is_refused = error.ends_with(": the server does not support TLS");
            assert_eq!(is_refused, is_secure && !is_socket, "{mode:?}: {error}");
        }
    }
}
