use std::{os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

use tokio::time;

use super::*;
use crate::{
    database::{Database, Password, SEAL_KEY_BYTES},
    error::QueryError,
    fixture::{Fixture, ask},
    pool::{LeaseError, Pool},
    single_round_trip::{ReadOnlyQuery, Value},
};

/// A database with a table of two tenants. Each role sees its own rows, and so does a setting.
struct Tenants {
    fixture: Fixture,
    /// The beginning of the names of the roles, which all databases of a server share.
    mark: String,
}

impl Tenants {
    async fn new() -> Self {
        let mut fixture = Fixture::new().await;
        let mark = fixture.settings.database.clone();
        let roles = format!(
            "CREATE ROLE \"{mark}_login\" LOGIN NOINHERIT PASSWORD 'login';\
             CREATE ROLE \"{mark}_one\" LOGIN PASSWORD 'one';\
             CREATE ROLE \"{mark}_two\" LOGIN PASSWORD 'two';\
             CREATE ROLE \"{mark}_boss\" LOGIN BYPASSRLS PASSWORD 'boss';\
             CREATE ROLE \"{mark}_far\" LOGIN PASSWORD 'far';\
             GRANT \"{mark}_one\", \"{mark}_two\", \"{mark}_boss\" TO \"{mark}_login\";\
             ALTER ROLE \"{mark}_one\" SET search_path = \"Odd \"\"one\", public;\
             ALTER ROLE \"{mark}_one\" SET work_mem = '5MB';\
             ALTER ROLE \"{mark}_one\" SET app.own = 'it''s \\here';\
             REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;\
             CREATE TABLE orders (owner name, tenant text, id int);\
             INSERT INTO orders VALUES ('{mark}_one', 'a', 1), ('{mark}_two', 'b', 2);\
             ALTER TABLE orders ENABLE ROW LEVEL SECURITY;\
             CREATE POLICY own ON orders USING (owner = current_user \
                 OR tenant = nullif(current_setting('app.tenant', true), ''));\
             GRANT SELECT ON orders TO PUBLIC;"
        );
        fixture.given(&roles).await;
        Self { fixture, mark }
    }

    fn role(&self, name: &str) -> String {
        format!("{}_{name}", self.mark)
    }

    /// The database as the login role reaches it.
    fn database(&self) -> Arc<Database> {
        self.fixture.describe(|settings| {
            settings.user = self.role("login");
            settings.password = Password::Given("login".to_owned().into());
            settings.query_timeout = Duration::from_secs(20);
        })
    }

    fn pool(&self, acting: Acting) -> Pool {
        let database = self.database().acting(acting).expect("usable");
        self.fixture.pools.pool("caller", &Arc::new(database))
    }

    fn set_role(&self, name: &str) -> Acting {
        let acting = Acting::default().with_role(&self.role(name), Way::SetRole);
        acting.expect("good").with_strictness(true)
    }
}

async fn lines(pool: &Pool, sql: &str) -> String {
    ask(pool, sql).await.expect(sql).0.replace('\n', " ")
}

/// Asks as the server itself asks on behalf of a caller.
async fn asked(pool: &Pool, sql: &str, values: &[Value]) -> String {
    let query = ReadOnlyQuery {
        name: "SELECT",
        before: Some("SELECT 1".to_owned()),
        query: sql.to_owned(),
        values: values.to_vec(),
    };
    let lease = pool.lease().await.expect("a connection");
    let rows = query.read(lease, |row| Ok(row.text(0)?.to_owned())).await;
    rows.expect(sql).join(" ")
}

#[tokio::test]
async fn each_way_of_a_statement_runs_with_the_role() {
    let tenants = Tenants::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder
        .path()
        .join(format!("{}.password", tenants.role("one")));
    std::fs::write(&file, "one\n").expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("private");
    let way = Way::ConnectAs(Some(folder.path().to_owned()));
    let acting = Acting::default().with_role(&tenants.role("one"), way);
    let connected = tenants.pool(acting.expect("good"));
    let set = tenants.pool(tenants.set_role("one"));
    for pool in [connected, set] {
        for sql in [
            "SELECT id FROM orders",
            "WITH x AS (SELECT id FROM orders) SELECT id FROM x",
            "SELECT id FROM orders ORDER BY id; ",
        ] {
            assert_eq!(lines(&pool, sql).await, "id 1", "{sql}");
        }
        assert_eq!(asked(&pool, "SELECT id FROM orders", &[]).await, "1");
        let value = [Value::from(0_i64)];
        assert_eq!(
            asked(&pool, "SELECT id FROM orders WHERE id > $1", &value).await,
            "1"
        );
        let table = lines(&pool, "TABLE orders").await;
        assert!(table.ends_with("\t1") && !table.contains("\tb"), "{table}");
        // The settings of the role hold as after its login.
        for (name, value) in [
            ("search_path", "\"Odd \"\"one\", public"),
            ("work_mem", "5MB"),
            ("app.own", "it's \\here"),
        ] {
            let shown = asked(&pool, &format!("SHOW {name}"), &[]).await;
            assert_eq!(shown, value, "{name}");
        }
        // An error leaves nothing behind.
        assert!(ask(&pool, "SELECT 1 / 0").await.is_err());
        assert_eq!(lines(&pool, "SELECT id FROM orders").await, "id 1");
    }
}

#[tokio::test]
async fn settings_are_of_the_statement_and_end_with_it() {
    let tenants = Tenants::new().await;
    let acting = |tenant: &str| {
        let acting = Acting::default().with_strictness(true);
        acting.with_setting("app.tenant", tenant).expect("good")
    };
    for (tenant, expected) in [
        ("a", "id 1"),
        ("b", "id 2"),
        ("' OR true --", "id"),
        ("\\' --", "id"),
    ] {
        let pool = tenants.pool(acting(tenant));
        let rows = lines(&pool, "SELECT id FROM orders").await;
        assert_eq!(rows.trim(), expected, "{tenant}");
        let shown = asked(&pool, "SELECT current_setting('app.tenant')", &[]).await;
        assert_eq!(shown, tenant);
    }
    let error = ask(&tenants.pool(acting("a")), "RESET App.Tenant").await;
    let error = error.expect_err("refused");
    let is_about_it = matches!(error, QueryError::Refused(Refusal::Identity(_)));
    assert!(is_about_it, "{error:?}");
    let too_long = Acting::default().with_setting("app.tenant", &"x".repeat(1025));
    assert!(too_long.is_err());
}

#[tokio::test]
async fn a_role_that_sees_too_much_or_does_not_exist_is_refused() {
    let mut tenants = Tenants::new().await;
    let connect_as = |name: &str| {
        let acting = Acting::default().with_role(&tenants.role(name), Way::ConnectAs(None));
        acting.expect("good")
    };
    let refused = async |tenants: &Tenants, acting: Acting| {
        let lease = tenants.pool(acting).lease().await;
        let error = lease.expect_err("refused");
        assert!(matches!(error, LeaseError::NotOpen { .. }), "{error}");
        assert_eq!(error.public_message(), "This database is not open to you.");
        error.to_string()
    };
    let why = refused(&tenants, tenants.set_role("boss")).await;
    assert!(why.contains("BYPASSRLS"), "{why}");
    // The login is no member of this one.
    refused(&tenants, tenants.set_role("far")).await;
    refused(&tenants, tenants.set_role("nobody")).await;
    refused(&tenants, connect_as("nobody")).await;
    // The database's own user may do everything.
    let role = tenants.role("one");
    let acting = Acting::default()
        .with_role(&role, Way::SetRole)
        .expect("good");
    let own = tenants
        .fixture
        .describe(|_| {})
        .acting(acting)
        .expect("usable");
    let pool = tenants.fixture.pools.pool("caller", &Arc::new(own));
    let error = pool.lease().await.expect_err("refused");
    assert!(error.to_string().contains("is a superuser"), "{error}");

    let grant = "GRANT EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) TO PUBLIC";
    tenants.fixture.given(grant).await;
    let why = refused(&tenants, tenants.set_role("one")).await;
    assert!(why.contains("REVOKE EXECUTE"), "{why}");
    let lax = tenants.set_role("one").with_strictness(false);
    assert!(tenants.pool(lax).lease().await.is_ok());
}

/// Returns tenants with policies for sealed settings.
async fn sealed() -> (Tenants, SealKey) {
    let mut tenants = Tenants::new().await;
    let key = SealKey::new([7; SEAL_KEY_BYTES]);
    tenants.fixture.given(&key.sql()).await;
    let more = "CREATE POLICY sealed ON orders USING (tenant = (SELECT ziggurat.claim('app.tenant')));\
                DROP POLICY own ON orders;";
    tenants.fixture.given(more).await;
    (tenants, key)
}

fn sealed_settings(tenant: &str) -> Acting {
    let acting = Acting::default().with_strictness(true);
    acting.with_setting("app.tenant", tenant).expect("good")
}

#[tokio::test]
async fn sealed_settings_are_of_one_connection_and_cannot_be_forged() {
    let (tenants, key) = sealed().await;
    let pool = |acting: Acting, key: &SealKey| tenants.pool(acting.with_seal(Some(key)));
    let settings = sealed_settings;
    for (tenant, expected) in [("a", "id 1"), ("b", "id 2"), ("it's \\ \"odd\"", "id")] {
        let pool = pool(settings(tenant), &key);
        assert_eq!(
            lines(&pool, "SELECT id FROM orders").await,
            expected,
            "{tenant}"
        );
        let claim = "SELECT ziggurat.claim('app.tenant')";
        assert_eq!(asked(&pool, claim, &[]).await, tenant);
        assert_eq!(
            asked(&pool, "SELECT ziggurat.claim('app.other') IS NULL", &[]).await,
            "t"
        );
        // Nothing has to be guarded: another value is good for nothing.
        for forged in [
            "SELECT replace(current_setting('ziggurat.claims'), '\"a\"', '\"b\"')",
            "SELECT set_config('ziggurat.claims', '1|99999999999|{}', true)",
        ] {
            let sql = format!("{forged}; RESET app.tenant; SELECT id FROM orders");
            let _ = ask(&pool, &sql).await;
            assert_eq!(
                lines(&pool, "SELECT id FROM orders").await,
                expected,
                "{sql}"
            );
        }
    }
}

#[tokio::test]
async fn seals_of_other_connections_and_other_keys_are_refused() {
    let (tenants, key) = sealed().await;
    let pool = |acting: Acting, key: &SealKey| tenants.pool(acting.with_seal(Some(key)));
    let settings = sealed_settings;
    let claims =
        "SELECT current_setting('ziggurat.claims') || ';' || current_setting('ziggurat.seal')";
    let (one, two) = (pool(settings("a"), &key), pool(settings("b"), &key));
    let stolen = asked(&one, claims, &[]).await;
    let (claims, seal) = stolen.rsplit_once(';').expect("both");
    let theft = ReadOnlyQuery {
        name: "SELECT",
        before: Some(format!(
            "SET LOCAL ziggurat.claims TO '{claims}'; SET LOCAL ziggurat.seal TO '{seal}'"
        )),
        query: "SELECT id FROM orders".to_owned(),
        values: Vec::new(),
    };
    let other_key = pool(settings("a"), &SealKey::new([8; SEAL_KEY_BYTES]));
    let unsealed = tenants.pool(settings("a"));
    let lease = two.lease().await.expect("a connection");
    let stolen = theft.read(lease, |_| Ok(())).await.expect_err("refused");
    let errors = [
        ask(&other_key, "SELECT id FROM orders")
            .await
            .expect_err("refused"),
        ask(&unsealed, "SELECT id FROM orders")
            .await
            .expect_err("refused"),
        stolen,
    ];
    for error in errors {
        assert!(
            format!("{error:?}").contains("the caller is not known"),
            "{error:?}"
        );
    }
    assert_eq!(lines(&one, "SELECT id FROM orders").await, "id 1");
}

/// Returns the rows of a seal, or the code of the error.
async fn rows_of(pool: &Pool, seal: &Prefix) -> Result<String, String> {
    let query = ReadOnlyQuery {
        name: "SELECT",
        before: Some(seal.sql.trim_start_matches("; ").to_owned()),
        query: "SELECT id::text FROM orders WHERE $1::text[] IS NOT NULL".to_owned(),
        // With values, what runs before may be several commands.
        values: vec![Value::Texts(Vec::new())],
    };
    let lease = pool.lease().await.expect("a connection");
    let rows = query.read(lease, |row| row.get::<String>(0)).await;
    rows.map(|rows| rows.join(" "))
        .map_err(|error| match error {
            QueryError::Failed { report, .. } => report.sqlstate,
            other => format!("{other:?}"),
        })
}

#[tokio::test]
async fn a_seal_that_is_forged_late_or_of_another_process_is_28000() {
    let (tenants, key) = sealed().await;
    let pool = tenants.pool(sealed_settings("b").with_seal(Some(&key)));
    let process = pool.lease().await.expect("a connection").process();
    let now = "SELECT date_part('epoch', clock_timestamp())::int8";
    let now: i64 = asked(&pool, now, &[]).await.parse().expect("a number");
    let seal = |key: &SealKey, process: i32, clock: i64| {
        let settings = [("app.tenant".to_owned(), "a".to_owned())];
        Sealed::new(
            key,
            &settings,
            (process, clock),
            Prefix::default(),
            String::new(),
        )
        .prefix()
    };
    let changed = |from: &str, to: &str| {
        let mut seal = seal(&key, process, now);
        assert!(seal.sql.contains(from), "{}", seal.sql);
        seal.sql = seal.sql.replace(from, to);
        seal
    };
    for good in [seal(&key, process, now), seal(&key, process, now - 60)] {
        assert_eq!(
            rows_of(&pool, &good).await.as_deref(),
            Ok("1"),
            "{}",
            good.sql
        );
    }
    let until = format!("|{}|", now + 120);
    let bad = [
        seal(&SealKey::new([8; SEAL_KEY_BYTES]), process, now),
        seal(&key, process, now - 121),
        seal(&key, process + 1, now),
        changed("\"a\"", "\"b\""),
        changed(&until, &format!("|{}|", now + 240)),
        changed(&format!("'{process}|"), "'|"),
        changed("\"ziggurat\".\"seal\" TO '", "\"ziggurat\".\"seal\" TO '0"),
        changed("\"ziggurat\".\"seal\"", "\"ziggurat\".\"other\""),
        changed(
            "\"ziggurat\".\"claims\" TO '",
            "\"ziggurat\".\"claims\" TO ' ",
        ),
    ];
    for bad in bad {
        assert_eq!(
            rows_of(&pool, &bad).await,
            Err("28000".to_owned()),
            "{}",
            bad.sql
        );
    }
    assert_eq!(lines(&pool, "SELECT id FROM orders").await, "id 2");
}

#[tokio::test]
async fn a_seal_of_before_a_claim_was_narrowed_is_28000() {
    let (tenants, key) = sealed().await;
    let wide = tenants.pool(sealed_settings("a").with_seal(Some(&key)));
    let parts = ["claims", "seal"].map(|part| format!("SELECT current_setting('ziggurat.{part}')"));
    let mut old = Prefix::default();
    for (part, sql) in ["claims", "seal"].iter().zip(&parts) {
        let value = asked(&wide, sql, &[]).await;
        old.add(&format!("ziggurat.{part}"), &literal(&value));
    }
    assert_eq!(rows_of(&wide, &old).await.as_deref(), Ok("1"));
    // The same caller with the claims that it has now.
    let narrow = tenants.pool(sealed_settings("").with_seal(Some(&key)));
    assert_eq!(lines(&narrow, "SELECT id FROM orders").await, "id");
    assert_eq!(rows_of(&narrow, &old).await, Err("28000".to_owned()));
}

#[tokio::test]
async fn a_seal_is_made_anew_before_it_ends() {
    let key = SealKey::new([7; SEAL_KEY_BYTES]);
    time::pause();
    let settings = [("app.tenant".to_owned(), "a".to_owned())];
    let before = Prefix::default();
    let sealed = Sealed::new(&key, &settings, (5, 1000), before, String::new());
    let mut prefix = sealed.prefix();
    assert!(
        prefix.sql.contains("'5|1120|{\"app.tenant\":\"a\"}'"),
        "{}",
        prefix.sql
    );
    let first = prefix.clone();
    time::advance(Duration::from_secs(59)).await;
    prefix.renew();
    assert_eq!(prefix.sql, first.sql);
    time::advance(Duration::from_secs(1)).await;
    prefix.renew();
    assert!(prefix.sql.contains("'5|1180|"), "{}", prefix.sql);
    assert_eq!(prefix.commands, first.commands);
}

#[tokio::test]
async fn two_identities_of_a_caller_never_share_a_connection() {
    let tenants = Tenants::new().await;
    let database = tenants.database();
    let of = |tenant: &str| {
        let acting = Acting::default().with_setting("app.tenant", tenant);
        Arc::new(database.acting(acting.expect("good")).expect("usable"))
    };
    let (one, two) = (of("a"), of("b"));
    let pool = |database: &Arc<Database>| tenants.fixture.pools.pool("caller", database);
    let process = async |database: &Arc<Database>| {
        pool(database)
            .lease()
            .await
            .expect("a connection")
            .process()
    };
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push((process(&one).await, process(&two).await));
    }
    assert_ne!(seen[0].0, seen[0].1);
    assert!(seen.iter().all(|pair| *pair == seen[0]), "{seen:?}");
    let [taken, idle, _] = tenants.fixture.pools.connections(&database);
    assert_eq!((taken, idle), (2, 2));
    // The same identity with new settings of the database takes the place of the old one.
    process(&of("a")).await;
    let [_, idle, _] = tenants.fixture.pools.connections(&database);
    assert_eq!(idle, 2);
    tenants.fixture.pools.close("caller");
    assert_eq!(tenants.fixture.pools.connections(&database)[1], 0);
}

