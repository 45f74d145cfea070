use crate::{Adopted, Adoption, Input, Surroundings};

fn adopt(name: &str, text: &str) -> Adopted {
    let surroundings = Surroundings::new("/home/me/ziggurat-tools.yaml");
    let input = Input { name, text };
    let read = Adoption::read(&[input], None, &surroundings);
    read.unwrap_or_else(|error| panic!("{error}")).finish()
}

#[test]
fn server_postgres_keeps_its_url_and_its_password_becomes_a_variable() {
    let text = r#"{
  "mcpServers": {
    "files": {"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "/"]},
    "shop": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-postgres", "postgresql://me:swordfish@db:5433/shop?sslmode=require"]
    }
  }
}"#;
    let adopted = adopt("claude.json", text);
    assert_eq!(
        adopted.entries,
        [r#"{
  "mcpServers": {
    "shop": {
      "command": "ziggurat-tools",
      "args": [
        "-compat",
        "server-postgres",
        "postgresql://me@db:5433/shop?sslmode=require"
      ],
      "env": {
        "PGPASSWORD": "<password>"
      }
    }
  }
}
"#]
    );
    assert_eq!(
        adopted.report.text(),
        "changed  claude.json:4  shop  the password is not in the URL any more: put it into \
         PGPASSWORD\nsame  claude.json:4  shop  server-postgres: the tool query and its resources, \
         by -compat server-postgres\n"
    );
    assert!(adopted.files.is_empty() && !adopted.report.lacks_something());
}

