//! Toolsets as programs read and use them.

use std::sync::Arc;

use ziggurat_runtime::{
    ConfigSources,
    config::{Input, LoadError},
    flags::Flags,
};
use ziggurat_tokens::CallerId;

use crate::toolsets::{
    Area, Found, Narrowing, Offered, TooManyNames, Toolsets, patterns::Patterns,
};

const ALICE: CallerId<'_> = CallerId::User("alice");
const PROMPTS: &[(&str, &str)] = &[("explore_database", "explore-database")];

/// Reads toolsets; problems are in the error.
fn load(yaml: &str) -> Result<Option<Arc<Toolsets>>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    std::fs::write(&path, yaml).expect("written");
    let (sources, flags) = (ConfigSources::default(), Flags::default());
    let input = Input::new(&sources, &flags);
    let loaded = input.load(Some(&path), |file| Toolsets::read(file, PROMPTS));
    loaded
        .map(|loaded| loaded.value.map(Arc::new))
        .map_err(|error| match error {
            LoadError::File { source, .. } => source.to_string(),
            LoadError::Invalid(problems) => {
                let path = path.display().to_string();
                problems.join("; ").replace(&path, "a.yaml")
            }
        })
}

fn toolsets(entries: &str) -> Arc<Toolsets> {
    let loaded = load(&format!("toolsets: [{entries}]")).expect(entries);
    loaded.expect("toolsets")
}

fn check(entries: &str) -> Found {
    toolsets(entries).check(&Offered {
        tools: vec!["query_database", "orders_by_day"],
        resources: vec!["pg://system_info"],
        templates: vec!["pg://{database}/{schema}/{table}"],
        prompts: vec!["explore-database", "help"],
    })
}

#[test]
fn a_caller_has_the_union_of_the_sets_that_are_for_it_and_nothing_else() {
    let toolsets = toolsets(
        "{name: a, tools: [one, 'two_*'], prompts: [explore_database], for: {users: [alice]}},
         {name: b, tools: [three], resources: ['pg://*'], rest: [llm], for: {everyone: true}},
         {name: c, tools: ['*'], for: {tokens: [token-1], local: true}}",
    );
    let sees = |caller: &CallerId<'_>| {
        let view = toolsets.view(caller, None);
        let names = ["one", "two_a", "two_", "two", "three", "ONE", ""];
        names.map(|name| view.has_tool(name))
    };
    assert_eq!(sees(&ALICE), [true, true, true, false, true, false, false]);
    let [mut others, all] = [[false; 7], [true; 7]];
    others[4] = true;
    assert_eq!(sees(&CallerId::User("bob")), others);
    assert_eq!(
        sees(&CallerId::Token {
            id: "token-1",
            toolsets: &[],
        }),
        all
    );
    assert_eq!(sees(&CallerId::Local), all);
    let view = toolsets.view(&ALICE, None);
    assert!(view.has_prompt("explore-database") && !view.has_prompt("explore_database"));
    assert!(view.has_area(Area::Llm) && !view.has_area(Area::Compact));
    assert!(view.names_tool("one") && !view.names_tool("two_a"));
    let bob = toolsets.view(&CallerId::User("bob"), None);
    assert!(bob.has_resource("pg://system_info") && !bob.has_prompt("explore-database"));
}

#[test]
fn a_toolset_of_a_token_itself_counts_as_if_it_named_the_token() {
    let toolsets = toolsets(
        "{name: a, tools: [one], for: {users: [alice]}},
         {name: b, tools: [two], rest: [llm], for: {tokens: [token-1]}},
         {name: c, tools: [three], for: {users: [alice]}}",
    );
    let own = ["c".to_owned(), "gone".to_owned()];
    let caller = |id: &'static str| CallerId::Token { id, toolsets: &own };
    let sees = |caller: &CallerId<'_>| {
        let view = toolsets.view(caller, None);
        ["one", "two", "three"].map(|name| view.has_tool(name))
    };
    assert_eq!(sees(&caller("token-1")), [false, true, true]);
    assert_eq!(sees(&caller("token-2")), [false, false, true]);
    assert!(toolsets.are_open_to(&caller("token-2"), "c"));
    assert!(!toolsets.are_open_to(&caller("token-2"), "b"));
    assert!(!toolsets.are_open_to(&caller("token-2"), "gone"));
    assert_eq!(toolsets.names(), ["a", "b", "c"]);
}

#[test]
fn a_template_is_seen_if_one_of_its_resources_may_be() {
    let table = "pg://{database}/{schema}/{table}";
    for (entry, template, is_seen) in [
        ("*", table, true),
        ("pg:*", table, true),
        ("pg://*", table, true),
        ("pg://shop/*", table, true),
        ("pg://shop*", table, true),
        ("pg://shop/public/orders", table, true),
        ("pg://shop/public/ord*", table, true),
        ("pg://shop/public/orders/*", table, false),
        ("pg://shop/public", table, false),
        ("pg://shop//orders", table, false),
        ("pg://shop//*", table, false),
        ("custom://*", table, false),
        ("pg://shop/*", "pg://{database}/glossary", true),
        ("pg://shop/gloss*", "pg://{database}/glossary", true),
        ("pg://shop/public/*", "pg://{database}/glossary", false),
        ("pg://shop/*", "pg://shop/{schema}/{table}", true),
        ("pg://shop/*", "pg://bank/{schema}/{table}", false),
        (
            "pg://shop/public/*",
            "pg://{database}/secret/{table}",
            false,
        ),
        ("pg://shop/*", "pg://shop/public/orders", true),
        ("pg://shop/public/orders", "pg://shop/public/orders", true),
        ("pg://shop/public/orders", "pg://shop/public/orders2", false),
        ("pg://system_info", table, false),
    ] {
        let patterns = Patterns::from_iter([entry.to_owned()]);
        assert_eq!(
            patterns.fit_template(template),
            is_seen,
            "{entry} {template}"
        );
    }
}