#[tokio::test]
async fn a_refused_caller_gets_no_connection() {
    let tenants = Tenants::new().await;
    let database = Arc::new(tenants.database().refusing("no rule fits"));
    let pool = tenants.fixture.pools.pool("caller", &database);
    let error = pool.lease().await.expect_err("refused");
    assert_eq!(error.public_message(), "This database is not open to you.");
    let text = error.to_string();
    assert!(
        text.ends_with("is not open to a caller: no rule fits"),
        "{text}"
    );
}

#[test]
fn a_list_of_schemas_is_read_as_postgres_keeps_it() {
    for (list, expected) in [
        ("public", &["public"][..]),
        ("\"$user\", public", &["$user", "public"]),
        ("\"a, \"\"b\"\"\" ,c", &["a, \"b\"", "c"]),
        ("\"\"", &[""]),
        ("", &[]),
    ] {
        assert_eq!(schemas(list), expected, "{list}");
    }
}

#[test]
fn roles_of_postgres_and_names_that_it_would_cut_are_refused() {
    for role in ["postgres", "pg_monitor", "", "a\0b", &"x".repeat(64)] {
        let acting = Acting::default().with_role(role, Way::SetRole);
        assert!(acting.is_err(), "{role}");
    }
    let longest = "x".repeat(63);
    assert!(Acting::default().with_role(&longest, Way::SetRole).is_ok());
}
