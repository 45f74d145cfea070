//! Harmful statements, sent with the role that `-init` makes.

#[path = "../../../../../tests/hostile/corpus.rs"]
mod corpus;
#[path = "../../../../../tests/hostile/snapshot.rs"]
mod snapshot;
#[path = "../../../../../tests/hostile/victim.rs"]
mod victim;

use serde_json::json;

use self::{
    corpus::{CORPUS, Expected},
    snapshot::differences,
    victim::Victim,
};
use super::{flags, init_at, written};
use crate::support::Home;

#[tokio::test]
async fn the_role_that_is_made_cannot_do_harm() {
    let mut victim = Victim::start().await;
    let home = Home::new();
    let more = [
        "-init-writes=false",
        "-init-transport",
        "stdio",
        "-init-apply",
    ];
    let url = victim.pg.url(Victim::DATABASE);
    let ran = init_at(&home, &url, &flags("keeper", &more));
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let mut command = home.bare(&["-negotiate", "-config"]);
    let [configuration, _] = written(&home);
    command
        .arg(configuration)
        .env("ZIGGURAT_DB_QUERY_TIMEOUT", "1s");
    let (_program, mut client) = Home::talking(&mut command);
    let mut send = |text: &str| client.tool("query_database", &json!({"query": text}));
    // The first statement fills caches, also files.
    let (text, is_error) =
        send("SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user");
    assert!(!is_error && text.contains("keeper\tf"), "{text}");
    let before = victim.snapshot().await;
    let mut surprises = Vec::new();
    for &(expected, statement) in CORPUS {
        let (text, is_error) = send(&victim.expanded(statement));
        let fails_with = |mark: &str| is_error && text.contains(mark);
        let fits = match expected {
            Expected::ByPolicy => is_error && text.starts_with("query rejected: "),
            Expected::ByPostgres => fails_with("(SQLSTATE "),
            // The role may not read either.
            Expected::Harmless => !is_error || fails_with("42501"),
            Expected::ByTimeout => fails_with("57014"),
        };
        if !fits {
            surprises.push(format!("{expected:?} {statement}\n  {text}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert_eq!(differences(&before, &victim.snapshot().await), [""; 0]);
    victim.do_harm("SELECT nextval('counter')").await;
    assert_ne!(differences(&before, &victim.snapshot().await), [""; 0]);
}
