//! Embeddings from a table of the vectors of tokens, without a provider and without a network.
//!
//! The vector of a text is the mean of the vectors of its tokens. A model is a folder in the layout
//! of model2vec: `tokenizer.json`, `model.safetensors` and `config.json`.

mod table;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Weak},
    thread,
};

use serde::Deserialize;
use tokenizers::{Tokenizer, TruncationParams};
use tokio::{sync::Semaphore, task::spawn_blocking};
use ziggurat_runtime::lock;

use self::table::Table;
use crate::Error;

/// Name in place of the name of a provider.
pub(super) const NAME: &str = "static";

/// Limits on the files, in bytes. The largest public models have 512 MB and 20 MB.
const MAX_MODEL: u64 = 2 << 30;
const MAX_TOKENIZER: u64 = 128 << 20;
const MAX_CONFIG: u64 = 1 << 20;

/// Tokens of a text that count, if the configuration of the model does not set a number.
const MAX_TOKENS: usize = 512;

/// Length of a text in bytes up to which its vector is made at once: it takes less than a
/// millisecond, and a thread of its own would take longer to get.
const SHORT: usize = 4096;

/// A model in memory. Clones share it.
#[derive(Clone)]
pub struct StaticModel(Arc<Loaded>);

/// The models that are in memory. Each folder is read once as long as one of its models is in use.
#[derive(Debug, Default)]
pub struct StaticModels(Mutex<Vec<(PathBuf, Weak<Loaded>)>>);

/// The reason why a folder cannot be used as a model.
#[derive(Debug, thiserror::Error)]
#[error("the static model cannot be used: {}: {reason}", path.display())]
pub struct InvalidModel {
    path: PathBuf,
    reason: String,
}

struct Loaded {
    /// The name of the folder.
    name: String,
    tokenizer: Tokenizer,
    /// The token of unknown words, which does not count.
    unknown: Option<u32>,
    table: Table,
    is_normalized: bool,
    /// Limit on the characters of a text that are read.
    max_chars: Option<usize>,
    /// Permits of the threads that make vectors.
    threads: Semaphore,
}

/// The parts of `config.json` that count.
#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    normalize: bool,
    #[serde(default = "max_length")]
    max_length: Option<usize>,
}

/// The parts of `tokenizer.json` that the library does not show.
#[derive(Deserialize)]
struct RawTokenizer {
    model: RawModel,
}

#[derive(Deserialize)]
struct RawModel {
    unk_token: Option<String>,
    unk_id: Option<u32>,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is the default of an optional value"
)]
fn max_length() -> Option<usize> {
    Some(MAX_TOKENS)
}

// === impl StaticModels ===

impl StaticModels {
    /// Returns the model of a folder, which is read if it is not in memory.
    ///
    /// # Errors
    /// Fails if the folder has no model that can be used.
    pub fn load(&self, folder: &Path) -> Result<StaticModel, InvalidModel> {
        // Held while a model is read, so that it is read once.
        let mut models = lock(&self.0);
        models.retain(|(_, model)| model.strong_count() > 0);
        let mut known = models.iter().filter(|(path, _)| path == folder);
        if let Some(model) = known.find_map(|(_, model)| model.upgrade()) {
            return Ok(StaticModel(model));
        }
        let model = StaticModel::load(folder)?;
        models.push((folder.to_owned(), Arc::downgrade(&model.0)));
        Ok(model)
    }
}

// === impl StaticModel ===

impl StaticModel {
    /// Reads the model of a folder.
    ///
    /// # Errors
    /// Fails if the folder has no model that can be used.
    pub fn load(folder: &Path) -> Result<Self, InvalidModel> {
        let path = |name: &str| folder.join(name);
        let [config, tokenizer, model] =
            ["config.json", "tokenizer.json", "model.safetensors"].map(path);
        let config: Config = parsed(&config, &read(&config, MAX_CONFIG)?)?;
        let bytes = read(&tokenizer, MAX_TOKENIZER)?;
        let raw: RawTokenizer = parsed(&tokenizer, &bytes)?;
        let mut words = Tokenizer::from_bytes(&bytes)
            .map_err(|error| InvalidModel::new(&tokenizer, error.to_string()))?;
        drop(bytes);
        // Texts are not filled up to a common length, and each is cut.
        words.with_padding(None);
        let truncation = config.max_length.map(|max_length| TruncationParams {
            max_length,
            ..TruncationParams::default()
        });
        words
            .with_truncation(truncation)
            .map_err(|error| InvalidModel::new(&tokenizer, error.to_string()))?;
        let vocabulary = words.get_vocab(true);
        let lengths = vocabulary.keys().map(|token| token.chars().count());
        let token_length = median(lengths.collect());
        let table = Table::new(read(&model, MAX_MODEL)?, vocabulary.len())
            .map_err(|problem| InvalidModel::new(&model, problem.to_string()))?;
        let unknown = match raw.model.unk_token {
            Some(token) => words.token_to_id(&token),
            None => raw.model.unk_id,
        };
        let name = folder.file_name().unwrap_or_default();
        Ok(Self(Arc::new(Loaded {
            name: name.to_string_lossy().into_owned(),
            tokenizer: words,
            unknown,
            table,
            is_normalized: config.normalize,
            max_chars: config
                .max_length
                .map(|tokens| tokens.saturating_mul(token_length)),
            threads: Semaphore::new(thread::available_parallelism().map_or(1, usize::from)),
        })))
    }

