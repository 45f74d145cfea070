//! Every store of a sign-in keeps the same rules.

mod directories;
mod documents;
mod tenants;

use tempfile::TempDir;
use tokio::task::JoinSet;
use ziggurat_mcp_auth::MemoryStore;
use ziggurat_postgres::{fixture::Fixture, pool::Pools};

use ziggurat_mcp_auth::Method;

use super::*;

const NOW: Seconds = 1_800_000_000;

const DAY: Seconds = 86_400;

/// A store in a file.
async fn local() -> (TempDir, SignInStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SignInStore::open(folder.path()).await.expect("opened");
    (folder, store)
}

/// A store in PostgreSQL. The tasks end with the returned set.
async fn replicated() -> (Fixture, JoinSet<()>, SignInStore) {
    let fixture = Fixture::new().await;
    let (pools, reaper) = Pools::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(reaper.run());
    let mut settings = fixture.settings.clone();
    settings.allow_writes = true;
    let database = settings.try_into().expect("settings");
    let store = SignInStore::replicated(StateDatabase::new(&pools, database));
    (fixture, tasks, store)
}

fn grant(id: u8, person: &str) -> Grant {
    Grant {
        id: [id; 16],
        person: person.to_owned(),
        tenant: Some("t-1".to_owned()),
        client: "dcr_one".to_owned(),
        resource: "https://tools.example/mcp".to_owned(),
        alias: None,
        scope: "mcp mcp:write".to_owned(),
        databases: Some(vec!["shop".to_owned()]),
        is_renewable: true,
        signed_in_at: NOW - 5,
        amr: "pwd otp".to_owned(),
        origin: None,
        made_at: NOW,
        used_at: NOW,
        ends_at: NOW + 180 * DAY,
        generation: 0,
        rotated_at: NOW,
    }
}

fn code(id: u8) -> Code {
    Code {
        hash: [id; 32],
        grant: [id; 16],
        redirect_uri: Some("https://claude.ai/api/mcp/auth_callback".to_owned()),
        challenge: "challenge".to_owned(),
        needs_proof: id.is_multiple_of(2),
        ends_at: NOW + 60,
    }
}

fn consent(id: u8) -> Consent {
    Consent {
        hash: [id; 32],
        ends_at: NOW + 900,
    }
}

fn rules(now: Seconds) -> Rotation {
    Rotation {
        grace: Duration::from_mins(1),
        idle: Duration::from_hours(720),
        now,
    }
}

async fn codes_are_good_once(store: &impl Store) {
    let made = grant(1, "ann");
    assert_eq!(
        store.add_grant(made.clone(), code(1), consent(1)).await,
        Ok(true)
    );
    let used = store.use_code([1; 32], NOW + 1).await;
    assert_eq!(used, Ok(UsedCode::Good(Box::new((code(1), made.clone())))));
    assert_eq!(store.grant([1; 16], NOW).await, Ok(Some(made)));
    let again = store.use_code([1; 32], NOW + 2).await;
    assert_eq!(again, Ok(UsedCode::Again([1; 16])));
    assert_eq!(
        store.grant([1; 16], NOW + 2).await,
        Ok(None),
        "its grant has ended"
    );
    assert_eq!(store.use_code([9; 32], NOW).await, Ok(UsedCode::Unknown));
    assert_eq!(
        store.add_grant(grant(2, "ann"), code(2), consent(2)).await,
        Ok(true)
    );
    assert_eq!(
        store.use_code([2; 32], NOW + 60).await,
        Ok(UsedCode::Unknown),
        "too late"
    );
}

async fn a_consent_makes_one_grant(store: &impl Store) {
    assert_eq!(
        store.add_grant(grant(3, "ann"), code(3), consent(3)).await,
        Ok(true)
    );
    // Sent twice: the second code is for the first grant.
    assert_eq!(
        store.add_grant(grant(4, "ann"), code(4), consent(3)).await,
        Ok(true)
    );
    assert_eq!(
        store.use_code([3; 32], NOW + 1).await,
        Ok(UsedCode::Unknown),
        "void"
    );
    let used = store.use_code([4; 32], NOW + 1).await.expect("used");
    let UsedCode::Good(good) = used else {
        panic!("{used:?}")
    };
    assert_eq!((good.0.grant, good.1.id), ([3; 16], [3; 16]));
    let late = Grant {
        made_at: NOW + 61,
        ..grant(5, "ann")
    };
    assert_eq!(
        store.add_grant(late, code(5), consent(3)).await,
        Ok(false),
        "the form expired"
    );
}

