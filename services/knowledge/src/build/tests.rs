use std::{
    collections::BTreeMap,
    error::Error,
    fs, iter,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tempfile::TempDir;
use tokio_test::task;
use ziggurat_telemetry::traces::Trace;

use super::{BuildError, Builder, Event, Outcome};
use crate::{Embed, Filter, KnowledgeBase, Provider};

/// Makes vectors of the letter counts of texts, and counts the vectors.
#[derive(Default)]
struct Letters {
    made: AtomicUsize,
    /// Texts with this word fail.
    fails_at: Option<&'static str>,
    /// Texts with this word never get a vector.
    waits_at: Option<&'static str>,
}

impl Embed for Letters {
    type Error = String;

    async fn vector(&self, text: &str, _: Trace) -> Result<Vec<f32>, String> {
        if self.waits_at.is_some_and(|word| text.contains(word)) {
            std::future::pending::<()>().await;
        }
        if self.fails_at.is_some_and(|word| text.contains(word)) {
            return Err("out of letters".to_owned());
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        let mut vector = vec![0.0; 26];
        for byte in text.bytes().filter(u8::is_ascii_lowercase) {
            vector[usize::from(byte - b'a')] += 1.0;
        }
        Ok(vector)
    }
}

/// Makes vectors of up to three texts at once, and counts the texts of each request.
#[derive(Default)]
struct Batches {
    letters: Letters,
    sizes: Mutex<Vec<usize>>,
    /// True if the last vector of a request is missing.
    loses_one: bool,
}

impl Embed for Batches {
    type Error = String;

    async fn vector(&self, text: &str, trace: Trace) -> Result<Vec<f32>, String> {
        self.letters.vector(text, trace).await
    }

    fn max_batch(&self) -> usize {
        3
    }

    async fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        self.sizes.lock().expect("whole").push(texts.len());
        let mut vectors = self.letters.vectors(texts).await?;
        if self.loses_one {
            vectors.pop();
        }
        Ok(vectors)
    }
}

/// A folder of documents, and the file built from it.
struct Setup {
    folder: TempDir,
    log: Mutex<Vec<String>>,
}

impl Setup {
    fn with(documents: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("docs")).expect("a folder");
        let setup = Self {
            folder,
            log: Mutex::default(),
        };
        for (name, text) in documents {
            setup.write(name, text);
        }
        setup
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("docs").join(name)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("base.db")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    async fn build(&self, letters: &impl Embed) -> Result<Outcome, BuildError> {
        self.build_with(letters, (Provider::OpenAi, "model")).await
    }

    async fn build_with(
        &self,
        letters: &impl Embed,
        model: (Provider, &str),
    ) -> Result<Outcome, BuildError> {
        let builder = Builder::new(letters, model, ("Garden", "2"));
        let folders = [self.folder.path().join("docs")];
        let watch = |event: Event<'_>| {
            let mut log = self.log.lock().expect("whole");
            log.push(format!("{event:?}"));
        };
        builder.build(&self.file(), &folders, watch).await
    }

    /// Returns the texts in the file, by the names of their documents.
    async fn texts(&self, provider: Provider) -> BTreeMap<String, Vec<String>> {
        let base = KnowledgeBase::new(self.file(), provider);
        let search = base.search(&Filter::default()).await.expect("prepared");
        let found = search.nearest(&[1.0; 26], 99).await.expect("found");
        let mut texts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for passage in found {
            let title = passage.title.unwrap_or_default();
            texts.entry(title).or_default().push(passage.text);
        }
        texts
    }

    async fn text_of(&self, title: &str) -> String {
        self.texts(Provider::OpenAi)
            .await
            .remove(title)
            .map(|texts| texts.join("|"))
            .unwrap_or_default()
    }
}

fn outcome(written: usize, kept: usize, removed: usize, skipped: usize, chunks: u64) -> Outcome {
    Outcome {
        written,
        kept,
        removed,
        skipped,
        chunks,
    }
}

