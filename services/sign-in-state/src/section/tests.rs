use std::path::Path;

use ziggurat_mcp_auth::{ClaimValue, Provision};
use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};

use super::*;

const UPSTREAM: &str = "
oauth:
  enabled: true
  upstreams:
    - name: corp
      title: Acme single sign-on
      issuer: https://login.example/realms/acme
      client_id: ziggurat
      client_secret_file: SECRET
      require: {email_verified: true, hd: acme.example, level: 7}
      groups_claim: /realm_access/roles
      map:
        - when: {groups: db-analysts}
          then: {groups: [analysts], roles: [reader], tenant: acme, databases: [shop]}
      provision: invited
      recheck: 30m
      without_refresh: 6h
";

const ASSERTION: &str = "
oauth:
  enabled: true
  password_login: false
  identity_assertion:
    - name: acme
      issuer: https://acme.okta.example
      map: [{when: {groups: db-analysts}, then: {groups: [analysts], databases: [shop], write: true}}]
      access_lifetime: 24h
      public_clients: true
";

/// Reads a file; fails with its problems.
fn read(folder: &Path, text: &str) -> Result<SignInSection, String> {
    let path = folder.join("server.yaml");
    std::fs::write(&path, text).expect("written");
    let (sources, flags) = (ConfigSources::default(), Flags::default());
    let loaded = Input::new(&sources, &flags).load(Some(&path), |file| {
        let section = file.section("oauth");
        SignInSection::read_with(&section, &section.key("enabled"), Settings::default())
    });
    let loaded = loaded.map_err(|error| error.to_string())?;
    loaded.value.ok_or_else(|| "off".to_owned())
}

fn read_upstream(change: impl Fn(String) -> String) -> Result<SignInSection, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "hush\n").expect("written");
    let text = UPSTREAM.replace("SECRET", &secret.display().to_string());
    read(folder.path(), &change(text))
}

#[test]
fn an_upstream_is_read_with_its_secret_and_its_rules() {
    let section = read_upstream(|text| text).expect("good");
    let settings = section.settings("https://tools.example", Vec::new());
    let [corp] = &settings.upstreams[..] else {
        panic!("{:?}", settings.upstreams)
    };
    assert_eq!((&*corp.name, &*corp.title), ("corp", "Acme single sign-on"));
    assert!(corp.client_secret.is_some());
    let required: Vec<_> = corp.rules.require.values().cloned().collect();
    let text = ClaimValue::Text("acme.example".to_owned());
    let expected = [ClaimValue::Flag(true), text, ClaimValue::Number(7)];
    assert_eq!(required, expected);
    assert_eq!(corp.rules.groups_claim, "/realm_access/roles");
    let [rule] = &corp.rules.map[..] else {
        panic!("{:?}", corp.rules.map)
    };
    assert_eq!(rule.then.groups, ["analysts"]);
    assert_eq!(rule.then.databases, Some(vec!["shop".to_owned()]));
    assert_eq!(rule.then.tenant.as_deref(), Some("acme"));
    assert_eq!(corp.provision, Provision::Invited);
    assert_eq!(corp.recheck, Duration::from_mins(30));
    assert_eq!(corp.without_refresh, Duration::from_hours(6));
    assert!(section.providers().expect("a way").is_some());
}

#[test]
fn assertions_are_read_and_may_be_the_only_way_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let section = read(folder.path(), ASSERTION).expect("good");
    let settings = section.settings("https://tools.example", Vec::new());
    let [acme] = &settings.identity_assertion[..] else {
        panic!("{:?}", settings.identity_assertion)
    };
    assert!(acme.public_clients && acme.rules.map[0].then.write);
    assert_eq!(acme.jwks_url, None);
    // Keys stay published as long as any token.
    assert_eq!(section.access_lifetime(), Duration::from_hours(24));
}

#[test]
fn what_cannot_be_used_is_named() {
    for (old, new, expected) in [
        ("recheck: 30m", "recheck: 1m", "recheck must be 5m to 24h"),
        (
            "recheck: 30m",
            "recheck: soon",
            "oauth.upstreams[0].recheck",
        ),
        (
            "provision: invited",
            "provision: all",
            "must be none, invited or mapped",
        ),
        (
            "name: corp",
            "name: Corp",
            "a name has 1 to 32 of the characters a-z, 0-9 and -",
        ),
        ("client_id: ziggurat", "client: x", "unknown key"),
        (
            "hd: acme.example",
            "hd: [a]",
            "must be a text, a whole number, true or false",
        ),
        ("databases: [shop]", "write: true", "unknown key"),
        (
            "https://login.example/realms/acme",
            "https://login.microsoftonline.com/common/v2.0",
            "not common, organizations or consumers",
        ),
    ] {
        let problem = read_upstream(|text| text.replace(old, new)).expect_err(new);
        assert!(problem.contains(expected), "{new}: {problem}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = "oauth: {enabled: true, password_login: false}";
    let problem = read(folder.path(), text).expect_err("no way in");
    let expected = "oauth: nobody could sign in: password_login is off, upstreams and \
                    identity_assertion are empty";
    assert!(problem.contains(expected), "{problem}");
}

#[test]
fn a_program_without_invitations_has_no_invited_people() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("server.yaml");
    let read = |provision: &str| {
        let upstream = format!(
            "{{name: corp, issuer: 'https://login.example', client_id: c, provision: {provision}}}"
        );
        let text = format!("oauth: {{enabled: true, upstreams: [{upstream}]}}");
        std::fs::write(&path, text).expect("written");
        let (sources, flags) = (ConfigSources::default(), Flags::default());
        let loaded = Input::new(&sources, &flags).load(Some(&path), |file| {
            let section = file.section("oauth");
            SignInSection::read(&section, &section.key("enabled"))
        });
        loaded.map(drop).map_err(|error| error.to_string())
    };
    for provision in ["none", "mapped"] {
        assert_eq!(read(provision), Ok(()), "{provision}");
    }
    let problem = read("invited").expect_err("no invitations");
    let expected = "oauth: there are no invitations here: provision must be none or mapped";
    assert!(problem.contains(expected), "{problem}");
}
