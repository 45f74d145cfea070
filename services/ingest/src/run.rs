//! A run: reads, splits, embeds and writes documents.

mod producer;

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time;
use ziggurat_llm::{self as llm, Embedder};
use ziggurat_postgres::{
    driver::{Client, query},
    pool::Pool,
};

use self::producer::{Note, Producer, Step};
use crate::{
    error::{During as _, IngestError},
    event::{Event, Outcome},
    input::Input,
    place::{Place, Seen},
    prepared::Prepared,
    settings::Settings,
    store::{Known, Store},
    table::{self, Table},
};

/// Version of the readers and of the rows; a new one writes all documents again.
const FORMAT: u32 = 1;

/// Attempts to get the lock of a table, and the pause between two of them.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Number of documents of a source, and part of all, that may be gone without a question.
const FEW: usize = 10;
const MOST: usize = 5;

/// Text that is embedded to learn the number of dimensions.
const PROBE: &str = "dimensions";

/// Updates the rows of a table to match some documents.
#[derive(Debug)]
pub struct Ingest<'a> {
    embedder: &'a Embedder,
    pool: &'a Pool,
    settings: Settings,
}

/// Result of a step.
enum Done {
    Noted(Note),
    Written(Vec<Written>),
}

/// A document after the attempt to write it.
struct Written {
    id: String,
    passages: usize,
    /// Reason why it was not written.
    refusal: Option<String>,
}

// === impl Ingest ===

impl<'a> Ingest<'a> {
    /// Makes vectors with this embedder, and writes with a role that may write to the table. The
    /// pool needs a connection for each group that is written at once.
    #[must_use]
    pub fn new(embedder: &'a Embedder, pool: &'a Pool, settings: Settings) -> Self {
        Self {
            embedder,
            pool,
            settings,
        }
    }

    /// Reads and writes documents, and reports the progress to `watch`.
    ///
    /// # Errors
    /// Fails if there is nothing to read, if the table cannot be used, and if PostgreSQL or the
    /// provider fails. A document that cannot be read is not an error: it is skipped and counted.
    pub async fn run(
        &self,
        mut input: Input,
        mut watch: impl FnMut(Event<'_>),
    ) -> Result<Outcome, IngestError> {
        let mut outcome = Outcome::default();
        let mut tell = |event: Event<'_>| {
            outcome.count(&event);
            watch(event);
        };
        for (name, reason) in &input.found().left_out {
            tell(Event::LeftOut { name, reason });
        }
        if input.is_empty() {
            return Err(IngestError::NoDocuments);
        }
        let _lock = self.lock().await?;
        let table = self.table(&mut tell).await?;
        let store = table.map(|table| Store::new(self.pool, table));
        let mut known = Known::default();
        if let Some(store) = &store {
            known = store.known().await?;
            self.settle(store, &mut input, &mut tell).await?;
        }
        tell(Event::Begun {
            files: input.found().sources.len(),
        });
        let places = input.places.clone();
        let mut producer = Producer::new(
            input,
            &known,
            &self.settings,
            self.settings_text(),
            self.batch(),
        );
        self.write_all(&mut producer, store.as_ref(), &mut tell)
            .await?;
        if let Some(store) = &store {
            let writes = !self.settings.dry_run;
            let gone = self.gone(store, &places, &producer.seen, writes);
            for id in &gone.await? {
                if writes {
                    store.remove(id).await?;
                }
                tell(Event::Removed { id });
            }
            let is_changed = outcome.passages > 0 || outcome.removed > 0;
            if writes && is_changed {
                store.analyze().await?;
            }
        }
        Ok(outcome)
    }

