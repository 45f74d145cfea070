//! Tests of `-doctor` and `-healthcheck`.

use std::net::TcpListener;

use serde_json::Value;

use crate::support::Home;

fn found(home: &Home) -> (Option<i32>, Vec<(String, String)>) {
    let ran = home.ran(&["-doctor", "-json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let checks = report["checks"].as_array().expect("checks");
    let text = |it: &Value, key: &str| it[key].as_str().expect("text").to_owned();
    let each = checks.iter().map(|it| (text(it, "id"), text(it, "status")));
    (ran.code, each.collect())
}

fn has(findings: &[(String, String)], id: &str, status: &str) -> bool {
    findings
        .iter()
        .any(|found| (&*found.0, &*found.1) == (id, status))
}

#[test]
fn an_installation_is_checked_and_a_running_service_answers() {
    let home = Home::new();
    let free = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = free.local_addr().expect("bound");
    home.configure(&format!("server: {{address: '{address}'}}\n"));
    let (code, findings) = found(&home);
    assert_eq!(code, Some(1), "another program has the address");
    assert!(has(&findings, "listen.address", "fail"), "{findings:?}");
    drop(free);
    let (code, findings) = found(&home);
    assert_eq!(code, Some(0), "{findings:?}");
    assert!(
        findings.iter().all(|(_, status)| status == "ok"),
        "{findings:?}"
    );
    assert_eq!(home.ran(&["-healthcheck"]).code, Some(1));

    home.configure(&format!(
        "server: {{address: '{address}'}}\nstate: {{url: 'postgres://a:swordfish@127.0.0.1:1/s'}}\n"
    ));
    let ran = home.ran(&["-doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout
            .contains("fail  state  127.0.0.1:1: connection refused"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("swordfish"), "{}", ran.stdout);

    home.configure("sever: {}\n");
    let (code, findings) = found(&home);
    assert_eq!(
        (code, has(&findings, "config.keys", "fail")),
        (Some(1), true)
    );
    for wrong in [
        &["-json"][..],
        &["-doctor", "-timeout", "soon"],
        &["-healthcheck=soon"],
    ] {
        assert_eq!(home.ran(wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_running_service_says_that_it_is_alive_and_ready() {
    let home = Home::new();
    let (_program, client) = home.serve();
    let health = client.get("/health");
    assert_eq!(health.status, 200);
    assert_eq!(health.json()["server"], "ziggurat-platform");
    let address = client.address();
    for flag in ["-healthcheck", "-healthcheck=ready"] {
        let ran = home.ran(&["-addr", address, flag]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}
