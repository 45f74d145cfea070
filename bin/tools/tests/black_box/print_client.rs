//! Tests of `-print-client`.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::Home;

const CLIENTS: [&str; 7] = [
    "claude-desktop",
    "claude-code",
    "cursor",
    "vscode",
    "codex",
    "claude-ai",
    "chatgpt",
];

const DATABASE: &str = "databases: [{name: shop, user: reader, password: swordfish}]\n";

fn printed(home: &Home, client: &str) -> String {
    let ran = home.ran(&["-print-client", client], "");
    assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
    assert!(!ran.stdout.contains("swordfish"), "{}", ran.stdout);
    ran.stdout
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("JSON: {text}"))
}

#[test]
fn a_client_that_starts_the_server_gets_its_program_and_configuration() {
    let home = Home::new();
    home.configure(DATABASE);
    let config = home
        .file("ziggurat-tools.yaml")
        .canonicalize()
        .expect("there");
    let (program, config) = (
        env!("CARGO_BIN_EXE_ziggurat-tools"),
        config.display().to_string(),
    );
    let entry = json!({"command": program, "args": ["-config", config]});
    for client in ["claude-desktop", "cursor"] {
        let expected = json!({"mcpServers": {"ziggurat": entry}});
        assert_eq!(json_of(&printed(&home, client)), expected);
    }
    let expected = json!({"servers": {"ziggurat": entry}});
    assert_eq!(json_of(&printed(&home, "vscode")), expected);
    let command = format!("claude mcp add ziggurat -- '{program}' '-config' '{config}'\n");
    assert_eq!(printed(&home, "claude-code"), command);
    let toml = format!(
        "[mcp_servers.ziggurat]\ncommand = \"{program}\"\nargs = [\"-config\", \"{config}\"]\n"
    );
    assert_eq!(printed(&home, "codex"), toml);
    for (client, name) in [("claude-ai", "claude.ai"), ("chatgpt", "ChatGPT")] {
        let ran = home.ran(&["-print-client", client], "");
        let expected = format!("ERROR: {name} needs http.public_url with https\n");
        assert_eq!((ran.code, ran.stderr), (Some(1), expected));
    }
}

#[test]
fn a_connection_url_is_printed_without_its_password() {
    let home = Home::new();
    let url = "postgres://reader:swordfish@db.example:6543/shop?sslmode=require";
    let ran = home.ran_before(&["-print-client", "cursor", url]);
    let entry = &json_of(&ran.stdout)["mcpServers"]["ziggurat"];
    assert_eq!(
        entry["args"],
        json!(["postgres://reader@db.example:6543/shop?sslmode=require"])
    );
    assert_eq!(entry["env"], json!({"PGPASSWORD": "<password>"}));
    let ran = home.ran(&["-print-client", "cursor"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn clients_of_a_server_at_an_address_get_the_texts_of_the_console() {
    let home = Home::new();
    home.configure(&format!(
        "{DATABASE}http: {{enabled: true, public_url: 'https://tools.example'}}\n"
    ));
    // The console has a test with the same file.
    let shared =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services/console/web/parts/clients.json");
    let shared = json_of(&fs::read_to_string(shared).expect("there"));
    for (client, name) in [
        ("claude-code", "Claude Code"),
        ("cursor", "Cursor"),
        ("vscode", "VS Code"),
    ] {
        let text = printed(&home, client);
        assert_eq!(Some(text.trim_end()), shared[name].as_str(), "{client}");
    }
    assert!(printed(&home, "codex").contains("\"Authorization\" = \"Bearer <token>\""));
    let desktop = json_of(&printed(&home, "claude-desktop"));
    let entry = &desktop["mcpServers"]["ziggurat"];
    assert_eq!(entry["args"][2], "https://tools.example/mcp");
    assert_eq!(entry["env"]["AUTHORIZATION"], "Bearer <token>");
    for client in ["claude-ai", "chatgpt"] {
        let text = printed(&home, client);
        assert!(text.starts_with("https://tools.example/mcp\n"), "{text}");
    }
}

#[test]
fn clients_that_sign_in_get_a_bare_address() {
    let home = Home::new();
    let issuer = "issuer: {url: 'https://id.example', public_url: 'https://tools.example'}";
    home.configure(&format!(
        "{DATABASE}http: {{enabled: true, auth: {{{issuer}}}}}\n"
    ));
    for client in CLIENTS {
        let text = printed(&home, client);
        assert!(text.contains("https://tools.example/mcp"), "{text}");
        assert!(!text.contains("<token>"), "{text}");
    }
    let wrong = home.ran(&["-print-client", "netscape"], "");
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn a_client_gets_the_bare_address_where_people_sign_in() {
    let home = Home::new();
    home.configure(&format!(
        "http: {{enabled: true, address: '127.0.0.1:8080', auth: {{oauth: {{enabled: true}}}}}}\n{DATABASE}"
    ));
    // The address is compared with the one that the server names.
    let url = "http://localhost:8080/mcp";
    let expected = json!({"mcpServers": {"ziggurat": {"url": url}}});
    assert_eq!(json_of(&printed(&home, "cursor")), expected);
    let command = format!("claude mcp add --transport http ziggurat '{url}'\n");
    assert_eq!(printed(&home, "claude-code"), command);
    home.configure(&format!(
        "http: {{enabled: true, public_url: 'https://tools.example', auth: {{oauth: \
         {{enabled: true}}}}}}\n{DATABASE}"
    ));
    let text = printed(&home, "claude-ai");
    assert!(
        text.starts_with("https://tools.example/mcp\nclaude.ai: "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2, "{text}");
}
