//! Folders that are served without a configuration file.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, bail};
use hmac_sha256::Hash;
use serde_json::json;
use tracing::{info, warn};
use ziggurat_postgres::pool::Pools;

use crate::{
    configuration::{self, ConfigSources, Configuration, Loaded},
    ingest::{self, IngestOptions},
};

/// The variable with the database of folders.
const ADDRESS: &str = "DATABASE_URL";

/// Number of bytes of a hash in the name of a table.
const NAME_BYTES: usize = 6;

/// Returns the configuration of folders: one pipeline, with a table of its own.
///
/// # Errors
/// Fails if a folder does not exist, or if `DATABASE_URL` names no database.
pub(crate) fn configuration(
    folders: &[PathBuf],
    model: Option<&Path>,
    sources: &ConfigSources,
) -> anyhow::Result<Loaded> {
    let folders = whole(folders)?;
    let Some(address) = sources.environment.get(ADDRESS) else {
        bail!("{ADDRESS} is not set: it names the database that the documents are loaded into");
    };
    let [questions, documents] = configuration::of_address(address).context(ADDRESS)?;
    let yaml = yaml(&folders, model);
    let loaded = Configuration::of_text(&yaml.to_string(), sources);
    let mut loaded = loaded.context("failed to load configuration")?;
    for pipeline in &mut loaded.value.pipelines {
        pipeline.database = Arc::clone(&questions);
        if let Some(ingest) = &mut pipeline.ingest {
            ingest.database = Arc::clone(&documents);
        }
    }
    Ok(loaded)
}

/// Returns the whole paths of folders, which do not depend on where the program was started.
fn whole(folders: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let whole = folders
        .iter()
        .map(|path| fs::canonicalize(path).with_context(|| format!("folder {}", path.display())));
    whole.collect()
}

/// Returns a configuration. JSON is YAML.
fn yaml(folders: &[PathBuf], model: Option<&Path>) -> serde_json::Value {
    // Of another machine, or replaced below.
    let database = json!({"host": "localhost", "database": "documents", "username": "documents"});
    let names = folders.iter().filter_map(|folder| folder.file_name());
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    let embedding = match model {
        Some(model) => json!({"provider": "static", "model_path": model}),
        None => json!({"provider": "local"}),
    };
    json!({"pipelines": [{
        "name": "documents",
        "description": format!("Files in {}", names.join(", ")),
        "allow_include_sources": true,
        "database": database,
        "tables": [{
            "table": table(folders, model),
            "text_column": "content",
            "vector_column": "embedding",
            "id_column": "id",
            "title_column": "title",
            "url_column": "url",
        }],
        "ingest": {"database": database},
        "embedding_llm": embedding,
        "rag_llm": {"provider": "local"},
    }]})
}

/// Returns the name of the table of folders: other folders, or another model, have another table.
fn table(folders: &[PathBuf], model: Option<&Path>) -> String {
    let mut hash = Hash::new();
    for path in folders.iter().map(PathBuf::as_path).chain(model) {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    hash.update([u8::from(model.is_some())]);
    let digest = hash.finalize();
    let digits = digest
        .iter()
        .take(NAME_BYTES)
        .map(|byte| format!("{byte:02x}"));
    format!("ziggurat_documents_{}", digits.collect::<String>())
}

/// Loads the documents of folders, if there are any.
///
/// # Errors
/// Fails if the database cannot be used.
pub(super) async fn load(
    pools: &Pools,
    configuration: &Configuration,
    sources: &ConfigSources,
    folders: Vec<PathBuf>,
) -> anyhow::Result<()> {
    if folders.is_empty() {
        return Ok(());
    }
    let options = IngestOptions {
        paths: whole(&folders)?,
        // A folder that was emptied on purpose must not keep the server from starting.
        keep_missing: false,
        remove: true,
        ..IngestOptions::default()
    };
    let say = |text: &str| text.lines().for_each(|line| info!("{line}"));
    let loaded = ingest::load_into(pools, configuration, sources, &options, say).await?;
    if loaded.skipped > 0 {
        let skipped = loaded.skipped;
        warn!(skipped, "some documents could not be read");
    }
    Ok(())
}
