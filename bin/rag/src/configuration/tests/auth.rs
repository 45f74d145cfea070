//! Tests of the tokens of callers, and of pipelines that are not for all.

use ziggurat_tokens::CallerId;

use super::*;

/// Returns a case with this section `server`.
fn serving(server: &str) -> Case {
    Case::new(&format!("server: {{{server}}}\npipelines:{PIPELINE}"))
}

/// Returns a case with a pipeline for these callers.
fn made_for(callers: &str) -> Case {
    Case::new(&format!("pipelines:{PIPELINE}  for: {callers}\n"))
}

#[test]
fn without_the_section_callers_need_no_token() {
    let configuration = serving("port: 8081").configuration();
    assert_eq!(configuration.server.auth, None);
    assert_eq!(configuration.pipelines[0].callers, None);
}

#[test]
fn a_token_file_is_beside_the_configuration() {
    let case = serving("auth: {token_file: tokens.yaml}, listen_address: 0.0.0.0");
    let auth = case.configuration().server.auth.expect("a section");
    assert_eq!(
        auth.token_file,
        Some(case.folder.path().join("tokens.yaml"))
    );
    assert_eq!(auth.issuer, None);
}

#[test]
fn a_section_that_authenticates_no_caller_is_refused() {
    let nothing = "server.auth: names no tokens: set token_file, or issuer.url, or both";
    let url = "auth: {issuer: {url: 'https://a.example', public_url: 'https://b.example'";
    for (server, expected) in [
        ("auth: {}", nothing),
        ("auth: ", nothing),
        ("auth: {issuer: {}}", nothing),
        ("auth: {token_fil: a}", nothing),
        (
            &*format!("{url}, databases: [a]}}}}"),
            "unknown key 'server.auth.issuer.databases'",
        ),
        (
            "auth: {issuer: {url: 'http://a.example', public_url: 'https://b.example'}}",
            "server.auth.issuer.url: must be https, unless it is on this machine",
        ),
    ] {
        let error = serving(server).error();
        assert!(error.contains(expected), "{server}: {error}");
    }
    let auth = serving(&format!("{url}}}}}")).configuration().server.auth;
    let issuer = auth.and_then(|auth| auth.issuer).expect("an issuer");
    assert_eq!(issuer.resource(), "https://b.example/v1");
}

#[test]
fn a_pipeline_for_some_callers_is_for_no_others() {
    let callers = made_for("{tokens: [token-1], scopes: [ask]}")
        .pipeline()
        .callers;
    let callers = callers.expect("some");
    let scopes = ["ask".to_owned()];
    let client = |scopes| CallerId::Client {
        subject: "ann",
        client: None,
        tenant: None,
        scopes,
    };
    assert!(
        callers.fit(&CallerId::Token {
            id: "token-1",
            toolsets: &[],
        }) && callers.fit(&client(&scopes))
    );
    assert!(
        !callers.fit(&CallerId::Token {
            id: "token-2",
            toolsets: &[],
        }) && !callers.fit(&client(&[]))
    );
    assert!(!callers.fit(&CallerId::Local));
}

#[test]
fn a_list_that_names_no_caller_is_refused_and_never_means_all() {
    for callers in [
        "{}",
        "",
        "{tokens: []}",
        "{everyone: false}",
        "{groups: [a]}",
    ] {
        let error = made_for(callers).error();
        let expected = "pipelines[0].for: names no caller";
        assert!(error.contains(expected), "{callers}: {error}");
    }
    for callers in ["all", "[a]"] {
        made_for(callers).error();
    }
}

#[test]
fn names_that_do_not_exist_are_warnings() {
    let warnings = made_for("{tokens: [token-1], users: [ann]}").warnings();
    let expected = [
        "pipelines: 'docs': no API token has the id token-1",
        "pipelines: 'docs': this server has no users, so none is named ann",
    ];
    assert_eq!(warnings, expected);
    assert_eq!(made_for("{local: true}").warnings(), [""; 0]);
}
