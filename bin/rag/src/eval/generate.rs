//! Drafts of questions from random passages.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context as _, bail};
use serde_json::json;
use ziggurat_rag_service::evaluation::Evaluator;
use ziggurat_runtime::console::print_error;

use crate::eval::{GenerateOptions, StepCounter, with_pipeline};

/// Maximum number of characters of a passage beside its question.
const SHOWN_CHARS: usize = 500;

/// Drafts questions, each written as soon as it is there.
///
/// # Errors
/// Fails if the file exists or cannot be written, and if a passage or the model cannot be read.
pub(super) fn run(config: Option<&Path>, options: &GenerateOptions) -> anyhow::Result<()> {
    let pipeline = options.pipeline.as_deref();
    with_pipeline(config, pipeline, async |_, evaluator| {
        let mut output = output(options.output.as_deref())?;
        draft(evaluator, options.count, &mut output).await
    })
}

/// Opens the output. A file must be new, because an older one may have been checked by hand.
fn output(path: Option<&Path>) -> anyhow::Result<Box<dyn Write>> {
    let Some(path) = path else {
        return Ok(Box::new(io::stdout()));
    };
    let file = File::create_new(path);
    let file = file.with_context(|| format!("{} cannot be created", path.display()))?;
    Ok(Box::new(file))
}

async fn draft(evaluator: &Evaluator, count: usize, output: &mut dyn Write) -> anyhow::Result<()> {
    let passages = evaluator.random_passages(count).await?;
    if passages.is_empty() {
        bail!("the tables have no passages of 100 characters or more");
    }
    if passages.len() < count {
        let found = passages.len();
        print_error(&format!(
            "the tables have only {found} passages of 100 characters or more\n"
        ));
    }
    let mut progress = StepCounter::new(passages.len(), "questions");
    let mut empty = 0;
    for passage in passages {
        if let Some(question) = evaluator.draft_question(&passage).await? {
            let shown: String = passage.text.chars().take(SHOWN_CHARS).collect();
            let line = json!({
                "query": question,
                "relevant": {&passage.id: 1},
                "passage": shown,
            });
            let written = output.write_all(format!("{line}\n").as_bytes());
            written.context("the questions cannot be written")?;
        } else {
            empty += 1;
        }
        progress.step();
    }
    drop(progress);
    if empty > 0 {
        print_error(&format!(
            "the model wrote no question for {empty} passages\n"
        ));
    }
    Ok(())
}
