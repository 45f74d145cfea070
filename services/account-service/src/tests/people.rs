//! Tests of users who sign in.

use std::{net::IpAddr, time::Duration};

use secrecy::ExposeSecret as _;
use ziggurat_mcp_auth::{
    Given, LoginError, PasswordChange, PasswordChangeError, People as _, Ticket, TicketError,
    TicketHolder,
};
use ziggurat_passwords::Passwords;

use crate::{Attempts, InviteDraft, Members, Owner, TenantDraft, fixture::TestService};

const PASSWORD: &str = "correct horse battery";

fn members(setup: &TestService) -> Members {
    members_with(setup, Passwords::with_cost(4))
}

fn members_with(setup: &TestService, passwords: Passwords) -> Members {
    let (store, tokens) = (setup.store.clone(), setup.tokens.clone());
    Members::new(store, tokens, Attempts::default()).with_passwords(passwords)
}

fn given(password: &str) -> Given<'_> {
    Given {
        first_name: "",
        last_name: "",
        password,
    }
}

fn address(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

async fn reset(setup: &TestService, email: &str) -> Ticket {
    let (_, token) = setup.store.new_reset(email).await.expect("made");
    let token = token.expose_secret().to_owned();
    Ticket::Reset { token }
}

/// Gives the owner of the tenant a password.
async fn with_password(setup: &TestService) -> Members {
    let members = members(setup);
    let ticket = reset(setup, "ann@example.com").await;
    let used = members.use_ticket(&ticket, given(PASSWORD), None).await;
    assert_eq!(used, Ok(setup.owner.to_string()));
    members
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_right_password_of_a_user_who_is_not_disabled_signs_in() {
    for setup in TestService::all().await {
        let members = with_password(&setup).await;
        let login = async |name, password| members.authenticate(name, password, None).await;
        let owner = setup.owner.to_string();
        assert_eq!(
            login(" ANN@example.com ", PASSWORD).await,
            Ok(owner.clone())
        );
        for (name, password) in [
            ("ann@example.com", "wrong"),
            ("ann@example.com", ""),
            ("eve@example.com", PASSWORD),
            ("ann", PASSWORD),
            ("a\0@b", PASSWORD),
        ] {
            assert_eq!(
                login(name, password).await,
                Err(LoginError::Wrong),
                "{name:?}"
            );
        }
        let person = members.find(&owner).await.expect("asked").expect("found");
        assert_eq!(person.name, "ann@example.com");
        assert_eq!(person.tenants[0].id, setup.tenant.to_string());
        assert_eq!(members.find("7").await, Ok(None));

        let disabled = setup.store.disable_user("ann@example.com", true).await;
        assert_eq!(disabled.expect("found"), setup.owner);
        assert_eq!(
            login("ann@example.com", PASSWORD).await,
            Err(LoginError::Wrong)
        );
        assert_eq!(members.find(&owner).await, Ok(None));
        let ticket = reset(&setup, "ann@example.com").await;
        assert_eq!(members.ticket(&ticket).await, Ok(None), "disabled");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_name_costs_the_same_hash_as_a_known_one() {
    let setup = TestService::on_a_file().await;
    with_password(&setup).await;
    let passwords = Passwords::with_cost(4);
    let members = members_with(&setup, passwords.clone());
    let long = format!("{}@example.com", "x".repeat(10_000));
    let attempt = async |name: &str, password: &str, case: &str| {
        let answer = members.authenticate(name, password, None).await;
        assert_eq!(answer, Err(LoginError::Wrong), "{case}: {name:?}");
        assert_eq!(passwords.checks(), [4], "{case}: {name:?}");
    };
    for name in [
        "ann@example.com",
        "eve@example.com",
        "ann",
        "",
        "a\0@b",
        &long,
    ] {
        for password in ["wrong", "", &long] {
            attempt(name, password, "wrong").await;
        }
    }
    for _ in 0..20 {
        attempt("ann@example.com", "wrong", "up to the limit").await;
    }
    attempt("ann@example.com", PASSWORD, "locked").await;
    setup.clock.advance(Duration::from_mins(16));
    let disabled = setup.store.disable_user("ann@example.com", true).await;
    disabled.expect("found");
    attempt("ann@example.com", PASSWORD, "disabled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_count_over_all_processes_of_a_store() {
    for setup in TestService::all().await {
        let first = with_password(&setup).await;
        let second = members(&setup);
        let login = async |at: &Members, password, last| {
            let from = Some(address(last));
            at.authenticate("ann@example.com", password, from).await
        };
        for last in 0..10 {
            for at in [&first, &second] {
                assert_eq!(login(at, "wrong", last).await, Err(LoginError::Wrong));
            }
        }
        let locked = login(&second, PASSWORD, 99).await;
        assert_eq!(locked, Err(LoginError::Wrong), "20 in all");
        setup.clock.advance(Duration::from_mins(16));
        assert!(login(&second, PASSWORD, 99).await.is_ok(), "open again");
        for at in [&first, &second].into_iter().cycle().take(29) {
            let from = Some(address(7));
            let failed = at.authenticate("eve@example.com", "wrong", from).await;
            assert_eq!(failed, Err(LoginError::Wrong));
        }
        assert!(login(&first, PASSWORD, 7).await.is_ok(), "it clears");
        for at in [&first, &second].into_iter().cycle().take(30) {
            let from = Some(address(7));
            let failed = at.authenticate("eve@example.com", "wrong", from).await;
            assert_eq!(failed, Err(LoginError::Wrong));
        }
        for at in [&first, &second] {
            let limited = login(at, PASSWORD, 7).await;
            let is_limited = matches!(limited, Err(LoginError::TooMany { .. }));
            assert!(is_limited, "{limited:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_wrong_passwords_lock_a_user_for_a_quarter_of_an_hour() {
    let setup = TestService::on_a_file().await;
    let members = with_password(&setup).await;
    let login = async |password, from| {
        let from = Some(from);
        members
            .authenticate("ann@example.com", password, from)
            .await
    };
    for last in 0..20 {
        assert_eq!(login("wrong", address(last)).await, Err(LoginError::Wrong));
    }
    assert_eq!(
        login(PASSWORD, address(99)).await,
        Err(LoginError::Wrong),
        "locked"
    );
    setup.clock.advance(Duration::from_mins(16));
    assert!(login(PASSWORD, address(99)).await.is_ok(), "open again");

    // An address waits after 30 wrong passwords, whatever the names are.
    for _ in 0..30 {
        let failed = members
            .authenticate("eve@example.com", "wrong", Some(address(7)))
            .await;
        assert_eq!(failed, Err(LoginError::Wrong));
    }
    let limited = login(PASSWORD, address(7)).await;
    assert!(
        matches!(limited, Err(LoginError::TooMany { .. })),
        "{limited:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_for_a_new_password_holds_once_and_for_a_day() {
    for setup in TestService::all().await {
        let members = with_password(&setup).await;
        let first = reset(&setup, "ann@example.com").await;
        let second = reset(&setup, "ann@example.com").await;
        assert_eq!(members.ticket(&first).await, Ok(None), "the last one holds");
        let holder = TicketHolder {
            name: "ann@example.com".to_owned(),
            ..TicketHolder::default()
        };
        assert_eq!(members.ticket(&second).await, Ok(Some(holder)));
        for (password, problem) in [
            ("short", "The password must have at least 12 characters."),
            ("", "The password is required."),
            (
                "Ann's new words",
                "The password must not contain the name of the account.",
            ),
        ] {
            let refused = members.use_ticket(&second, given(password), None).await;
            assert_eq!(refused, Err(TicketError::Refused(problem.to_owned())));
        }
        let words = "twelve new words";
        assert!(
            members
                .use_ticket(&second, given(words), None)
                .await
                .is_ok()
        );
        let again = members.use_ticket(&second, given(PASSWORD), None).await;
        assert_eq!(again, Err(TicketError::Gone));
        assert!(
            members
                .authenticate("ann@example.com", words, None)
                .await
                .is_ok()
        );
        let old = members
            .authenticate("ann@example.com", PASSWORD, None)
            .await;
        assert_eq!(old, Err(LoginError::Wrong));

        let late = reset(&setup, "ann@example.com").await;
        setup.clock.advance(Duration::from_hours(24));
        assert_eq!(members.ticket(&late).await, Ok(None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_never_sets_the_password_of_a_member_of_another_tenant() {
    for setup in TestService::all().await {
        let owner = Owner {
            email: "eve@evil.example".to_owned(),
            ..Owner::default()
        };
        let draft = TenantDraft {
            name: "Evil".to_owned(),
            ..TenantDraft::default()
        };
        let made = setup.store.create_tenant(draft, &owner).await;
        let (evil, _) = made.expect("created");
        let draft = InviteDraft {
            email: "ann@example.com".to_owned(),
            ..InviteDraft::default()
        };
        let invite = setup
            .store
            .create_invite(evil.id, draft)
            .await
            .expect("made");
        let ticket = Ticket::Invite {
            id: invite.invite.id.to_string(),
            token: invite.token.expose_secret().to_owned(),
        };
        let members = members(&setup);
        let refused = members.use_ticket(&ticket, given(PASSWORD), None).await;
        assert!(
            matches!(refused, Err(TicketError::Refused(_))),
            "{refused:?}"
        );
        let members = with_password(&setup).await;
        let guess = members
            .use_ticket(&ticket, given("a guess of eve"), None)
            .await;
        assert_eq!(guess, Err(TicketError::Login(LoginError::Wrong)));
        let joined = members.use_ticket(&ticket, given(PASSWORD), None).await;
        assert_eq!(joined, Ok(setup.owner.to_string()));
        let person = members.find(&setup.owner.to_string()).await;
        assert_eq!(person.expect("asked").expect("found").tenants.len(), 2);
        let wrong = Ticket::Invite {
            id: invite.invite.id.to_string(),
            token: "x".to_owned(),
        };
        assert_eq!(members.ticket(&wrong).await, Ok(None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_has_the_groups_and_roles_that_were_set_last() {
    for setup in TestService::all().await {
        let members = members(&setup);
        let own = setup.store.memberships(setup.tenant).await.expect("listed");
        let set = async |groups: Option<&[&str]>, roles: Option<&[&str]>| {
            let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let (groups, roles) = (groups.map(list), roles.map(list));
            setup
                .store
                .set_claims(setup.tenant, own[0].id, groups, roles)
                .await
        };
        set(Some(&["buyers"]), Some(&["reader"]))
            .await
            .expect("set");
        set(Some(&[]), None).await.expect("set");
        let person = members.find(&setup.owner.to_string()).await;
        let tenant = person.expect("asked").expect("found").tenants.remove(0);
        assert_eq!(tenant.groups, Vec::<String>::new());
        assert_eq!(tenant.roles, ["reader"]);
        let refused = set(Some(&["x"; 51]), None).await.expect_err("too many");
        assert_eq!(refused.to_string(), "groups must be at most 50");
        assert!(set(Some(&[""]), None).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_of_a_provider_gets_no_account_by_its_address() {
    for setup in TestService::all().await {
        let add = async |tenant, email| setup.store.add_newcomer(tenant, email).await;
        let linked = add(setup.tenant, "Ann@example.com").await;
        assert_eq!(linked.expect("asked"), None, "ann has an account");
        let nowhere = add(setup.owner, "zoe@example.com").await;
        assert_eq!(nowhere.expect("asked"), None, "no such tenant");
        let added = add(setup.tenant, "zoe@example.com").await.expect("asked");
        let id = added.expect("a new member").to_string();
        let person = members(&setup).find(&id).await.expect("asked");
        assert_eq!(person.expect("found").tenants.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_gives_the_present_password_gets_a_new_one() {
    const NEW: &str = "a new one of many words";
    for setup in TestService::all().await {
        let members = with_password(&setup).await;
        let owner = setup.owner.to_string();
        let change = async |present, new| {
            let change = PasswordChange { present, new };
            members.change_password(&owner, change, None).await
        };
        let refused = |text: &str| Err(PasswordChangeError::Refused(text.to_owned()));
        for (present, new, expected) in [
            ("wrong", NEW, Err(LoginError::Wrong.into())),
            (
                PASSWORD,
                "too short",
                refused("The password must have at least 12 characters."),
            ),
            (
                PASSWORD,
                "the planner of ann",
                refused("The password must not contain the name of the account."),
            ),
        ] {
            assert_eq!(change(present, new).await, expected, "{new}");
        }
        assert_eq!(change(PASSWORD, NEW).await, Ok(()));
        let login = async |password| {
            let name = "ann@example.com";
            members.authenticate(name, password, None).await
        };
        assert_eq!(login(PASSWORD).await, Err(LoginError::Wrong));
        assert_eq!(login(NEW).await, Ok(owner.clone()));
        let change = PasswordChange {
            present: NEW,
            new: PASSWORD,
        };
        let other = members.change_password("7", change, None).await;
        assert_eq!(other, Err(LoginError::Wrong.into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invited_person_of_a_provider_becomes_a_member_once() {
    for setup in TestService::all().await {
        let invite = async |email: &str| {
            let draft = InviteDraft {
                email: email.to_owned(),
                hours: Some(1),
                ..InviteDraft::default()
            };
            let made = setup.store.create_invite(setup.tenant, draft).await;
            made.expect("invited");
        };
        let add = async |email| setup.store.add_invited(email).await.expect("asked");
        assert_eq!(add("zoe@example.com").await, None, "not invited");
        assert_eq!(add("zoe").await, None, "no address");
        invite("Zoe@example.com").await;
        invite("bob@example.com").await;
        let (first, second) = tokio::join!(add("zoe@Example.com"), add("zoe@example.com"));
        let added = first.xor(second).expect("one of both").to_string();
        let zoe = members(&setup).find(&added).await.expect("asked");
        let zoe = zoe.expect("found");
        assert_eq!(zoe.name, "zoe@example.com");
        assert_eq!(zoe.tenants[0].id, setup.tenant.to_string());
        let left = setup.store.invites(setup.tenant).await.expect("listed");
        assert_eq!(left.len(), 1, "the invitation is used up");
        setup.clock.advance(Duration::from_hours(1));
        assert_eq!(add("bob@example.com").await, None, "too late");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_links_no_account_to_a_person_of_a_provider() {
    for setup in TestService::all().await {
        let owner = Owner {
            email: "eve@evil.example".to_owned(),
            ..Owner::default()
        };
        let draft = TenantDraft {
            name: "Evil".to_owned(),
            ..TenantDraft::default()
        };
        let made = setup.store.create_tenant(draft, &owner).await;
        let (evil, _) = made.expect("created");
        let draft = InviteDraft {
            email: "ann@example.com".to_owned(),
            ..InviteDraft::default()
        };
        let made = setup.store.create_invite(evil.id, draft).await;
        made.expect("invited");
        let linked = setup.store.add_invited("ann@example.com").await;
        assert_eq!(linked.expect("asked"), None, "ann has an account");
        let left = setup.store.invites(evil.id).await.expect("listed");
        assert_eq!(left.len(), 1, "the invitation holds");
    }
}