    /// Chooses what the ids of each folder begin with, and stops before anything is written if too
    /// many documents of one are gone. The documents of files of lines are only known once they
    /// are read.
    async fn settle(
        &self,
        store: &Store<'_>,
        input: &mut Input,
        tell: &mut impl FnMut(Event<'_>),
    ) -> Result<(), IngestError> {
        let seen = input.seen();
        for place in &mut input.places {
            if let Some(other) = store.settle(place, &seen).await? {
                tell(Event::Renamed {
                    source: &place.source,
                    other: &other,
                    prefix: &place.prefix,
                });
            }
        }
        let seen = input.seen();
        let gone = self.gone(store, &input.places, &seen, false);
        gone.await.map(drop)
    }

    /// Returns the documents that are removed, unless they are too many.
    async fn gone(
        &self,
        store: &Store<'_>,
        places: &[Place],
        seen: &Seen,
        adopt: bool,
    ) -> Result<Vec<String>, IngestError> {
        let mut gone = Vec::new();
        if self.settings.keep_missing {
            return Ok(gone);
        }
        for place in places {
            let (all, ids) = store.gone(place, seen, adopt).await?;
            let missing = ids.len();
            if !self.settings.remove && missing > FEW && missing * MOST > all {
                return Err(IngestError::Gone {
                    source_name: place.source.clone(),
                    missing,
                    all,
                });
            }
            gone.extend(ids);
        }
        Ok(gone)
    }

    /// Writes the documents in groups, several at once.
    async fn write_all(
        &self,
        producer: &mut Producer<'_>,
        store: Option<&Store<'_>>,
        tell: &mut impl FnMut(Event<'_>),
    ) -> Result<(), IngestError> {
        let steps = stream::unfold(producer, |producer| async move {
            let step = producer.next().await.transpose()?;
            Some((step, producer))
        });
        let work = steps.map(|step| async move {
            match step? {
                Step::Note(note) => Ok(Done::Noted(note)),
                Step::Group(group, _permit) => self.group(&group, store).await.map(Done::Written),
            }
        });
        let concurrency = self.settings.concurrency.max(1);
        let mut work = std::pin::pin!(work.buffer_unordered(concurrency));
        while let Some(done) = work.next().await {
            match done? {
                Done::Noted(note) => tell(note.event()),
                Done::Written(documents) => {
                    for document in &documents {
                        self.tell_of(document, tell);
                    }
                }
            }
        }
        Ok(())
    }

    fn tell_of(&self, document: &Written, tell: &mut impl FnMut(Event<'_>)) {
        let id = &*document.id;
        if let Some(reason) = &document.refusal {
            return tell(Event::Skipped { name: id, reason });
        }
        let passages = document.passages;
        if !self.settings.dry_run {
            tell(Event::Embedded { passages });
        }
        tell(Event::Written { id, passages });
    }

    /// Embeds and writes a group of documents. If the provider refuses a request of several, each
    /// has one of its own.
    async fn group(
        &self,
        group: &[Prepared],
        store: Option<&Store<'_>>,
    ) -> Result<Vec<Written>, IngestError> {
        let Some(store) = store.filter(|_| !self.settings.dry_run) else {
            return Ok(group.iter().map(|one| Written::of(one, None)).collect());
        };
        let mut written = Vec::with_capacity(group.len());
        match self.vectors(group).await {
            Ok(vectors) => {
                let mut rest = &*vectors;
                for document in group {
                    let (own, others) = rest.split_at(document.texts.len());
                    written.push(write(store, document, own).await?);
                    rest = others;
                }
            }
            Err(error) if error.refuses_input() => {
                for document in group {
                    written.push(self.alone(document, store).await?);
                }
            }
            Err(error) => return Err(no_vectors(&group[0], error)),
        }
        Ok(written)
    }

    async fn alone(&self, document: &Prepared, store: &Store<'_>) -> Result<Written, IngestError> {
        match self.vectors(std::slice::from_ref(document)).await {
            Ok(vectors) => write(store, document, &vectors).await,
            Err(error) if error.refuses_input() => {
                Ok(Written::of(document, Some(error.to_string())))
            }
            Err(error) => Err(no_vectors(document, error)),
        }
    }

    async fn vectors(&self, group: &[Prepared]) -> Result<Vec<Vec<f32>>, llm::Error> {
        let texts = group.iter().flat_map(|document| &document.texts);
        let texts: Vec<_> = texts.map(String::as_str).collect();
        self.embedder.embed_all(&texts, self.batch()).await
    }

    fn batch(&self) -> usize {
        let usual = self.embedder.max_batch();
        self.settings.batch_size.unwrap_or(usual).max(1)
    }

    /// Returns the settings that the rows of a document depend on.
    fn settings_text(&self) -> String {
        let (provider, model) = (self.embedder.provider(), self.embedder.model());
        let url = self.settings.url.as_deref();
        let url = url.map_or_else(String::new, |url| format!(" {url}"));
        format!(
            "{FORMAT} {:?} {provider} {model}{url}",
            self.settings.splitter
        )
    }

    /// Takes the lock of the table, which ends with the connection. There is no lock in a dry run,
    /// or behind a pooler that shares connections.
    async fn lock(&self) -> Result<Option<Client>, IngestError> {
        let table = &self.settings.table.table;
        let task = || format!("locking table {table}");
        if self.settings.dry_run || self.pool.lease().await?.is_shared() {
            return Ok(None);
        }
        let mut client = self.pool.side_connection().await?;
        for _ in 0..LOCK_ATTEMPTS {
            let sql = "SELECT pg_catalog.pg_try_advisory_lock(
                pg_catalog.hashtextextended('ziggurat-ingest ' || $1, 0))";
            let lock = query(sql).in_catalog().bind(table);
            let row = lock.fetch_optional(&mut client).await;
            let taken = row.during(task())?.map(|row| row.get(0)).transpose();
            if taken.during(task())? == Some(true) {
                return Ok(Some(client));
            }
            // The server may not have noticed yet that a run was killed.
            time::sleep(LOCK_PAUSE).await;
        }
        let table = table.clone();
        Err(IngestError::Locked { table })
    }

    /// Reads the definition of the table, which is created if it is missing. Returns `None` if it
    /// would be created.
    async fn table(&self, tell: &mut impl FnMut(Event<'_>)) -> Result<Option<Table>, IngestError> {
        let name = &self.settings.table;
        let mut lease = self.pool.lease().await?;
        let table = Table::load(name, lease.begin()).await?;
        if table.is_some() || self.settings.dry_run {
            lease.settle();
            return Ok(table);
        }
        let rights = table::may_create(&self.settings, lease.begin()).await?;
        lease.settle();
        let probe = self.embedder.embed(PROBE).await;
        let probe = probe.map_err(|error| IngestError::Embedding {
            name: "the dimensions of the model".to_owned(),
            error,
        })?;
        let statements = table::statements(&self.settings, probe.vector.len(), &rights);
        let reason = match self.settings.create {
            Some(false) => Some("pipelines[].ingest.create is false"),
            None if !rights.is_allowed => Some("the role may not create it"),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(IngestError::NoTable {
                table: name.table.clone(),
                reason,
                statements,
            });
        }
        let script = format!("BEGIN; {}; COMMIT", statements.join("; "));
        let mut lease = self.pool.lease().await?;
        let created = lease.begin().ask(&script).await;
        created.during(format!("creating table {}", name.table))?;
        let table = Table::load(name, lease.begin()).await?;
        lease.settle();
        tell(Event::Created { table: &name.table });
        Ok(table)
    }
}

async fn write(
    store: &Store<'_>,
    document: &Prepared,
    vectors: &[Vec<f32>],
) -> Result<Written, IngestError> {
    for vector in vectors {
        store.table.check_dimensions(vector.len())?;
    }
    store.replace(document, vectors).await?;
    Ok(Written::of(document, None))
}

fn no_vectors(document: &Prepared, error: llm::Error) -> IngestError {
    IngestError::Embedding {
        name: document.id.clone(),
        error,
    }
}

// === impl Written ===

impl Written {
    fn of(document: &Prepared, refusal: Option<String>) -> Self {
        Self {
            id: document.id.clone(),
            passages: document.passages.len(),
            refusal,
        }
    }
}
