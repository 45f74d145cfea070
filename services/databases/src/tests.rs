//! Visibility and selection of databases.

use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::time;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_postgres::{database::Settings, fixture::Fixture};
use ziggurat_runtime::logs::captured::Captured;
use ziggurat_tokens::Grant;

use super::*;

fn configured(name: &str, host: &str) -> Configured {
    let settings = Settings {
        name: name.into(),
        host: host.into(),
        user: "reader".into(),
        ..Settings::default()
    };
    Configured::new(Database::try_from(settings).expect("valid"))
}

fn databases(list: impl IntoIterator<Item = Configured>) -> Databases {
    let (pools, _) = Pools::new();
    Databases::new(pools, list)
}

fn program(bound: Option<&str>) -> Identity {
    let (id, database) = ("token-1".into(), bound.map(Arc::from));
    Identity::new(TokenHash::of("program"), Holder::Program { id, database })
}

fn user(name: &str, restricted_to: &[&str]) -> Identity {
    let databases = restricted_to.iter().map(ToString::to_string).collect();
    let name = Arc::from(name);
    Identity::new(TokenHash::of("user"), Holder::User { name, databases })
}

/// Selects without replicas.
fn select(
    databases: &Databases,
    identity: Option<&Identity>,
    name: &str,
) -> Result<(), SelectError> {
    let selected = databases.select(identity, name).now_or_never();
    selected.expect("the selection is in this process")
}

#[test]
fn a_caller_sees_databases_that_its_token_and_the_configuration_allow() {
    let databases = databases([
        configured("first", "a"),
        configured("second", "a").with_users(["alice"]),
    ]);
    let cases: [(Option<Identity>, &[&str]); 8] = [
        (None, &["first", "second"]),
        (Some(program(None)), &["first"]),
        (Some(program(Some("second"))), &["second"]),
        (Some(program(Some("gone"))), &[]),
        (Some(user("alice", &[])), &["first", "second"]),
        (Some(user("alice", &["second"])), &["second"]),
        (Some(user("bob", &[])), &["first"]),
        (Some(user("bob", &["second"])), &[]),
    ];
    for (identity, expected) in cases {
        let visible = databases.visible(identity.as_ref());
        let names: Vec<_> = visible.iter().map(|seen| seen.database().name()).collect();
        assert_eq!(names, expected, "{identity:?}");
        let current = databases.current(identity.as_ref());
        let label = current.as_ref().ok().map(Current::label);
        assert_eq!(label, expected.first().copied(), "{identity:?}");
    }
}

#[test]
fn a_selection_lasts_until_the_database_or_the_token_is_removed() {
    let databases = databases([configured("first", "a"), configured("second", "a")]);
    let label = |who: Option<&Identity>| databases.current(who).expect("one").label().to_owned();
    select(&databases, None, "second").expect("there");
    assert_eq!(label(None), "second");
    assert_eq!(label(Some(&user("alice", &[]))), "first", "another session");

    databases.replace([configured("first", "a")]);
    assert_eq!(label(None), "first", "the selected one has gone");
    databases.replace([configured("first", "a"), configured("second", "a")]);
    databases.forget(ANONYMOUS);
    assert_eq!(label(None), "first", "the session was forgotten");
}

#[test]
fn a_refused_selection_has_a_reason() {
    let databases = databases([
        configured("first", "a"),
        configured("second", "a").with_users(["alice"]),
    ]);
    let cases = [
        (None, "third", SelectError::NotFound),
        (Some(program(None)), "second", SelectError::Bound),
        (Some(program(Some("second"))), "first", SelectError::Bound),
        (Some(user("bob", &[])), "second", SelectError::Denied),
        (Some(user("bob", &[])), "third", SelectError::NotFound),
    ];
    for (identity, name, expected) in cases {
        let selected = select(&databases, identity.as_ref(), name);
        assert_eq!(selected, Err(expected), "{identity:?} {name}");
    }
}

#[test]
fn a_database_with_unchanged_settings_keeps_its_pools() {
    let databases = databases([configured("first", "a"), configured("second", "a")]);
    let before = databases.current(None).expect("one");
    databases.replace([configured("first", "a"), configured("second", "b")]);
    let after = databases.current(None).expect("one");
    assert!(Arc::ptr_eq(before.database(), after.database()));

    databases.replace([configured("first", "elsewhere")]);
    let after = databases.current(None).expect("one");
    assert_eq!(after.database().settings().host, "elsewhere");
}

