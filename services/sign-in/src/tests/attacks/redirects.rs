//! Addresses that look like the address of a client and lead elsewhere.

use std::collections::BTreeSet;

use http::{StatusCode, header::LOCATION};
use serde_json::json;

use crate::tests::{Server, authorize};

/// Addresses that clients are registered with: scheme, host and the rest.
const GOOD: [(&str, &str, &str); 4] = [
    ("https", "claude.ai", "/api/mcp/auth_callback"),
    ("http", "127.0.0.1", ":41000/callback"),
    ("http", "localhost", ":41000/callback"),
    ("http", "[::1]", ":41000/callback"),
];

/// Hosts that two readers could read differently, `{}` being the good one.
const HOSTS: [&str; 44] = [
    "{}.evil.example",
    "{}-evil.example",
    "evil.example/{}",
    "evil.example?{}",
    "evil.example#{}",
    "evil.example\\{}",
    "{}@evil.example",
    "{}:443@evil.example",
    "{}:@evil.example",
    "{}%40evil.example",
    "{}\\@evil.example",
    "{}\\.evil.example",
    "{}\\evil.example",
    "{};evil.example",
    "{},evil.example",
    "{}&evil.example",
    "{}|evil.example",
    "{}`evil.example",
    "{}^evil.example",
    "{}<evil.example",
    "{}%2eevil.example",
    "{}%2fevil.example",
    "{}%5cevil.example",
    "{}%00.evil.example",
    "{}%23.evil.example",
    "{}%0d%0a.evil.example",
    "{}\0.evil.example",
    "{}\t.evil.example",
    "{}\r\n.evil.example",
    "{} .evil.example",
    "user@{}",
    "user:secret@{}",
    "@{}",
    ":@{}",
    "evil{}",
    "{}。evil.example",
    "{}．evil.example",
    "{}․evil.example",
    "{}／evil.example",
    "{}é",
    "{}.",
    " {}",
    "*.{}",
    "[{}]",
];

/// Hosts and ports of no client, which some readers take for a client.
const OTHERS: [&str; 34] = [
    "https://Claude.ai/api/mcp/auth_callback",
    "https://CLAUDE.AI/api/mcp/auth_callback",
    "https://www.claude.ai/api/mcp/auth_callback",
    "https://clаude.ai/api/mcp/auth_callback",
    "https://xn--clude-3ve.ai/api/mcp/auth_callback",
    "https://claude.ai:443/api/mcp/auth_callback",
    "https://claude.ai:0443/api/mcp/auth_callback",
    "https://claude.ai:444/api/mcp/auth_callback",
    "https://claude.ai:/api/mcp/auth_callback",
    "https://claude.ai:65979/api/mcp/auth_callback",
    "https://claude.ai:443:80/api/mcp/auth_callback",
    "https://claude.ai:+443/api/mcp/auth_callback",
    "http://LOCALHOST:41000/callback",
    "http://127.0.0.2:41000/callback",
    "http://127.1:41000/callback",
    "http://0:41000/callback",
    "http://0.0.0.0:41000/callback",
    "http://2130706433:41000/callback",
    "http://0x7f000001:41000/callback",
    "http://0177.0.0.1:41000/callback",
    "http://127.0.0.1.nip.io:41000/callback",
    "http://[::]:41000/callback",
    "http://[::ffff:127.0.0.1]:41000/callback",
    "http://[0:0:0:0:0:0:0:1]:41000/callback",
    "http://[::1%25lo]:41000/callback",
    "http://localhost.localdomain:41000/callback",
    "http://localhost:70000/callback",
    "http://localhost:-1/callback",
    "http://localhost:41000 /callback",
    "http://169.254.169.254:41000/callback",
    "http://evil.example:41000/callback",
    "http:evil.example/callback",
    "cursor://user@evil.example/callback",
    "unknown-scheme:/callback",
];

/// Beginnings in place of the scheme and its slashes.
const BEGINNINGS: [&str; 26] = [
    "",
    "//",
    "///",
    "/\\",
    "\\\\",
    "http:",
    "https:/",
    "https:\\\\",
    "https:/\\",
    "https:///",
    "https:////",
    "http:///",
    "HTTPS://",
    "HtTp://",
    " https://",
    "\thttp://",
    "ht\ntps://",
    "ftp://",
    "wss://",
    "file://",
    "javascript://",
    "javascript:alert(1)//",
    "java\tscript:alert(1)//",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:",
    "blob:https://",
];

/// Ends that make another address of the good one.
const ENDS: [&str; 16] = [
    "/",
    "//",
    "/../evil",
    "/..;/evil",
    "/%2e%2e/evil",
    "%2f",
    "%00",
    "\\",
    "\\..",
    ";evil",
    "?",
    "?next=https://evil.example",
    "&code=1",
    "#",
    "#evil",
    "*",
];

/// Returns addresses that no client may have.
fn never() -> BTreeSet<String> {
    let mut all: BTreeSet<_> = OTHERS.iter().map(|it| (*it).to_owned()).collect();
    for (scheme, host, rest) in GOOD {
        for trick in HOSTS {
            all.insert(format!("{scheme}://{}{rest}", trick.replace("{}", host)));
        }
        all.extend(BEGINNINGS.map(|beginning| format!("{beginning}{host}{rest}")));
    }
    all
}

#[tokio::test]
async fn none_of_300_redirect_addresses_leads_elsewhere() {
    let server = Server::new();
    let good = GOOD.map(|(scheme, host, rest)| format!("{scheme}://{host}{rest}"));
    let metadata = json!({"redirect_uris": good});
    let client = server.register_with(&metadata).await.json();
    assert_eq!(client["redirect_uris"].as_array().map(Vec::len), Some(4));
    let client = client["client_id"].as_str().expect("an id");
    let never = never();
    let ends = good
        .iter()
        .flat_map(|good| ENDS.map(|end| format!("{good}{end}")));
    let all: BTreeSet<_> = never.iter().cloned().chain(ends).collect();
    assert!(all.len() >= 300, "{}", all.len());
    for address in &all {
        for more in ["", "plain"] {
            // An address asks for sixty sign-ins a minute.
            server.wait(1);
            let more = [
                ("redirect_uri", &**address),
                ("code_challenge_method", more),
            ];
            let answer = server.get(&authorize(client, &more)).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{address:?}");
            assert!(!answer.headers.contains_key(LOCATION), "{address:?}");
            let text = "The address to return to is not one the program has registered.";
            assert!(answer.body.contains(text), "{address:?}: {answer:?}");
            assert!(!answer.body.contains("evil"), "{address:?}: {answer:?}");
        }
    }
    for address in &never {
        let metadata = json!({"redirect_uris": [address]});
        let refused = server.register_with(&metadata).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{address:?}");
        assert_eq!(refused.error(), "invalid_redirect_uri", "{address:?}");
    }
}