#[test]
fn a_request_can_only_take_away() {
    let toolsets = toolsets(
        "{name: a, tools: [one, two], resources: ['*'], for: {users: [alice]}},
         {name: b, tools: [three], for: {everyone: true}},
         {name: c, tools: ['*'], for: {local: true}}",
    );
    let sees = |set: Option<&str>, query: Option<&str>| {
        let narrowing = Narrowing::new(set, query).expect("few names");
        let view = toolsets.view(&ALICE, narrowing.as_ref());
        let names = ["one", "two", "three", "four"];
        names.map(|name| u8::from(view.has_tool(name)))
    };
    for (set, query, expected) in [
        (None, None, [1, 1, 1, 0]),
        (None, Some("x=1"), [1, 1, 1, 0]),
        (Some("a"), None, [1, 1, 0, 0]),
        (Some("b"), None, [0, 0, 1, 0]),
        (Some("c"), None, [0; 4]),
        (Some("d"), None, [0; 4]),
        (None, Some("tools=one,four"), [1, 0, 0, 0]),
        (None, Some("tools=t*"), [0, 1, 1, 0]),
        (None, Some("tools=*"), [1, 1, 1, 0]),
        (None, Some("x=&tools=one%2Cthree"), [1, 0, 1, 0]),
        (None, Some("tools=one&tools=two"), [1, 1, 0, 0]),
        (None, Some("tools="), [0; 4]),
        (None, Some("tools"), [0; 4]),
        (None, Some("tools=%zz"), [0; 4]),
        (None, Some("t%6Fols=one"), [1, 0, 0, 0]),
        (Some("b"), Some("tools=one,three"), [0, 0, 1, 0]),
    ] {
        assert_eq!(sees(set, query), expected, "{set:?} {query:?}");
    }
    assert!(toolsets.are_open_to(&ALICE, "a") && toolsets.are_open_to(&ALICE, "b"));
    assert!(!toolsets.are_open_to(&ALICE, "c") && !toolsets.are_open_to(&ALICE, "d"));
    let many = |count: usize| format!("tools={}", vec!["one"; count].join(","));
    assert!(Narrowing::new(None, Some(&many(100))).is_ok());
    assert_eq!(Narrowing::new(None, Some(&many(101))), Err(TooManyNames));
}

#[test]
fn an_unknown_name_is_a_problem_and_a_pattern_that_fits_nothing_a_warning() {
    let good = "{name: analyst, tools: [query_database, 'orders_*', '*'], prompts: ['ex*', help],
                 resources: ['pg://shop/*', 'pg://system_info'], for: {everyone: true}}";
    assert_eq!(check(good), Found::default());
    let found = check(
        "{name: analyst, tools: [orders_by_dya, 'a*b', 'sales_*'], prompts: [hlp, 'z*'],
          resources: ['custom://x', 'file:*'], for: {everyone: true}}",
    );
    assert_eq!(
        found.problems,
        [
            "toolsets: 'analyst': unknown tool: a*b",
            "toolsets: 'analyst': unknown tool: orders_by_dya",
            "toolsets: 'analyst': unknown prompt: hlp",
        ]
    );
    assert_eq!(
        found.warnings,
        [
            "toolsets: 'analyst': no tool fits sales_*",
            "toolsets: 'analyst': no prompt fits z*",
            "toolsets: 'analyst': no resource fits custom://x",
            "toolsets: 'analyst': no resource fits file:*",
        ]
    );
    let callers = toolsets("{name: a, for: {tokens: [t, u], users: [alice, bob]}}");
    assert_eq!(
        callers.check_callers(|token| token == "t", |user| user == "alice"),
        [
            "toolsets: 'a': no API token has the id u",
            "toolsets: 'a': no user is named bob"
        ]
    );
}

#[test]
fn problems_of_the_file_are_all_reported() {
    assert_eq!(load("{}"), Ok(None));
    for (yaml, expected) in [
        (
            "toolsets: []",
            "toolsets: names no toolset; without the key all callers have everything",
        ),
        (
            "toolsets: [{name: a, for: {local: true}}, {name: a, for: {local: true}}]",
            "duplicate toolset: a",
        ),
        (
            "toolsets: [{name: a, rest: [databases, lmm], for: {local: true}}]",
            "toolsets: 'a': unknown rest area: lmm",
        ),
        (
            "toolsets: [{name: a, for: {}}]",
            "toolsets[0].for: names no caller",
        ),
        (
            "toolsets: [{name: a, for: }]",
            "toolsets[0].for: names no caller",
        ),
        (
            "toolsets: [{name: Ana, for: {local: true}}]",
            "toolsets[0].name: invalid toolset name: Ana",
        ),
        (
            "toolsets: [{for: {local: true}}]",
            "toolsets[0].name: required",
        ),
        (
            "toolsets: [{name: a, tool: [x], for: {local: true}}]",
            "unknown key 'toolsets[0].tool' in a.yaml (did you mean 'toolsets[0].tools'?)",
        ),
    ] {
        assert_eq!(load(yaml), Err(expected.to_owned()), "{yaml}");
    }
    assert!(load("toolsets: {name: a}").is_err());
}