async fn refresh_tokens_rotate(store: &impl Store) {
    assert_eq!(
        store.add_grant(grant(6, "ann"), code(6), consent(6)).await,
        Ok(true)
    );
    let rotate = |generation, now| store.rotate([6; 16], generation, rules(now));
    let generation = |rotated: Result<Rotated, Unavailable>| match rotated {
        Ok(Rotated::To(grant)) => Some(grant.generation),
        _ => None,
    };
    assert_eq!(
        rotate(1, NOW).await,
        Ok(Rotated::Unknown),
        "from the future"
    );
    assert_eq!(generation(rotate(0, NOW + 10).await), Some(1));
    assert_eq!(
        generation(rotate(0, NOW + 70).await),
        Some(1),
        "a retry within the grace"
    );
    assert_eq!(generation(rotate(1, NOW + 80).await), Some(2));
    let idle = rotate(2, NOW + 80 + 30 * DAY).await;
    assert_eq!(idle, Ok(Rotated::Unknown), "unused for too long");
    let reused = rotate(0, NOW + 90).await;
    assert!(matches!(reused, Ok(Rotated::Reused(_))), "{reused:?}");
    assert_eq!(
        rotate(2, NOW + 91).await,
        Ok(Rotated::Unknown),
        "the grant has ended"
    );
    assert_eq!(
        store.end_grant([6; 16], Why::Revoked, NOW + 92).await,
        Ok(false)
    );
}

async fn the_oldest_grants_make_room(store: &impl Store) {
    for id in 10..61 {
        let used_at = NOW + Seconds::from(id);
        let made = Grant {
            used_at,
            made_at: used_at,
            ..grant(id, "bob")
        };
        assert_eq!(store.add_grant(made, code(id), consent(id)).await, Ok(true));
    }
    let now = NOW + 100;
    assert_eq!(
        store.grant([10; 16], now).await,
        Ok(None),
        "one of 51 had to go"
    );
    assert!(store.grant([11; 16], now).await.expect("read").is_some());
}

async fn sessions_end(store: &impl Store) {
    let session = |id: u8, at| Session {
        hash: [id; 32],
        person: "cid".to_owned(),
        signed_in_at: at,
        amr: "pwd".to_owned(),
        origin: None,
        used_at: at,
        ends_at: NOW + 43_200,
    };
    let idle = Duration::from_hours(1);
    let find = |id: u8, now| store.session([id; 32], idle, now);
    for id in 0..51 {
        let at = NOW + Seconds::from(id);
        assert_eq!(store.add_session(session(id, at)).await, Ok(()));
    }
    assert_eq!(find(0, NOW + 60).await, Ok(None), "one of 51 had to go");
    let found = find(1, NOW + 3000).await.expect("read").expect("a session");
    assert_eq!((found.signed_in_at, &*found.person), (NOW + 1, "cid"));
    assert!(
        find(1, NOW + 6000).await.expect("read").is_some(),
        "its use counts"
    );
    assert_eq!(find(1, NOW + 9600).await, Ok(None), "idle");
    assert_eq!(store.end_session([2; 32]).await, Ok(()));
    assert_eq!(find(2, NOW + 60).await, Ok(None));
    assert!(find(3, NOW + 60).await.expect("read").is_some());
    assert_eq!(store.end_sessions("cid").await, Ok(()));
    assert_eq!(find(3, NOW + 60).await, Ok(None));
}

async fn clients_are_kept(store: &impl Store) {
    let client = StoredClient {
        id: "dcr_one".to_owned(),
        name: "One, with \"quotes\" and ünïcode".to_owned(),
        redirect_uris: vec!["http://localhost/callback".to_owned()],
        has_refresh: true,
        method: Method::Post,
        application_type: Some("native".to_owned()),
    };
    assert_eq!(store.client("dcr_one", NOW).await, Ok(None));
    assert_eq!(store.add_client(client.clone(), NOW).await, Ok(true));
    assert_eq!(
        store.add_client(client.clone(), NOW).await,
        Ok(true),
        "again"
    );
    assert_eq!(store.client("dcr_one", NOW + 300).await, Ok(Some(client)));
}

