//! Tests of building and searching the knowledge base.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    sync::mpsc,
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Home, Program, Ran, Transports, received};

const DOCUMENTS: [(&str, &str); 4] = [
    (
        "beds.md",
        "# Beds\n\n## Soil\n\nTomatoes want loam, compost and a warm wall.\n\n\
         ## Frost\n\nCover strawberries with fleece when frost is near.\n",
    ),
    (
        "pond.html",
        "<title>The pond</title><h2>Pumps</h2><p>A pump &amp; a filter keep carp alive.\
         <script>secret()</script>",
    ),
    (
        "more/tools.txt",
        "Sharpen the scythe before the grass is dry.",
    ),
    ("picture.svg", "<svg/>"),
];

/// Creates a folder with documents, and a configuration with a knowledge base in that folder.
fn garden() -> Home {
    let home = Home::new();
    for (name, text) in DOCUMENTS {
        write(&home, name, text);
    }
    configure(&home, "local");
    home
}

fn write(home: &Home, name: &str, text: &str) {
    let path = home.file("docs").join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn configure(home: &Home, provider: &str) {
    let path = home.file("base.db");
    home.configure(&format!(
        "knowledgebase:\n  enabled: true\n  database_path: {}\n  embedding_provider: {provider}\n",
        path.display()
    ));
}

fn build(home: &Home, more: &[&str]) -> Ran {
    let docs = home.file("docs");
    let docs = docs.to_str().expect("text");
    let arguments = ["-build-knowledgebase", docs, "-kb-project", "Garden"];
    home.ran(&[&arguments[..], more].concat(), "")
}

#[track_caller]
fn built(ran: &Ran, documents: &str) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = format!("Documents: {documents}\n");
    assert!(ran.stdout.contains(&line), "{ran:?}");
}

