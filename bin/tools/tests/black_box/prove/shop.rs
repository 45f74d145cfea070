//! A server for two callers, and a throw-away copy of its database.

use std::process::Command;

use crate::support::{Home, Postgres, Ran, records};

/// A table of two callers without a hole.
pub(super) const SOUND: &str = "
    CREATE TABLE orders (id int PRIMARY KEY, owner name NOT NULL, note text);
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON orders USING (owner = current_user);
    GRANT SELECT ON orders TO PUBLIC;";

/// The settings of both callers.
const TENANTS: [&str; 2] = [
    "11111111-1111-4111-8111-111111111111",
    "22222222-2222-4222-8222-222222222222",
];

const IDENTITY: &str = "    identity:
      mode: set_role
      roles: [{claim: role, match: '^(ONE|TWO)$', role: '{}'}]
      settings: [{name: app.tenant, from: {claim: tenant}}]
";

/// A server in front of a real database, and its copy. The callers have a role and a setting each.
pub(super) struct Shop {
    pub(super) home: Home,
    pub(super) copy: Postgres,
    pub(super) real: Postgres,
    names: [(&'static str, String); 4],
}

impl Shop {
    /// Makes the copy with this schema. `ONE`, `TWO`, `OUTER` and `LOGIN` stand for roles.
    pub(super) fn new(schema: &str) -> Self {
        Self::with(schema, "", "")
    }

    /// Adds lines to the entry of the database, and to the configuration.
    pub(super) fn with(schema: &str, entry: &str, more: &str) -> Self {
        let (mut real, mut copy) = (Postgres::new(), Postgres::new());
        let names = ["ONE", "TWO", "OUTER"].map(|name| (name, copy.role()));
        let login = real.role();
        let [one, two, outer] = names;
        let shop = Self {
            home: Home::new(),
            names: [one, two, outer, ("LOGIN", login)],
            copy,
            real,
        };
        let name = shop.copy.name().to_owned();
        shop.run(
            "ALTER ROLE \"LOGIN\" NOINHERIT; GRANT \"ONE\", \"TWO\" TO \"LOGIN\";
             REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC",
        );
        shop.copy.run(&format!(
            "ALTER DATABASE \"{name}\" SET ziggurat.throw_away = 'yes'"
        ));
        shop.run(schema);
        let [(_, one), (_, two), _, (_, login)] = &shop.names;
        let database = shop.real.entry_as("shop", login);
        let identity = shop.named(IDENTITY);
        shop.home.configure(&format!(
            "databases:\n{database}{entry}{identity}http: {{enabled: true}}\n{more}"
        ));
        let token = |number: u32, role: &str| {
            let tenant = TENANTS[usize::from(number == 2)];
            let claims = format!("claims: {{role: {role}, tenant: {tenant}}}");
            records::token(number, &format!("secret-{number}"), &[&claims])
        };
        let tokens = records::tokens(&[token(1, one), token(2, two)]);
        shop.home.replace(&shop.home.tokens(), &tokens);
        shop
    }

    /// Runs SQL in the copy, with the roles in it.
    pub(super) fn run(&self, text: &str) {
        self.copy.run(&self.named(text));
    }

    /// Runs SQL in the real database, with the roles in it.
    pub(super) fn run_in_real(&self, text: &str) {
        let strict =
            "REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;";
        self.real.run(&self.named(&format!("{strict} {text}")));
    }

    fn named(&self, text: &str) -> String {
        let names = self.names.iter();
        names.fold(text.to_owned(), |text, (word, role)| {
            text.replace(word, role)
        })
    }

    /// Makes a proof in the copy.
    pub(super) fn prove(&self, more: &[&str]) -> Ran {
        let url = self.copy.url();
        self.ran(&[&["-copy", &url], more].concat())
    }

    /// Runs the command for both callers.
    pub(super) fn ran(&self, more: &[&str]) -> Ran {
        Ran::from(self.command(more).output().expect("built"))
    }

    /// Returns the command for both callers.
    pub(super) fn command(&self, more: &[&str]) -> Command {
        let mut command = self.home.command(&[]);
        command.args([
            "-prove",
            "-as",
            "token:token-1",
            "-against",
            "token:token-2",
        ]);
        command.args(more);
        command
    }

    /// Returns the bytes of the tables of the copy; tables without rows have none.
    pub(super) fn bytes(&self) -> i64 {
        self.copy.count(
            "SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::bigint FROM pg_class c
             JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information)'",
        )
    }
}
