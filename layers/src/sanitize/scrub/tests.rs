use proptest::prelude::*;

use super::*;

/// Texts and their scrubbed form.
const SCRUBBED: &[(&str, &str)] = &[
    // URLs
    (
        "postgres://app:hunter2@db:5432/x",
        "postgres://app:[redacted]@db:5432/x",
    ),
    (
        "postgres://app:p@ss/w?r#d@db/x",
        "postgres://app:[redacted]@db/x",
    ),
    (
        "(https://ghp@example.com/)",
        "(https://[redacted]@example.com/)",
    ),
    ("redis://:hunter2@cache", "redis://:[redacted]@cache"),
    (
        r"postgres:\/\/app:hunter2@db",
        r"postgres:\/\/app:[redacted]@db",
    ),
    (
        "a://u:x@h and b://u:y@h",
        "a://u:[redacted]@h and b://u:[redacted]@h",
    ),
    ("<https://u:x@h>", "<https://u:[redacted]@h>"),
    (
        "postgres://app:a?key=b@db/x",
        "postgres://app:[redacted]@db/x",
    ),
    ("x://h:z?token=Bearer abc123&y@z", "x://h:[redacted]@z"),
    // Names and values
    ("password=hunter2 host=db", "password=[redacted] host=db"),
    (
        "password = hunter2 host = db",
        "password = [redacted] host = db",
    ),
    (
        r"password='a b\'c' host=db",
        "password='[redacted]' host=db",
    ),
    ("PASSWORD='it''s' x", "PASSWORD='[redacted]' x"),
    (
        "DB_PASSWORD: hunter2\nnext",
        "DB_PASSWORD: [redacted]\nnext",
    ),
    ("PGPASSWORD=x", "PGPASSWORD=[redacted]"),
    ("smtp.pass=x", "smtp.pass=[redacted]"),
    ("clientSecret=x", "clientSecret=[redacted]"),
    ("x-api-key: x", "x-api-key: [redacted]"),
    ("api key: x", "api key: [redacted]"),
    ("user[password]=x y", "user[password]=[redacted] y"),
    (
        r#"{"password":"a\"b","user":"x"}"#,
        r#"{"password":"[redacted]","user":"x"}"#,
    ),
    (
        r#"{"pin_token":1234,"user":"x"}"#,
        r#"{"pin_token":[redacted],"user":"x"}"#,
    ),
    (
        r#"{"tokens":{},"token":{"a":["}"]},"b":1}"#,
        r#"{"tokens":{},"token":[redacted],"b":1}"#,
    ),
    (
        r#""{\"token\":\"a\\\"b\",\"c\":1}""#,
        r#""{\"token\":\"[redacted]\",\"c\":1}""#,
    ),
    (
        r#"{:token=>"a b", :c=>1}"#,
        r#"{:token=>"[redacted]", :c=>1}"#,
    ),
    (
        r#"Db { password: Some("a b"), port: 1 }"#,
        "Db { password: [redacted] port: 1 }",
    ),
    (r#"token: Key { inner: "a b" } c"#, "token: [redacted] c"),
    (r#"secret: b"a b" c"#, "secret: [redacted] c"),
    (
        "password=\"never closed, to the end",
        "password=\"[redacted]",
    ),
    ("accessKey=a,password=\"b c\" d", "accessKey=[redacted] d"),
    ("token=a,password= b", "token=[redacted] [redacted]"),
    (
        "secrets: x, my_passwords=y",
        "secrets: [redacted] my_passwords=[redacted]",
    ),
    (r#"token=" secret: Some("a b")"#, r#"token="[redacted]")"#),
    (
        r#"Bearer my_password="a b" c"#,
        r#"Bearer [redacted]="[redacted]" c"#,
    ),
    // Headers
    (
        "Authorization: Digest a=\"b\", c\r\nHost: d",
        "Authorization: [redacted]\r\nHost: d",
    ),
    (
        "set-cookie: a=b; c=d\nHost: e",
        "set-cookie: [redacted]\nHost: e",
    ),
    (
        r#"{"authorization": "Bearer x"}"#,
        r#"{"authorization": "[redacted]"}"#,
    ),
    // Query strings
    (
        "https://h/?api_key=a&b=c",
        "https://h/?api_key=[redacted]&b=c",
    ),
    ("https://h/?b=c&key=a d", "https://h/?b=c&key=[redacted] d"),
    (
        r#"{"url":"https://h/?key=a","b":1}"#,
        r#"{"url":"https://h/?key=[redacted]","b":1}"#,
    ),
    // Schemes
    ("got Bearer abc123 from", "got Bearer [redacted] from"),
    ("bearer  a.b-c_d~e+f/g== x", "bearer  [redacted] x"),
    ("BASIC dXNlcjpwYXNz x", "BASIC [redacted] x"),
    ("token=Bearer abc123 x", "token=[redacted] x"),
    // Keys
    ("key sk-proj-abc123, again", "key [redacted], again"),
    ("sk-ant-api03-abc***xyz", "[redacted]"),
    ("voyage pa-0123456789", "voyage [redacted]"),
    ("AIza0123456789_-x", "[redacted]"),
    ("(ghp_0123456789)", "([redacted])"),
    ("xoxb-123-456", "[redacted]"),
    ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
    ("eyJhbGciOiJIUzI1NiJ9.e30.c2ln rest", "[redacted] rest"),
    (r"a line\nsk-abcdef", r"a line\n[redacted]"),
];

#[test]
fn every_documented_shape_loses_its_secret_and_nothing_else() {
    for (text, expected) in SCRUBBED {
        assert_eq!(scrub(text), *expected, "{text}");
    }
}

#[test]
fn ordinary_text_passes_without_a_copy() {
    let texts = [
        "",
        "password authentication failed for user \"app\"",
        "invalid token",
        "connection refused (os error 111)",
        "http://localhost:8080/a@b",
        "https://example.com/?q=a&page=2#key=b",
        "mail me@example.com: now",
        "tokens_used: 12, max_tokens=4096",
        "tokenizer: cl100k",
        "duplicate key: (id)=(1)",
        "risk-assessment and task-management-42",
        "Bearer of news",
        "Basic authentication failed",
        "a basic idea",
        "at 12:30:01 ratio=3:4",
        "password=",
        "password=''",
        "password=[redacted] and postgres://app:[redacted]@db",
        "Ünïcödé: ✓ = ∞",
    ];
    for text in texts {
        assert!(
            matches!(scrub(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}

/// Shapes of a secret of letters and digits, in any context.
const SHAPES: &[&str] = &[
    "postgres://app:{}@db/sales",
    "postgres://{}@db/sales",
    "password={}",
    "DB_PASSWORD={}",
    "passwd: {}",
    "client_secret = {}",
    "x-api-key: {}",
    r#""apiKey":"{}""#,
    r#"\"access_token\":\"{}\""#,
    "'pwd' => '{}'",
    r#"secret: Some("{}")"#,
    "?api_key={}&page=2",
    "&key={}",
    "Authorization: Custom {}",
    "Bearer {}",
    "sk-ant-{}",
    "AIza{}",
    "ghp_{}",
    "xoxb-{}",
    "eyJ{}.e30.c2ln",
    " sk-{}",
    " pa-{}",
    " AKIA{}",
];

/// Shapes that also allow a secret with blanks and punctuation.
const QUOTED: &[&str] = &[
    r#"password="{}""#,
    "password='{}'",
    r#""DB_PASSWORD": "{}""#,
    r#"\"secret\": \"{}\""#,
    "token => '{}'",
];

#[test]
fn fuzzer_corpus_hides_no_secret_behind_it() {
    for text in corpus::TEXTS {
        let once = scrub(text);
        assert_eq!(scrub(&once), once, "{text:?}");
        let behind = format!("{text}\npassword=hunter2");
        assert!(!scrub(&behind).contains("hunter2"), "{text:?}");
    }
}

/// Text of the syntax that the scrubber recognises.
fn syntax_pieces() -> impl Strategy<Value = String> {
    let pieces = vec![
        " ",
        "\n",
        "=",
        ":",
        "&",
        "?",
        ",",
        ";",
        "@",
        "/",
        "://",
        "\"",
        "'",
        "`",
        "\\",
        "\\\"",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "Some(",
        "=>",
        "[redacted]",
        "*",
        "%20",
        "a",
        "n",
        "7",
        "é",
        "✓",
        "key",
        "api ",
        "password",
        "token=",
        "secret: ",
        "\"token\": ",
        "Authorization: ",
        "?key=",
        "Bearer ",
        "basic ",
        "sk-",
        "sk-ant-",
        "abcdef1",
        "ghp_0123456789",
        "x://u:p@h",
        "pass",
    ];
    let piece = prop_oneof![
        8 => prop::sample::select(pieces).prop_map(str::to_owned),
        1 => "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn scrubbing_twice_is_scrubbing_once(text in syntax_pieces()) {
        let once = scrub(&text);
        let twice = scrub(&once);
        prop_assert!(matches!(twice, Cow::Borrowed(_)), "{} -> {} -> {}", text, once, twice);
    }

    #[test]
    fn any_text_at_all_can_be_scrubbed(text: String) {
        let once = scrub(&text).into_owned();
        prop_assert_eq!(scrub(&once), once.as_str());
    }

    #[test]
    fn a_secret_is_removed_in_any_context(
        before in syntax_pieces(),
        shape in prop::sample::select(SHAPES),
        secret in "Q[A-Za-z0-9]{12,20}",
        after in syntax_pieces(),
    ) {
        let text = format!("{before}{}{after}", shape.replace("{}", &secret));
        let scrubbed = scrub(&text);
        prop_assert!(!scrubbed.contains(&secret), "{} -> {}", text, scrubbed);
    }

    #[test]
    fn a_quoted_secret_is_removed_in_any_context(
        before in syntax_pieces(),
        shape in prop::sample::select(QUOTED),
        secret in "Q[ -!#-&(-\\[\\]-~]{8,20}Q",
        after in syntax_pieces(),
    ) {
        let text = format!("{before}{}{after}", shape.replace("{}", &secret));
        let scrubbed = scrub(&text);
        prop_assert!(!scrubbed.contains(&secret), "{} -> {}", text, scrubbed);
    }

    #[test]
    fn a_password_of_any_characters_is_removed_from_a_url(
        before in syntax_pieces(),
        secret in "Q[A-Za-z0-9:/?#@!$&'()*+,;=._~%-]{8,20}Q",
        after in syntax_pieces(),
    ) {
        let text = format!("{before}postgres://app:{secret}@db/sales{after}");
        let scrubbed = scrub(&text);
        prop_assert!(!scrubbed.contains(&secret), "{} -> {}", text, scrubbed);
    }

    #[test]
    fn basic_credentials_are_removed(
        before in syntax_pieces(),
        secret in "([A-Za-z0-9+/]{4}){2,5}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    ) {
        let text = format!("{before}Basic {secret}");
        let scrubbed = scrub(&text);
        prop_assert!(!scrubbed.contains(secret.trim_end_matches('=')), "{} -> {}", text, scrubbed);
    }
}

/// Takes minutes if a matcher reads the rest of the text again and again.
#[test]
fn long_texts_take_no_more_time_per_byte_than_short_ones() {
    let pieces = [
        "a",
        " ",
        "=",
        ":",
        "\\",
        "\"",
        "'",
        "(",
        "@",
        "://",
        "a://",
        "x://u:",
        "password",
        "token=",
        "token= ",
        "token='",
        "token=\\\"",
        "\"token\":",
        "?key=",
        "&key=a",
        "Bearer ",
        "Bearer a ",
        "basic a",
        "basicbasic ",
        "sk-",
        "eyJ",
        "secret:(",
        "secret=a,'",
        "key ",
        "Authorization: ",
        "\n",
        "\\u",
        "x://h/?a@",
        "x://h:1/",
    ];
    for piece in pieces {
        let text = piece.repeat(200_000 / piece.len());
        let length = scrub(&text).len();
        assert!(length <= 4 * text.len(), "{piece}");
    }
}
