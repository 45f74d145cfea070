use tokio::task::JoinSet;
use ziggurat_postgres::{fixture::Fixture, pool::Pools};
use ziggurat_state::StateDatabase;

use super::{login::Rules, *};

/// Accounts with sessions in a database.
struct Replica {
    setup: TestAccounts,
    fixture: Fixture,
    batcher: JoinSet<()>,
    _reaper: JoinSet<()>,
}

impl Replica {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let mut settings = fixture.settings.clone();
        settings.allow_writes = true;
        let (pools, reaper) = Pools::new();
        let database = settings.try_into().expect("a valid description");
        let (shared, batcher) = store::Shared::new(StateDatabase::new(&pools, database));
        Self {
            setup: TestAccounts::with(|settings| settings.shared = Some(shared)),
            fixture,
            batcher: JoinSet::from_iter([batcher.run()]),
            _reaper: JoinSet::from_iter([reaper.run()]),
        }
    }

    async fn verdict(&self, token: &SecretString) -> Result<Identity, Denied> {
        let accounts = &self.setup.accounts;
        assert!(accounts.verify_now(token.expose_secret()).is_none());
        accounts.verify(token.expose_secret()).await
    }

    /// Stops the database task; from then on no query is answered.
    async fn lose_the_database(&mut self) {
        self.batcher.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_lasts_a_day_and_identifies_its_user() {
    let mut replica = Replica::new().await;
    let session = replica.setup.log_in("right").await.expect("logged in");
    let sql = "SELECT ends_at FROM ziggurat.sessions";
    assert_eq!(
        session.expires_at.as_second(),
        replica.fixture.count(sql).await
    );
    let sql = "SELECT round(ends_at - date_part('epoch', now()))::bigint / 60 \
               FROM ziggurat.sessions";
    let minutes = replica.fixture.count(sql).await;
    assert!((24 * 60 - 3..=24 * 60).contains(&minutes), "{minutes}");
    let identity = replica.verdict(&session.token).await.expect("good");
    assert_eq!(identity.user(), Some("alice"));
    assert_eq!(
        replica.setup.alice().last_login,
        Some(replica.setup.clock.now())
    );
    assert_eq!(replica.setup.gone(), [""; 0]);
    // A database selected on another replica is selected here too.
    let selected = identity.clone().with_selection(Some("docs".into()));
    assert_ne!(identity, selected);
    let select = "UPDATE ziggurat.sessions SET selection = 'docs'";
    replica.fixture.given(select).await;
    assert_eq!(replica.verdict(&session.token).await, Ok(selected));

    let end = "UPDATE ziggurat.sessions SET ends_at = date_part('epoch', now())::bigint - 1";
    replica.fixture.given(end).await;
    let verdict = replica.verdict(&session.token).await;
    assert_eq!(verdict, Err(Denied::Invalid));
    assert_eq!(replica.setup.gone(), [key(&session.token)]);
    let verdict = replica.verdict(&"another".into()).await;
    assert_eq!(verdict, Err(Denied::Invalid));
    assert_eq!(replica.setup.gone(), [""; 0], "told once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_session_stays_valid_for_a_while_without_the_database() {
    let mut replica = Replica::new().await;
    let known = replica.setup.session().await;
    let unknown = replica.setup.session().await;
    let program = replica.setup.token(None);
    replica.setup.reload();
    replica.verdict(&known).await.expect("good");
    replica.lose_the_database().await;
    let verdict = replica.verdict(&unknown).await;
    assert_eq!(verdict, Err(Denied::Unavailable));
    replica.setup.clock.advance(Duration::from_secs(299));
    replica.verdict(&known).await.expect("still good");
    replica.setup.clock.advance(Duration::from_secs(1));
    let verdict = replica.verdict(&known).await;
    assert_eq!(verdict, Err(Denied::Unavailable));
    assert_eq!(replica.setup.gone(), [""; 0], "it may come back");
    // API tokens need no database.
    let accounts = &replica.setup.accounts;
    let verdict = accounts.verify_now(program.expose_secret());
    verdict.expect("known here").expect("good");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ended_by_another_replica_is_invalid_and_its_connections_close() {
    let mut replica = Replica::new().await;
    let token = replica.setup.session().await;
    replica.verdict(&token).await.expect("good");
    replica.fixture.given("DELETE FROM ziggurat.sessions").await;
    assert_eq!(replica.verdict(&token).await, Err(Denied::Invalid));
    assert_eq!(replica.setup.gone(), [key(&token)]);
    replica.lose_the_database().await;
    let verdict = replica.verdict(&token).await;
    assert_eq!(verdict, Err(Denied::Unavailable), "it is not remembered");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_end_with_the_account_and_a_new_one_of_the_same_name_has_none() {
    let mut replica = Replica::new().await;
    let token = replica.setup.session().await;
    replica.verdict(&token).await.expect("good");
    replica.setup.users.disable("alice").expect("disabled");
    replica.setup.reload();
    assert_eq!(replica.setup.gone(), [key(&token)]);
    assert_eq!(replica.verdict(&token).await, Err(Denied::Invalid));
    let sql = "SELECT count(*) FROM ziggurat.sessions";
    tokio::time::timeout(Duration::from_secs(20), async {
        while replica.fixture.count(sql).await > 0 {}
    })
    .await
    .expect("ended for all");

    replica.setup.users.enable("alice").expect("enabled");
    replica.setup.reload();
    let token = replica.setup.session().await;
    replica.verdict(&token).await.expect("good");
    let made_before = "UPDATE ziggurat.sessions SET account_made = account_made - 1";
    replica.fixture.given(made_before).await;
    assert_eq!(replica.verdict(&token).await, Err(Denied::Invalid));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_locked_by_another_replica_cannot_log_in() {
    let mut replica = Replica::new().await;
    replica.setup.session().await;
    let lock = "INSERT INTO ziggurat.failed_accounts SELECT username, account_made, 3, true \
                FROM ziggurat.sessions";
    replica.fixture.given(lock).await;
    let right = replica.setup.log_in("right").await;
    assert!(matches!(right, Err(LoginError::Disabled)), "{right:?}");
    let wrong = replica.setup.log_in("wrong").await;
    assert!(matches!(wrong, Err(LoginError::Invalid)), "{wrong:?}");
    assert!(replica.setup.alice().is_enabled, "the file does not say so");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_clock_is_ahead_ends_no_session_and_deletes_no_token() {
    let replica = Replica::new().await;
    let session = replica.setup.session().await;
    let program = replica.setup.token(Some(2 * DAY));
    replica.setup.reload();
    replica.verdict(&session).await.expect("good");
    // Created by another replica with a correct clock.
    replica.setup.token(Some(Duration::from_hours(2)));
    replica.setup.clock.advance(Duration::from_hours(25));
    replica.setup.accounts.sweep();
    replica
        .verdict(&session)
        .await
        .expect("good by the clock of the database");
    let later = replica.setup.session().await;
    replica.verdict(&later).await.expect("good");
    replica
        .verdict(&session)
        .await
        .expect("a login has not ended it");
    assert_eq!(replica.setup.tokens.list().expect("read").len(), 3);
    let verdict = replica.setup.accounts.verify_now(program.expose_secret());
    verdict.expect("known here").expect("good");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seventeenth_session_of_a_user_ends_the_first() {
    let replica = Replica::new().await;
    let mut open = Vec::new();
    for _ in 0..17 {
        open.push(replica.setup.session().await);
    }
    assert_eq!(replica.verdict(&open[0]).await, Err(Denied::Invalid));
    for session in &open[1..] {
        replica.verdict(session).await.expect("good");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_a_user_reach_its_open_sessions() {
    let replica = Replica::new().await;
    let session = replica.setup.log_in("right").await.expect("logged in");
    let claims = NewClaims::read(["tenant=acme"]).expect("valid");
    let users = &replica.setup.users;
    users
        .update(
            "alice",
            &UserChanges {
                claims,
                ..UserChanges::default()
            },
        )
        .expect("written");
    replica.setup.reload();
    let identity = replica.verdict(&session.token).await.expect("good");
    assert_eq!(identity.claims().names().collect::<Vec<_>>(), ["tenant"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_an_api_token_is_shared_and_ends_with_the_token() {
    let replica = Replica::new().await;
    let (setup, accounts) = (&replica.setup, &replica.setup.accounts);
    let token = setup.token(None);
    setup.reload();
    let theirs = setup.whose(&token).expect("valid");
    let session = accounts.exchange(&token).await.expect("opened");
    let identity = replica.verdict(&session.token).await.expect("good");
    assert_eq!(identity.holder(), theirs.holder());
    assert_eq!(identity.account(), theirs.account());
    assert_eq!(identity.expires_at(), Some(session.expires_at));
    assert!(identity.signed_in_at().is_some());
    fs::write(setup.path("tokens.yaml"), "tokens: []\n").expect("written");
    setup.reload();
    let verdict = replica.verdict(&session.token).await;
    assert_eq!(verdict, Err(Denied::Invalid));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_logged_out_is_over_on_every_replica() {
    let mut replica = Replica::new().await;
    let session = replica.setup.log_in("right").await.expect("logged in");
    let identity = replica.verdict(&session.token).await.expect("good");
    assert_eq!(identity.expires_at(), Some(session.expires_at));
    let began = identity.signed_in_at().expect("a time");
    let lasts = session.expires_at.duration_since(began).as_secs();
    assert!((24 * 3600 - 1..=24 * 3600).contains(&lasts), "{lasts}");
    let ended = replica.setup.accounts.log_out(identity.token()).await;
    ended.expect("ended");
    assert_eq!(
        replica
            .fixture
            .count("SELECT count(*) FROM ziggurat.sessions")
            .await,
        0
    );
    assert_eq!(replica.setup.gone(), [key(&session.token)]);
    let verdict = replica.verdict(&session.token).await;
    assert_eq!(verdict, Err(Denied::Invalid));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sessions_of_a_user_are_counted_and_end_together() {
    let replica = Replica::new().await;
    let (setup, accounts) = (&replica.setup, &replica.setup.accounts);
    let (first, second) = (setup.session().await, setup.session().await);
    let program = setup.token(None);
    setup.reload();
    let program = accounts.exchange(&program).await.expect("opened");
    replica.verdict(&first).await.expect("good");
    let counts = accounts.session_counts().await.expect("counted");
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>(),
        [("alice".to_owned(), 2)]
    );
    accounts.log_out_user("alice").await.expect("ended");
    for session in [first, second] {
        assert_eq!(replica.verdict(&session).await, Err(Denied::Invalid));
    }
    replica
        .verdict(&program.token)
        .await
        .expect("another owner");
    let counts = accounts.session_counts().await.expect("counted");
    assert!(counts.is_empty(), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_replicas_locked_is_unlocked() {
    let replica = Replica::new().await;
    let accounts = &replica.setup.accounts;
    let store = accounts.shared.sessions.store().expect("replicated");
    let alice = replica.setup.alice();
    let locked = store.account_failed("alice", alice.created_at, 1).await;
    assert!(locked.expect("counted"));
    assert!(accounts.locked().await.expect("read").contains(&alice));
    let again = UserRecord {
        created_at: None,
        ..alice.clone()
    };
    assert!(!accounts.locked().await.expect("read").contains(&again));
    accounts.unlock("alice").await.expect("unlocked");
    assert!(!accounts.locked().await.expect("read").contains(&alice));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_a_browser_ends_with_its_grant_at_each_replica() {
    let mut replica = Replica::new().await;
    let rules = Rules::default();
    replica.setup.accounts.add_browser_sign_in(rules.clone());
    let signed_in_at = replica.setup.clock.now() - Duration::from_mins(10);
    let login = BrowserLogin {
        person: replica.setup.alice().person_id(),
        signed_in_at,
        grant: [7; 16],
        ends_at: replica.setup.clock.now() + Duration::from_hours(1),
    };
    let session = replica
        .setup
        .accounts
        .open_session(login)
        .await
        .expect("opened");
    let identity = replica.verdict(&session.token).await.expect("good");
    assert_eq!(identity.user(), Some("alice"));
    assert_eq!(identity.signed_in_at(), Some(signed_in_at));
    let sql = "SELECT round(ends_at - date_part('epoch', now()))::bigint / 60 \
               FROM ziggurat.sessions";
    let minutes = replica.fixture.count(sql).await;
    assert!((57..=60).contains(&minutes), "{minutes}");

    lock(&rules.ended).push([7; 16]);
    let verdict = replica.verdict(&session.token).await;
    assert_eq!(verdict, Err(Denied::Invalid));
    assert_eq!(replica.setup.gone(), [key(&session.token)]);
    let token = TokenHash::of(session.token.expose_secret());
    for _ in 0..2 {
        replica.setup.accounts.log_out(token).await.expect("left");
        assert_eq!(*lock(&rules.left), [[7; 16]], "once");
    }
}
