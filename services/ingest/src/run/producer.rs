//! Reads and splits the documents that are new or changed.

use std::{collections::VecDeque, mem, sync::Arc};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};
use ziggurat_documents::{Document, Source, Splitter};
use ziggurat_runtime::causes;

use crate::{
    error::IngestError,
    event::Event,
    input::{Content, Input, InputReader, Item},
    packed::PackedReader,
    place::{Seen, digest},
    prepared::{Origin, Prepared},
    settings::Settings,
    store::Known,
};

/// Number of documents that are read ahead.
const READ_AHEAD: usize = 2;

/// Maximum size of the texts of a group, in bytes, so that few large documents are in memory.
const MAX_GROUP: usize = 1 << 20;

/// Reads documents, and puts those that are new or changed into groups.
pub(super) struct Producer<'a> {
    items: mpsc::Receiver<Result<Item, IngestError>>,
    /// The thread that reads files, or waits for standard input.
    _reading: JoinSet<()>,
    known: &'a Known,
    splitter: Splitter,
    packed: Option<PackedReader>,
    /// Number of passages of a group, after which another begins.
    batch: usize,
    group: Vec<Prepared>,
    /// Permits one document at a time that is larger than a group.
    large: Arc<Semaphore>,
    ready: VecDeque<Step>,
    /// The documents that exist.
    pub(super) seen: Seen,
}

/// Step of a run.
pub(super) enum Step {
    Note(Note),
    /// Documents to be written, with the permit of a large one.
    Group(Vec<Prepared>, Option<OwnedSemaphorePermit>),
}

/// Something to tell.
pub(super) enum Note {
    FileRead,
    Kept(String),
    LeftOut(String, &'static str),
    Skipped(String, String),
}

// === impl Producer ===

impl<'a> Producer<'a> {
    /// Reads the documents of an input. Groups have about `batch` passages.
    pub(super) fn new(
        input: Input,
        known: &'a Known,
        settings: &Settings,
        settings_text: String,
        batch: usize,
    ) -> Self {
        let skipped = &input.found().skipped;
        let ready = skipped
            .iter()
            .map(|(name, reason)| Step::Note(Note::Skipped(name.clone(), reason.clone())));
        let ready = ready.collect();
        let seen = Seen {
            unread: input.unread(),
            ..Seen::default()
        };
        let (items, receiver) = mpsc::channel(READ_AHEAD);
        let mut reading = JoinSet::new();
        let reader = input.reader(settings_text, settings.url.clone());
        reading.spawn_blocking(move || read(reader, &items));
        Self {
            ready,
            seen,
            items: receiver,
            _reading: reading,
            known,
            splitter: settings.splitter,
            packed: settings.packed.clone(),
            batch,
            group: Vec::new(),
            large: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns the next step, or `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Step>, IngestError> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Ok(Some(step));
            }
            let Some(item) = self.items.recv().await.transpose()? else {
                let group = mem::take(&mut self.group);
                return Ok((!group.is_empty()).then_some(Step::Group(group, None)));
            };
            match item {
                Item::FileRead => self.note(Note::FileRead),
                Item::Skipped {
                    name,
                    reason,
                    unread,
                } => self.skip(name, reason, unread),
                Item::Document(origin, content) => self.document(origin, content).await,
            }
        }
    }

    fn note(&mut self, note: Note) {
        self.ready.push_back(Step::Note(note));
    }

    fn skip(&mut self, name: String, reason: String, unread: Vec<String>) {
        self.seen.unread.extend(unread);
        self.note(Note::Skipped(name, reason));
    }

    async fn document(&mut self, origin: Origin, content: Content) {
        let is_file = !matches!(content, Content::Read(_));
        if !self.seen.ids.insert(digest(&origin.id)) {
            let reason = "another document has the same id";
            self.note(Note::Skipped(origin.id, reason.to_owned()));
        } else if self.known.has(&origin) {
            self.note(Note::Kept(origin.id));
        } else {
            match content {
                Content::Text(kind, text) => {
                    self.prepare(origin, Document::read(kind, &text)).await;
                }
                Content::Read(document) => self.prepare(origin, document).await,
                Content::Packed(source) => self.packed(origin, &source).await,
            }
        }
        if is_file {
            self.note(Note::FileRead);
        }
    }

    /// Reads a document in another process, and names the parts that have no text.
    async fn packed(&mut self, origin: Origin, source: &Source) {
        let Some(reader) = &self.packed else {
            return self.note(Note::LeftOut(origin.id, "its format is not read"));
        };
        match reader.read(source).await {
            Ok(unpacked) => {
                for (part, reason) in unpacked.skipped {
                    let name = format!("{}, {part}", origin.id);
                    self.note(Note::Skipped(name, reason));
                }
                self.prepare(origin, unpacked.document).await;
            }
            Err(error) => {
                let unread = vec![origin.id.clone()];
                self.skip(origin.id, causes(&error), unread);
            }
        }
    }

    async fn prepare(&mut self, origin: Origin, document: Document) {
        let blocks = document.sections.iter().flat_map(|one| &one.blocks);
        let size: usize = blocks.map(|block| block.text.len()).sum();
        // The passages and the vectors of a large document take many times its size.
        let permit = if size >= MAX_GROUP {
            Arc::clone(&self.large).acquire_owned().await.ok()
        } else {
            None
        };
        let prepared = Prepared::new(origin, &document, self.splitter);
        drop(document);
        if prepared.passages.is_empty() {
            self.note(Note::LeftOut(prepared.id.clone(), "it has no text"));
            if !self.known.contains(&prepared.id) {
                return;
            }
        }
        self.group.push(prepared);
        let passages: usize = self.group.iter().map(|one| one.passages.len()).sum();
        let texts = self.group.iter().flat_map(|one| &one.texts);
        let bytes: usize = texts.map(String::len).sum();
        if passages >= self.batch || bytes >= MAX_GROUP || permit.is_some() {
            let group = mem::take(&mut self.group);
            self.ready.push_back(Step::Group(group, permit));
        }
    }
}

/// Reads documents until the end, or until there is no receiver for them.
fn read(mut reader: InputReader, items: &mpsc::Sender<Result<Item, IngestError>>) {
    while let Some(item) = reader.next().transpose() {
        if items.blocking_send(item).is_err() {
            return;
        }
    }
}

// === impl Note ===

impl Note {
    pub(super) fn event(&self) -> Event<'_> {
        match self {
            Self::FileRead => Event::FileRead,
            Self::Kept(id) => Event::Kept { id },
            Self::LeftOut(name, reason) => Event::LeftOut { name, reason },
            Self::Skipped(name, reason) => Event::Skipped { name, reason },
        }
    }
}