async fn a_person_has_grants_and_consents(store: &impl Store) {
    for id in [70, 71] {
        let made = Grant {
            used_at: NOW + Seconds::from(id),
            ..grant(id, "eve")
        };
        assert_eq!(store.add_grant(made, code(id), consent(id)).await, Ok(true));
    }
    let ids = |grants: Vec<Grant>| grants.iter().map(|it| it.id[0]).collect::<Vec<_>>();
    let grants = store.grants("eve", NOW + 100).await.expect("read");
    assert_eq!(ids(grants), [71, 70], "the last used first");
    let mut ended = ids(store
        .end_grants("eve", Why::Person, NOW + 100)
        .await
        .expect("ended"));
    ended.sort_unstable();
    assert_eq!(ended, [70, 71]);
    assert_eq!(store.grants("eve", NOW + 100).await, Ok(Vec::new()));

    let given = |resource: &str, given_at| GivenConsent {
        person: "eve".to_owned(),
        tenant: Some("t-1".to_owned()),
        client: "dcr_one".to_owned(),
        resource: resource.to_owned(),
        scope: "mcp".to_owned(),
        databases: Some(vec!["shop".to_owned()]),
        client_digest: [7; 32],
        given_at,
    };
    for at in 0..501 {
        let resource = format!("https://{at}.example");
        assert_eq!(store.keep_consent(given(&resource, NOW + at)).await, Ok(()));
    }
    let find = async |resource: &str| store.consent("eve", "dcr_one", resource).await;
    assert_eq!(
        find("https://0.example").await,
        Ok(None),
        "one of 501 had to go"
    );
    let one = given("https://1.example", NOW + 1);
    assert_eq!(find("https://1.example").await, Ok(Some(one.clone())));
    let again = GivenConsent {
        databases: None,
        given_at: NOW + 600,
        ..one
    };
    assert_eq!(store.keep_consent(again.clone()).await, Ok(()));
    assert_eq!(find("https://1.example").await, Ok(Some(again)));
    let withdraw = async || {
        store
            .withdraw_consent("eve", "dcr_one", "https://1.example")
            .await
    };
    assert_eq!((withdraw().await, withdraw().await), (Ok(true), Ok(false)));
}

async fn devices_wait_for_a_person(store: &impl Store) {
    let device = |id: u8, user_code: u8| Device {
        hash: [id; 32],
        user_code: [user_code; 32],
        client: "ziggurat-cli".to_owned(),
        resource: "https://tools.example/mcp".to_owned(),
        alias: None,
        scope: "mcp".to_owned(),
        ends_at: NOW + 600,
    };
    assert_eq!(store.add_device(device(1, 1), NOW).await, Ok(true));
    assert_eq!(
        store.add_device(device(2, 1), NOW).await,
        Ok(false),
        "a code is taken"
    );
    assert_eq!(store.add_device(device(2, 2), NOW).await, Ok(true));
    assert_eq!(store.device([1; 32], NOW).await, Ok(Some(device(1, 1))));
    assert_eq!(store.device([9; 32], NOW).await, Ok(None));
    let poll = async |id: u8, now| store.poll_device([id; 32], "ziggurat-cli", now).await;
    assert_eq!(poll(1, NOW + 5).await, Ok(Polled::Waits));
    assert_eq!(poll(1, NOW + 9).await, Ok(Polled::TooSoon));
    assert_eq!(
        poll(1, NOW + 16).await,
        Ok(Polled::TooSoon),
        "the interval has grown"
    );
    assert_eq!(poll(1, NOW + 31).await, Ok(Polled::Waits));
    let foreign = store.poll_device([1; 32], "another", NOW + 60).await;
    assert_eq!(foreign, Ok(Polled::Unknown));

    let made = grant(80, "fay");
    let allow = async || {
        store
            .approve_device([1; 32], made.clone(), consent(80))
            .await
    };
    assert_eq!(allow().await, Ok(true));
    assert_eq!(allow().await, Ok(true), "a double click");
    assert_eq!(
        store.device([1; 32], NOW + 60).await,
        Ok(None),
        "it is decided"
    );
    assert_eq!(poll(1, NOW + 60).await, Ok(Polled::Good(Box::new(made))));
    assert_eq!(poll(1, NOW + 66).await, Ok(Polled::Again([80; 16])));
    assert_eq!(
        store.grant([80; 16], NOW + 66).await,
        Ok(None),
        "its grant has ended"
    );
    assert_eq!(store.deny_device([2; 32], NOW + 60).await, Ok(true));
    assert_eq!(store.deny_device([2; 32], NOW + 60).await, Ok(false));
    assert_eq!(poll(2, NOW + 60).await, Ok(Polled::Denied));
    assert_eq!(poll(2, NOW + 600).await, Ok(Polled::Expired));
}

