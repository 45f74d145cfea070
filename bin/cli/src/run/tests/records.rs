//! Tests of lists, records, changes and deletions.

use super::*;

#[test]
fn records_are_a_table_for_people_and_whole_for_scripts() {
    let platform = fake(|asked| match asked.path.as_str() {
        "/account/v1/clients" => (
            200,
            r#"[{"id":"1","name":"a\nb","auth0_id":"Zk3","extra":true,"created_at":"2026-01-02T03:04:05Z"}]"#,
        ),
        _ => (200, CLIENT),
    });
    let fixture = Fixture::signed_in(&platform);
    assert_eq!(
        fixture.run("platform clients list").stdout,
        "ID  NAME  DESCRIPTION  CREDENTIAL ID  CREATED     UPDATED\n\
         1   a\\nb               Zk3            2026-01-02  \n"
    );
    assert_eq!(
        fixture.run("platform client list -o json").stdout,
        "[{\"created_at\":\"2026-01-02T03:04:05Z\",\"credential_id\":\"Zk3\",\"extra\":true,\
         \"id\":\"1\",\"name\":\"a\\nb\"}]\n"
    );
    let get = format!("platform client get {}", ID.to_uppercase());
    assert_eq!(
        fixture.run(&get).stdout.lines().nth(1).expect("a row"),
        "b0c1d2e3-f4a5-6789-bcde-890123456789  ci    CI runner    Zk3            2026-01-02  2026-01-03"
    );
    let yaml = fixture.run(&format!("{get} -o yaml")).stdout;
    assert!(yaml.contains("quota: 12345678901234567890123\n"), "{yaml}");
    assert!(yaml.contains("\ncredential_id: Zk3\n"), "{yaml}");
    assert_eq!(
        fixture
            .run(&format!("{get} --fields name,updated_at"))
            .stdout,
        "NAME  UPDATED\nci    2026-01-03\n"
    );
    assert_eq!(
        fixture.run(&format!("{get} --fields name -o json")).stdout,
        "{\"name\":\"ci\"}\n"
    );
    assert_eq!(
        fixture
            .run(&format!("{get} --jq .name,.quota,.nothing"))
            .stdout,
        "ci\n12345678901234567890123\nnull\n"
    );
    assert_eq!(
        platform.lines().last().map(String::as_str),
        Some("GET /account/v1/clients/b0c1d2e3-f4a5-6789-bcde-890123456789")
    );
}

#[test]
fn an_empty_list_is_a_note_and_no_result() {
    for body in ["[]", "", "null", " \n"] {
        let platform = fake(move |_| (200, body));
        let fixture = Fixture::signed_in(&platform);
        for (noun, note) in [
            ("client", "No API clients found.\n"),
            ("invite", "No invites found.\n"),
            ("membership", "No memberships found.\n"),
            ("tenant", "No tenants found.\n"),
        ] {
            let done = fixture.run(&format!("platform {noun} list"));
            assert_eq!(
                (done.exit, done.stdout.as_str(), done.stderr.as_str()),
                (0, "", note)
            );
            let done = fixture.run(&format!("platform {noun} list -o json"));
            assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("[]\n", ""));
        }
    }
}

#[test]
fn a_success_without_a_record_is_noted() {
    let platform = fake(|_| (204, ""));
    let fixture = Fixture::signed_in(&platform);
    for line in ["tenant get ID", "tenant update ID --name x"] {
        let line = format!("platform {}", line.replace("ID", ID));
        let done = fixture.run(&line);
        assert_eq!(
            (done.exit, done.stdout.as_str(), done.stderr.as_str()),
            (0, "", "No tenant data returned.\n"),
            "{line}"
        );
        let done = fixture.run(&format!("{line} -o json"));
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("null\n", ""));
    }
}

#[test]
fn an_invalid_response_is_a_failure() {
    for (line, body, message) in [
        (
            "client list",
            "<html>",
            "list clients: the response is not JSON",
        ),
        (
            "client list",
            "{}",
            "list clients: the response is not a list",
        ),
        ("client get ID", "[", "get client: the response is not JSON"),
        (
            "tenant get ID",
            "[]",
            "get tenant: the response is not an object",
        ),
    ] {
        let platform = fake(move |_| (200, body));
        let fixture = Fixture::signed_in(&platform);
        let done = fixture.run(&format!("platform {}", line.replace("ID", ID)));
        assert_eq!((done.exit, done.stdout.as_str()), (1, ""), "{line}");
        assert_eq!(done.stderr, format!("Error: {message}\n"), "{line}");
    }
}

