//! Problems of a configuration, and missing keys of providers.

mod doctor;
mod reaching;

use ziggurat_black_box::Postgres;

use crate::support::{Home, database, nowhere, server};

const MANUAL: &str = include_str!("../../../../docs/src/rag.md");

const INGEST: &str = include_str!("../../../../docs/src/ingest.md");

const SYNC: &str = include_str!("../../../../docs/src/sync.md");

const BAD: &str = "
server: {port: 0}
pipelines:
- name: Bad
  database: {host: 'a b', database: c, username: d}
  tables: []
  embedding_llm: {provider: local}
  rag_llm: {provider: local}
";

const PROBLEMS: [&str; 4] = [
    "server.port: must be between 1 and 65535",
    "pipelines[0].name: must contain only lowercase letters, digits, hyphens, and underscores \
     (^[a-z0-9_-]+$)",
    "pipelines[0].database.host: must not contain commas, whitespace, @, /, ?, =, ', \\, or #",
    "pipelines[0].tables: at least one table must be configured",
];

#[test]
fn all_problems_are_in_the_one_line_of_a_failed_start() {
    let ran = Home::with(BAD).ran(&[]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    let expected = format!(
        "failed to load configuration: invalid configuration: {}",
        PROBLEMS.join("; ")
    );
    let expected = expected.replace('\\', "\\\\");
    assert!(ran.stdout.contains(&expected), "{}", ran.stdout);
}

/// Returns the code blocks of a text in one language.
fn snippets<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let rest: Vec<_> = text.split(&*begin).skip(1).collect();
    let end = |text: &'a str| text.split("```").next();
    rest.into_iter().filter_map(end).collect()
}

#[test]
fn configurations_in_the_manual_and_the_readme_are_valid() {
    let front = include_str!("../../../../README.md");
    let mut seen = 0;
    let front = snippets(front, "yaml");
    let front = front.into_iter().filter(|text| text.contains("pipelines:"));
    let manual = [MANUAL, INGEST, SYNC]
        .map(|text| snippets(text, "yaml"))
        .concat();
    for text in manual.into_iter().chain(front) {
        let mut text = text.to_owned();
        if !text.contains("pipelines:") {
            // A section without pipelines needs one to be valid.
            text.push_str("pipelines:\n");
            text.push_str(&nowhere("docs", ""));
        }
        let mut home = Home::with(&text);
        // Sets the user of the system, which is the default database user.
        home.set("USER", "reader");
        home.set("OPENAI_API_KEY", "sk-0123456789");
        home.set("ANTHROPIC_API_KEY", "sk-ant-0123456789");
        let ran = home.ran(&["-check-config"]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", ran.stdout);
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
}

#[test]
fn the_first_question_of_the_manual_gets_the_answer_in_the_manual() {
    let [sql] = snippets(MANUAL, "sql")[..] else {
        panic!("one table");
    };
    let postgres = Postgres::with(sql);
    let yaml = snippets(MANUAL, "yaml")[0];
    let given = "{host: localhost, database: docs}";
    assert!(yaml.contains(given), "{yaml}");
    let home = Home::with(&(server("") + &yaml.replace(given, &database(&postgres))));
    let (program, client) = home.serve();
    let curl = MANUAL.lines().find(|line| line.starts_with("$ curl "));
    let curl = curl.expect("a question");
    let path = curl
        .split_whitespace()
        .find_map(|word| word.strip_prefix("localhost:8080"));
    let body = curl.split('\'').nth(1).expect("a body");
    let answer = client.post(path.expect("a path"), body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = answer.json()["answer"].to_string();
    assert!(
        text.contains("Wool is washed by hand in cold water."),
        "{text}"
    );
    assert!(program.log().contains("provider local replaces a model"));
}

#[test]
fn a_check_prints_each_problem_on_a_line() {
    let ran = Home::with(BAD).ran(&["-check-config"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), PROBLEMS);
    let good = Home::with(&format!("pipelines:\n{}", nowhere("docs", "")));
    let ran = good.ran(&["-check-config"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", ran.stdout);
    let ran = Home::with("pipelines: [").ran(&["--check-config"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.starts_with("failed to parse config file: "),
        "{}",
        ran.stdout
    );
}

/// Returns a configuration with a pipeline that needs a key of this provider.
fn needing(provider: &str, more: &str) -> String {
    let model = format!("  rag_llm: {{provider: {provider}, model: m}}\n");
    let entry = nowhere("docs", more).replace("  rag_llm: {provider: local}\n", &model);
    format!("{}pipelines:\n{entry}", server(""))
}

#[test]
fn a_missing_key_fails_the_start_and_the_message_names_its_possible_places() {
    let home = Home::new();
    home.write("empty", " \n");
    let at = |name: &str| home.file(name).display().to_string();
    let (missing, empty) = (at("missing"), at("empty"));
    for (yaml, reason) in [
        (
            needing("anthropic", ""),
            format!(
                "Anthropic API key not found: set ANTHROPIC_API_KEY environment variable or \
                 create {}",
                at(".anthropic-api-key")
            ),
        ),
        (
            needing("gemini", &format!("  api_keys: {{gemini: {missing}}}\n")),
            format!("Gemini API key file not found: {missing}"),
        ),
        (
            needing(
                "anthropic",
                &format!("  api_keys: {{anthropic: {empty}}}\n"),
            ),
            format!("Anthropic API key file is empty: {empty}"),
        ),
        (
            needing("openai", ""),
            "OpenAI API key or base URL required".to_owned(),
        ),
        (
            needing("local", "  rerank: {provider: voyage, model: m}\n"),
            format!(
                "Voyage API key not found: set VOYAGE_API_KEY environment variable or create {}",
                at(".voyage-api-key")
            ),
        ),
    ] {
        home.configure(&yaml);
        let ran = home.ran(&[]);
        let expected = format!(
            "level=ERROR msg=\"server failed\" error=\"failed to create pipeline manager: failed \
             to create pipeline docs: failed to load API keys: {reason}\""
        );
        assert_eq!(ran.code, Some(1), "{reason}");
        assert!(ran.stdout.contains(&expected), "{reason}: {}", ran.stdout);
        let ran = home.ran(&["-check-config"]);
        let expected =
            format!("failed to create pipeline docs: failed to load API keys: {reason}\n");
        assert_eq!((ran.code, ran.stdout), (Some(1), expected));
    }
}

#[test]
fn keys_are_found_in_the_environment_and_the_home_and_a_base_url_needs_none() {
    let mut home = Home::new();
    home.set("ANTHROPIC_API_KEY", " sk-ant-x ");
    home.configure(&needing("anthropic", ""));
    assert_eq!(home.ran(&["-check-config"]).code, Some(0));
    let home = Home::with(&needing("gemini", ""));
    home.write(".gemini-api-key", "AIza\n");
    assert_eq!(home.ran(&["-check-config"]).code, Some(0));
    let yaml = needing("openai", "").replace("model: m", "model: m, base_url: 'http://a/v1'");
    assert_eq!(Home::with(&yaml).ran(&["-check-config"]).code, Some(0));
}
