//! Choice of the file, and faulty files.

use std::fs;

use super::{Case, PIPELINE};
use crate::configuration::locate;

#[test]
fn a_named_file_must_exist() {
    let case = Case::new("");
    let path = case.folder.path().join("missing.yaml");
    let error = locate(Some(&path), &case.sources).expect_err("none");
    assert_eq!(
        error.to_string(),
        format!("config file not found: {}", path.display())
    );
    let path = case.folder.path().join("test.yaml");
    assert_eq!(locate(Some(&path), &case.sources).expect("there"), path);
}

#[test]
fn the_file_of_the_system_comes_before_the_one_next_to_the_program() {
    let case = Case::new("");
    let at = |folder: &str| case.folder.path().join(folder).join("ziggurat-rag.yaml");
    let (system, binary) = (at("system"), at("binary"));
    let error = locate(None, &case.sources).expect_err("none");
    assert_eq!(
        error.to_string(),
        format!(
            "no configuration file found; searched: [{} {}]",
            system.display(),
            binary.display()
        )
    );
    for path in [&binary, &system] {
        fs::create_dir(path.parent().expect("a folder")).expect("created");
        fs::write(path, "").expect("written");
        assert_eq!(&locate(None, &case.sources).expect("there"), path);
    }
}

#[test]
fn an_unreadable_file_and_invalid_yaml_have_different_messages() {
    let case = Case::new("");
    fs::remove_file(case.folder.path().join("test.yaml")).expect("removed");
    fs::create_dir(case.folder.path().join("test.yaml")).expect("created");
    let error = case.error();
    assert!(error.starts_with("failed to read config file: "), "{error}");
    let error = Case::new("pipelines: [").error();
    assert!(
        error.starts_with("failed to parse config file: "),
        "{error}"
    );
}

#[test]
fn unknown_keys_are_problems_with_their_places() {
    let pipelines = PIPELINE
        .replace("name: docs", "name: docs\n  descripton: x\n  llm_headers: {X-Any: y}")
        .replace("table: documents", "table: a, filter: {conditions: [{column: b, operator: '=', value: [c, d], valu: 2}], logik: or}")
        .replace("database: docs", "database: docs, hsots: []");
    let text = format!("srever: {{}}\nserver: {{prot: 1}}\npipelines:{pipelines}");
    let expected = [
        "unknown key 'srever' in test.yaml (did you mean 'server'?)",
        "unknown key 'server.prot' in test.yaml (did you mean 'server.port'?)",
        "unknown key 'pipelines[0].descripton' in test.yaml (did you mean 'pipelines[0].description'?)",
        "unknown key 'pipelines[0].database.hsots' in test.yaml (did you mean 'pipelines[0].database.hosts'?)",
        "unknown key 'pipelines[0].tables[0].filter.logik'",
        "unknown key 'pipelines[0].tables[0].filter.conditions[0].valu'",
    ];
    assert_eq!(
        Case::new(&text).error(),
        format!("invalid configuration: {}", expected.join("; "))
    );
    assert_eq!(Case::changed(&[]).warnings(), [""; 0]);
}