#[test]
fn a_fixed_handle_keeps_its_list_and_its_pools() {
    let databases = databases([configured("first", "a"), configured("second", "a")]);
    let (old, new) = (
        databases.fixed(),
        databases.prepare([configured("first", "b")]),
    );
    let names = |databases: &Databases| {
        let visible = databases.visible(None).into_iter();
        let host = |it: &Configured| it.database().settings().host.clone();
        visible.map(|it| host(&it)).collect::<Vec<_>>()
    };
    assert_eq!(names(&databases), ["a", "a"], "not in use yet");
    let held = old.current(None).expect("one");
    databases.adopt(&new);
    assert_eq!(names(&databases), ["b"]);
    assert_eq!(
        (names(&old), names(&new)),
        (vec!["a".to_owned(); 2], vec!["b".to_owned()])
    );
    let again = old.named(None, "second").expect("still there");
    assert_eq!(again.database().settings().host, "a");
    assert_eq!(held.database().settings().host, "a");
}

#[test]
fn a_caller_without_a_database_gets_a_clear_message() {
    let none = databases([]);
    let cases = [
        (None, "no databases are configured"),
        (
            Some(program(Some("gone"))),
            "no database connection configured for this token: database 'gone' not configured",
        ),
        (
            Some(user("bob", &[])),
            "no databases are configured for user 'bob' - contact your administrator",
        ),
    ];
    for (identity, expected) in cases {
        let error = none.current(identity.as_ref()).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

/// Creates a client of an issuer from the names in its token and the databases of the issuer.
fn client(
    subject: &str,
    client: Option<&str>,
    tenant: Option<&str>,
    restricted_to: &[&str],
) -> Identity {
    let holder = Holder::Client {
        subject: subject.into(),
        client: client.map(Arc::from),
        tenant: tenant.map(Arc::from),
        scopes: Arc::default(),
        databases: restricted_to.iter().map(ToString::to_string).collect(),
    };
    Identity::new(TokenHash::of("client"), holder)
}

fn names_of(databases: &Databases, identity: &Identity) -> Vec<String> {
    let seen = databases.visible(Some(identity));
    let names = seen.iter().map(|open| open.database().name().to_owned());
    names.collect()
}

#[test]
fn a_client_of_an_issuer_sees_the_databases_open_to_clients() {
    let databases = databases([
        configured("all", "a"),
        configured("people", "a").with_users(["alice"]),
        configured("acme", "a").with_clients(["tenant:acme"]),
        configured("both", "a")
            .with_users(["alice"])
            .with_clients(["robot"]),
        configured("one", "a").with_clients(["sub:7", "client:robot"]),
    ]);
    let cases: [(Identity, &[&str]); 8] = [
        (client("1", None, None, &[]), &["all"]),
        (client("1", Some("other"), None, &[]), &["all"]),
        (
            client("1", Some("robot"), None, &[]),
            &["all", "both", "one"],
        ),
        (
            client("1", Some("robot"), Some("acme"), &[]),
            &["all", "acme", "both", "one"],
        ),
        (
            client("1", Some("robot"), Some("acme"), &["acme"]),
            &["acme"],
        ),
        (client("7", None, Some("other"), &[]), &["all", "one"]),
        (client("1", Some("alice"), None, &[]), &["all"]),
        // A name of one kind does not match another kind, even without a prefix.
        (client("robot", Some("acme"), Some("robot"), &[]), &["all"]),
    ];
    for (identity, expected) in cases {
        assert_eq!(names_of(&databases, &identity), expected, "{identity:?}");
        assert_eq!(
            databases.may_connect_ad_hoc(Some(&identity)),
            Err(AdHocDenied::Client)
        );
    }
    let robot = client("1", Some("robot"), None, &[]);
    assert_eq!(
        select(&databases, Some(&robot), "acme"),
        Err(SelectError::Denied)
    );
    assert_eq!(select(&databases, Some(&robot), "both"), Ok(()));
    let current = databases.current(Some(&robot)).expect("one");
    assert_eq!(current.label(), "both");
    let seen = names_of(&databases, &user("alice", &[]));
    assert_eq!(seen.len(), 5, "lists of clients are not about people");
}

#[test]
fn an_entry_without_a_prefix_is_a_client_and_the_form_for_others_is_logged_once() {
    let databases = databases([configured("shop", "a").with_clients(["acme", "7"])]);
    let (log, _guard) = Captured::start();
    for identity in [
        client("1", Some("robot"), Some("acme"), &[]),
        client("1", Some("robot"), Some("acme"), &[]),
        client("7", None, None, &[]),
        client("8", Some("robot"), Some("else"), &[]),
    ] {
        assert!(names_of(&databases, &identity).is_empty(), "{identity:?}");
    }
    let expected = ["tenant:acme", "sub:7"];
    let lines = log.lines();
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, form) in lines.iter().zip(expected) {
        assert!(line.contains(&format!("write '{form}'")), "{line}");
    }
    let acme = client("1", Some("acme"), None, &[]);
    assert_eq!(names_of(&databases, &acme), ["shop"]);
}

#[tokio::test]
async fn the_sessions_of_a_user_share_connections_and_other_callers_have_their_own() {
    let fixture = Fixture::new().await;
    let one_each = fixture.describe(|settings| settings.max_connections = 1);
    let databases = Databases::new(fixture.pools.clone(), [Configured::new(one_each)]);
    let session = |name: &str, token: &str| {
        let holder = Holder::User {
            name: Arc::from(name),
            databases: Arc::default(),
        };
        Identity::new(TokenHash::of(token), holder)
    };
    let pool = |identity: &Identity| {
        let current = databases.current(Some(identity)).expect("one");
        current.pool().clone()
    };
    let mut held = Vec::new();
    for token in ["1", "2", "3", "4"] {
        let lease = pool(&session("alice", token)).lease().await;
        held.push(lease.expect("four times those of one session"));
    }
    time::pause();
    let refused = pool(&session("alice", "5")).lease().await;
    assert!(
        matches!(refused, Err(LeaseError::Account { .. })),
        "{refused:?}"
    );
    time::resume();
    for other in [session("bob", "6"), program(None)] {
        assert!(pool(&other).lease().await.is_ok(), "{other:?}");
    }
    drop(held);
}

#[tokio::test]
async fn a_grant_narrows_the_databases_and_the_writes_of_its_person() {
    let writable = |name: &str| {
        let settings = Settings {
            name: name.into(),
            user: "reader".into(),
            allow_writes: true,
            ..Settings::default()
        };
        Configured::new(Database::try_from(settings).expect("settings"))
    };
    let (pools, _reaper) = Pools::new();
    let databases = Databases::new(pools, ["shop", "logs"].map(writable));
    let ann = |grant: Option<Grant>| {
        let (name, databases) = ("ann".into(), Arc::default());
        let identity = Identity::new(TokenHash::of("ann"), Holder::User { name, databases });
        match grant {
            Some(grant) => identity.with_grant(Arc::new(grant)),
            None => identity,
        }
    };
    let whole = ann(None);
    assert!(databases.may_write(Some(&whole)));
    assert!(databases.may_connect_ad_hoc(Some(&whole)).is_ok());

    let logs = Grant {
        databases: Some(vec!["logs".to_owned(), "other".to_owned()]),
        may_write: false,
        step_up: None,
        scopes: Vec::new(),
    };
    let narrowed = ann(Some(logs));
    let narrowed = Some(&narrowed);
    let seen = databases.visible(narrowed);
    assert_eq!(seen.len(), 1);
    assert!(!seen[0].database().allows_writes());
    assert!(!databases.may_write(narrowed));
    assert!(!databases.listing(narrowed).databases[0].allow_writes);
    let current = databases.current(narrowed).expect("logs");
    assert_eq!(current.label(), "logs");
    assert!(current.withholds_writes() && !current.database().allows_writes());
    assert!(databases.named(narrowed, "shop").is_none());
    assert!(databases.may_connect_ad_hoc(narrowed).is_err());
    let before = databases.current(narrowed).expect("logs");
    assert!(
        Arc::ptr_eq(before.database(), current.database()),
        "its pool stays"
    );

    let writer = ann(Some(Grant {
        databases: None,
        may_write: true,
        step_up: None,
        scopes: Vec::new(),
    }));
    let current = databases.current(Some(&writer)).expect("shop");
    assert!(!current.withholds_writes() && current.database().allows_writes());
}
