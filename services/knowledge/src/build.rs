//! Builds files from folders of documents.

mod error;
mod store;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use futures_util::{StreamExt as _, stream};
use ziggurat_documents::{
    Checksum, Document, FoundDocuments, Kind, Passage, ReadError, Roots, Source, Splitter,
    in_context, read_file,
};

pub use self::error::BuildError;
use self::store::{MissingVector, NewChunk, Store};
use crate::{
    Embed, Error, Provider,
    vector::{self, MAX_DIMENSIONS},
};

/// Number of requests for vectors that are sent concurrently.
const CONCURRENT_REQUESTS: usize = 4;

/// Builds a knowledge base, or updates one.
///
/// After a build, the file holds exactly the contents of the folders for one product in one
/// version. A document is identified by its checksum: an unchanged one is not read again, and no
/// vector is made twice. Each document is written in one transaction, so that a build can be
/// interrupted at any time and run again.
///
/// Files are read on the current thread, which blocks it: use it in programs without other tasks.
#[derive(Debug)]
pub struct Builder<'a, E> {
    embedder: &'a E,
    provider: Provider,
    model: String,
    project: String,
    version: String,
}

/// Progress of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The number of documents to process is known.
    Begun {
        /// The number.
        documents: usize,
    },
    /// A document was in the file already.
    Kept {
        /// Its name.
        name: &'a str,
    },
    /// A chunk of a document got its vector.
    Embedded {
        /// The name of the document.
        name: &'a str,
    },
    /// A document was written to the file.
    Written {
        /// Its name.
        name: &'a str,
        /// Number of its chunks.
        chunks: usize,
    },
    /// A document or a folder could not be read.
    Skipped {
        /// Its name.
        name: &'a str,
        /// The reason.
        reason: &'a str,
    },
    /// A file is no document that is read here, or a symbolic link was not followed. Content under
    /// its name is removed from the file.
    LeftOut {
        /// Its name.
        name: &'a str,
        /// The reason.
        reason: &'a str,
    },
    /// A document no longer exists; its chunks were removed.
    Removed {
        /// Its name.
        name: &'a str,
    },
}

/// Result of a build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// New or changed documents.
    pub written: usize,
    /// Unchanged documents.
    pub kept: usize,
    /// Removed documents.
    pub removed: usize,
    /// Documents and folders that could not be read; their content stays in the file.
    pub skipped: usize,
    /// Number of chunks of the product and version after the build.
    pub chunks: u64,
}

/// A document that has been read.
struct Content {
    checksum: String,
    text: String,
}

/// State of a document in the file.
enum StoredState {
    /// It is missing and has to be read.
    No,
    /// It is complete.
    Whole,
    /// Some of its chunks have no vector of the provider.
    MissingVector,
}

// === impl Builder ===

impl<'a, E: Embed> Builder<'a, E> {
    /// Builds for one version of a product (the version may be empty), with vectors that this
    /// provider makes with this model.
    pub fn new(
        embedder: &'a E,
        (provider, model): (Provider, &str),
        (project, version): (&str, &str),
    ) -> Self {
        Self {
            embedder,
            provider,
            model: model.to_owned(),
            project: project.to_owned(),
            version: version.to_owned(),
        }
    }