#[test]
fn an_update_sends_what_was_given_and_nothing_else() {
    let platform = fake(|_| (200, CLIENT));
    let fixture = Fixture::signed_in(&platform);
    for flags in ["--name n", "--description d", "--name n --description d"] {
        let done = fixture.run(&format!("platform client update {ID} {flags}"));
        assert_eq!(done.exit, 0, "{}", done.stderr);
    }
    let done = fixture.words(&["platform", "client", "update", ID, "--description", ""]);
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let path = format!("PATCH /account/v1/clients/{ID}");
    assert_eq!(
        platform.lines(),
        [
            format!("{path} {{\"name\":\"n\"}}"),
            format!("{path} {{\"description\":\"d\"}}"),
            format!("{path} {{\"description\":\"d\",\"name\":\"n\"}}"),
            format!("{path} {{\"description\":\"\"}}"),
        ]
    );
}

/// Returns kinds that can be deleted, the question, and the start of the note.
fn deletions() -> [(&'static str, String, &'static str); 3] {
    [
        (
            "client",
            format!(
                "Delete API client {ID}? Any application using its credentials will stop being \
                 able to authenticate. [y/N]: "
            ),
            "API client",
        ),
        (
            "invite",
            format!("Delete invite {ID}? This cannot be undone. [y/N]: "),
            "Invite",
        ),
        (
            "membership",
            format!("Remove team member {ID}? [y/N]: "),
            "Membership",
        ),
    ]
}

#[test]
fn a_deletion_asks_and_only_a_yes_goes_on() {
    for (noun, question, title) in deletions() {
        let line = format!("platform {noun} delete {ID}");
        for (answer, goes_on) in [
            ("y\n", true),
            (" Y \n", true),
            ("YES\n", true),
            ("yes", true),
            ("n\n", false),
            ("\n", false),
            ("", false),
            ("yep\n", false),
        ] {
            let platform = fake(|_| (204, ""));
            let fixture = Fixture::signed_in(&platform).with("NO_COLOR", "1");
            let done = fixture.typing(answer).run(&line);
            assert!(done.stderr.contains(&question), "{}", done.stderr);
            let fixture = format!("profile \"default\" at {}\n", platform.url());
            assert!(done.stderr.starts_with(&fixture), "{}", done.stderr);
            assert_eq!(platform.lines().len(), usize::from(goes_on), "{answer:?}");
            if goes_on {
                assert_eq!(done.exit, 0);
                let note = format!("{title} {ID} deleted.\n");
                assert!(done.stderr.ends_with(&note), "{}", done.stderr);
            } else {
                assert_eq!(done.exit, 2);
                let note = "Error: aborted: not confirmed\n";
                assert!(done.stderr.ends_with(note), "{}", done.stderr);
            }
        }
        let platform = fake(|_| (200, "ignored"));
        let fixture = Fixture::signed_in(&platform);
        let done = fixture.run(&format!("{line} --force -o json"));
        assert_eq!(
            done.stdout,
            format!("{{\"id\":\"{ID}\",\"deleted\":true}}\n")
        );
        assert_eq!(
            platform.lines(),
            [format!("DELETE /account/v1/{noun}s/{ID}")]
        );
        let unasked = Fixture::signed_in(&platform).typing("y\n");
        assert_eq!(unasked.run(&format!("{line} --no-input")).exit, 2);
    }
}

#[test]
fn a_dry_run_tells_the_request_and_the_checks() {
    let platform = fake(|_| (200, "{}"));
    let fixture = Fixture::signed_in(&platform);
    let url = platform.url();
    assert_eq!(
        fixture
            .run(&format!("platform client delete {ID} --dry-run"))
            .stdout,
        format!(
            "checks passed:\n  ✓ would require confirmation (--force bypasses)\nwould send:\n  \
             DELETE {url}/account/v1/clients/{ID}\nnothing was written; the server was not \
             consulted and may still reject this request.\n"
        )
    );
    assert_eq!(
        fixture
            .run(&format!(
                "platform tenant update {ID} --name acme --dry-run -o json"
            ))
            .stdout,
        format!(
            "{{\"dry_run\":true,\"server_validated\":false,\"checks_passed\":[],\"request\":\
             {{\"method\":\"PATCH\",\"url\":\"{url}/account/v1/tenants/{ID}\",\"body\":\
             {{\"name\":\"acme\"}}}}}}\n"
        )
    );
}

