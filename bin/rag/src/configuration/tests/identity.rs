//! The section `identity` of a database, and the facts about callers that it reads.

use ziggurat_tokens::Claim;

use super::{Case, PIPELINE};

const DATABASE: &str = "username: reader}";

/// Creates a file with a pipeline that has this section in its database.
fn case(section: &str) -> Case {
    Case::changed(&[(DATABASE, &format!("username: reader, {section}}}"))])
}

#[test]
fn an_asker_has_a_role_if_the_section_says_so() {
    assert!(Case::changed(&[]).pipeline().askers.is_none());
    let section = "identity: {mode: connect_as, credentials: roles, roles: [{token: t, role: a}, \
                   {claim: tenant, match: '^[a-z]+$', role: 'tenant_{}'}], settings: [{name: \
                   app.tenant, from: {claim: tenant}}]}";
    let askers = case(section).pipeline().askers.expect("rules");
    assert_eq!((askers.roles.len(), askers.settings.len()), (2, 1));
    assert!(askers.way.is_some() && askers.otherwise.is_none());
    // No text of an asker is a statement.
    assert!(!askers.is_strict);
}

#[test]
fn what_fits_no_asker_is_refused() {
    let rule = |rule: &str| format!("identity: {{mode: set_role, roles: [{rule}]}}");
    let from = "identity: {settings: [{name: app.user, from: user}]}";
    let no_users = "names a user, and this server has no users";
    for (section, problem) in [
        (&*rule("{user: alice, role: a}"), no_users),
        (from, no_users),
        ("identity: ", "identity.mode: required"),
        (
            "identity: {mode: set_role, otherwise: a, strict: true}",
            "unknown key",
        ),
        (
            &*rule("{claim: tenant, role: '{}'}"),
            "match: required, since the role has {} in it",
        ),
    ] {
        let error = case(section).error();
        assert!(error.contains(problem), "{section}: {error}");
    }
    let writer = "  ingest: {database: {host: h, database: d, username: w, identity: {mode: \
                  set_role, otherwise: a}}}\n";
    let error = Case::new(&format!("pipelines:{PIPELINE}{writer}")).error();
    assert!(error.contains("unknown key"), "{error}");
}

#[test]
fn a_search_by_an_extension_is_refused_since_its_scores_count_all_rows() {
    let section = "username: reader, identity: {mode: set_role, otherwise: a}}";
    for (backend, is_good) in [
        ("auto", true),
        ("scan", true),
        ("tsvector", true),
        ("pg_textsearch", false),
        ("pg_search", false),
        ("vchord_bm25", false),
    ] {
        let keyword = format!("embedding, keyword_backend: {backend}}}");
        let case = Case::changed(&[(DATABASE, section), ("embedding}", &keyword)]);
        if is_good {
            assert!(case.pipeline().askers.is_some(), "{backend}");
        } else {
            let expected = format!(
                "keyword_backend {backend} of documents and database.identity exclude each other"
            );
            let error = case.error();
            assert!(error.contains(&expected), "{error}");
        }
    }
}

#[test]
fn facts_about_callers_are_read() {
    let facts = "identity: {claims: [tenant], local: {name: me, claims: {tenant: acme}}}\n";
    let identities = Case::new(&format!("{facts}pipelines:{PIPELINE}"));
    let identities = identities.configuration().identities;
    assert_eq!(**identities.claims.names(), ["tenant"]);
    let local = identities.local.get();
    let tenant = Some(Claim::Text("acme".into()));
    assert_eq!(local.claims.find("tenant").cloned(), tenant);
}
