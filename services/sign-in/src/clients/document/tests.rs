use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const URL: &str = "https://app.example/client.json";

/// Addresses that are no id.
const BAD: [&str; 48] = [
    "",
    "https://",
    "https://app.example",
    "https://app.example/",
    "http://app.example/c",
    "HTTPS://app.example/c",
    "https:/app.example/c",
    "//app.example/c",
    "https://App.example/c",
    "https://bücher.example/c",
    "https://app.example/ü",
    "https://app.example:443/c",
    "https://app.example:/c",
    "https://u@app.example/c",
    "https://u:p@app.example/c",
    "https://app.example/c?d",
    "https://app.example/c#d",
    "https://app.example?/c",
    "https://app.example#/c",
    "https://app.example\\c/d",
    "https://app.example/a\\b",
    "https://app.example//c",
    "https://app.example/c/",
    "https://app.example/./c",
    "https://app.example/../c",
    "https://app.example/a/..",
    "https://app.example/%2e/c",
    "https://app.example/%2E%2e/c",
    "https://app.example/.%2e/c",
    "https://app.example/a b",
    "https://app.example/%",
    "https://app.example/%g0",
    "https://app.example/%0",
    "https://app.example/a\n",
    "https://app.example/<b>",
    "https://127.0.0.1/c",
    "https://[::1]/c",
    "https://2130706433/c",
    "https://0x7f.1/c",
    "https://a.0x7f/c",
    "https://localhost/c",
    "https://app.example./c",
    "https://.example/c",
    "https://a..example/c",
    "https://-a.example/c",
    "https://a-.example/c",
    "https://a_b.example/c",
    "https://a%2eexample/c",
];

fn good() -> Value {
    json!({"client_id": URL, "client_name": "App", "redirect_uris": ["https://app.example/back"]})
}

fn read_value(document: &Value) -> Result<Client, BadDocument> {
    read(
        URL,
        document.to_string().as_bytes(),
        &Registration::default(),
    )
}

/// Returns a document with another value of a member.
fn with(name: &str, value: Value) -> Value {
    let mut document = good();
    document[name] = value;
    document
}

/// Returns a set with a key of a test vector of RFC 8037.
fn keys() -> Value {
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "1",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})
}

#[test]
fn only_a_plain_https_address_of_a_name_is_an_id() {
    let registration = Registration::default();
    for (url, expected) in [
        (URL, "app.example"),
        ("https://a-1.b.example/c", "a-1.b.example"),
        (
            "https://xn--bcher-kva.example/a/b~c/%C3%A4.json",
            "xn--bcher-kva.example",
        ),
    ] {
        assert_eq!(host(url, &registration), Some(expected), "{url}");
    }
    let long = format!("https://app.example/{}", "x".repeat(493));
    for url in BAD.into_iter().chain([&*long]) {
        assert_eq!(host(url, &registration), None, "{url}");
    }
}

#[test]
fn only_the_address_of_a_private_host_may_have_a_port() {
    let registration = Registration {
        private_hosts: vec!["localhost".to_owned()],
        ..Registration::default()
    };
    for url in ["https://localhost/c", "https://localhost:8443/c"] {
        assert_eq!(host(url, &registration), Some("localhost"), "{url}");
    }
    for url in [
        "https://localhost:99999/c",
        "https://localhost:+1/c",
        "https://other:1/c",
    ] {
        assert_eq!(host(url, &registration), None, "{url}");
    }
}

#[test]
fn only_listed_hosts_are_admitted() {
    let mut registration = Registration::default();
    assert!(is_admitted("app.example", &registration));
    registration.document_hosts = vec!["app.example".to_owned(), "*.x.example".to_owned()];
    for (host, expected) in [
        ("app.example", true),
        ("a.x.example", true),
        ("a.b.x.example", true),
        ("x.example", false),
        (".x.example", false),
        ("ax.example", false),
        ("a.app.example", false),
    ] {
        assert_eq!(is_admitted(host, &registration), expected, "{host}");
    }
    registration.document_hosts = vec!["*example".to_owned()];
    assert!(!is_admitted("evil-example", &registration));
}

#[test]
fn a_document_says_what_a_client_is() {
    let client = read_value(&good()).expect("a client");
    assert_eq!((&*client.id, &*client.name), (URL, "App"));
    assert!(client.has_refresh && !client.is_manual && client.secret.is_none());
    let published = client.published.expect("a document");
    assert_eq!(published.host, "app.example");
    let mut document = good();
    for (name, value) in [
        (
            "grant_types",
            json!([
                "authorization_code",
                "urn:ietf:params:oauth:grant-type:device_code"
            ]),
        ),
        ("response_types", json!(["code", "token"])),
        ("token_endpoint_auth_method", json!("none")),
        (
            "redirect_uris",
            json!([
                "http://127.0.0.1/b",
                "https://other.example/",
                "evil:x",
                "http://app.example/",
                "com.example.app:/b",
                "http://127.0.0.1/b"
            ]),
        ),
        ("logo_uri", json!("http://127.0.0.1/logo")),
        ("jwks_uri", Value::Null),
    ] {
        document[name] = value;
    }
    let client = read_value(&document).expect("a client");
    assert!(!client.has_refresh);
    let expected = [
        "com.example.app:/b",
        "http://127.0.0.1/b",
        "https://other.example/",
    ];
    assert_eq!(client.redirect_uris, expected);
}

