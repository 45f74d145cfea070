//! Tests of `-doctor` and `-healthcheck`.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use serde_json::Value;

use crate::support::{Home, free_port, library, nowhere, pipeline, server};

/// Returns the exit code, and each finding.
fn found(home: &Home) -> (Option<i32>, Vec<Value>) {
    let ran = home.ran(&["-doctor", "-json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    (
        ran.code,
        report["checks"].as_array().expect("checks").clone(),
    )
}

fn statuses<'a>(findings: &'a [Value], id: &str) -> Vec<&'a str> {
    let its = findings.iter().filter(|it| it["id"] == id);
    its.filter_map(|it| it["status"].as_str()).collect()
}

#[test]
fn each_pipeline_is_checked_with_its_database_and_its_models() {
    let postgres = library();
    let home = Home::with(&(server("") + "pipelines:\n" + &pipeline("good", &postgres, "")));
    let open = Permissions::from_mode(0o644);
    fs::set_permissions(home.file("ziggurat-rag.yaml"), open).expect("set");
    let (_, findings) = found(&home);
    assert_eq!(statuses(&findings, "config.read"), ["ok"]);
    assert_eq!(
        statuses(&findings, "config.modes"),
        ["fail"],
        "it has a password"
    );
    assert_eq!(statuses(&findings, "listen.address"), ["ok"]);
    assert_eq!(statuses(&findings, "db.connect"), ["ok"]);
    assert_eq!(statuses(&findings, "providers"), ["ok"]);
    // The role of the tests may do everything.
    assert_eq!(statuses(&findings, "db.role")[0], "fail");
    let role = findings
        .iter()
        .find(|it| it["id"] == "db.role")
        .expect("found");
    assert_eq!(role["database"], "good");

    home.configure(&(server("") + "pipelines:\n" + &nowhere("away", "")));
    let (code, findings) = found(&home);
    assert_eq!(
        (code, statuses(&findings, "db.connect")),
        (Some(1), vec!["fail"])
    );
    home.configure("pipelines: []\nsever: {}\n");
    let (code, findings) = found(&home);
    assert_eq!(
        (code, statuses(&findings, "config.keys")),
        (Some(1), vec!["fail"])
    );
}

#[test]
fn a_running_server_answers_about_its_health() {
    let postgres = library();
    let port = free_port();
    let yaml = format!("server: {{listen_address: 127.0.0.1, port: {port}}}\npipelines:\n");
    let home = Home::with(&(yaml + &pipeline("good", &postgres, "")));
    let asked = home.ran(&["-healthcheck"]);
    assert_eq!((asked.code, asked.stderr.lines().count()), (Some(1), 1));
    let (_program, client) = home.serve();
    assert_eq!(home.ran(&["-healthcheck"]).code, Some(0));
    client.get("/v1/health");
    let (_, findings) = found(&home);
    assert_eq!(
        statuses(&findings, "listen.address"),
        ["ok"],
        "its own server has it"
    );
    for wrong in [
        &["-json"][..],
        &["-doctor", "-timeout", "soon"],
        &["-healthcheck=soon"],
    ] {
        assert_eq!(home.ran(wrong).code, Some(2), "{wrong:?}");
    }
}
