//! Sessions of users who signed in with a browser.

use super::{login::Rules, *};

const GRANT: GrantId = [7; 16];

impl TestAccounts {
    /// Describes a sign-in of alice, a while ago.
    fn browser_login(&self) -> BrowserLogin {
        BrowserLogin {
            person: self.alice().person_id(),
            signed_in_at: self.clock.now() - Duration::from_mins(10),
            grant: GRANT,
            ends_at: self.clock.now() + 2 * DAY,
        }
    }
}

#[tokio::test]
async fn a_session_of_a_browser_has_the_moment_of_its_sign_in_and_ends_with_its_grant() {
    let setup = TestAccounts::new();
    let rules = Rules::default();
    setup.accounts.add_browser_sign_in(rules.clone());
    let login = setup.browser_login();
    let opened = setup.accounts.open_session(login.clone()).await;
    let session = opened.expect("opened");
    assert_eq!(session.expires_at, setup.clock.now() + DAY);
    let identity = setup.whose(&session.token).expect("good");
    assert_eq!(identity.user(), Some("alice"));
    assert_eq!(identity.signed_in_at(), Some(login.signed_in_at));
    assert_eq!(identity.expires_at(), Some(session.expires_at));
    let other = setup.session().await;

    setup.accounts.sweep();
    assert!(setup.is_good(&session.token));
    lock(&rules.ended).push(GRANT);
    setup.accounts.sweep();
    assert!(!setup.is_good(&session.token));
    assert_eq!(setup.gone(), [key(&session.token)]);
    assert!(setup.is_good(&other), "it has no grant");
}

#[tokio::test]
async fn a_session_of_a_browser_is_not_longer_than_its_grant() {
    let setup = TestAccounts::new();
    setup.accounts.add_browser_sign_in(Rules::default());
    let minute = Duration::from_mins(1);
    let login = BrowserLogin {
        ends_at: setup.clock.now() + minute,
        ..setup.browser_login()
    };
    let session = setup.accounts.open_session(login).await.expect("opened");
    assert!(setup.is_good(&session.token));
    setup.clock.advance(minute);
    assert!(!setup.is_good(&session.token));
}

#[tokio::test]
async fn a_grant_that_has_ended_opens_no_session() {
    let setup = TestAccounts::new();
    let rules = Rules::default();
    lock(&rules.ended).push(GRANT);
    setup.accounts.add_browser_sign_in(rules);
    let opened = setup.accounts.open_session(setup.browser_login()).await;
    assert!(!setup.is_good(&opened.expect("opened").token));
}

#[tokio::test]
async fn a_browser_opens_no_session_of_a_disabled_or_another_user() {
    let setup = TestAccounts::new();
    setup.accounts.add_browser_sign_in(Rules::default());
    let login = setup.browser_login();
    setup.users.disable("alice").expect("disabled");
    setup.reload();
    let opened = setup.accounts.open_session(login.clone()).await;
    assert!(matches!(opened, Err(LoginError::Disabled)), "{opened:?}");
    setup.users.delete("alice").expect("deleted");
    setup.clock.advance(DAY);
    add_alice(&setup.users, setup.clock.now());
    setup.reload();
    let opened = setup.accounts.open_session(login).await;
    assert!(matches!(opened, Err(LoginError::Invalid)), "{opened:?}");
}

#[tokio::test]
async fn the_grant_of_a_session_that_a_user_leaves_is_told() {
    let setup = TestAccounts::new();
    let rules = Rules::default();
    setup.accounts.add_browser_sign_in(rules.clone());
    let session = setup.accounts.open_session(setup.browser_login()).await;
    let session = session.expect("opened").token;
    let other = setup.session().await;
    for (token, left) in [(other, 0), (session.clone(), 1), (session, 1)] {
        let token = TokenHash::of(token.expose_secret());
        setup.accounts.log_out(token).await.expect("left");
        assert_eq!(lock(&rules.left).len(), left);
    }
}
