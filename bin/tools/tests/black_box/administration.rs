//! Tests of the administration of a server over HTTP.

mod configuration;
mod databases;
mod tokens;
mod toolsets;
mod users;

use crate::support::{Answer, Client, Home, Program, records};

const INFO: &str = "/api/user/info";
const TOKEN: &str = "an-API-token-of-a-test";

/// A server with the administrator ada, the user bob and an API token.
struct Server {
    home: Home,
    program: Program,
    client: Client,
}

fn serve(more: &str, arguments: &[&str]) -> Server {
    let databases = "databases: [{name: main, user: reader}]";
    serve_in(Home::new(), &format!("{databases}\n{more}"), arguments)
}

/// Serves with a whole configuration.
fn serve_in(home: Home, configuration: &str, arguments: &[&str]) -> Server {
    home.configure(configuration);
    let token = records::token(1, TOKEN, &["database: main"]);
    home.replace(&home.tokens(), &records::tokens(&[token]));
    let users = [("ada", &["admin: true"][..]), ("bob", &[])];
    let users = users.map(|(name, more)| records::user(name, more));
    home.replace(&home.users(), &records::users(&users));
    let (program, client) = home.serve(arguments);
    Server {
        home,
        program,
        client,
    }
}

fn check(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.json()["code"], code, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}
