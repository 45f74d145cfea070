//! Authentication of callers, and pipelines that are not for all of them.

mod identity;
mod masks;
mod matrix;
mod prove;
mod tokens;

use serde_json::Value;

use crate::support::Home;

/// The URL of the server for tokens of an issuer.
const PUBLIC_URL: &str = "https://rag.example";

/// The resource that tokens of an issuer are for.
const RESOURCE: &str = "https://rag.example/v1";

/// The beginning of a configuration with a token file.
const TOKEN_FILE: &str = "  auth: {token_file: tokens.yaml}\n";

/// Creates an API token, and returns it and its id.
fn add_token(home: &Home, expiry: &str) -> (String, String) {
    let add = ["-add-token", "-token-note", "", "-token-expiry", expiry];
    let ran = home.ran(&add);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let find = |start: &str| {
        let found = ran.stdout.lines().find_map(|line| line.strip_prefix(start));
        found
            .unwrap_or_else(|| panic!("{start} in {ran:?}"))
            .to_owned()
    };
    (find("Token: "), find("ID: "))
}

/// Returns the names in a list of an answer.
fn names(answer: &Value, list: &str, key: &str) -> Vec<String> {
    let list = answer[list].as_array();
    let names = list.into_iter().flatten().map(|entry| &entry[key]);
    let names = names.map(|name| name.as_str().expect("a name").to_owned());
    names.collect()
}
