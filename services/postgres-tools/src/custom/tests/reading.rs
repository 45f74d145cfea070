//! Reading of definitions files, and the errors of invalid ones.

use proptest::prelude::*;

use super::*;

/// Returns the error with its source.
fn problem(result: Result<Definitions, DefinitionsError>) -> String {
    let error = result.expect_err("a problem");
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn load(path: &Path) -> Result<Definitions, DefinitionsError> {
    Definitions::load(path, &Environment::default()).1
}

#[test]
fn an_invalid_definition_is_reported_with_its_position() {
    for &(yaml, expected) in SENSELESS {
        let found = problem(Definitions::read(yaml));
        assert_eq!(found, format!("validation failed: {expected}"), "{yaml}");
    }
}

const SENSELESS: &[(&str, &str)] = &[
    ("prompts: [{}]", "prompt 0: name is required"),
    ("prompts: [{name: ' '}]", "prompt 0: name is required"),
    (
        "prompts: [{name: a}]",
        "prompt 0: at least one message is required",
    ),
    (
        "prompts: [{name: a, messages: []}]",
        "prompt 0: at least one message is required",
    ),
    (
        "prompts: [&p {name: a, messages: [{role: user, content: {type: text, text: t}}]}, *p]",
        "prompt 1: duplicate prompt name: a",
    ),
    (
        "prompts: [{name: a, arguments: [{description: b}]}]",
        "prompt 0: argument name is required",
    ),
    (
        "prompts: [{name: a, arguments: [{name: b, type: int}]}]",
        "prompt 0: argument b: invalid type \"int\" (must be string or boolean)",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: text, text: t}}, {role: bot}]}]",
        "prompt 0: message 1: invalid role \"bot\" (must be user, assistant, or system)",
    ),
    (
        "prompts: [{name: a, messages: [{}]}]",
        "prompt 0: message 0: invalid role \"\" (must be user, assistant, or system)",
    ),
    (
        "prompts: [{name: a, messages: [{role: user}]}]",
        "prompt 0: message 0: invalid content type \"\" (must be text, image, or resource)",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: video}}]}]",
        "prompt 0: message 0: invalid content type \"video\" (must be text, image, or resource)",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: text}}]}]",
        "prompt 0: text content requires 'text' field",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: text, text: '{{b}}'}}]}]",
        "prompt 0: template references undefined argument: b",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: resource, uri: 'c://{{b}}'}}]}]",
        "prompt 0: template references undefined argument: b",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: image, mimeType: m}}]}]",
        "prompt 0: image content requires 'data' field",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: image, data: d}}]}]",
        "prompt 0: image content requires 'mimeType' field",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: resource, text: t}}]}]",
        "prompt 0: resource content requires 'uri' field",
    ),
    ("resources: [{}]", "resource 0: uri is required"),
    ("resources: [{uri: u}]", "resource 0: name is required"),
    (
        "resources: [{uri: u, name: n}]",
        "resource 0: type is required",
    ),
    (
        "resources: [&r {uri: u, name: n, type: static, data: 1}, *r]",
        "resource 1: duplicate resource URI: u",
    ),
    (
        "resources: [{uri: u, name: n, type: file}]",
        "resource 0: invalid type \"file\" (must be sql or static)",
    ),
    (
        "resources: [{uri: u, name: n, type: sql, data: 1}]",
        "resource 0: sql type requires 'sql' field",
    ),
    (
        "resources: [{uri: u, name: n, type: static, sql: s}]",
        "resource 0: static type requires 'data' field",
    ),
    (
        "resources: [{uri: u, name: n, type: static, data: ~}]",
        "resource 0: static type requires 'data' field",
    ),
];

#[test]
fn unknown_fields_and_invalid_yaml_are_errors() {
    let cases = [
        ("prompt: []", "unknown field `prompt`"),
        ("tool: []", "unknown field `tool`"),
        ("prompts: [{title: a}]", "unknown field `title`"),
        ("resources: [{mimetype: a}]", "unknown field `mimetype`"),
        ("prompts: 1", "invalid type: integer `1`"),
        ("prompts: [", "did not find expected node content"),
        ("resources: [{data: {a: 1, a: 2}}]", "duplicate entry `a`"),
        (
            "resources: [{data: {[a]: 1}}]",
            "a list or a map cannot be a name",
        ),
        ("resources: [{data: .nan}]", "JSON has no such number"),
        ("resources: [{data: !local a}]", "invalid type: enum"),
        ("a: 1\n---\nb: 2", "more than one document"),
    ];
    for (yaml, expected) in cases {
        let found = problem(Definitions::read(yaml));
        assert!(found.starts_with("the file cannot be parsed: "), "{found}");
        assert!(found.contains(expected), "{yaml}: {found}");
    }
}

