//! Tests of users and memberships.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};

use crate::{Id, InviteDraft, Limits, Options, fixture::TestService, service};

fn user_token(setup: &TestService) -> String {
    let hour = Duration::from_hours(1);
    let token = setup.tokens.for_user(setup.tenant, setup.owner, hour);
    token.expect("signed")
}

async fn invite(setup: &TestService, body: &Value) -> crate::fixture::Answer {
    let token = user_token(setup);
    setup.send_as(&token, "POST", "/invites", Some(body)).await
}

fn id(value: &Value) -> Id {
    value["id"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .expect("an id")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_use_endpoints_for_persons() {
    let setup = TestService::on_a_file().await;
    let body = json!({"email": "bob@example.com"});
    let answer = setup.post("/invites", &body).await;
    answer.is_refusal(400, "cannot create invites from an api client");
    let me = setup.get("/users/me").await;
    me.is_refusal(401, "an api client is not a user");
    let me = setup.send("PATCH", "/users/me", Some(&json!({}))).await;
    me.is_refusal(401, "an api client is not a user");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_and_changes_their_own_name() {
    for setup in TestService::all().await {
        let token = user_token(&setup);
        let me = setup.send_as(&token, "GET", "/users/me", None).await.json();
        assert_eq!(me["email"], "ann@example.com");
        assert_eq!(me["first_name"], "Ann");
        assert_eq!(me["tenants"][0]["name"], "Acme");
        setup.clock.advance(Duration::from_secs(7));
        let body = json!({"last_name": "Baker"});
        let me = setup
            .send_as(&token, "PATCH", "/users/me", Some(&body))
            .await
            .json();
        assert_eq!(
            (&me["first_name"], &me["last_name"]),
            (&json!("Ann"), &json!("Baker"))
        );
        assert_eq!(me["updated_at"], "2026-01-02T03:04:12Z");
        let body = json!({"first_name": null});
        let answer = setup
            .send_as(&token, "PATCH", "/users/me", Some(&body))
            .await;
        answer.is_refusal(400, "first_name must be a string");
        let members = setup.get("/memberships").await.json();
        assert_eq!(members[0]["user_name"], "Ann Baker");
        assert_eq!(members[0]["user_email"], "ann@example.com");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invited_user_becomes_a_member_with_the_token_and_only_once() {
    for setup in TestService::all().await {
        let made = invite(&setup, &json!({"email": "Bob@Example.com"})).await;
        assert_eq!(made.status, 200, "{made:?}");
        assert_eq!(made.headers["cache-control"], "no-store");
        let made = made.json();
        assert_eq!(made["email"], "bob@example.com");
        assert_eq!(made["team_name"], "Acme");
        assert_eq!(made["invited_by"], "ann@example.com");
        assert_eq!(made["expires_at"], "2026-01-09T03:04:05Z", "a week");
        let listed = setup.get("/invites").await.json();
        assert_eq!(listed[0].get("token"), None, "shown once");
        let one = setup.get(&format!("/invites/{}", id(&made))).await.json();
        assert_eq!(listed[0], one);

        let token: SecretString = made["token"].as_str().expect("a token").into();
        let wrong: SecretString = "wrong".into();
        for (id, token) in [(id(&made), &wrong), (setup.tenant, &token)] {
            let error = setup.store.accept_invite(id, token, None, None).await;
            assert_eq!(error.expect_err("wrong").to_string(), "invite not found");
        }
        setup.clock.advance(Duration::from_secs(1));
        let accepted = setup
            .store
            .accept_invite(id(&made), &token, Some("Bob".into()), None);
        let member = accepted.await.expect("accepted");
        assert_eq!((&*member.user_name, member.is_owner), ("Bob", false));
        let again = setup
            .store
            .accept_invite(id(&made), &token, None, None)
            .await;
        assert!(again.is_err());
        assert_eq!(setup.get("/invites").await.json(), json!([]));
        let members = setup.get("/memberships").await.json();
        assert_eq!(members[1]["id"], member.id.to_string());
        let body = json!({"email": "bob@example.com"});
        let answer = invite(&setup, &body).await;
        answer.is_refusal(409, "the user with this mail address is a member already");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_invite_is_not_found_and_can_be_replaced() {
    for setup in TestService::all().await {
        let body = json!({"email": "bob@example.com", "expiration": 2});
        let made = invite(&setup, &body).await.json();
        assert_eq!(made["expires_at"], "2026-01-02T05:04:05Z");
        let answer = invite(&setup, &json!({"email": "BOB@example.com"})).await;
        answer.is_refusal(409, "an invite for this mail address is pending");
        setup.clock.advance(Duration::from_hours(2));
        let stage_token = setup.sign_in(&setup.pair.clone()).await;
        let path = format!("/invites/{}", id(&made));
        let listed = setup.send_as(&stage_token, "GET", "/invites", None).await;
        assert_eq!(listed.json(), json!([]));
        for method in ["GET", "DELETE"] {
            let answer = setup.send_as(&stage_token, method, &path, None).await;
            answer.is_refusal(404, "invite not found");
        }
        let token: SecretString = made["token"].as_str().expect("a token").into();
        let late = setup
            .store
            .accept_invite(id(&made), &token, None, None)
            .await;
        assert!(late.is_err());
        assert_eq!(invite(&setup, &body).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invite_is_withdrawn_and_can_be_made_again() {
    let setup = TestService::on_a_file().await;
    let body = json!({"email": "bob@example.com"});
    let made = invite(&setup, &body).await.json();
    let path = format!("/invites/{}", id(&made));
    assert_eq!(setup.send("DELETE", &path, None).await.status, 204);
    setup
        .send("DELETE", &path, None)
        .await
        .is_refusal(404, "invite not found");
    assert_eq!(invite(&setup, &body).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invite_needs_an_address_and_hours_within_a_year() {
    let setup = TestService::on_a_file().await;
    let hours = "expiration must be between 1 and 8760 hours";
    let whole = "expiration must be a whole number";
    for (body, message) in [
        (json!({}), "email is required"),
        (json!({"email": "bob"}), "email must be a mail address"),
        (json!({"email": "b@x.org", "expiration": 0}), hours),
        (json!({"email": "b@x.org", "expiration": 8761}), hours),
        (json!({"email": "b@x.org", "expiration": -1}), hours),
        (json!({"email": "b@x.org", "expiration": 1.5}), whole),
        (json!({"email": "b@x.org", "expiration": "1"}), whole),
        (json!({"email": "b@x.org", "expiration": null}), whole),
    ] {
        invite(&setup, &body).await.is_refusal(400, message);
    }
    let body = json!({"email": "b@x.org", "expiration": 8760});
    assert_eq!(invite(&setup, &body).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_a_limit_of_invites() {
    let mut setup = TestService::on_a_file().await;
    let limits = Limits {
        invites: 1,
        ..Limits::default()
    };
    let store = setup.store.clone().with_limits(limits);
    setup.service = service(store, setup.tokens.clone(), &Options::default());
    assert_eq!(
        invite(&setup, &json!({"email": "a@x.org"})).await.status,
        200
    );
    let answer = invite(&setup, &json!({"email": "b@x.org"})).await;
    answer.is_refusal(400, "plan does not allow creating invites");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_cannot_be_removed_until_another_member_is_the_owner() {
    for setup in TestService::all().await {
        let draft = InviteDraft {
            email: "bob@example.com".to_owned(),
            ..InviteDraft::default()
        };
        let made = setup
            .store
            .create_invite(setup.tenant, draft)
            .await
            .expect("made");
        setup.clock.advance(Duration::from_secs(1));
        let bob = setup
            .store
            .accept_invite(made.invite.id, &made.token, None, None);
        let bob = bob.await.expect("accepted");
        let members = setup.get("/memberships").await.json();
        let ann = format!("/memberships/{}", id(&members[0]));
        let answer = setup.send("DELETE", &ann, None).await;
        answer.is_refusal(400, "the tenant owner cannot be removed");
        setup
            .store
            .make_owner(setup.tenant, bob.id)
            .await
            .expect("made");
        let members = setup.get("/memberships").await.json();
        assert_eq!(
            (&members[0]["is_owner"], &members[1]["is_owner"]),
            (&json!(false), &json!(true))
        );
        let token = user_token(&setup);
        assert_eq!(setup.send("DELETE", &ann, None).await.status, 204);
        let answer = setup.send_as(&token, "GET", "/users/me", None).await;
        assert_eq!(answer.status, 401, "who is no member any more has no token");
    }
}
