//! Claims in the tokens of an issuer.

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::FakeIssuer;

use super::{NOTES, check, configure, home, value};
use crate::support::Postgres;

/// The server, as tokens name it.
const RESOURCE: &str = "https://tools.example/mcp";

/// Returns a configuration that trusts an issuer, and keeps these claims.
fn trusting(issuer: &FakeIssuer, claims: &str) -> String {
    let url = &issuer.url;
    format!(
        "http: {{auth: {{issuer: {{url: '{url}', jwks_url: '{url}/keys', \
             public_url: 'https://tools.example', when_unreachable: accept}}}}}}\n\
             identity: {{claims: {claims}}}\n"
    )
}

#[test]
fn the_claims_of_an_issuer_that_the_configuration_names_fill_parameters() {
    let postgres = Postgres::with(NOTES);
    let issuer = FakeIssuer::start();
    let named = trusting(&issuer, "[tenant, realm_access.roles]");
    let home = home(&postgres, &named);
    let (program, stranger) = home.serve(&[]);
    let client =
        |subject: &str, claims: Value| stranger.bearing(&issuer.token(RESOURCE, subject, &claims));
    let acme = client(
        "robot",
        json!({"tenant": "acme", "realm_access": {"roles": ["x", "y"]}, "level": 5}),
    );
    // Another token of the same subject.
    let globex = client("robot", json!({"tenant": "globex", "level": 6}));
    let odd = client(
        "odd",
        json!({"tenant": {"name": "acme"}, "realm_access": {"roles": "x"}, "level": 7}),
    );
    check(&acme, &["of_two", "own_name", "own_notes", "own_roles"]);
    check(&globex, &["of_two", "own_name", "own_notes"]);
    check(&odd, &["of_two", "own_name"]);
    for _ in 0..2 {
        assert_eq!(value(&acme, "own_notes"), "red");
        assert_eq!(value(&globex, "own_notes"), "blue");
    }
    assert_eq!(value(&acme, "own_roles"), "x+y");
    assert_eq!(value(&acme, "own_name"), "client:robot");
    program.until_it_says("configuration reloaded", || {
        configure(&home, &postgres, &trusting(&issuer, "[level]"));
        program.signal(Signal::HUP);
    });
    check(&acme, &["of_two", "own_level", "own_name"]);
    assert_eq!(value(&globex, "own_level"), "6");
}