async fn factors_hold_once(store: &impl Store) {
    let factor = Factor {
        person: "gil".to_owned(),
        sealed: "sealed".to_owned(),
        last_step: 100,
        recovery: vec![[1; 32], [2; 32]],
    };
    assert_eq!(store.factor("gil").await, Ok(None));
    assert_eq!(store.add_factor(factor.clone()).await, Ok(true));
    let other = Factor {
        sealed: "other".to_owned(),
        ..factor.clone()
    };
    assert_eq!(store.add_factor(other).await, Ok(false), "there is one");
    assert_eq!(store.factor("gil").await, Ok(Some(factor)));
    let mut steps = Vec::new();
    for step in [100, 101, 101, 99] {
        steps.push(store.use_step("gil", step).await);
    }
    assert_eq!(steps, [Ok(false), Ok(true), Ok(false), Ok(false)]);
    assert_eq!(store.use_recovery("gil", [1; 32]).await, Ok(true));
    assert_eq!(store.use_recovery("gil", [1; 32]).await, Ok(false));
    let left = store.factor("gil").await.expect("read").expect("a factor");
    assert_eq!((left.last_step, left.recovery), (101, vec![[2; 32]]));
    assert_eq!(store.remove_factor("gil").await, Ok(true));
    assert_eq!(store.remove_factor("gil").await, Ok(false));
    assert_eq!(store.use_recovery("gil", [2; 32]).await, Ok(false));
    assert_eq!(store.use_once([200; 32], NOW + 60, NOW).await, Ok(true));
    assert_eq!(store.use_once([200; 32], NOW + 60, NOW).await, Ok(false));
}

async fn the_rules_hold(store: &impl Store) {
    devices_wait_for_a_person(store).await;
    factors_hold_once(store).await;
    a_person_has_grants_and_consents(store).await;
    codes_are_good_once(store).await;
    a_consent_makes_one_grant(store).await;
    refresh_tokens_rotate(store).await;
    the_oldest_grants_make_room(store).await;
    sessions_end(store).await;
    clients_are_kept(store).await;
}

#[tokio::test]
async fn the_rules_hold_in_memory() {
    the_rules_hold(&MemoryStore::default()).await;
}

#[tokio::test]
async fn the_rules_hold_in_a_file() {
    let (_folder, store) = local().await;
    the_rules_hold(&store).await;
}

#[tokio::test]
async fn the_rules_hold_in_postgresql() {
    let (_fixture, _tasks, store) = replicated().await;
    the_rules_hold(&store).await;
}

