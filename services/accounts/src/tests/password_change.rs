//! New passwords that users set themselves.

use super::*;

const NEW: &str = "a new one of many words";

#[tokio::test]
async fn a_user_who_gives_the_present_password_gets_a_new_one() {
    let setup = TestAccounts::new();
    let alice = setup.alice().person_id();
    let session = setup.session().await;
    let change = async |present: &str, new: &str| {
        let (present, new) = (present.into(), new.into());
        setup
            .accounts
            .change_password(&alice, present, new, None)
            .await
    };
    let long = "long ".repeat(15);
    for (present, new, problem) in [
        (
            "wrong",
            NEW,
            "authentication failed: invalid username or password",
        ),
        ("right", "", "password is required"),
        (
            "right",
            "too short",
            "password must have at least 12 characters",
        ),
        ("right", &*long, "password must not be longer than 72 bytes"),
        (
            "right",
            "words about Alice",
            "password must not contain the name of the account",
        ),
    ] {
        let refused = change(present, new).await.expect_err(new);
        assert_eq!(refused.to_string(), problem);
    }
    assert!(setup.log_in("right").await.is_ok(), "it is as before");
    change("right", NEW).await.expect("changed");
    let refused = setup.log_in("right").await;
    assert!(matches!(refused, Err(LoginError::Invalid)), "{refused:?}");
    assert!(setup.log_in(NEW).await.is_ok(), "at once");
    assert!(setup.is_good(&session));
}

#[tokio::test]
async fn wrong_present_passwords_count_as_failed_logins() {
    let setup = TestAccounts::with(|settings| settings.max_failed_attempts = 3);
    let alice = setup.alice().person_id();
    for _ in 0..3 {
        let accounts = &setup.accounts;
        let refused = accounts.change_password(&alice, "wrong".into(), NEW.into(), None);
        assert!(refused.await.is_err());
    }
    assert!(!setup.alice().is_enabled);
}

#[tokio::test]
async fn a_later_account_of_the_same_name_keeps_its_password() {
    let setup = TestAccounts::new();
    let before = setup.alice().person_id();
    setup.users.delete("alice").expect("deleted");
    add_alice(&setup.users, setup.clock.now());
    setup.reload();
    let accounts = &setup.accounts;
    let refused = accounts.change_password(&before, "right".into(), NEW.into(), None);
    assert!(refused.await.is_err());
    assert!(setup.log_in("right").await.is_ok());
}
