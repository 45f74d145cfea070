//! Tests of the numbers of accounts.

use std::time::Duration;

use crate::{InviteDraft, fixture::TestService};

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_counted_without_deleted_and_expired_ones() {
    for setup in TestService::all().await {
        let counts = async || {
            let counts = setup.store.counts().await.expect("counted");
            [counts.tenants, counts.users, counts.clients, counts.invites]
        };
        assert_eq!(counts().await, [1, 1, 1, 0]);
        let draft = InviteDraft {
            email: "bob@example.com".to_owned(),
            hours: Some(1),
            invited_by: None,
        };
        let made = setup.store.create_invite(setup.tenant, draft).await;
        made.expect("an invitation");
        assert_eq!(counts().await, [1, 1, 1, 1]);
        setup.clock.advance(Duration::from_hours(2));
        let path = format!("/clients/{}", setup.client);
        let deleted = setup.store.delete_client(setup.tenant, setup.client).await;
        deleted.expect(&path);
        assert_eq!(counts().await, [1, 1, 0, 0]);
    }
}
