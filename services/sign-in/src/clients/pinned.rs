//! Copies of the documents of well-known clients, for servers that cannot fetch them.
//!
//! Keys change, so a copy has none: such a client signs in without a proof if its document takes
//! that.

use serde_json::json;

use crate::{
    clients::{Client, document},
    settings::Registration,
};

/// The copies, each with its address.
const COPIES: [(&str, &str); 9] = [
    (
        "https://chatgpt.com/oauth/client.json",
        include_str!("../../pinned/chatgpt.json"),
    ),
    (
        "https://chatgpt.com/oauth/codex/client.json",
        include_str!("../../pinned/codex.json"),
    ),
    (
        "https://claude.ai/oauth/claude-code-client-metadata",
        include_str!("../../pinned/claude-code.json"),
    ),
    (
        "https://claude.ai/oauth/mcp-oauth-client-metadata",
        include_str!("../../pinned/claude.json"),
    ),
    (
        "https://github.com/copilot/cli/client-metadata.json",
        include_str!("../../pinned/copilot-cli.json"),
    ),
    (
        "https://grok.com/oauth/mcp-client.json",
        include_str!("../../pinned/grok.json"),
    ),
    (
        "https://opencode.ai/oauth/opencode/client.json",
        include_str!("../../pinned/opencode.json"),
    ),
    (
        "https://vscode.dev/oauth/client-metadata.json",
        include_str!("../../pinned/vscode.json"),
    ),
    (
        "https://zed.dev/oauth/client-metadata.json",
        include_str!("../../pinned/zed.json"),
    ),
];

/// Longest id of an app of `ChatGPT`.
const LONGEST_APP: usize = 64;

/// Returns the copy of the document at an address.
pub(crate) fn find(url: &str, registration: &Registration) -> Option<Client> {
    let copy = COPIES.iter().find(|(address, _)| *address == url);
    let mut client = match copy {
        Some((_, copy)) => document::read(url, copy.as_bytes(), registration),
        None => document::read(url, app_document(url, app(url)?).as_bytes(), registration),
    }
    .ok()?;
    if let Some(published) = &mut client.published {
        published.keys = None;
    }
    Some(client)
}

/// Returns whether a copy of the document at an address is built in.
pub(crate) fn is_known(url: &str) -> bool {
    COPIES.iter().any(|(address, _)| *address == url) || app(url).is_some()
}

/// Returns the app of `ChatGPT` that an address names: each app has a document of its own.
fn app(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://chatgpt.com/oauth/")?;
    let app = rest.strip_suffix("/client.json")?;
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"-_".contains(&it);
    let is_app = (1..=LONGEST_APP).contains(&app.len()) && app.bytes().all(is_letter);
    is_app.then_some(app)
}

fn app_document(url: &str, app: &str) -> String {
    let document = json!({
        "client_id": url,
        "client_name": "ChatGPT",
        "redirect_uris": [format!("https://chatgpt.com/connector/oauth/{app}")],
    });
    document.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_copy_is_a_good_document_at_its_address_with_all_its_redirects() {
        let registration = Registration::default();
        for (url, copy) in COPIES {
            let client = find(url, &registration).unwrap_or_else(|| panic!("{url}"));
            let written: serde_json::Value = serde_json::from_str(copy).expect("JSON");
            let written = written["redirect_uris"].as_array().expect("a list");
            assert_eq!(client.redirect_uris.len(), written.len(), "{url}");
            assert!(client.is_trusted(), "{url}");
            assert!(client.is_proved(None, &crate::keys::Seal::new(&[1; 32])));
            assert!(!client.can_prove_itself(), "{url}");
        }
    }

    #[test]
    fn an_app_of_chatgpt_returns_to_its_own_address_alone() {
        let registration = Registration::default();
        let client = find(
            "https://chatgpt.com/oauth/aB-3_x/client.json",
            &registration,
        );
        let client = client.expect("a client");
        let own = "https://chatgpt.com/connector/oauth/aB-3_x";
        assert_eq!(client.redirect_uris, [own]);
        let long = format!("https://chatgpt.com/oauth/{}/client.json", "x".repeat(65));
        for url in [
            "https://chatgpt.com/oauth//client.json",
            "https://chatgpt.com/oauth/a/b/client.json",
            "https://chatgpt.com/oauth/a%20/client.json",
            "https://chatgpt.com/oauth/a.b/client.json",
            "https://chatgpt.com.evil.example/oauth/a/client.json",
            "http://chatgpt.com/oauth/a/client.json",
            "https://chatgpt.com/oauth/a/client.json?x",
            &long,
        ] {
            assert!(
                find(url, &registration).is_none() && !is_known(url),
                "{url}"
            );
        }
    }
}