#[tokio::test]
async fn documents_of_every_kind_can_be_found_afterwards() {
    let setup = Setup::with(&[
        ("a.md", "# Beds\n\n## Soil\n\nloam and sand\n"),
        ("deep/er/b.HTML", "<title>Ponds</title><p>mud</p>"),
        ("c.txt", "plain words"),
        ("d.rst", "Kilns\n=====\n\nheat"),
        ("e.adoc", "= Looms\n\nyarn"),
        ("picture.png", "no words"),
        ("f.pdf", "no text"),
        ("g.docx", "no text"),
        ("h.jsonl", "{}"),
        (".hidden/d.md", "hidden"),
        (".e.md", "hidden"),
    ]);
    let letters = Letters::default();
    let built = setup.build(&letters).await.expect("built");
    assert_eq!(built, outcome(5, 0, 0, 0, 5));
    let texts = setup.texts(Provider::OpenAi).await;
    let found: Vec<_> = texts
        .iter()
        .map(|(title, texts)| (&**title, &*texts[0]))
        .collect();
    assert_eq!(
        found,
        [
            ("Beds", "loam and sand"),
            ("Kilns", "heat"),
            ("Looms", "yarn"),
            ("Ponds", "mud"),
            ("c", "plain words")
        ]
    );
    let mode = fs::metadata(setup.file())
        .expect("made")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let log = setup.log.lock().expect("whole").join("\n");
    let (left_out, _) = log.split_once("Begun { documents: 5 }").expect("begun");
    for (name, reason) in [
        ("f.pdf", "PDF is not read here: convert it to text"),
        ("g.docx", "DOCX is not read here: convert it to text"),
        ("h.jsonl", "JSON lines are not read here"),
        ("picture.png", "no format that is read"),
    ] {
        let expected = format!("LeftOut {{ name: \"docs/{name}\", reason: \"{reason}\" }}");
        assert!(left_out.contains(&expected), "{expected} in {log}");
    }
    assert!(log.contains("docs/deep/er/b.HTML"), "{log}");
}