#[test]
fn a_new_secret_is_the_only_text_on_standard_output() {
    const CREATED: &str = r#"{"id":"1","name":"ci\"x","auth0_id":"Zk3","auth0_secret":"s3cr3t"}"#;
    let platform = fake(|_| (201, CREATED));
    let fixture = Fixture::signed_in(&platform);
    let line = "platform client create --name ci --description d";
    let done = fixture.run(line);
    assert_eq!((done.exit, done.stdout.as_str()), (0, "s3cr3t\n"));
    assert_eq!(
        done.stderr,
        "API client \"ci\\\"x\" created (id: 1).\nCredential ID: Zk3\nClient secret: Save the \
         secret now — it is shown once and cannot be retrieved again.\n"
    );
    let done = fixture.run(&format!("{line} -o json"));
    assert_eq!(done.stderr, "");
    assert_eq!(
        done.stdout,
        "{\"credential_id\":\"Zk3\",\"credential_secret\":\"s3cr3t\",\"id\":\"1\",\"name\":\"ci\\\"x\"}\n"
    );
    assert_eq!(
        fixture
            .run(&format!("{line} --jq .credential_secret"))
            .stdout,
        "s3cr3t\n"
    );
    assert_eq!(
        platform.lines()[0],
        "POST /account/v1/clients {\"description\":\"d\",\"name\":\"ci\"}"
    );
    assert_eq!(fixture.run("platform client create --name ci").exit, 0);
    assert_eq!(
        platform.lines().last().map(String::as_str),
        Some("POST /account/v1/clients {\"description\":\"\",\"name\":\"ci\"}")
    );
}