/// Uses each of these codes twice and refreshes each of their grants eight times, all at once.
async fn races(store: SignInStore, count: u8) {
    let mut uses = JoinSet::new();
    for id in 1..=count {
        let added = store
            .add_grant(grant(id, "dora"), code(id), consent(id))
            .await;
        assert_eq!(added, Ok(true));
        for _ in 0..2 {
            let store = store.clone();
            uses.spawn(async move { store.use_code([id; 32], NOW + 1).await });
        }
    }
    let results = uses.join_all().await;
    let good = results
        .iter()
        .filter(|it| matches!(it, Ok(UsedCode::Good(_))));
    assert_eq!(good.count(), usize::from(count));
    let again = results
        .iter()
        .filter(|it| matches!(it, Ok(UsedCode::Again(_))));
    assert_eq!(again.count(), usize::from(count));

    let id = count + 1;
    let added = store
        .add_grant(grant(id, "dora"), code(id), consent(id))
        .await;
    assert_eq!(added, Ok(true));
    let mut refreshes = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        refreshes.spawn(async move { store.rotate([id; 16], 0, rules(NOW + 5)).await });
    }
    for rotated in refreshes.join_all().await {
        let Ok(Rotated::To(grant)) = rotated else {
            panic!("{rotated:?}")
        };
        assert_eq!(grant.generation, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_uses_of_a_code_wins_a_thousand_times_in_a_file() {
    for _ in 0..25 {
        let (_folder, store) = local().await;
        races(store, 40).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_uses_of_a_code_wins_in_postgresql() {
    let (_fixture, _tasks, store) = replicated().await;
    races(store, 40).await;
}

#[tokio::test]
async fn another_process_learns_of_grants_that_ended_until_their_tokens_have_expired() {
    let (folder, store) = local().await;
    let other = SignInStore::open(folder.path()).await.expect("opened");
    let hour = Duration::from_hours(1);
    for id in [1, 2] {
        let added = store
            .add_grant(grant(id, "ann"), code(id), consent(id))
            .await;
        assert_eq!(added, Ok(true));
    }
    assert_eq!(
        store.end_grant([1; 16], Why::Revoked, NOW + 1).await,
        Ok(true)
    );
    assert!(store.ended().contains([1; 16]), "at once");
    assert!(!other.ended().contains([1; 16]));
    other.read_ended(hour, NOW + 2).await.expect("read");
    assert!(other.ended().contains([1; 16]) && !other.ended().contains([2; 16]));
    other.read_ended(hour, NOW + 4000).await.expect("read");
    assert!(!other.ended().contains([1; 16]), "no token of it is good");
}

#[tokio::test]
async fn ended_rows_of_a_file_go_after_a_week_and_unused_clients_after_a_day() {
    let (_folder, store) = local().await;
    ended_rows_go(store).await;
}

#[tokio::test]
async fn ended_rows_of_postgresql_go_after_a_week_and_unused_clients_after_a_day() {
    let (_fixture, _tasks, store) = replicated().await;
    ended_rows_go(store).await;
}

async fn ended_rows_go(store: SignInStore) {
    clients_are_kept(&store).await;
    let never = StoredClient {
        id: "dcr_never".to_owned(),
        name: String::new(),
        redirect_uris: Vec::new(),
        has_refresh: false,
        method: Method::None,
        application_type: None,
    };
    assert_eq!(store.add_client(never, NOW).await, Ok(true));
    assert_eq!(
        store.add_grant(grant(1, "ann"), code(1), consent(1)).await,
        Ok(true)
    );
    let rules = SweepRules {
        idle: Duration::from_hours(720),
    };
    let sweep = async |day: Seconds| {
        store
            .sweep_once(rules, NOW + day * DAY)
            .await
            .expect("swept");
    };
    let rows = async |table: &'static str| {
        let rows = store.tables.rows(table, []).await.expect("counted");
        rows[0].get::<i64>(0).expect("a number")
    };
    let (clients, grants) = (
        "SELECT count(*) FROM oauth_clients",
        "SELECT count(*) FROM oauth_grants",
    );
    sweep(2).await;
    assert_eq!((rows(clients).await, rows(grants).await), (1, 1));
    sweep(31).await;
    assert_eq!(
        store.grant([1; 16], NOW + 31 * DAY).await,
        Ok(None),
        "unused for a month"
    );
    sweep(39).await;
    assert_eq!(rows(grants).await, 0);
    assert_eq!(rows("SELECT count(*) FROM oauth_codes").await, 0);
    assert_eq!(rows("SELECT count(*) FROM oauth_seen").await, 0);
    assert_eq!(rows(clients).await, 1, "it had a grant");
    sweep(130).await;
    assert_eq!(rows(clients).await, 0);
}

#[tokio::test]
async fn an_administrator_adds_and_removes_clients_with_their_grants() {
    let (_folder, store) = local().await;
    let client = ManualClient {
        id: "acme".to_owned(),
        name: "Acme".to_owned(),
        redirect_uris: vec!["https://acme.example/callback".to_owned()],
        secret_hash: Some([9; 32]),
        skip_consent: true,
    };
    assert_eq!(store.manual_client("acme").await, Ok(None));
    assert!(
        store
            .add_manual_client(&client, NOW)
            .await
            .expect("written")
    );
    assert!(
        !store
            .add_manual_client(&client, NOW)
            .await
            .expect("written")
    );
    assert_eq!(store.manual_client("acme").await, Ok(Some(client)));
    assert_eq!(
        store.client("acme", NOW).await,
        Ok(None),
        "it did not register itself"
    );
    let listed = store.list_clients().await.expect("read");
    assert_eq!((listed.len(), listed[0].has_secret), (1, true));
    let of_acme = Grant {
        client: "acme".to_owned(),
        ..grant(1, "ann")
    };
    assert_eq!(
        store.add_grant(of_acme, code(1), consent(1)).await,
        Ok(true)
    );
    assert_eq!(
        store.add_grant(grant(2, "ann"), code(2), consent(2)).await,
        Ok(true)
    );
    assert_eq!(store.list_grants(NOW).await.expect("read").len(), 2);
    assert!(store.remove_client("acme", NOW + 1).await.expect("written"));
    assert!(!store.remove_client("acme", NOW + 1).await.expect("written"));
    assert!(store.ended().contains([1; 16]) && !store.ended().contains([2; 16]));
    assert_eq!(store.list_grants(NOW + 1).await.expect("read").len(), 1);
}