#[tokio::test]
async fn only_what_has_changed_is_made_again() {
    let setup = Setup::with(&[("a.md", "one"), ("b.md", "two"), ("c.md", "three")]);
    let letters = Letters::default();
    setup.build(&letters).await.expect("built");
    assert_eq!(letters.made.load(Ordering::Relaxed), 3);

    let again = setup.build(&letters).await.expect("built");
    assert_eq!(again, outcome(0, 3, 0, 0, 3));

    setup.write("a.md", "one more");
    fs::rename(setup.path("b.md"), setup.path("moved.md")).expect("moved");
    fs::remove_file(setup.path("c.md")).expect("removed");
    let again = setup.build(&letters).await.expect("built");
    assert_eq!(again, outcome(1, 1, 1, 0, 2));
    assert_eq!(letters.made.load(Ordering::Relaxed), 4);
    assert_eq!(setup.text_of("a").await, "one more");
    let log = setup.log.lock().expect("whole").join("\n");
    assert!(log.contains(r#"Removed { name: "docs/c.md" }"#), "{log}");
    assert!(!log.contains(r#"Removed { name: "docs/b.md" }"#), "{log}");
}

#[tokio::test]
async fn the_vectors_of_a_document_are_requested_together() {
    let sections: Vec<_> = ["loam", "mud", "clay", "peat", "sand"]
        .iter()
        .map(|word| format!("## {word}\n\n{word} {word}\n"))
        .collect();
    let setup = Setup::with(&[("soil.md", &sections.join("\n"))]);
    let batches = Batches::default();
    let built = setup.build(&batches).await.expect("built");
    assert_eq!(built, outcome(1, 0, 0, 0, 5));
    assert_eq!(*batches.sizes.lock().expect("whole"), [3, 2]);
    let log = setup.log.lock().expect("whole");
    let embedded = log.iter().filter(|event| event.starts_with("Embedded"));
    assert_eq!(embedded.count(), 5);
}

#[tokio::test]
async fn a_provider_that_returns_too_few_vectors_ends_the_build() {
    let setup = Setup::with(&[("soil.md", "## A\n\nloam\n\n## B\n\nmud\n")]);
    let batches = Batches {
        loses_one: true,
        ..Batches::default()
    };
    let error = setup.build(&batches).await.expect_err("one is missing");
    let error = error.to_string();
    assert!(error.contains("2 texts got 1 vectors"), "{error}");
}

#[tokio::test]
async fn two_documents_with_the_same_contents_are_one() {
    let setup = Setup::with(&[("a.md", "same"), ("b.md", "same")]);
    let letters = Letters::default();
    let built = setup.build(&letters).await.expect("built");
    assert_eq!(built, outcome(1, 1, 0, 0, 1));
    fs::remove_file(setup.path("a.md")).expect("removed");
    let built = setup.build(&letters).await.expect("built");
    assert_eq!(built, outcome(0, 1, 0, 0, 1));
}

#[tokio::test]
async fn an_unreadable_document_is_named_and_its_old_contents_stay() {
    let setup = Setup::with(&[("a.md", "one"), ("bad.md", "two"), ("gone.md", "three")]);
    let letters = Letters::default();
    setup.build(&letters).await.expect("built");
    fs::write(setup.path("bad.md"), b"\xff\xfe").expect("written");
    fs::remove_file(setup.path("gone.md")).expect("removed");
    std::os::unix::fs::symlink("nowhere", setup.path("gone.md")).expect("linked");
    let built = setup.build(&letters).await.expect("built");
    assert_eq!(built, outcome(0, 1, 0, 2, 3));
    assert_eq!(setup.text_of("bad").await, "two");
    let log = setup.log.lock().expect("whole").join("\n");
    assert!(
        log.contains("docs/bad.md") && log.contains("UTF-8"),
        "{log}"
    );
}

#[tokio::test]
async fn links_out_of_the_folder_are_named_and_never_followed() {
    let setup = Setup::with(&[("a.md", "one"), ("deep/b.md", "two"), ("was.md", "before")]);
    let letters = Letters::default();
    setup.build(&letters).await.expect("built");
    let outside = setup.folder.path().join("docs-secret");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("key.md"), "outside words").expect("written");
    fs::remove_file(setup.path("was.md")).expect("removed");
    let link = |target: PathBuf, name: &str| {
        std::os::unix::fs::symlink(target, setup.path(name)).expect("linked");
    };
    link(outside.join("key.md"), "was.md");
    link("../../docs-secret/key.md".into(), "deep/up.txt");
    link(outside.clone(), "folder");
    link("deep".into(), "same");
    link("deep/b.md".into(), "again.md");
    link(outside.join("key.png"), "picture.png");
    let built = setup.build(&letters).await.expect("built");
    // The link to a document in the folder counts as that document.
    assert_eq!(built, outcome(0, 3, 1, 0, 2));
    let texts = setup.texts(Provider::OpenAi).await;
    let all = texts.into_values().flatten().collect::<Vec<_>>().join("|");
    assert!(!all.contains("outside") && !all.contains("before"), "{all}");
    let log = setup.log.lock().expect("whole").join("\n");
    for (name, reason) in [
        ("docs/was.md", "the link leads out of the folder"),
        ("docs/deep/up.txt", "the link leads out of the folder"),
        ("docs/folder", "the link leads out of the folder"),
        ("docs/same", "links to folders are not followed"),
    ] {
        let said = format!("LeftOut {{ name: \"{name}\", reason: \"{reason}\" }}");
        assert!(log.contains(&said), "{said} in {log}");
    }
}

#[tokio::test]
async fn a_build_without_documents_changes_nothing() {
    let setup = Setup::with(&[("a.md", "one")]);
    let letters = Letters::default();
    setup.build(&letters).await.expect("built");
    fs::remove_file(setup.path("a.md")).expect("removed");
    let error = setup.build(&letters).await.expect_err("nothing");
    assert!(matches!(error, BuildError::NoDocuments), "{error}");
    assert_eq!(setup.text_of("a").await, "one");

    let builder = Builder::new(&letters, (Provider::OpenAi, "model"), ("Garden", "2"));
    let docs = setup.folder.path().join("docs");
    for (folders, reason) in [
        (vec![setup.path("nowhere")], "No such file"),
        (vec![setup.file()], "not a folder"),
        (vec![docs.clone(), docs.clone()], "overlaps"),
    ] {
        let error = builder.build(&setup.file(), &folders, |_| {}).await;
        let text = error.expect_err("refused").to_string();
        assert!(text.contains(reason), "{text}");
    }
}

#[tokio::test]
async fn a_build_that_fails_keeps_whole_documents_and_can_be_continued() {
    let long = format!("{}\n\npoison", "good words ".repeat(300));
    let setup = Setup::with(&[("a.md", "one"), ("b.md", &long), ("c.md", "three")]);
    let letters = Letters {
        fails_at: Some("poison"),
        ..Letters::default()
    };
    let error = setup.build(&letters).await.expect_err("poison");
    assert_eq!(error.to_string(), "docs/b.md: out of letters");
    let titles: Vec<_> = setup.texts(Provider::OpenAi).await.into_keys().collect();
    assert_eq!(titles, ["a"]);

    let letters = Letters::default();
    let built = setup.build(&letters).await.expect("built");
    assert_eq!((built.written, built.kept), (2, 1));
}

#[tokio::test]
async fn a_build_that_is_dropped_leaves_whole_documents() {
    let setup = Setup::with(&[("a.md", "one"), ("b.md", "endless")]);
    let letters = Letters {
        waits_at: Some("endless"),
        ..Letters::default()
    };
    {
        let mut build = task::spawn(setup.build(&letters));
        let is_waiting = || {
            let log = setup.log.lock().expect("whole");
            log.iter().any(|line| line.starts_with("Written"))
        };
        while !is_waiting() {
            assert!(build.poll().is_pending());
            tokio::task::yield_now().await;
        }
    }
    let titles: Vec<_> = setup.texts(Provider::OpenAi).await.into_keys().collect();
    assert_eq!(titles, ["a"]);
    let built = setup.build(&Letters::default()).await.expect("built");
    assert_eq!((built.written, built.kept), (1, 1));
}

#[tokio::test]
async fn another_provider_adds_its_vectors_to_those_there_are() {
    let setup = Setup::with(&[("a.md", "one"), ("b.md", "two")]);
    let letters = Letters::default();
    setup.build(&letters).await.expect("built");
    let local = (Provider::Local, "model");
    let built = setup.build_with(&letters, local).await.expect("built");
    assert_eq!(built, outcome(2, 0, 0, 0, 2));
    for provider in [Provider::OpenAi, Provider::Local] {
        assert_eq!(setup.texts(provider).await.len(), 2, "{provider:?}");
    }
    let built = setup.build_with(&letters, local).await.expect("built");
    assert_eq!(built.kept, 2);
}

#[tokio::test]
async fn another_model_or_another_kind_of_file_is_refused() {
    let setup = Setup::with(&[("a.md", "one")]);
    let letters = Letters::default();
    setup.build(&letters).await.expect("built");
    let other = setup
        .build_with(&letters, (Provider::OpenAi, "large"))
        .await;
    let text = other.expect_err("another").to_string();
    assert!(
        text.contains("'model'") && text.contains("'large'"),
        "{text}"
    );

    fs::write(setup.file(), "dear diary ".repeat(100)).expect("written");
    let error = setup.build(&letters).await.expect_err("text");
    let causes = iter::successors(Some(&error as &dyn Error), |&cause| cause.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>();
    let text = text.join(": ");
    assert!(
        text.contains("base.db: ") && text.contains("SQLite"),
        "{text}"
    );
    assert!(fs::read_to_string(setup.file()).is_ok(), "it is as it was");
}

#[tokio::test]
async fn products_and_versions_are_independent() {
    let setup = Setup::with(&[("a.md", "one")]);
    let letters = Letters::default();
    setup.build(&letters).await.expect("built");
    let folders = [setup.folder.path().join("docs")];
    let builder = Builder::new(&letters, (Provider::OpenAi, "model"), ("Pond", ""));
    builder
        .build(&setup.file(), &folders, |_| {})
        .await
        .expect("built");
    setup.write("a.md", "two");
    setup.build(&letters).await.expect("built");
    let base = KnowledgeBase::new(setup.file(), Provider::OpenAi);
    let products = base.products().await.expect("listed");
    let counts: Vec<_> = products
        .iter()
        .map(|product| (&*product.name, &*product.version, product.chunks))
        .collect();
    assert_eq!(counts, [("Garden", "2", 1), ("Pond", "", 1)]);
}
