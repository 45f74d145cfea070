//! Entries of account files, written without the program.

use ziggurat_layers::bearer::TokenHash;

/// Password of all users in tests.
pub(crate) const PASSWORD: &str = "correct horse";

/// Hash of the password, with the lowest cost, so that logins are fast.
const HASH: &str = "$2b$04$Ppcvd5/NfazclsO4EgnYy.9IcQqyPDIpoXon1/LzTctWMzYg3nvrm";

/// Returns a user file with these users.
pub(crate) fn users(users: &[String]) -> String {
    format!("users:\n{}", users.concat())
}

/// Returns an entry of a user, with additional lines (`enabled: false`).
pub(crate) fn user(name: &str, more: &[&str]) -> String {
    let more = more.iter().map(|member| format!("    {member}\n"));
    format!(
        "  {name}:\n    username: {name}\n    password_hash: {HASH}\n    \
         created_at: 2026-01-01T00:00:00Z\n{}",
        more.collect::<String>()
    )
}

/// Returns a token file with these tokens.
pub(crate) fn tokens(tokens: &[String]) -> String {
    if tokens.is_empty() {
        return "tokens: []\n".to_owned();
    }
    format!("tokens:\n{}", tokens.concat())
}

/// Returns an entry of a token, with additional lines (`database: main`).
pub(crate) fn token(number: u32, token: &str, more: &[&str]) -> String {
    let more = more.iter().map(|member| format!("    {member}\n"));
    format!(
        "  - id: token-{number}\n    hash: {}\n    note: by hand\n    \
         created_at: \"2026-01-01T00:00:00Z\"\n{}",
        TokenHash::of(token),
        more.collect::<String>()
    )
}