    /// Updates the file from these folders, and reports the progress to `watch`. A missing file is
    /// created, readable by its owner only.
    ///
    /// # Errors
    /// Fails if there is nothing to read, if the file cannot be written, and if a vector cannot be
    /// made. A document that cannot be read is not an error: it is skipped and counted.
    pub async fn build(
        &self,
        file: &Path,
        folders: &[PathBuf],
        mut watch: impl FnMut(Event<'_>),
    ) -> Result<Outcome, BuildError> {
        let mut found = FoundDocuments::search(folders, Roots::Folders)?;
        leave_out_other_formats(&mut found);
        for (name, reason) in &found.left_out {
            watch(Event::LeftOut { name, reason });
        }
        let at = |error| BuildError::Base {
            path: file.to_owned(),
            error,
        };
        if found.sources.is_empty() && found.skipped.is_empty() {
            return Err(BuildError::NoDocuments);
        }
        store::create(file).map_err(|error| BuildError::Create {
            path: file.to_owned(),
            error,
        })?;
        let mut store = Store::open(file, self.provider, &self.project, &self.version)
            .await
            .map_err(at)?;
        self.claim(&mut store, file).await?;
        let mut build = Build {
            builder: self,
            store: &mut store,
            watch: &mut watch,
            outcome: Outcome::default(),
            current: HashSet::new(),
            unread: Vec::new(),
        };
        build.run(found).await.map_err(|error| match error {
            Stopped::Base(error) => at(error),
            Stopped::Build(error) => error,
        })?;
        let mut outcome = build.outcome;
        outcome.chunks = store.chunks().await.map_err(at)?;
        store.close().await.map_err(at)?;
        Ok(outcome)
    }

    /// Ensures that all vectors of a provider are of one model.
    async fn claim(&self, store: &mut Store<'_>, file: &Path) -> Result<(), BuildError> {
        let built = store.claim(&self.model).await;
        let built = built.map_err(|error| BuildError::Base {
            path: file.to_owned(),
            error,
        })?;
        if built == self.model {
            return Ok(());
        }
        Err(BuildError::Model {
            path: file.to_owned(),
            provider: self.provider.name(),
            built,
            configured: self.model.clone(),
        })
    }

    /// Makes the vectors of some chunks of a document, in their order.
    async fn vectors(
        &self,
        name: &str,
        chunks: impl Iterator<Item = String>,
        watch: &mut impl FnMut(Event<'_>),
    ) -> Result<Vec<Vec<f32>>, BuildError> {
        let failed = |problem: String| BuildError::Embedding {
            name: name.to_owned(),
            problem,
        };
        let chunks: Vec<_> = chunks.collect();
        let texts: Vec<_> = chunks.iter().map(String::as_str).collect();
        let batches = texts.chunks(self.embedder.max_batch().max(1));
        let batches = batches.map(|texts| async move {
            let vectors = self.embedder.vectors(texts).await;
            let vectors = vectors.map_err(|error| error.to_string())?;
            if vectors.len() == texts.len() {
                Ok(vectors)
            } else {
                let (vectors, texts) = (vectors.len(), texts.len());
                Err(format!("{texts} texts got {vectors} vectors"))
            }
        });
        let mut batches = stream::iter(batches).buffered(CONCURRENT_REQUESTS);
        let mut vectors = Vec::with_capacity(texts.len());
        while let Some(batch) = batches.next().await {
            for vector in batch.map_err(failed)? {
                let length = vector.len();
                if !(1..=MAX_DIMENSIONS).contains(&length) {
                    return Err(failed(format!("a vector of {length} numbers")));
                }
                if vector.iter().any(|value| !value.is_finite()) {
                    return Err(failed("a vector with numbers that are none".to_owned()));
                }
                vectors.push(vector);
                watch(Event::Embedded { name });
            }
        }
        Ok(vectors)
    }
}

/// A build in progress.
struct Build<'b, 's, 'a, E, W> {
    builder: &'b Builder<'a, E>,
    store: &'b mut Store<'s>,
    watch: &'b mut W,
    outcome: Outcome,
    /// The checksums of the documents in the folders.
    current: HashSet<String>,
    /// Names of folders and documents that could not be read.
    unread: Vec<String>,
}

/// Error that ended the build.
enum Stopped {
    Base(Error),
    Build(BuildError),
}

// === impl Build ===

impl<E: Embed, W: FnMut(Event<'_>)> Build<'_, '_, '_, E, W> {
    async fn run(&mut self, found: FoundDocuments) -> Result<(), Stopped> {
        (self.watch)(Event::Begun {
            documents: found.sources.len(),
        });
        for (name, reason) in &found.skipped {
            self.skip(name, reason);
        }
        for source in &found.sources {
            match Content::read(source) {
                Ok(content) => self.document(source, content).await?,
                Err(error) => self.skip(&source.name, &error.to_string()),
            }
        }
        self.remove_the_rest().await
    }

    fn skip(&mut self, name: &str, reason: &str) {
        (self.watch)(Event::Skipped { name, reason });
        self.unread.push(name.to_owned());
        self.outcome.skipped += 1;
    }

    async fn document(&mut self, source: &Source, content: Content) -> Result<(), Stopped> {
        let name = &*source.name;
        let is_new = self.current.insert(content.checksum.clone());
        if !is_new {
            // Another document with the same contents is there already.
            self.outcome.kept += 1;
            (self.watch)(Event::Kept { name });
            return Ok(());
        }
        let checksum = &content.checksum;
        match self.store.known(checksum, source.kind.name()).await? {
            StoredState::No => self.write(source, &content).await,
            StoredState::Whole => {
                self.store.moved(checksum, name).await?;
                self.outcome.kept += 1;
                (self.watch)(Event::Kept { name });
                Ok(())
            }
            StoredState::MissingVector => {
                self.store.moved(checksum, name).await?;
                self.fill(name, checksum).await
            }
        }
    }

    /// Writes a document to the file; it replaces the one with the same name.
    async fn write(&mut self, source: &Source, content: &Content) -> Result<(), Stopped> {
        let name = &*source.name;
        let document = Document::read(source.kind, &content.text);
        let passages = Splitter::default().passages(&document);
        let title = document.title.clone().or_else(|| source.title());
        let title = title.as_deref();
        let texts = passages.iter().map(|passage| passage.in_context(title));
        let vectors = self.builder.vectors(name, texts, self.watch).await?;
        let chunks: Vec<_> = passages
            .iter()
            .zip(&vectors)
            .map(|(Passage { heading, text }, vector)| NewChunk {
                title,
                section: *heading,
                text,
                vector: vector::bytes(vector),
            })
            .collect();
        self.store
            .replace((name, source.kind.name()), &content.checksum, &chunks)
            .await?;
        self.outcome.written += 1;
        (self.watch)(Event::Written {
            name,
            chunks: chunks.len(),
        });
        Ok(())
    }

    /// Adds the missing vectors of a document's chunks.
    async fn fill(&mut self, name: &str, checksum: &str) -> Result<(), Stopped> {
        let missing_vectors = self.store.missing_vectors(checksum).await?;
        let texts = missing_vectors.iter().map(
            |MissingVector {
                 title,
                 section,
                 text,
                 ..
             }| in_context(title.as_deref(), section.as_deref(), text),
        );
        let vectors = self.builder.vectors(name, texts, self.watch).await?;
        self.store.fill(&missing_vectors, &vectors).await?;
        self.outcome.written += 1;
        (self.watch)(Event::Written {
            name,
            chunks: missing_vectors.len(),
        });
        Ok(())
    }

    async fn remove_the_rest(&mut self) -> Result<(), Stopped> {
        for (checksum, name) in self.store.sources().await? {
            let is_unread = self.unread.iter().any(|unread| {
                name.strip_prefix(&**unread)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            if self.current.contains(&checksum) || is_unread {
                continue;
            }
            self.store.remove(&checksum).await?;
            self.outcome.removed += 1;
            (self.watch)(Event::Removed { name: &name });
        }
        Ok(())
    }
}

// === impl Stopped ===

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Base(error)
    }
}

impl From<BuildError> for Stopped {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

// === impl Content ===

impl Content {
    fn read(source: &Source) -> Result<Self, ReadError> {
        let text = read_file(source)?;
        let mut checksum = Checksum::default();
        checksum.add(text.as_bytes());
        let checksum = checksum.finish();
        Ok(Self { checksum, text })
    }
}

/// Leaves out documents that are no texts.
fn leave_out_other_formats(found: &mut FoundDocuments) {
    let (sources, others): (Vec<_>, Vec<_>) = std::mem::take(&mut found.sources)
        .into_iter()
        .partition(|source| source.kind.is_text());
    found.sources = sources;
    let others = others.into_iter().map(|source| {
        let reason = match source.kind {
            Kind::Pdf => "PDF is not read here: convert it to text",
            Kind::Docx => "DOCX is not read here: convert it to text",
            _ => "JSON lines are not read here",
        };
        (source.name, reason)
    });
    found.left_out.extend(others);
    found.left_out.sort();
}
