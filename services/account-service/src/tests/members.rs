//! Tests of users and memberships.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};

use crate::{Id, InviteDraft, Limits, Options, fixture::Stage, service};

fn user_token(stage: &Stage) -> String {
    let hour = Duration::from_hours(1);
    let token = stage.tokens.for_user(stage.tenant, stage.owner, hour);
    token.expect("signed")
}

async fn invite(stage: &Stage, body: &Value) -> crate::fixture::Answer {
    let token = user_token(stage);
    stage.send_as(&token, "POST", "/invites", Some(body)).await
}

fn id(value: &Value) -> Id {
    value["id"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .expect("an id")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_use_endpoints_for_persons() {
    let stage = Stage::on_a_file().await;
    let body = json!({"email": "bob@example.com"});
    let answer = stage.post("/invites", &body).await;
    answer.is_refusal(400, "cannot create invites from an api client");
    let me = stage.get("/users/me").await;
    me.is_refusal(401, "an api client is not a user");
    let me = stage.send("PATCH", "/users/me", Some(&json!({}))).await;
    me.is_refusal(401, "an api client is not a user");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_and_changes_their_own_name() {
    for stage in Stage::all().await {
        let token = user_token(&stage);
        let me = stage.send_as(&token, "GET", "/users/me", None).await.json();
        assert_eq!(me["email"], "ann@example.com");
        assert_eq!(me["first_name"], "Ann");
        assert_eq!(me["tenants"][0]["name"], "Acme");
        stage.clock.advance(Duration::from_secs(7));
        let body = json!({"last_name": "Baker"});
        let me = stage
            .send_as(&token, "PATCH", "/users/me", Some(&body))
            .await
            .json();
        assert_eq!(
            (&me["first_name"], &me["last_name"]),
            (&json!("Ann"), &json!("Baker"))
        );
        assert_eq!(me["updated_at"], "2026-01-02T03:04:12Z");
        let body = json!({"first_name": null});
        let answer = stage
            .send_as(&token, "PATCH", "/users/me", Some(&body))
            .await;
        answer.is_refusal(400, "first_name must be a string");
        let members = stage.get("/memberships").await.json();
        assert_eq!(members[0]["user_name"], "Ann Baker");
        assert_eq!(members[0]["user_email"], "ann@example.com");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invited_user_becomes_a_member_with_the_token_and_only_once() {
    for stage in Stage::all().await {
        let made = invite(&stage, &json!({"email": "Bob@Example.com"})).await;
        assert_eq!(made.status, 200, "{made:?}");
        assert_eq!(made.headers["cache-control"], "no-store");
        let made = made.json();
        assert_eq!(made["email"], "bob@example.com");
        assert_eq!(made["team_name"], "Acme");
        assert_eq!(made["invited_by"], "ann@example.com");
        assert_eq!(made["expires_at"], "2026-01-09T03:04:05Z", "a week");
        let listed = stage.get("/invites").await.json();
        assert_eq!(listed[0].get("token"), None, "shown once");
        let one = stage.get(&format!("/invites/{}", id(&made))).await.json();
        assert_eq!(listed[0], one);

        let token: SecretString = made["token"].as_str().expect("a token").into();
        let wrong: SecretString = "wrong".into();
        for (id, token) in [(id(&made), &wrong), (stage.tenant, &token)] {
            let error = stage.store.accept_invite(id, token, None, None).await;
            assert_eq!(error.expect_err("wrong").to_string(), "invite not found");
        }
        stage.clock.advance(Duration::from_secs(1));
        let accepted = stage
            .store
            .accept_invite(id(&made), &token, Some("Bob".into()), None);
        let member = accepted.await.expect("accepted");
        assert_eq!((&*member.user_name, member.is_owner), ("Bob", false));
        let again = stage
            .store
            .accept_invite(id(&made), &token, None, None)
            .await;
        assert!(again.is_err());
        assert_eq!(stage.get("/invites").await.json(), json!([]));
        let members = stage.get("/memberships").await.json();
        assert_eq!(members[1]["id"], member.id.to_string());
        let body = json!({"email": "bob@example.com"});
        let answer = invite(&stage, &body).await;
        answer.is_refusal(409, "the user with this mail address is a member already");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_invite_is_not_found_and_can_be_replaced() {
    for stage in Stage::all().await {
        let body = json!({"email": "bob@example.com", "expiration": 2});
        let made = invite(&stage, &body).await.json();
        assert_eq!(made["expires_at"], "2026-01-02T05:04:05Z");
        let answer = invite(&stage, &json!({"email": "BOB@example.com"})).await;
        answer.is_refusal(409, "an invite for this mail address is pending");
        stage.clock.advance(Duration::from_hours(2));
        let stage_token = stage.sign_in(&stage.pair.clone()).await;
        let path = format!("/invites/{}", id(&made));
        let listed = stage.send_as(&stage_token, "GET", "/invites", None).await;
        assert_eq!(listed.json(), json!([]));
        for method in ["GET", "DELETE"] {
            let answer = stage.send_as(&stage_token, method, &path, None).await;
            answer.is_refusal(404, "invite not found");
        }
        let token: SecretString = made["token"].as_str().expect("a token").into();
        let late = stage
            .store
            .accept_invite(id(&made), &token, None, None)
            .await;
        assert!(late.is_err());
        assert_eq!(invite(&stage, &body).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invite_is_withdrawn_and_can_be_made_again() {
    let stage = Stage::on_a_file().await;
    let body = json!({"email": "bob@example.com"});
    let made = invite(&stage, &body).await.json();
    let path = format!("/invites/{}", id(&made));
    assert_eq!(stage.send("DELETE", &path, None).await.status, 204);
    stage
        .send("DELETE", &path, None)
        .await
        .is_refusal(404, "invite not found");
    assert_eq!(invite(&stage, &body).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invite_needs_an_address_and_hours_within_a_year() {
    let stage = Stage::on_a_file().await;
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
        invite(&stage, &body).await.is_refusal(400, message);
    }
    let body = json!({"email": "b@x.org", "expiration": 8760});
    assert_eq!(invite(&stage, &body).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_a_limit_of_invites() {
    let mut stage = Stage::on_a_file().await;
    let limits = Limits {
        invites: 1,
        ..Limits::default()
    };
    let store = stage.store.clone().with_limits(limits);
    stage.service = service(store, stage.tokens.clone(), &Options::default());
    assert_eq!(
        invite(&stage, &json!({"email": "a@x.org"})).await.status,
        200
    );
    let answer = invite(&stage, &json!({"email": "b@x.org"})).await;
    answer.is_refusal(400, "plan does not allow creating invites");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_cannot_be_removed_until_another_member_is_the_owner() {
    for stage in Stage::all().await {
        let draft = InviteDraft {
            email: "bob@example.com".to_owned(),
            ..InviteDraft::default()
        };
        let made = stage
            .store
            .create_invite(stage.tenant, draft)
            .await
            .expect("made");
        stage.clock.advance(Duration::from_secs(1));
        let bob = stage
            .store
            .accept_invite(made.invite.id, &made.token, None, None);
        let bob = bob.await.expect("accepted");
        let members = stage.get("/memberships").await.json();
        let ann = format!("/memberships/{}", id(&members[0]));
        let answer = stage.send("DELETE", &ann, None).await;
        answer.is_refusal(400, "the tenant owner cannot be removed");
        stage
            .store
            .make_owner(stage.tenant, bob.id)
            .await
            .expect("made");
        let members = stage.get("/memberships").await.json();
        assert_eq!(
            (&members[0]["is_owner"], &members[1]["is_owner"]),
            (&json!(false), &json!(true))
        );
        let token = user_token(&stage);
        assert_eq!(stage.send("DELETE", &ann, None).await.status, 204);
        let answer = stage.send_as(&token, "GET", "/users/me", None).await;
        assert_eq!(answer.status, 401, "who is no member any more has no token");
    }
}