#[test]
fn each_client_gets_its_entry_in_its_own_form() {
    let package = "@modelcontextprotocol/server-postgres";
    for (text, parts) in [
        // Visual Studio Code asks for the URL.
        (
            format!(
                r#"{{"mcp": {{"servers": {{"pg": {{"command": "npx", "args": ["{package}", "${{input:url}}"]}}}}}}}}"#
            ),
            &[r#""servers""#, r#""DATABASE_URL": "${input:url}""#][..],
        ),
        // Zed, in both of its forms.
        (
            format!(
                r#"// settings
{{"context_servers": {{"pg": {{"command": {{"path": "npx", "args": ["{package}", "postgres://u@h/d"]}}}},}}}}"#
            ),
            &[r#""context_servers""#, r#""postgres://u@h/d""#],
        ),
        (
            r#"{"context_servers": {"pg": {"settings": {"database_url": "postgres://u@h/d"}}}}"#
                .to_owned(),
            &[r#""postgres://u@h/d""#],
        ),
        // An image reaches this machine by another name.
        (
            r#"{"mcpServers": {"pg": {"command": "docker", "args": ["run", "-i", "mcp/postgres", "postgresql://host.docker.internal:5432/d"]}}}"#
                .to_owned(),
            &[r#""postgresql://localhost:5432/d""#],
        ),
    ] {
        let adopted = adopt("settings.json", &text);
        for part in parts {
            assert!(adopted.entries[0].contains(part), "{text}: {}", adopted.entries[0]);
        }
        let read: Result<serde_json::Value, _> = serde_json::from_str(&adopted.entries[0]);
        assert!(read.is_ok(), "{}", adopted.entries[0]);
    }
    let text = format!(
        "[mcp_servers.\"my pg\"]\ncommand = \"npx\"\nargs = [\"-y\", \"{package}\", \
         \"postgres://u:pw@h/d\"]\n"
    );
    assert_eq!(
        adopt("config.toml", &text).entries,
        [
            "[mcp_servers.\"my pg\"]\ncommand = \"ziggurat-tools\"\nargs = [\"-compat\", \
          \"server-postgres\", \"postgres://u@h/d\"]\n\n[mcp_servers.\"my pg\".env]\nPGPASSWORD = \
          \"<password>\"\n"
        ]
    );
}

#[test]
fn postgres_mcp_gets_the_pack_of_administrators_and_its_url_as_a_variable() {
    let text = r#"{"mcpServers": {"pg": {"command": "uvx", "args": ["postgres-mcp", "--access-mode=unrestricted"],
        "env": {"DATABASE_URI": "postgresql://u:swordfish@localhost:5432/d"}}}}"#;
    let adopted = adopt("claude.json", text);
    assert_eq!(adopted.files.len(), 1);
    assert!(adopted.files[0].text.ends_with("\ndba:\n  enabled: true\n"));
    let entry = &adopted.entries[0];
    for part in [
        r#""-config""#,
        r#""/home/me/ziggurat-tools.yaml""#,
        r#""DATABASE_URL": "postgresql://u@localhost:5432/d""#,
        r#""PGPASSWORD": "<password>""#,
    ] {
        assert!(entry.contains(part), "{entry}");
    }
    let report = adopted.report.text();
    assert!(
        report.contains("--access-mode=unrestricted: statements only read"),
        "{report}"
    );

    let text = r#"{"mcpServers": {"pg": {"command": "docker", "args": ["run", "-p", "8000:8000", "-e",
        "DATABASE_URI=postgresql://u@172.17.0.1/d", "crystaldba/postgres-mcp", "--access-mode=restricted",
        "--transport=sse"]}}}"#;
    let adopted = adopt("claude.json", text);
    let written = &adopted.files[0].text;
    assert!(
        written.contains("http:\n  enabled: true\n  address: \"127.0.0.1:8000\"\n"),
        "{written}"
    );
    assert!(adopted.entries[0].contains(r#""url": "http://127.0.0.1:8000/mcp""#));
    let report = adopted.report.text();
    assert!(
        report.contains("DATABASE_URL=postgresql://u@localhost/d"),
        "{report}"
    );
    assert!(!report.contains("unrestricted"), "{report}");
}

#[test]
fn dbhub_and_toolbox_are_named_where_their_files_have_to_be_given() {
    let entry = |words: &str| {
        let words: Vec<_> = words.split(' ').collect();
        let args = serde_json::json!({"mcpServers": {"db": {"command": "npx", "args": words}}});
        adopt("cursor.json", &args.to_string())
    };
    let adopted = entry("@bytebase/dbhub --dsn postgres://u:swordfish@h/d --readonly");
    assert!(adopted.entries[0].contains("postgres://u@h/d"));
    assert!(!adopted.report.text().contains("allow_writes"));
    let adopted = entry("@bytebase/dbhub --dsn=postgres://u@h/d");
    assert!(adopted.report.text().contains("allow_writes: true"));
    for (words, said) in [
        (
            "@bytebase/dbhub --config dbhub.toml",
            "give its dbhub.toml to -adopt",
        ),
        (
            "@bytebase/dbhub --dsn mysql://u@h/d",
            "does not start with postgres://",
        ),
        ("@bytebase/dbhub --demo", "no connection URL is named there"),
        (
            "@toolbox-sdk/server --tools-file x",
            "give its tools.yaml to -adopt",
        ),
        ("@toolbox-sdk/server --prebuilt postgres", "--prebuilt"),
    ] {
        let adopted = entry(words);
        assert!(
            adopted.entries.is_empty() && adopted.report.lacks_something(),
            "{words}"
        );
        let report = adopted.report.text();
        assert!(
            report.starts_with("missing  cursor.json:1  db  ") && report.contains(said),
            "{report}"
        );
    }
}

#[test]
fn supabase_names_a_project_and_each_feature_is_reported() {
    for text in [
        r#"{"mcpServers": {"s": {"url": "https://mcp.supabase.com/mcp?project_ref=abc123&features=database%2Cdocs%2Cstorage",
            "headers": {"Authorization": "Bearer sbp_swordfish"}}}}"#,
        r#"{"mcpServers": {"s": {"command": "npx", "args": ["@supabase/mcp-server-supabase@latest", "--project-ref=abc123",
            "--features=database,docs,storage", "--access-token", "sbp_swordfish"]}}}"#,
    ] {
        let adopted = adopt("a.json", text);
        assert!(adopted.entries.is_empty());
        let report = adopted.report.text();
        let lines: Vec<_> = report.lines().collect();
        assert_eq!(lines.len(), 4, "{report}");
        assert_eq!(
            lines[0],
            "missing  a.json:1  s  take the connection string of project abc123"
        );
        assert!(lines[1].starts_with("changed") && lines[1].contains("query_database"));
        assert!(lines[2].starts_with("changed") && lines[2].contains("search_knowledgebase"));
        assert!(lines[3].starts_with("missing"));
        assert!(!report.contains("swordfish"));
    }
}

#[test]
fn a_file_without_a_known_entry_is_an_error() {
    let surroundings = Surroundings::new("x");
    for (text, reason) in [
        ("{}", "no entry starts a server"),
        (
            r#"{"mcpServers": {"x": {"command": "ls"}}}"#,
            "no entry starts a server",
        ),
        ("{", "line 1 is not JSON"),
        ("a = 1\n", "is not a configuration of"),
        ("a: 1\n", "is not a configuration of"),
        ("a: [\n", "is not YAML"),
    ] {
        let input = Input { name: "file", text };
        let error = Adoption::read(&[input], None, &surroundings).expect_err(text);
        let source = std::error::Error::source(&error)
            .expect("a reason")
            .to_string();
        assert!(
            source.contains(reason) && error.to_string() == "file",
            "{text}: {source}"
        );
    }
}
