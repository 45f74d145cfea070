//! Entries of account files, written by hand.

use ziggurat_layers::bearer::TokenHash;

/// The password of everybody here.
pub(crate) const PASSWORD: &str = "correct horse";

/// Its hash, so cheap that a test has time for many logins.
const HASH: &str = "$2b$04$Ppcvd5/NfazclsO4EgnYy.9IcQqyPDIpoXon1/LzTctWMzYg3nvrm";

/// A user file with these users in it.
pub(crate) fn users(users: &[String]) -> String {
    format!("users:\n{}", users.concat())
}

/// A user, and more members in a line each (`enabled: false`).
pub(crate) fn user(name: &str, more: &[&str]) -> String {
    let more = more.iter().map(|member| format!("    {member}\n"));
    format!(
        "  {name}:\n    username: {name}\n    password_hash: {HASH}\n    \
         created_at: 2026-01-01T00:00:00Z\n{}",
        more.collect::<String>()
    )
}

/// A token file with these tokens in it.
pub(crate) fn tokens(tokens: &[String]) -> String {
    if tokens.is_empty() {
        return "tokens: []\n".to_owned();
    }
    format!("tokens:\n{}", tokens.concat())
}

/// A token, and more members in a line each (`database: main`).
pub(crate) fn token(number: u32, token: &str, more: &[&str]) -> String {
    let more = more.iter().map(|member| format!("    {member}\n"));
    format!(
        "  - id: token-{number}\n    hash: {}\n    note: by hand\n    \
         created_at: \"2026-01-01T00:00:00Z\"\n{}",
        TokenHash::of(token),
        more.collect::<String>()
    )
}
