use serde_json::{Value, json};
use ziggurat_databases::Configured;
use ziggurat_postgres::{
    database::Settings,
    fixture::{Fixture, Silence},
};

use super::*;

async fn read(databases: &Databases) -> Result<String, ReadError> {
    SystemInfo::new(databases.clone())
        .read(Caller::default())
        .await
}

fn databases(fixture: &Fixture, change: impl FnOnce(&mut Settings)) -> Databases {
    let configured = Configured::new(fixture.describe(change));
    Databases::new(fixture.pools.clone(), [configured])
}

fn unavailable(outcome: Result<String, ReadError>) -> Value {
    match outcome {
        Err(ReadError::Unavailable(unavailable)) => {
            serde_json::to_value(&unavailable).expect("JSON")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_document_has_the_server_version_and_the_configuration() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |settings| settings.allow_writes = true);
    let text = read(&databases).await.expect("a document");
    let said = |sql: &'static str| sqlx::query_scalar::<_, String>(sql);
    let version = said("SELECT version()")
        .fetch_one(&mut fixture.outside)
        .await;
    let number = said("SHOW server_version_num")
        .fetch_one(&mut fixture.outside)
        .await;
    let short = said("SHOW server_version")
        .fetch_one(&mut fixture.outside)
        .await;
    let version = version.expect("a version");
    let build = Build::of(&version);
    let settings = &fixture.settings;
    let quoted = |text: &str| json!(text).to_string();
    let lines = [
        ("version", quoted(&version)),
        ("os", quoted(build.os)),
        ("arch", quoted(build.architecture)),
        ("postgresql_version", quoted(&short.expect("a version"))),
        ("version_number", quoted(&number.expect("a number"))),
        ("full_version", quoted(&version)),
        ("operating_system", quoted(build.os)),
        ("architecture", quoted(build.architecture)),
        ("compiler", quoted(build.compiler)),
        ("bit_version", quoted(build.bits)),
        ("database", quoted(&settings.database)),
        ("user", quoted(&settings.user)),
        ("host", quoted(&settings.host)),
        ("port", settings.port.to_string()),
        ("connection_name", quoted("main")),
        ("allow_writes", "true".to_owned()),
    ];
    let members: Vec<_> = lines
        .map(|(name, value)| format!("  \"{name}\": {value}"))
        .into();
    assert_eq!(text, format!("{{\n{}\n}}", members.join(",\n")));
}

#[test]
fn a_version_is_parsed_and_missing_parts_are_unknown() {
    let cases = [
        (
            "PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 12.2.0, 64-bit",
            ["x86_64-pc-linux-gnu", "linux", "gcc (GCC) 12.2.0", "64-bit"],
        ),
        (
            "PostgreSQL 15.8 (Debian 15.8-0+deb12u1) on aarch64-unknown-linux-gnu, compiled by \
             gcc (Debian 12.2.0-14) 12.2.0, 64-bit",
            [
                "aarch64-unknown-linux-gnu",
                "linux",
                "gcc (Debian 12.2.0-14) 12.2.0",
                "64-bit",
            ],
        ),
        (
            "PostgreSQL 17.0 on x86_64-windows, compiled by msvc-19.40, 64-bit",
            ["x86_64-windows", "Unknown", "msvc-19.40", "64-bit"],
        ),
        (
            "PostgreSQL 14 on , compiled by",
            ["Unknown", "Unknown", "Unknown", "Unknown"],
        ),
        ("SomethingElse 1", ["Unknown"; 4]),
        ("", ["Unknown"; 4]),
    ];
    for (version, [architecture, os, compiler, bits]) in cases {
        let expected = Build {
            architecture,
            os,
            compiler,
            bits,
        };
        assert_eq!(Build::of(version), expected, "{version}");
    }
}

#[tokio::test]
async fn an_unreachable_database_is_a_document_that_says_to_try_again() {
    let fixture = Fixture::new().await;
    let databases = databases(&fixture, |settings| {
        settings.user = "nobody_at_all".into();
        settings.shows_causes = true;
    });
    assert_eq!(
        unavailable(read(&databases).await),
        json!({
            "error": true,
            "message": "failed to connect to database 'main': FATAL: password authentication \
                failed for user \"nobody_at_all\" (SQLSTATE 28P01)",
            "code": "DATABASE_NOT_READY",
            "retryable": true,
        })
    );
    databases.replace([]);
    assert_eq!(
        unavailable(read(&databases).await),
        json!({
            "error": true,
            "message": "no databases are configured",
            "code": "DATABASE_NOT_READY",
            "retryable": false,
        })
    );
}

#[tokio::test]
async fn while_a_database_is_being_prepared_the_document_says_so() {
    let fixture = Fixture::new().await;
    let silent = Silence::new().await;
    let databases = databases(&fixture, |settings| silent.stand_in(settings));
    tokio::time::pause();
    let ((), outcome) = tokio::join!(databases.warm(), read(&databases));
    let document = unavailable(outcome);
    assert_eq!(document["code"], "DATABASE_NOT_READY");
    assert_eq!(document["retryable"], true);
    assert_eq!(document["message"], "the database is still being prepared");
}
