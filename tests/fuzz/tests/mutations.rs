//! Runs what the fuzz targets check over committed inputs and thousands of their mutations. The
//! mutations are the same in each run.

use std::{fs, path::Path};

use http::StatusCode;
use ziggurat_documents::Kind;
use ziggurat_fuzz::StoredPlan;
use ziggurat_mcp::protocol::Revision;

/// Pseudo-random numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end.max(1)
    }

    fn range(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let start = self.below(bytes.len());
        start..(start + 1 + self.below(16)).min(bytes.len())
    }
}

fn inputs(file: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs");
    fs::read(folder.join(file)).expect(file)
}

/// Checks an input, and mutations of it in which bytes are changed, removed, doubled or moved.
/// Returns the outcome for the input itself.
fn check_mutations<T>(count: usize, input: &[u8], check: impl Fn(&[u8]) -> T) -> T {
    let mut numbers = Numbers(0x2026_0728);
    for _ in 0..count {
        let mut bytes = input.to_vec();
        for _ in 0..=numbers.below(6) {
            let range = numbers.range(&bytes);
            let part = bytes[range.clone()].to_vec();
            let to = numbers.below(bytes.len() + 1);
            match numbers.below(4) {
                0 => bytes[range].fill_with(|| numbers.below(256).to_le_bytes()[0]),
                1 => drop(bytes.drain(range)),
                2 => drop(bytes.splice(to..to, part.repeat(1 + numbers.below(40)))),
                _ => drop(bytes.splice(to..to, part)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        check(&bytes);
    }
    check(input)
}

#[test]
fn documents_of_every_format_are_read_and_no_letter_is_lost() {
    for (extension, kind) in [
        ("md", Kind::Markdown),
        ("html", Kind::Html),
        ("txt", Kind::Text),
        ("rst", Kind::ReStructuredText),
        ("adoc", Kind::AsciiDoc),
        ("jsonl", Kind::JsonLines),
        ("docx", Kind::Docx),
        ("pdf", Kind::Pdf),
    ] {
        let input = inputs(&format!("manual.{extension}"));
        let read = check_mutations(500, &input, |bytes| ziggurat_fuzz::documents(kind, bytes));
        assert!(!read[0].sections.is_empty(), "{extension}");
    }
    let read = check_mutations(500, &inputs("docx.xml"), |xml| {
        ziggurat_fuzz::documents(Kind::Docx, &ziggurat_fuzz::docx(xml))
    });
    assert!(!read[0].sections.is_empty());
}

#[test]
fn a_server_answers_every_message_of_every_revision_over_http() {
    let revisions = Revision::ALL.into_iter().map(Some).chain([None]);
    let lines = inputs("mcp.jsonl");
    for revision in revisions {
        let answers = lines
            .split(|&byte| byte == b'\n')
            .map(|line| check_mutations(50, line, |body| ziggurat_fuzz::over_http(revision, body)));
        let answers: Vec<_> = answers.collect();
        assert!(answers.iter().any(StatusCode::is_success), "{answers:?}");
    }
}

#[test]
fn a_server_answers_every_line_over_pipes() {
    check_mutations(500, &inputs("mcp.jsonl"), ziggurat_fuzz::over_stdio);
}

/// Returns the plans of each version.
fn plans() -> Vec<StoredPlan> {
    let files = ["14", "15", "16", "17", "18", "newer"];
    let texts = files.map(|name| inputs(&format!("plans/{name}.jsonl")));
    let lines = texts.iter().map(|text| str::from_utf8(text).expect("text"));
    lines.flat_map(ziggurat_fuzz::stored).collect()
}

#[test]
fn plans_of_each_version_pass_or_are_refused() {
    let plans = plans();
    let is_wrong = |plan: &&StoredPlan| {
        let found = ziggurat_fuzz::passes(&plan.plan.to_string(), &plan.results, plan.version);
        found != plan.passes
    };
    let wrong = plans.iter().filter(is_wrong);
    let wrong: Vec<_> = wrong.map(|it| (it.version, &it.query)).collect();
    assert_eq!(wrong, []);
    let count = |passes: bool| plans.iter().filter(|it| it.passes == passes).count();
    assert!(count(true) > 200 && count(false) > 200);
}

#[test]
fn a_changed_plan_that_passes_uses_no_masked_column_in_an_expression() {
    let plans = plans();
    let mut numbers = Numbers(0x2026_0729);
    let mut passed = 0;
    for _ in 0..20_000 {
        let count = 2 + 3 * (1 + numbers.below(4));
        let bytes: Vec<_> = (0..count)
            .map(|_| numbers.below(256).to_le_bytes()[0])
            .collect();
        let plan = ziggurat_fuzz::changed(&plans, &bytes).expect("bytes for a plan");
        let text = plan.plan.to_string();
        passed += usize::from(ziggurat_fuzz::passes(&text, &plan.results, plan.version));
    }
    assert!(passed > 1000, "{passed}");
    for plan in plans.iter().step_by(7) {
        let text = plan.plan.to_string();
        check_mutations(40, text.as_bytes(), |bytes| {
            let text = String::from_utf8_lossy(bytes);
            ziggurat_fuzz::passes(&text, &plan.results, plan.version)
        });
    }
}

#[test]
fn configurations_of_other_servers_become_yaml_or_are_refused() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../adopt");
    for example in [
        "toolbox-maps.yaml",
        "toolbox-documents.yaml",
        "dbhub.toml",
        "secrets.json",
        "secrets.toml",
        "secrets.yaml",
    ] {
        let input = fs::read(examples.join(example)).expect(example);
        assert!(
            check_mutations(500, &input, ziggurat_fuzz::adopted),
            "{example}"
        );
    }
}
