//! People who sign in at another provider.

use serde_json::{Value, json};
use ziggurat_black_box::{
    Answer, Browser, FakeProvider, GrantedTokens, OAuthClient, Ran, claims, granted,
};

use super::{ALL, PASSWORD, SIGN_IN, add_person, wait_for_revocation};
use crate::support::{Client, Home};

/// A platform with a provider, and the rule for people who come from there.
fn home(provider: &FakeProvider, provision: &str) -> Home {
    let home = Home::new();
    let upstream = format!(
        "  upstreams: [{{name: corp, title: Corp, issuer: '{}', client_id: ziggurat, \
         provision: {provision}}}]\n",
        provider.url
    );
    home.configure(&[SIGN_IN, &upstream].concat());
    home.done(&["init"]);
    home
}

/// Signs a person in at the provider, and returns the page after it.
fn arrive(
    provider: &FakeProvider,
    client: &Client,
    app: &OAuthClient,
    person: &Value,
) -> (Browser, Answer) {
    let browser = Browser::new(client);
    let page = browser.open(&app.request("mcp mcp:write"));
    let page = provider.sign_in(&browser, &page, person);
    (browser, page)
}

/// Signs a person in at the provider, who allows everything.
fn tokens(
    provider: &FakeProvider,
    client: &Client,
    app: &OAuthClient,
    person: &Value,
) -> GrantedTokens {
    let (browser, page) = arrive(provider, client, app, person);
    granted(&app.exchange(&app.allow(&browser, &page, &ALL)))
}

fn assert_no_access(page: &Answer) {
    assert_eq!(page.status, 403, "{page:?}");
    let text = "Your account has no access here.";
    assert!(page.body.contains(text), "{page:?}");
}

fn link(home: &Home, email: &str, provider: &str, subject: &str) -> Ran {
    let words = [
        "user",
        "link",
        "-email",
        email,
        "-provider",
        provider,
        "-subject",
        subject,
    ];
    home.ran(&words)
}

#[test]
fn an_account_at_a_provider_signs_a_person_in_once_an_administrator_linked_it() {
    let provider = FakeProvider::start();
    let home = home(&provider, "none");
    let (_program, client) = home.serve();
    let ann = add_person(&home, &client, "ann@shop.example");
    let app = OAuthClient::register(&client);
    // The same address is no reason to be the same person.
    let subject = json!({"sub": "248", "email": "ann@shop.example", "email_verified": true});
    assert_no_access(&arrive(&provider, &client, &app, &subject).1);
    for (email, name, subject, problem) in [
        ("eve@shop.example", "corp", "248", "user not found"),
        (
            "ann@shop.example",
            "acme",
            "248",
            "sign_in has no provider 'acme'",
        ),
        ("ann@shop.example", "corp", "", "-subject is empty"),
    ] {
        let ran = link(&home, email, name, subject);
        assert_eq!(
            (ran.code, ran.stderr),
            (Some(1), format!("ERROR: {problem}\n"))
        );
    }
    assert_no_access(&arrive(&provider, &client, &app, &subject).1);
    let linked = link(&home, "Ann@shop.example", "corp", "248");
    let linked: Value = serde_json::from_str(&linked.stdout).expect("JSON");
    assert_eq!(
        linked,
        json!({"provider": "corp", "subject": "248", "user_id": ann["user_id"]})
    );
    let token = claims(&tokens(&provider, &client, &app, &subject).access);
    let tenants = home.done(&["tenant", "list"]);
    assert_eq!(
        (&token["sub"], &token["tenant"]),
        (&ann["user_id"], &tenants[0]["id"])
    );
    // Other accounts there and the password are as before.
    assert_no_access(&arrive(&provider, &client, &app, &json!({"sub": "249"})).1);
    app.tokens("ann@shop.example", PASSWORD, &ALL);
}

#[test]
fn an_account_at_a_provider_goes_over_to_another_person_and_its_grants_end() {
    let provider = FakeProvider::start();
    let home = home(&provider, "none");
    let (_program, client) = home.serve();
    let app = OAuthClient::register(&client);
    let subject = json!({"sub": "248"});
    let [ann, bob] = ["ann@shop.example", "bob@shop.example"].map(|email| {
        let made = home.done(&["user", "create", "-email", email]);
        made["user_id"].clone()
    });
    assert_eq!(link(&home, "ann@shop.example", "corp", "248").code, Some(0));
    let of_ann = tokens(&provider, &client, &app, &subject);
    assert_eq!(claims(&of_ann.access)["sub"], ann);
    assert_eq!(link(&home, "bob@shop.example", "corp", "248").code, Some(0));
    wait_for_revocation(&client);
    assert_eq!(
        app.refresh(&of_ann.refresh).json()["error"],
        "invalid_grant"
    );
    let of_bob = tokens(&provider, &client, &app, &subject);
    assert_eq!(claims(&of_bob.access)["sub"], bob);
}

#[test]
fn an_invited_person_of_a_provider_becomes_a_member_by_a_verified_address() {
    let provider = FakeProvider::start();
    let home = home(&provider, "invited");
    let (_program, client) = home.serve();
    add_person(&home, &client, "ann@shop.example");
    for email in ["bob@shop.example", "eve@shop.example"] {
        home.done(&["invite", "create", "-email", email]);
    }
    let app = OAuthClient::register(&client);
    let person = |subject: &str, email: &str, is_verified: bool| json!({"sub": subject, "email": email, "email_verified": is_verified});
    for stranger in [
        person("1", "zoe@shop.example", true),
        person("2", "bob@shop.example", false),
        // An address links no accounts.
        person("3", "ann@shop.example", true),
    ] {
        assert_no_access(&arrive(&provider, &client, &app, &stranger).1);
    }
    let bob = person("4", "Bob@shop.example", true);
    let of_bob = tokens(&provider, &client, &app, &bob);
    let listed = home.done(&["membership", "list"]);
    let mut members = listed.as_array().expect("a list").iter();
    let member = members.find(|member| member["user_email"] == "bob@shop.example");
    let id = &member.expect("a member")["user_id"];
    assert_eq!(&claims(&of_bob.access)["sub"], id);
    let invites = home.done(&["invite", "list"]);
    assert_eq!(invites.as_array().map(Vec::len), Some(1), "{invites}");
    // The account at the provider is the person from now on, whatever its address is.
    let renamed = person("4", "robert@shop.example", true);
    let again = tokens(&provider, &client, &app, &renamed);
    assert_eq!(&claims(&again.access)["sub"], id);
    // Another account with the same address is another person.
    let other = person("5", "bob@shop.example", true);
    assert_no_access(&arrive(&provider, &client, &app, &other).1);
}
