//! Vectors of a static model: short texts a second on one core, and the time to read the model.
//!
//! The model is made here, with as many tokens and dimensions as small public ones have: 30,000 and
//! 256. No network is needed.

use std::{
    collections::BTreeMap, fmt::Write as _, fs, path::Path, process::ExitCode, time::Instant,
};

use serde_json::{Value, json};
use ziggurat_benches::tools::{Report, median};
use ziggurat_llm::StaticModel;

const TOKENS: usize = 30_000;
const DIMENSIONS: usize = 256;

/// Number of texts, and of words in each: as many as a short passage or a long question has.
const TEXTS: usize = 10_000;
const WORDS: usize = 20;

/// Texts a second that one core must make vectors of.
const TARGET: f64 = 5_000.0;

const RUNS: usize = 5;

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    write_model(folder.path());
    let mut report = Report::default();
    let began = Instant::now();
    let model = StaticModel::load(folder.path()).expect("a model");
    let milliseconds = began.elapsed().as_secs_f64() * 1000.0;
    report.print(format_args!(
        "{TOKENS} tokens, {DIMENSIONS} dimensions, read in {milliseconds:.0} ms"
    ));
    let texts: Vec<_> = (0..TEXTS).map(text).collect();
    let rates: Vec<_> = (0..RUNS)
        .map(|_| {
            let began = Instant::now();
            for text in &texts {
                model.embed(text).expect("a vector");
            }
            let count = u32::try_from(texts.len()).expect("small");
            f64::from(count) / began.elapsed().as_secs_f64()
        })
        .collect();
    let what = format!("texts of {WORDS} words a second on one core");
    report.at_least(&what, median(&rates), TARGET, "");
    report.exit_code()
}

/// Returns the word of a number: three syllables, so that some words are parts of others.
fn word(number: usize) -> String {
    const SYLLABLES: [&str; 32] = [
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu",
        "va", "we", "xi", "yo", "zu", "bra", "cle", "dri", "flo", "gru", "sta", "ple", "tri",
        "sno", "cru", "ska", "the",
    ];
    let syllables = [number, number / 32, number / 1024].map(|at| SYLLABLES[at % 32]);
    syllables.concat()
}

/// Returns a text, of which every fifth word is no token as a whole.
fn text(number: usize) -> String {
    let mut text = String::new();
    for at in 0..WORDS {
        let chosen = (number * 7919 + at * 104_729) % TOKENS;
        let suffix = if at % 5 == 0 { "ing" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{suffix} ", word(chosen));
    }
    text.push('.');
    text
}

fn write_model(folder: &Path) {
    let pieces = ["[PAD]", "[UNK]", "##ing", "."].map(str::to_owned);
    let tokens = pieces.into_iter().chain((0..TOKENS).map(word));
    let vocabulary: BTreeMap<_, _> = tokens.zip(0..).collect();
    let tokenizer = json!({
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    });
    write_json(&folder.join("tokenizer.json"), &tokenizer);
    write_json(&folder.join("config.json"), &json!({"normalize": true}));
    let rows = vocabulary.len();
    let tensor = json!({
        "dtype": "F32", "shape": [rows, DIMENSIONS], "data_offsets": [0, rows * DIMENSIONS * 4],
    });
    let header = json!({"embeddings": tensor}).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    for at in 0..rows * DIMENSIONS {
        let value = u16::try_from(at * 31 % 2001).expect("small");
        file.extend((f32::from(value) / 1000.0 - 1.0).to_le_bytes());
    }
    fs::write(folder.join("model.safetensors"), file).expect("written");
}

fn write_json(path: &Path, value: &Value) {
    fs::write(path, value.to_string()).expect("written");
}