    /// Returns the name of its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the dimensions of its vectors.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.0.table.dimensions()
    }

    /// Makes the vector of a text: all zeros if no token of it is known.
    ///
    /// # Errors
    /// Fails if the tokenizer does.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, Error> {
        let model = &*self.0;
        let end = model
            .max_chars
            .and_then(|most| text.char_indices().nth(most));
        let text = end.map_or(text, |(end, _)| &text[..end]);
        let tokens = model.tokenizer.encode_fast(text, false);
        let tokens = tokens.map_err(|error| Error::Invalid(error.to_string()))?;
        let mut vector = vec![0.0; self.dimensions()];
        let mut count = 0_u32;
        let known = tokens
            .get_ids()
            .iter()
            .filter(|id| Some(**id) != model.unknown);
        for id in known {
            let id = usize::try_from(*id).unwrap_or(usize::MAX);
            model.table.add(id, &mut vector);
            count += 1;
        }
        if count > 0 {
            divide(&mut vector, f64::from(count));
        }
        if model.is_normalized {
            let squares = vector.iter().map(|value| f64::from(*value).powi(2));
            let length = squares.sum::<f64>().sqrt();
            if length > 0.0 {
                divide(&mut vector, length);
            }
        }
        Ok(vector)
    }

    /// Makes the vectors of texts, on a thread of its own unless there is only a short one.
    pub(super) async fn embed_all(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        if let [text] = texts
            && text.len() <= SHORT
        {
            return Ok(vec![self.embed(text)?]);
        }
        let permit = self.0.threads.acquire().await;
        let permit = permit.map_err(|error| Error::Invalid(error.to_string()))?;
        let (model, texts) = (self.clone(), owned(texts));
        let made = spawn_blocking(move || texts.iter().map(|text| model.embed(text)).collect());
        let made = made
            .await
            .map_err(|error| Error::Invalid(error.to_string()));
        drop(permit);
        made?
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "vectors have 32 bits")]
fn divide(vector: &mut [f32], by: f64) {
    for value in vector {
        *value = (f64::from(*value) / by) as f32;
    }
}

/// Returns the median, rounded down; at least one.
fn median(mut lengths: Vec<usize>) -> usize {
    lengths.sort_unstable();
    let upper = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    let lower = lengths.get(lengths.len().saturating_sub(1) / 2);
    let lower = lower.copied().unwrap_or_default();
    usize::midpoint(lower, upper).max(1)
}

/// Reads a file of at most this many bytes.
fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, InvalidModel> {
    let failed = |error: std::io::Error| {
        let reason = format!("it cannot be read ({error}); name the folder of a model2vec model");
        InvalidModel::new(path, reason)
    };
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    if length <= max_bytes {
        let capacity = usize::try_from(length).unwrap_or_default();
        bytes.reserve_exact(capacity.saturating_add(1));
        file.take(max_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
    }
    if length > max_bytes || bytes.len() as u64 > max_bytes {
        let reason = format!("it is larger than {max_bytes} bytes");
        return Err(InvalidModel::new(path, reason));
    }
    Ok(bytes)
}

fn parsed<'b, T: Deserialize<'b>>(path: &Path, bytes: &'b [u8]) -> Result<T, InvalidModel> {
    serde_json::from_slice(bytes).map_err(|error| InvalidModel::new(path, error.to_string()))
}

// === impl InvalidModel ===

impl InvalidModel {
    fn new(path: &Path, reason: String) -> Self {
        let path = path.to_owned();
        Self { path, reason }
    }
}

// === impl formatting ===

impl fmt::Debug for StaticModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticModel")
            .field("name", &self.name())
            .field("dimensions", &self.dimensions())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
