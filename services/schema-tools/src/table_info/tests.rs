use serde_json::{Value, json};
use ziggurat_databases::Configured;
use ziggurat_postgres::fixture::Fixture;

use super::*;
use crate::table_details::TableDetails;

async fn databases(fixture: &mut Fixture) -> Databases {
    fixture
        .given(
            "CREATE TABLE ware (id int PRIMARY KEY, name text DEFAULT 'x', \"Größe\" int);
             CREATE TYPE mood AS ENUM ('sad', 'happy');
             CREATE TABLE guarded (id int CHECK (id > 0), mood mood, other int);
             INSERT INTO guarded SELECT 1; ANALYZE guarded;
             ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
             CREATE POLICY mine ON guarded FOR SELECT USING (id = 1);
             CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
             CREATE TRIGGER stamped BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION stamp();
             CREATE VIEW few AS SELECT id FROM guarded;
             CREATE TABLE event (day date) PARTITION BY RANGE (day);
             CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
             CREATE SCHEMA warden; CREATE TABLE warden.ward (n int);",
        )
        .await;
    let configured = Configured::new(fixture.describe(|settings| settings.name = "main".into()));
    Databases::new(fixture.pools.clone(), [configured])
}

fn placeholders(placeholders: &[(&str, &str)]) -> Placeholders {
    placeholders.iter().copied().collect()
}

#[tokio::test]
async fn a_table_is_described_or_one_column_of_it() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&mut fixture).await;
    let ware = [
        ("database", "main"),
        ("schema", "public"),
        ("table", "ware"),
    ];
    let read = async |template: TableInfo, more: &[(&str, &str)]| {
        let placeholders = placeholders(&[&ware[..], more].concat());
        let text = template
            .read(placeholders, Caller::default())
            .await
            .expect("read");
        text.map(|text| serde_json::from_str::<Value>(&text).expect("JSON"))
    };
    let table = read(TableInfo::tables(databases.clone()), &[]).await;
    let table = table.expect("a table");
    assert_eq!(table["kind"], "TABLE");
    assert_eq!(table["columns"].as_array().map(Vec::len), Some(3));
    assert_eq!(table["columns"][0]["isPrimaryKey"], true);
    let columns = TableInfo::columns(databases.clone());
    let column = read(columns.clone(), &[("column", "Größe")]).await;
    let column = column.expect("a column");
    assert_eq!(column["columns"][0]["name"], "Größe");
    assert_eq!(column["columns"].as_array().map(Vec::len), Some(1));
    assert_eq!(read(columns, &[("column", "nothing")]).await, None);
    let nothing = [("table", "nothing")];
    assert_eq!(
        read(TableInfo::tables(databases.clone()), &nothing).await,
        None
    );
    let elsewhere = [("database", "other")];
    assert_eq!(read(TableInfo::tables(databases), &elsewhere).await, None);
}

#[tokio::test]
async fn a_table_has_its_checks_policies_enums_and_notes_where_there_are_any() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&mut fixture).await;
    let glossary = "
        - {object: public.guarded, note: only a few}
        - {object: public.guarded.other, note: unused}";
    let entries = serde_yaml::from_str(glossary).expect("YAML");
    let glossary = Glossary::read(entries).expect("valid");
    let template = TableInfo::tables(databases).with_glossary(glossary);
    let read = async |table: &str| {
        let names = [("database", "main"), ("schema", "public"), ("table", table)];
        let text = template.read(placeholders(&names), Caller::default()).await;
        let text = text.expect("read").expect("a table");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let mut table = read("guarded").await;
    let members = table.as_object_mut().expect("an object");
    members.remove("columns");
    assert_eq!(
        table,
        json!({
            "database": "main", "schema": "public", "table": "guarded", "kind": "TABLE", "rows": 1,
            "policies": [{
                "name": "mine", "command": "SELECT", "roles": ["PUBLIC"], "isPermissive": true,
                "using": "id = 1",
            }],
            "checks": [{"name": "guarded_id_check", "definition": "id > 0", "column": "id"}],
            "enums": [{"column": "mood", "labels": ["sad", "happy"]}],
            "notes": [{"note": "only a few"}, {"column": "other", "note": "unused"}],
            "triggers": ["stamped"], "rowSecurity": "on",
        })
    );
    let plain = read("ware").await;
    let mut members: Vec<_> = plain.as_object().expect("an object").keys().collect();
    members.sort();
    assert_eq!(members, ["columns", "database", "kind", "schema", "table"]);
    assert_eq!(read("few").await["view"], "SELECT id\n   FROM guarded;");
    assert_eq!(read("event").await["partitions"], "1 by range (day)");
    let part = "public.event from ('2024-01-01') to ('2025-01-01')";
    assert_eq!(read("event_1").await["partitionOf"], part);
}

#[tokio::test]
async fn a_description_says_what_the_role_may_not_read() {
    let mut fixture = Fixture::new().await;
    let template = TableInfo::tables(databases(&mut fixture).await);
    let names = placeholders(&[("database", "main")]);
    let metadata = template.metadata(&names, &Caller::default()).await;
    let metadata = metadata.expect("a database").expect("read");
    let table = metadata.table("public", "ware").expect("a table");
    let json = |details: &TableDetails| {
        let glossary = Glossary::default();
        json!(Details::of("main", table, Some(details), &glossary))
    };
    let nothing = json(&TableDetails::default());
    assert_eq!(nothing, json!({"notReadable": true}));
    let some = json(&TableDetails {
        privileges: vec!["SELECT"],
        unreadable_columns: vec!["name".to_owned()],
        ..TableDetails::default()
    });
    assert_eq!(some, json!({"unreadableColumns": ["name"]}));
}

/// A placeholder, the values so far, and the completions.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Value);

#[tokio::test]
async fn completions_begin_with_the_text_so_far() {
    let mut fixture = Fixture::new().await;
    let template = TableInfo::columns(databases(&mut fixture).await);
    let cases: [Case<'_>; 8] = [
        ("database", &[("database", "")], json!(["main"])),
        ("database", &[("database", "x")], json!([])),
        (
            "schema",
            &[("schema", "w"), ("database", "main")],
            json!(["warden"]),
        ),
        ("schema", &[("schema", "w")], json!([])),
        (
            "table",
            &[("table", "wa"), ("database", "main"), ("schema", "public")],
            json!(["ware"]),
        ),
        ("table", &[("table", ""), ("database", "main")], json!([])),
        (
            "column",
            &[
                ("column", "n"),
                ("database", "main"),
                ("schema", "public"),
                ("table", "ware"),
            ],
            json!(["name"]),
        ),
        (
            "column",
            &[
                ("column", ""),
                ("database", "other"),
                ("schema", "public"),
                ("table", "ware"),
            ],
            json!([]),
        ),
    ];
    for (place, written, expected) in cases {
        let proposed =
            template.complete(place.to_owned(), placeholders(written), Caller::default());
        assert_eq!(json!(proposed.await), expected, "{place} {written:?}");
    }
}