#[test]
fn a_folder_of_documents_can_be_searched_over_both_transports() {
    let home = garden();
    let ran = build(&home, &["-kb-version", "2"]);
    built(&ran, "3 written, 0 unchanged, 0 removed, 0 skipped");
    assert!(
        ran.stdout.contains("Product: Garden 2 (4 chunks)\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("docs/beds.md: 2 chunks\n"), "{ran:?}");
    assert!(ran.stderr.contains("provider local"), "{ran:?}");
    assert!(
        !ran.stderr.contains('\r'),
        "no bar without a screen: {ran:?}"
    );
    let file = fs::metadata(home.file("base.db")).expect("made");
    assert_eq!(file.permissions().mode() & 0o777, 0o600);

    let mut transports = Transports::open(home);
    let arguments = json!({"query": "which pump keeps the carp alive?", "top_n": 1});
    let text = transports.succeed("search_knowledgebase", &arguments);
    let rule = "=".repeat(80);
    let head = format!(
        "Knowledgebase Search Results: \"which pump keeps the carp alive?\"\n{rule}\n\n\
         Found 1 relevant chunks:\n\nResult 1/1\nProject: Garden 2\nTitle: The pond\n\
         Section: Pumps\nSimilarity: 0."
    );
    assert!(text.starts_with(&head), "{text}");
    let tail = format!("\n\nA pump & a filter keep carp alive.\n\n{rule}\nTotal: 1 results");
    assert!(text.ends_with(&tail), "{text}");

    let arguments = json!({
        "query": "frost on strawberries",
        "project_names": ["Garden"],
        "project_versions": ["2"],
    });
    let text = transports.succeed("search_knowledgebase", &arguments);
    let first = text.find("Title: Beds\nSection: Frost\n");
    assert!(
        text.contains("\nFilter - Projects: Garden; Versions: 2\n"),
        "{text}"
    );
    assert!(first < text.find("Section: Soil"), "{text}");

    let text = transports.succeed("search_knowledgebase", &json!({"list_products": true}));
    assert!(
        text.contains("\nProduct: Garden\n  - Version 2 (4 chunks)\n"),
        "{text}"
    );
    assert!(
        text.ends_with("\nTotal: 4 chunks across all products"),
        "{text}"
    );

    let arguments = json!({"query": "carp", "project_names": ["Kitchen"]});
    let text = transports.fail("search_knowledgebase", &arguments);
    assert!(
        text.starts_with("Unknown project name: Kitchen\n"),
        "{text}"
    );
    let text = transports.fail("search_knowledgebase", &json!({}));
    assert_eq!(text, "Missing or invalid 'query' argument");
}

#[test]
fn vectors_can_come_from_a_model_in_a_folder() {
    const MODEL: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/static_models/float32"
    );
    let home = garden();
    let configure = |folder: &str| {
        configure(&home, "static");
        let path = home.file("ziggurat-tools.yaml");
        let text = fs::read_to_string(&path).expect("a configuration");
        home.configure(&format!("{text}  embedding_model_path: {folder}\n"));
    };
    configure("/nowhere");
    let checked = home.ran(&["-check-config"], "");
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(
        checked.stdout.contains("/nowhere/config.json: "),
        "{checked:?}"
    );
    let ran = build(&home, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("/nowhere/config.json: it cannot be read"),
        "{ran:?}"
    );
    configure(MODEL);
    let ran = build(&home, &[]);
    built(&ran, "3 written, 0 unchanged, 0 removed, 0 skipped");
    assert!(!ran.stderr.contains("provider local"), "{ran:?}");
    let mut transports = Transports::open(home);
    let arguments = json!({"query": "which pump keeps the carp alive?", "top_n": 4});
    let text = transports.succeed("search_knowledgebase", &arguments);
    assert!(text.contains("Title: The pond"), "{text}");
}

#[test]
fn a_running_server_notices_a_new_build() {
    let home = garden();
    let (program, mut stdio) = home.stdio(&[]);
    program.wait_for("the knowledge base cannot be searched: the knowledge base file is missing");
    let query = json!({"query": "slugs"});
    let (text, failed) = stdio.tool("search_knowledgebase", &query);
    assert!(failed);
    let missing = "the knowledge base file is missing";
    assert_eq!(text, format!("Knowledgebase search failed: {missing}"));
    let (text, failed) = stdio.tool("search_knowledgebase", &json!({"list_products": true}));
    assert!(failed);
    assert_eq!(text, format!("Failed to list products: {missing}"));

    built(
        &build(&home, &[]),
        "3 written, 0 unchanged, 0 removed, 0 skipped",
    );
    let (text, failed) = stdio.tool("search_knowledgebase", &query);
    assert!(!failed, "{text}");
    assert!(!text.contains("slugs eat"), "{text}");

    write(&home, "slugs.md", "At night slugs eat lettuce.");
    fs::remove_file(home.file("docs/pond.html")).expect("removed");
    built(
        &build(&home, &[]),
        "1 written, 2 unchanged, 1 removed, 0 skipped",
    );
    let (text, _) = stdio.tool("search_knowledgebase", &query);
    assert!(text.contains("At night slugs eat lettuce."), "{text}");
    assert!(!text.contains("carp"), "{text}");
}

#[test]
fn a_configuration_that_does_not_match_the_knowledge_base_is_an_error() {
    let home = garden();
    built(
        &build(&home, &[]),
        "3 written, 0 unchanged, 0 removed, 0 skipped",
    );
    // Not the provider that created the vectors, and unreachable too.
    configure(&home, "ollama");
    let (_program, mut stdio) = home.stdio(&[]);
    let (text, failed) = stdio.tool("search_knowledgebase", &json!({"query": "carp"}));
    assert!(failed);
    assert!(
        text.contains("no vectors of the configured provider 'ollama'"),
        "{text}"
    );
    let (text, failed) = stdio.tool("search_knowledgebase", &json!({"list_products": true}));
    assert!(!failed, "{text}");
    assert!(text.contains("  - (no version) (4 chunks)"), "{text}");

    configure(&home, "openai");
    let (_program, mut stdio) = home.stdio(&[]);
    let (text, failed) = stdio.tool("search_knowledgebase", &json!({"query": "carp"}));
    assert!(failed, "{text}");

    home.configure("knowledgebase: {enabled: true}");
    let (program, mut stdio) = home.stdio(&[]);
    program.wait_for("knowledgebase.database_path is not set");
    let (text, failed) = stdio.tool("search_knowledgebase", &json!({"query": "carp"}));
    assert!(failed);
    assert!(
        text.starts_with("Knowledgebase search is not configured"),
        "{text}"
    );
}

#[test]
fn a_build_names_missing_options() {
    let home = garden();
    let docs = home.file("docs");
    let docs = docs.to_str().expect("text");
    let nowhere = home.file("nowhere");
    let nowhere = nowhere.to_str().expect("text");
    for (arguments, expected) in [
        (vec!["-build-knowledgebase", docs], "-kb-project <name>"),
        (
            vec!["-build-knowledgebase", nowhere, "-kb-project", "Garden"],
            "No such file or directory",
        ),
    ] {
        let ran = home.ran(&arguments, "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
    for arguments in [
        &["-kb-project", "Garden"][..],
        &["-build-knowledgebase", docs, "-list-users"],
        &["-build-knowledgebase", docs, "-username", "ada"],
    ] {
        let ran = home.ran(arguments, "");
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    home.configure("knowledgebase: {embedding_provider: local}");
    let ran = build(&home, &[]);
    assert!(ran.stderr.contains("-kb-output <file>"), "{ran:?}");
    home.configure("knowledgebase: {embedding_provider: openai}");
    let ran = build(&home, &["-kb-output", "base.db"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("OpenAI API key is required"), "{ran:?}");
    assert!(!home.file("base.db").exists());
}

#[test]
fn a_document_that_cannot_be_read_is_reported_and_the_others_are_added() {
    let home = garden();
    fs::write(home.file("docs/bad.md"), b"\xff\xfe\xfd").expect("written");
    let ran = build(&home, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("docs/bad.md: skipped, it is not UTF-8\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("ERROR: 1 document(s) could not be read"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("3 written, 0 unchanged, 0 removed, 1 skipped"),
        "{ran:?}"
    );
}

#[test]
fn several_folders_make_one_product() {
    let home = garden();
    let other = home.file("notes");
    fs::create_dir(&other).expect("made");
    fs::write(other.join("a.txt"), "Moles.").expect("written");
    let other = other.to_str().expect("text");
    let ran = build(&home, &["-build-knowledgebase", other]);
    built(&ran, "4 written, 0 unchanged, 0 removed, 0 skipped");
    assert!(ran.stderr.contains("notes/a.txt: 1 chunks\n"), "{ran:?}");
}

/// Starts a fake Ollama that does not answer after it has seen a certain word.
fn ollama(stops_at: &'static str) -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let (sender, stopped) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(stream), sender) = (stream, sender.clone()) else {
                break;
            };
            thread::spawn(move || answer(stream, stops_at, &sender));
        }
    });
    (format!("http://{address}"), stopped)
}

fn answer(mut stream: TcpStream, stops_at: &str, stopped: &mpsc::Sender<()>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let request: Value = serde_json::from_slice(&body).ok()?;
        // A text, or several of them.
        let input = &request["input"];
        let texts = input.as_array().map_or(1, Vec::len);
        if input.to_string().contains(stops_at) {
            stopped.send(()).ok();
            // The request is never answered.
            thread::park();
        }
        let vectors = vec![[1.0, 2.0, 3.0]; texts];
        let body = json!({"model": "m", "embeddings": vectors}).to_string();
        let length = body.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        write!(stream, "{head} {length}\r\n\r\n{body}").ok()?;
    }
}

#[test]
fn an_interrupted_build_keeps_its_progress_and_continues_from_there() {
    let home = garden();
    let (url, stopped) = ollama("Sharpen");
    let path = home.file("base.db");
    let configured = |url: &str| {
        home.configure(&format!(
            "knowledgebase: {{enabled: true, database_path: {}, embedding_ollama_url: '{url}'}}",
            path.display()
        ));
    };
    configured(&url);
    let docs = home.file("docs");
    let docs = docs.to_str().expect("text");
    let arguments = ["-build-knowledgebase", docs, "-kb-project", "Garden"];
    let mut program = Program::start(&mut home.command(&arguments));
    received(&stopped);
    program.wait_for("docs/beds.md: 2 chunks");
    program.signal(Signal::INT);
    assert_eq!(program.ended().code(), Some(1));
    let log = program.whole_log();
    assert!(log.contains("ERROR: interrupted: "), "{log}");
    assert!(!home.file("base.db-journal").exists());

    let (url, _stopped) = ollama("nothing at all");
    configured(&url);
    built(
        &build(&home, &[]),
        "2 written, 1 unchanged, 0 removed, 0 skipped",
    );
}
