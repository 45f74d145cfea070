//! Tests of receipts of callers with masks, roles and settings.

use super::{
    replay::{kept_by, replayed_as},
    *,
};
use crate::support::{records, records::PASSWORD};

/// A server where alice has a role of her own, one of two.
struct Shop {
    server: Receipted,
    login: String,
    roles: [String; 2],
}

impl Shop {
    fn new() -> Self {
        let mut postgres = Postgres::with(BOOKS);
        let [one, two, login] = [(); 3].map(|()| postgres.role());
        postgres.run(&format!(
            "ALTER ROLE \"{login}\" NOINHERIT;
             GRANT \"{one}\", \"{two}\" TO \"{login}\"; GRANT SELECT ON book TO PUBLIC;
             REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC"
        ));
        let server = Receipted::on(postgres, Home::new());
        let home = &server.home;
        fs::write(home.file("secret"), "a secret of several servers").expect("written");
        home.replace(&home.tokens(), &records::tokens(&[]));
        let roles = [one, two];
        let shop = Self {
            server,
            login,
            roles,
        };
        shop.configure(0, "one", ["", ""]);
        shop
    }

    /// Gives alice one of the roles, and a claim that becomes a setting. The lines are more of the
    /// configuration, and of its database.
    fn configure(&self, role: usize, claim: &str, [more, of_database]: [&str; 2]) {
        let (home, role) = (&self.server.home, &self.roles[role]);
        let entry = self.server.postgres.entry_as("main", &self.login);
        home.configure(&format!(
            "secret_file: secret\nreceipts: {{key_file: key.pem}}\n{more}databases:\n{entry}    \
             identity:\n      mode: set_role\n      roles: [{{user: alice, role: {role}}}]\n      \
             settings: [{{name: app.tenant, from: {{claim: tenant}}}}]\n{of_database}"
        ));
        let alice = records::user("alice", &[&format!("claims: {{tenant: {claim}}}")]);
        home.replace(&home.users(), &records::users(&[alice]));
    }
}

#[test]
fn a_request_is_not_compared_if_its_caller_has_another_role_setting_or_mask() {
    let shop = Shop::new();
    let sql = "SELECT id, title FROM book ORDER BY id";
    let each = {
        let (_program, stranger) = shop.server.home.serve(&[]);
        kept_by(&stranger.logged_in("alice", PASSWORD), sql, &json!(true))
    };
    let other = "the caller has other rights now";
    let masks = "masking: {databases: {main: [{column: public.book.title, mask: fixed}]}}\n";
    let off = "toolsets: [{name: none, tools: [], for: {everyone: true}}]\n";
    let closed = "    available_to_users: [bob]\n";
    for (role, claim, more, expected) in [
        (0, "one", ["", ""], "the same rows"),
        (1, "one", ["", ""], other),
        (0, "two", ["", ""], other),
        (0, "one", [masks, ""], other),
        (0, "one", [off, ""], other),
        (0, "one", ["", closed], other),
    ] {
        shop.configure(role, claim, more);
        for kept in &each {
            let (lines, code) = replayed_as(&shop.server, kept, &["-as", "user:alice"]);
            assert!(
                lines[0].starts_with(expected),
                "{role} {claim} {more:?}: {lines:?}"
            );
            assert_eq!(code, Some(i32::from(expected == other)));
        }
    }
}

#[test]
fn a_receipt_says_whether_a_mask_held_and_has_the_masked_values() {
    let server = Receipted::new(
        "",
        "masking: {databases: {main: [{column: public.book.title, mask: fixed}]}}\n",
    );
    let (_program, client) = server.serve();
    let rows = [
        ("SELECT id FROM book LIMIT 3", false),
        ("SELECT title FROM book LIMIT 3", true),
        ("SELECT '***' FROM generate_series(1, 3)", false),
    ]
    .map(|(sql, is_masked)| {
        let tool = result(&client, "tools/call", &asking(sql, json!(true)));
        let lines = client.post("/api/query", &body(sql, json!(true)).to_string());
        let last: Value = lines
            .body
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok())
            .unwrap_or_default();
        let [tool, lines] = [receipt_of(&tool), &last["done"]["receipt"]].map(payload);
        assert_eq!([&tool["masked"], &lines["masked"]], [is_masked; 2], "{sql}");
        assert_eq!(tool["rows"], lines["rows"], "{sql}");
        tool["rows"]["sha256"].clone()
    });
    assert!(rows[0] != rows[1] && rows[1] == rows[2], "{rows:?}");
}