#[test]
fn a_document_that_breaks_a_rule_is_refused() {
    let many = vec!["http://127.0.0.1/"; 33];
    for (name, value) in [
        ("client_id", json!("https://app.example/other.json")),
        ("client_id", json!("https://app.example/client%2Ejson")),
        ("client_id", Value::Null),
        ("client_name", json!("")),
        ("client_name", json!(7)),
        ("client_name", Value::Null),
        ("client_name", json!("x".repeat(201))),
        ("redirect_uris", json!([])),
        ("redirect_uris", json!(many)),
        ("redirect_uris", json!("https://app.example/back")),
        ("redirect_uris", json!(["https://app.example/back", 1])),
        (
            "redirect_uris",
            json!(["javascript:alert(1)", "http://app.example/"]),
        ),
        ("redirect_uris", Value::Null),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("token_endpoint_auth_method", json!("client_secret_post")),
        ("token_endpoint_auth_method", json!(["none"])),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("client_secret", json!("x")),
        ("client_secret", Value::Null),
        ("grant_types", json!(["refresh_token"])),
        ("grant_types", json!([])),
        ("grant_types", json!("authorization_code")),
        ("response_types", json!(["token"])),
        ("response_types", json!([])),
    ] {
        let document = with(name, value);
        assert!(read_value(&document).is_err(), "{document}");
    }
    let mut without = good();
    without
        .as_object_mut()
        .expect("an object")
        .remove("client_name");
    for text in [
        "",
        "[]",
        "null",
        "{}",
        &format!("[{}]", good()),
        &without.to_string(),
    ] {
        assert!(
            read(URL, text.as_bytes(), &Registration::default()).is_err(),
            "{text}"
        );
    }
}

#[test]
fn a_member_that_is_there_twice_is_refused_in_any_spelling() {
    let text = good().to_string();
    let rest = &text[1..];
    for member in [
        r#""client_name":"Bank""#,
        r#""client\u005fname":"Bank""#,
        r#""redirect_uris":["https://evil.example/"]"#,
        r#""x":1,"x":1"#,
    ] {
        let document = format!("{{{member},{rest}");
        assert!(
            read(URL, document.as_bytes(), &Registration::default()).is_err(),
            "{document}"
        );
    }
}

#[test]
fn keys_are_in_the_document_or_on_its_own_host() {
    let signed = |more: Value| {
        let mut document = with("token_endpoint_auth_method", json!("private_key_jwt"));
        for (name, value) in more.as_object().expect("an object") {
            document[name] = value.clone();
        }
        read_value(&document).map(|client| client.published.expect("a document"))
    };
    let written = signed(json!({"jwks": keys()})).expect("keys");
    assert!(matches!(written.keys, Some(ClientKeys::Written(_))) && !written.takes_none);
    let at = "https://app.example/keys.json";
    let supported = "token_endpoint_auth_methods_supported";
    let both = signed(json!({"jwks_uri": at, supported: ["private_key_jwt", "none"]}));
    let both = both.expect("keys");
    assert_eq!(both.keys, Some(ClientKeys::At(at.to_owned())));
    assert!(both.takes_none);
    for more in [
        json!({}),
        json!({"jwks": {"keys": []}}),
        json!({"jwks": {"keys": [{"kty": "oct", "k": "AAAA"}]}}),
        json!({"jwks": keys(), "jwks_uri": at}),
        json!({"jwks_uri": "https://other.example/keys.json"}),
        json!({"jwks_uri": "https://app.example.evil.example/keys.json"}),
        json!({"jwks_uri": "http://app.example/keys.json"}),
        json!({"jwks_uri": "https://app.example/keys?x"}),
        json!({"jwks_uri": "https://app.example:8443/keys"}),
        json!({"jwks_uri": 1}),
    ] {
        assert!(signed(more.clone()).is_err(), "{more}");
    }
}

#[test]
fn the_digest_changes_with_the_name_the_redirects_and_the_keys_alone() {
    let digest = |document: &Value| read_value(document).expect("a client").digest();
    let first = digest(&good());
    assert_eq!(
        digest(&with("logo_uri", json!("https://app.example/logo"))),
        first
    );
    assert_ne!(digest(&with("client_name", json!("Bank"))), first);
    assert_ne!(
        digest(&with("redirect_uris", json!(["http://localhost/"]))),
        first
    );
    let mut signed = with("token_endpoint_auth_method", json!("private_key_jwt"));
    signed["jwks_uri"] = json!("https://app.example/keys.json");
    let at = digest(&signed);
    signed["jwks_uri"] = json!("https://app.example/others.json");
    assert!(at != first && digest(&signed) != at);
}

proptest! {
    #[test]
    fn no_text_is_an_id_that_two_readers_could_read_differently(
        host_text in r"[ac]{1,2}(\.[ac]{1,2}){1,2}[:@?#.%2\\ ]{0,1}",
        path in r"[ac./%2eE?#@\\ ]{1,6}",
    ) {
        let url = format!("https://{host_text}/{path}");
        if let Some(found) = host(&url, &Registration::default()) {
            prop_assert_eq!(found, host_text);
            prop_assert!(!path.contains(['?', '#', '\\', ' ']), "{}", url);
            let decoded = path.to_lowercase().replace("%2e", ".");
            let is_plain = |part: &str| !matches!(part, "" | "." | "..");
            prop_assert!(decoded.split('/').all(is_plain), "{}", url);
        }
    }
}
