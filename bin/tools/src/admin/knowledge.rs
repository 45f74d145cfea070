//! Command that builds a knowledge base from documents.

mod progress;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
};
use ziggurat_knowledge::{BuildError, Builder, Outcome};
use ziggurat_llm::Embedder;
use ziggurat_runtime::console::{Console, plain};

use self::progress::Progress;
use crate::{
    arguments::BuildOptions, catalogue::knowledge, configuration::Knowledgebase,
    providers::Providers,
};

pub(super) fn build(
    options: BuildOptions,
    configured: &Knowledgebase,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let project = options.project.filter(|project| !project.trim().is_empty());
    let project = project.context("the product name is missing: add -kb-project <name>")?;
    let version = options.version.unwrap_or_default();
    let output = options.output.or_else(|| configured.database_path.clone());
    let output = output.context(
        "the output file is missing: add -kb-output <file>, or set \
         knowledgebase.database_path",
    )?;
    let embedder = Providers::default().vectors(&configured.vectors, None)?;
    if embedder.is_local() {
        console.print_error(
            "The provider local creates vectors of words, not of meanings: use it for trials \
             only.\n",
        )?;
    }
    let provider = (knowledge::provider(configured), embedder.model());
    let builder = Builder::new(&embedder, provider, (&project, &version));
    let outcome = run(&builder, &output, &options.folders, console)?;
    let product = format!("{project} {version}");
    console.print(&format!(
        "Knowledge base: {}\nProduct: {} ({} chunks)\n\
         Documents: {} written, {} unchanged, {} removed, {} skipped\n",
        plain(&output.display().to_string()),
        plain(product.trim_end()),
        outcome.chunks,
        outcome.written,
        outcome.kept,
        outcome.removed,
        outcome.skipped,
    ))?;
    if outcome.skipped > 0 {
        bail!(
            "{} document(s) could not be read and were skipped; the others are in the knowledge base",
            outcome.skipped
        );
    }
    Ok(())
}

/// Builds until it is done or a signal interrupts it.
fn run(
    builder: &Builder<'_, Embedder>,
    output: &Path,
    folders: &[PathBuf],
    console: &mut Console<'_>,
) -> anyhow::Result<Outcome> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut progress = Progress::new(console);
    let outcome: Result<Option<Outcome>, BuildError> = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).ok();
        let mut terminate = signal(SignalKind::terminate()).ok();
        let stop = async {
            match (&mut interrupt, &mut terminate) {
                (Some(interrupt), Some(terminate)) => tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                },
                // Without handlers, a signal ends the process; the file stays consistent anyway.
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            built = builder.build(output, folders, |event| progress.show(event)) => {
                built.map(Some)
            }
            () = stop => Ok(None),
        }
    });
    progress.end();
    let outcome = outcome.context("the knowledge base was not finished")?;
    outcome.context(
        "interrupted: documents written so far are kept; run the same command again to \
         continue",
    )
}