#[test]
fn the_credential_of_a_client_has_one_name_whatever_the_platform_calls_it() {
    for (name, record) in [
        ("auth0_id", r#"{"id":"1","auth0_id":"Zk3"}"#),
        ("oauth_client_id", r#"{"id":"1","oauth_client_id":"Zk3"}"#),
        ("credential_id", r#"{"id":"1","credential_id":"Zk3"}"#),
    ] {
        let platform = fake(move |_| (200, record));
        let fixture = Fixture::signed_in(&platform);
        let get = format!("platform client get {ID} -o json");
        assert_eq!(
            fixture.run(&get).stdout,
            "{\"credential_id\":\"Zk3\",\"id\":\"1\"}\n",
            "{record}"
        );
        let sent = fixture.run("platform api GET /account/v1/clients/1");
        assert!(
            sent.stdout.contains(name),
            "as it was sent: {}",
            sent.stdout
        );
    }
}

#[test]
fn a_missing_secret_is_reported_lost() {
    let line = "platform client create --name ci --description d";
    let platform = fake(|_| (200, r#"{"id":"1"}"#));
    let done = Fixture::signed_in(&platform).run(line);
    assert_eq!((done.exit, done.stdout.as_str()), (0, ""));
    assert!(
        done.stderr
            .contains("Warning: the API returned no client secret."),
        "{}",
        done.stderr
    );
    for body in ["", "<html>", "[]"] {
        let platform = fake(move |_| (200, body));
        let done = Fixture::signed_in(&platform).run(line);
        assert_eq!((done.exit, done.stdout.as_str()), (1, ""), "{body:?}");
        assert!(
            done.stderr
                .starts_with("Error: client created but the API returned no body"),
            "{}",
            done.stderr
        );
    }
}

/// Two clients with one name, one with another, and one with an id that would change the path.
const NAMED: &str = r#"[
    {"id":"b0c1d2e3-f4a5-6789-bcde-890123456789","name":"ci"},
    {"id":"00000000-0000-4000-8000-000000000001","name":"twin"},
    {"id":"00000000-0000-4000-8000-000000000002","name":"twin"},
    {"id":"../tenants","name":"odd"}
]"#;

#[test]
fn a_client_may_be_named_instead_of_its_id() {
    let platform = fake(|asked| match asked.method.as_str() {
        "GET" if asked.path.ends_with("/clients") => (200, NAMED),
        _ => (
            200,
            r#"{"id":"b0c1d2e3-f4a5-6789-bcde-890123456789","name":"ci"}"#,
        ),
    });
    let fixture = Fixture::signed_in(&platform);
    for (line, request) in [
        (
            "platform client get ci",
            format!("GET /account/v1/clients/{ID}"),
        ),
        (
            "platform client update ci --role reader",
            format!("PATCH /account/v1/clients/{ID}"),
        ),
        (
            "platform client delete ci --force",
            format!("DELETE /account/v1/clients/{ID}"),
        ),
    ] {
        let done = fixture.run(line);
        assert_eq!(done.exit, 0, "{line}: {}", done.stderr);
        let asked = platform.asked();
        let last = asked.last().expect("a request");
        assert_eq!(format!("{} {}", last.method, last.path), request, "{line}");
    }
    assert!(
        fixture
            .run("platform client delete ci")
            .stderr
            .contains("destructive")
    );
    let tried = fixture.run("platform client delete ci --dry-run");
    assert!(
        tried.stdout.contains(&format!("/clients/{ID}\n")),
        "{}",
        tried.stdout
    );
    for (name, exit, said) in [
        (
            "missing",
            4,
            "Error: no API client has the name \"missing\"\n",
        ),
        (
            "twin",
            2,
            "Error: 2 API clients have the name \"twin\": give the ID of one (0000",
        ),
        ("odd", 2, "Error: invalid client ID \"../tenants\": "),
    ] {
        let before = platform.asked().len();
        let done = fixture.run(&format!("platform client delete {name} --force"));
        assert_eq!((done.exit, done.stdout.as_str()), (exit, ""), "{name}");
        assert!(done.stderr.starts_with(said), "{}", done.stderr);
        assert_eq!(platform.asked().len(), before + 1, "only the list");
    }
}

#[test]
fn a_dry_run_of_an_invite_shows_the_request_of_a_person_and_sends_nothing() {
    let platform = fake(|_| (200, "{}"));
    let fixture = Fixture::signed_in(&platform);
    for (line, path, body) in [
        (
            "platform invite create --email a@b --expiration 5 --dry-run -o json".to_owned(),
            "/account/v1/invites\"".to_owned(),
            r#""body":{"email":"a@b","expiration":5}"#,
        ),
        (
            "platform invite create --dry-run -o json".to_owned(),
            "/account/v1/invites\"".to_owned(),
            r#""body":{}"#,
        ),
        (
            format!("platform invite accept {ID} --token t --dry-run -o json"),
            format!("/account/v1/invites/{ID}/accept\""),
            r#""body":{"token":"████"}"#,
        ),
    ] {
        let done = fixture.run(&line);
        assert_eq!(done.exit, 0, "{line}: {}", done.stderr);
        assert!(
            done.stdout.contains(r#""method":"POST""#),
            "{}",
            done.stdout
        );
        assert!(done.stdout.contains(&path), "{}", done.stdout);
        assert!(done.stdout.contains(body), "{}", done.stdout);
        assert!(
            done.stderr.contains("needs a signed-in user"),
            "{}",
            done.stderr
        );
    }
    assert_eq!(platform.lines(), [""; 0]);
}

#[test]
fn invites_send_people_to_the_web() {
    let platform = fake(|_| (200, "{}"));
    let fixture = Fixture::signed_in(&platform);
    let text = fs::read_to_string(fixture.config()).expect("a file");
    let with_web = text.replace(
        "      login_id",
        "      web_url: https://web.example.com\n      login_id",
    );
    let with_web = Fixture::new().with_config(&with_web);
    for fixture in [&Fixture::new(), &fixture, &with_web] {
        for (line, start) in [
            (
                "platform invite create".to_owned(),
                "Error: invite create needs a signed-in user.",
            ),
            (
                format!("platform invite accept {ID} --token t"),
                "Error: invite accept needs a signed-in user.",
            ),
        ] {
            let done = fixture.run(&line);
            assert_eq!((done.exit, done.stdout.as_str()), (5, ""), "{line}");
            assert!(done.stderr.starts_with(start), "{}", done.stderr);
        }
    }
    assert!(
        with_web
            .run("platform invite create")
            .stderr
            .contains("https://web.example.com")
    );
    assert_eq!(platform.lines(), [""; 0]);
}

#[test]
fn a_secret_on_a_closed_pipe_is_reported_lost_with_the_client_to_delete() {
    let platform = fake(|_| (200, r#"{"id":"77","auth0_secret":"s3cr3t"}"#));
    let fixture = Fixture::signed_in(&platform).unread();
    for format in ["text", "json", "yaml"] {
        let line = format!("platform client create --name ci --description d -o {format}");
        let done = fixture.run(&line);
        assert_eq!(done.exit, 1, "{format}");
        assert!(
            done.stderr.contains("is lost; delete client 77"),
            "{}",
            done.stderr
        );
        assert!(!done.stderr.contains("s3cr3t"), "{}", done.stderr);
    }
}

#[test]
fn a_dry_run_that_fails_first_still_tells_the_checks_that_passed() {
    let fixture = Fixture::new();
    let line = format!("platform client delete {ID} --dry-run -o json");
    let done = fixture.run(&line);
    assert_eq!((done.exit, done.stdout.as_str()), (5, ""));
    assert!(
        done.stderr.starts_with(
            "checks passed:\n  ✓ would require confirmation (--force bypasses)\n{\"error\":"
        ),
        "{}",
        done.stderr
    );
    let done = fixture.run(&format!("platform client delete {ID} --dry-run --force"));
    assert!(
        done.stderr.starts_with("Error: no credentials"),
        "{}",
        done.stderr
    );
}
