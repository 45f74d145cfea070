//! Names that no account has.

use super::{login::Rules, *};

#[tokio::test]
async fn an_unknown_name_costs_the_same_hash_as_a_known_one_at_each_entrance() {
    for has_browsers in [false, true] {
        let setup = TestAccounts::with(|settings| settings.max_failed_attempts = 100);
        if has_browsers {
            setup.accounts.add_browser_sign_in(Rules::default());
        }
        let long = "x".repeat(10_000);
        for name in [
            "alice",
            "bob",
            "Alice",
            "",
            "alice\0",
            "\u{202e}ecila",
            &long,
        ] {
            for password in ["wrong", "", &long] {
                let tool = setup.accounts.login(name, password.into(), None).await;
                assert!(matches!(tool, Err(LoginError::Invalid)), "{name:?}");
                assert_eq!(setup.accounts.shared.passwords.checks(), [4], "{name:?}");
                let page = setup.accounts.authenticate(name, password.into(), None);
                assert!(matches!(page.await, Err(LoginError::Invalid)), "{name:?}");
                assert_eq!(setup.accounts.shared.passwords.checks(), [4], "{name:?}");
            }
        }
    }
}