#[test]
fn an_empty_file_defines_nothing() {
    for yaml in ["", "# later\n", "---\n", "{}", "prompts:\nresources:\n"] {
        let definitions = Definitions::read(yaml).expect(yaml);
        assert!(definitions.prompts.is_empty() && definitions.resources.is_empty());
    }
}

#[test]
fn aliases_cannot_expand_to_gigabytes() {
    let mut bomb = String::from("resources:\n- data:\n  - &a0 [lol, lol, lol, lol, lol, lol]\n");
    for level in 1..12 {
        let alias = format!("*a{}, ", level - 1).repeat(9);
        bomb.extend(["  - &a", &level.to_string(), " [", &alias, "]\n"]);
    }
    let long = "x".repeat(500_000);
    let texts = format!(
        "prompts: [{{name: &a {long}}}, {}]",
        "{name: *a}, ".repeat(50)
    );
    for (yaml, expected) in [(bomb, "repetition limit"), (texts, "aliases of the file")] {
        let found = problem(Definitions::read(&yaml));
        assert!(found.contains(expected), "{found}");
    }
    let deep = format!("resources: [{{data: {}", "[".repeat(10_000));
    let found = problem(Definitions::read(&deep));
    assert!(found.starts_with("the file cannot be parsed: "), "{found}");
}

#[test]
fn only_yaml_of_limited_size_is_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("a file");
        load(&path)
    };
    let yaml = b"resources: [{uri: u, name: n, type: static, data: 1}]";
    for name in ["a.yaml", "b.yml", "c.YML"] {
        assert_eq!(file(name, yaml).expect(name).resources.len(), 1);
    }
    let within = |name: &str, problem: &str| {
        let path = folder.path().join(name);
        format!("{}: {problem}", path.display())
    };
    for (name, format) in [("a.json", ".json"), ("yaml", "none"), (".yaml", "none")] {
        let found = problem(file(name, yaml));
        let expected = format!("unsupported file format: {format} (must be .yaml or .yml)");
        assert_eq!(found, within(name, &expected));
    }
    let large = vec![b'#'; usize::try_from(MAX_BYTES).expect("small") + 1];
    let found = problem(file("large.yaml", &large));
    let large_file = "the file is larger than 1048576 bytes";
    assert_eq!(found, within("large.yaml", large_file));
    assert!(file("fits.yaml", &large[1..]).is_ok());
    let found = problem(file("latin.yaml", b"# \xe9"));
    assert!(found.contains("utf-8"), "{found}");
    let missing = problem(load(&folder.path().join("nope.yaml")));
    assert!(
        missing.starts_with(&within("nope.yaml", "the file cannot be read: ")),
        "{missing}"
    );
}

#[test]
fn the_paths_and_the_digest_tell_of_every_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| fs::write(at(name), text).expect("a file");
    fs::create_dir(at("more")).expect("a folder");
    write("a.yaml", "include: [more/b.yaml]");
    let read = || DefinitionFiles::read(folder.path()).0;
    let digest = || read().digest();
    let paths = |files: &DefinitionFiles| {
        let inside = |path: PathBuf| path.strip_prefix(folder.path()).map(Path::to_owned);
        let paths = files
            .paths()
            .into_iter()
            .map(|path| inside(path).expect("inside"));
        paths
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
    };
    let missing = read();
    assert_eq!(paths(&missing), ["*.yaml", "a.yaml", "more/b.yaml"]);
    let before = digest();
    assert_eq!(before, digest());
    write("more/b.yaml", "{}");
    let included = digest();
    assert_ne!(included, before);
    write("notes.txt", "of no interest");
    assert_eq!(digest(), included);
    write("c.yaml", "{}");
    assert_eq!(
        paths(&missing),
        ["*.yaml", "a.yaml", "c.yaml", "more/b.yaml"]
    );
    assert_ne!(digest(), included);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a-z:{}\\[\\]&*!|>'\"#, \n-]{0,80}") {
        let _ = Definitions::read(&text);
        let _ = Definitions::read(&format!("prompts: {text}"));
        let _ = Definitions::read(&format!("resources: [{{data: {text}}}]"));
    }
}
