use ziggurat_postgres::{
    database::{CommandLine, Password, PasswordCommand},
    fixture::{Fixture, Silence},
};

use super::*;
use crate::Status::{self, Fail, Ok as Good, Warn};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A database with a role that only reads.
struct Patient {
    fixture: Fixture,
    role: String,
    needs: Needs,
}

impl Patient {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let database = fixture.settings.database.clone();
        let mut patient = Self {
            role: format!("role of {database}"),
            fixture,
            needs: Needs::default(),
        };
        patient
            .given(
                "CREATE TABLE things AS SELECT 1 AS id;
                 CREATE ROLE {role} LOGIN PASSWORD 'good' CONNECTION LIMIT 50;
                 GRANT SELECT ON things TO {role};
                 REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC;
                 REVOKE CREATE ON SCHEMA public FROM PUBLIC;
                 ALTER ROLE {role} SET temp_file_limit = '1GB'",
            )
            .await;
        patient.fixture.settings.user.clone_from(&patient.role);
        patient.fixture.settings.password = "good".to_owned().into();
        patient.fixture.settings.max_total_connections = 20;
        patient
    }

    fn filled(&self, sql: &str) -> String {
        sql.replace("{role}", &format!("\"{}\"", self.role))
            .replace(
                "{database}",
                &format!("\"{}\"", self.fixture.settings.database),
            )
    }

    async fn given(&mut self, sql: &str) {
        let sql = self.filled(sql);
        self.fixture.given(&sql).await;
    }

    async fn findings(&self) -> Vec<Finding> {
        let database = self.fixture.describe(|_| {});
        check(&self.fixture.pools, &database, self.needs, TIMEOUT).await
    }

    /// Returns the worst result of a check, and the advice.
    async fn state(&self, id: &str) -> (Status, String) {
        let findings = self.findings().await;
        let its: Vec<_> = findings.iter().filter(|it| it.id == id).collect();
        let rank = |status| match status {
            Good => 0,
            Warn => 1,
            Fail => 2,
        };
        let worst = its.iter().map(|it| it.status).max_by_key(|it| rank(*it));
        let worst = worst.unwrap_or_else(|| panic!("nothing about {id}: {findings:?}"));
        let fixes = its.iter().filter_map(|it| it.fix.clone());
        (worst, fixes.collect::<Vec<_>>().join("\n"))
    }

    /// Breaks something, sees it found, does what the finding says, and sees it gone.
    async fn is_cured_by_sql(&mut self, id: &str, status: Status, broken: &str) {
        self.given(broken).await;
        let (found, fix) = self.state(id).await;
        assert_eq!(found, status, "{broken}");
        let fix = fix.lines().map(|line| match line.rsplit_once(": ") {
            Some((_, sql)) => sql,
            None => line.strip_prefix("or ").unwrap_or(line),
        });
        let sql: Vec<_> = fix.filter(|line| line.ends_with(';')).collect();
        assert!(!sql.is_empty(), "no statement mends: {broken}");
        self.given(&sql.join("\n")).await;
        let (now, fix) = self.state(id).await;
        assert_eq!(now, Good, "after {sql:?}: {fix}");
    }

    async fn end(mut self) {
        self.given("DROP OWNED BY {role}; DROP ROLE {role}").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_only_reads_is_well_in_every_way() {
    let patient = Patient::new().await;
    let findings = patient.findings().await;
    for it in &findings {
        let is_old = it.id == "db.version" && it.status == Warn;
        assert!(it.status == Good || is_old, "{it:?}");
        assert_eq!(it.database.as_deref(), Some("main"));
    }
    assert_eq!(findings.len(), 9, "{findings:?}");
    patient.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_role_may_do_too_much_is_found_and_revoked() {
    let mut patient = Patient::new().await;
    for (id, status, broken) in [
        ("db.role", Fail, "ALTER ROLE {role} SUPERUSER"),
        ("db.role", Fail, "ALTER ROLE {role} BYPASSRLS"),
        ("db.role", Warn, "ALTER ROLE {role} CREATEROLE"),
        ("db.role", Warn, "ALTER ROLE {role} CREATEDB"),
        ("db.role", Warn, "ALTER ROLE {role} REPLICATION"),
        ("db.role", Fail, "GRANT pg_read_server_files TO {role}"),
        ("db.role", Fail, "GRANT pg_write_server_files TO {role}"),
        ("db.role", Fail, "GRANT pg_execute_server_program TO {role}"),
        ("db.role", Fail, "GRANT pg_signal_backend TO {role}"),
        ("db.writes", Warn, "GRANT INSERT ON things TO {role}"),
        ("db.writes", Warn, "GRANT DELETE ON things TO PUBLIC"),
        ("db.writes", Warn, "GRANT UPDATE (id) ON things TO {role}"),
        ("db.writes", Warn, "GRANT CREATE ON SCHEMA public TO PUBLIC"),
        (
            "db.writes",
            Warn,
            "GRANT CREATE ON DATABASE {database} TO {role}",
        ),
        (
            "db.writes",
            Warn,
            "GRANT TEMPORARY ON DATABASE {database} TO PUBLIC",
        ),
        (
            "db.writes",
            Warn,
            "CREATE FUNCTION wipe(int) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'",
        ),
        (
            "db.reads",
            Warn,
            "REVOKE USAGE ON SCHEMA public FROM PUBLIC",
        ),
        ("db.reads", Warn, "REVOKE SELECT ON things FROM {role}"),
        ("db.limits", Warn, "ALTER ROLE {role} CONNECTION LIMIT 5"),
        ("db.limits", Warn, "ALTER ROLE {role} RESET temp_file_limit"),
    ] {
        patient.is_cured_by_sql(id, status, broken).await;
    }
    patient.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_do_not_fit_the_server_are_found() {
    let mut patient = Patient::new().await;
    patient
        .given("ALTER ROLE {role} SET statement_timeout = '2s'")
        .await;
    let (status, fix) = patient.state("db.limits").await;
    assert_eq!((status, &*fix), (Warn, "query_timeout: 2000ms"));
    patient.fixture.settings.query_timeout = Duration::from_secs(2);
    assert_eq!(patient.state("db.limits").await.0, Good);
    patient.fixture.settings.max_total_connections = 10_000;
    assert_eq!(patient.state("db.limits").await.0, Warn);
    patient.fixture.settings.max_total_connections = 20;
    patient.fixture.settings.allow_writes = true;
    assert_eq!(patient.state("db.writes").await.0, Warn);
    patient.given("GRANT INSERT ON things TO {role}").await;
    assert_eq!(patient.state("db.writes").await.0, Good);
    patient.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_and_indexes_that_are_missing_are_found_and_made() {
    let mut patient = Patient::new().await;
    patient.needs.vectors = true;
    patient
        .is_cured_by_sql(
            "db.extensions",
            Warn,
            "DROP EXTENSION IF EXISTS vector CASCADE",
        )
        .await;
    patient
        .given("CREATE TABLE notes (id int, embedding vector(3)); GRANT SELECT ON notes TO {role}")
        .await;
    patient.is_cured_by_sql("db.extensions", Warn, "").await;
    patient.needs.statistics = true;
    let (status, fix) = patient.state("db.extensions").await;
    let expected = (Warn, "CREATE EXTENSION pg_stat_statements;".to_owned());
    assert_eq!((status, fix), expected);
    patient.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_for_passwords_has_a_check_of_its_own() {
    let mut patient = Patient::new().await;
    for (script, status) in [("exit 1", Fail), ("echo good", Good)] {
        let words = ["sh", "-c", script].map(str::to_owned);
        patient.fixture.settings.password = Password::Command(PasswordCommand {
            command: CommandLine::new(words.to_vec()).expect("a program"),
            lifetime: Duration::ZERO,
            timeout: TIMEOUT,
        });
        assert_eq!(
            patient.state("password_command").await.0,
            status,
            "{script}"
        );
    }
    patient.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_fails_says_what_to_do() {
    let mut patient = Patient::new().await;
    for broken in [
        "ALTER ROLE {role} NOLOGIN",
        "ALTER ROLE {role} CONNECTION LIMIT 0",
        "REVOKE CONNECT ON DATABASE {database} FROM PUBLIC",
    ] {
        patient.is_cured_by_sql("db.connect", Fail, broken).await;
    }
    let advice = async |change: &dyn Fn(&mut ziggurat_postgres::database::Settings)| {
        let database = patient.fixture.describe(change);
        let timeout = Duration::from_millis(300);
        let found = check(&patient.fixture.pools, &database, Needs::default(), timeout).await;
        assert_eq!((found.len(), found[0].status), (1, Fail), "{found:?}");
        let text = format!("{found:?}");
        assert!(!text.contains("swordfish"), "{text}");
        found[0].fix.clone().unwrap_or_default()
    };
    let wrong = advice(&|it| it.password = "swordfish".to_owned().into()).await;
    assert!(wrong.contains("\\password"), "{wrong}");
    let nowhere = advice(&|it| it.database = "no such".into()).await;
    assert!(
        nowhere.contains("CREATE DATABASE \"no such\";"),
        "{nowhere}"
    );
    let refused = advice(&|it| it.port = 1).await;
    assert!(refused.contains("start PostgreSQL"), "{refused}");
    let unresolved = advice(&|it| it.host = "no.such.invalid".into()).await;
    assert!(unresolved.contains("name of the host"), "{unresolved}");
    let silence = Silence::new().await;
    let silent = advice(&|it| silence.stand_in(it)).await;
    assert!(silent.contains("-timeout"), "{silent}");
    patient.end().await;
}
