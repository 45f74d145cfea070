//! The words of a database: which table, column, enum, term or function has each.

use std::{collections::HashMap, ops::Range};

use ziggurat_postgres::metadata::{EnumType, Function, Metadata, Table};

use crate::{Glossary, search_schema::words};

/// Number of words that are read of a comment, a note or the labels of an enum.
const MAX_WORDS: usize = 100;

/// An entry that has a word: its number, the places of the word, and how often it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting(u32);

/// Bits of a posting below the number.
const NUMBER_SHIFT: u32 = 5;

/// Bits of a posting below the count.
const COUNT_SHIFT: u32 = 2;

/// The largest count.
const MAX_COUNT: u32 = 7;

/// The word is in the name of the entry.
const IN_NAME: u32 = 1;

/// The word is in the name of a column of the table.
const IN_COLUMN: u32 = 2;

/// Something that can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A table or view, by its position in the metadata.
    Table(usize),
    /// An enum, by its position in the metadata.
    Enum(usize),
    /// A term, by its position in the glossary.
    Term(usize),
    /// A function, by its position in the metadata.
    Function(usize),
    /// A column, by the position of its table and its own.
    Column(usize, usize),
}

/// Words and entries of a snapshot of a database.
///
/// An entry has a number: first the tables, then enums, terms, functions and columns, each in order, so
/// that equal ranks are ordered by schema and name. Partitions have numbers but no words: their
/// parent is found instead.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Sorted.
    words: Vec<Box<str>>,
    /// Of each word: the start of its postings; one more for the end of the last.
    starts: Vec<u32>,
    /// Sorted by number for each word.
    postings: Vec<Posting>,
    /// Of each entry: the number of distinct words in its name.
    name_words: Vec<u8>,
    /// Of each table: the words of its texts and columns.
    lengths: Vec<u32>,
    average_length: f32,
    tables: usize,
    enums: usize,
    terms: usize,
    functions: usize,
    /// Of each table: the position of its first column among all columns.
    first_columns: Vec<u32>,
    columns: usize,
}

/// Postings in the order of the metadata.
#[derive(Default)]
struct Builder<'a> {
    known: HashMap<Box<str>, u32>,
    texts: HashMap<&'a str, Box<[u32]>>,
    /// Word and posting.
    pairs: Vec<(u32, Posting)>,
    index: Index,
}

// === impl Index ===

impl Index {
    /// Reads all words of a snapshot.
    pub(super) fn new<'a>(metadata: &'a Metadata, database: &str, glossary: &'a Glossary) -> Self {
        let mut builder = Builder::new(metadata, glossary);
        for (at, table) in metadata.tables().enumerate() {
            let names = (table.schema(), table.name());
            builder.add_table(at, table, |column| {
                glossary.note(database, names, column).unwrap_or_default()
            });
        }
        for (at, kind) in metadata.enums().enumerate() {
            builder.add_enum(at, kind);
        }
        for (at, (term, note)) in glossary.terms().enumerate() {
            builder.add_term(at, term, note);
        }
        for (at, function) in metadata.functions().enumerate() {
            builder.add_function(at, function);
        }
        builder.finish()
    }

    /// Returns the words, sorted.
    pub(super) fn words(&self) -> &[Box<str>] {
        &self.words
    }

    /// Returns the positions of the words that begin like this.
    pub(super) fn beginning(&self, start: &str) -> Range<usize> {
        let first = self.words.partition_point(|word| &**word < start);
        let rest = self.words.get(first..).unwrap_or_default();
        first..first + rest.partition_point(|word| word.starts_with(start))
    }

    /// Returns the entries that have a word: first those that are no columns, then the columns. A
    /// table has the words of its columns, too.
    pub(super) fn postings(&self, word: usize) -> (&[Posting], &[Posting]) {
        let bounds = self.starts.get(word).zip(self.starts.get(word + 1));
        let found =
            bounds.and_then(|(&start, &end)| self.postings.get(start as usize..end as usize));
        let found = found.unwrap_or_default();
        found.split_at(found.partition_point(|posting| posting.number() < self.top_level()))
    }

    /// Returns the columns of a table that have a word: the position of each, and its posting.
    pub(super) fn columns_with(
        &self,
        word: usize,
        table: usize,
    ) -> impl Iterator<Item = (usize, Posting)> {
        let (_, columns) = self.postings(word);
        let (first, end) = (self.column(table, 0), self.column(table + 1, 0));
        let start = columns.partition_point(|posting| posting.number() < first);
        let columns = columns.get(start..).unwrap_or_default().iter();
        columns
            .map(move |&posting| (posting.number() - first, posting))
            .take_while(move |(_, posting)| posting.number() < end)
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.name_words.len()
    }

    /// Returns the number of entries that are no columns.
    pub(super) fn top_level(&self) -> usize {
        self.tables + self.enums + self.terms + self.functions
    }

    /// Returns the number of distinct words in the name of an entry.
    pub(super) fn name_words(&self, number: usize) -> u8 {
        self.name_words.get(number).copied().unwrap_or_default()
    }

    /// Returns the length of an entry, as a share of the average.
    pub(super) fn length(&self, number: usize) -> f32 {
        match self.lengths.get(number) {
            #[expect(clippy::cast_precision_loss, reason = "lengths are small")]
            Some(&length) if self.average_length > 0.0 => length as f32 / self.average_length,
            _ => 1.0,
        }
    }

    /// Returns the entry of a number.
    pub(super) fn entry(&self, number: usize) -> Entry {
        let kinds = [
            (self.tables, Entry::Table as fn(usize) -> Entry),
            (self.enums, Entry::Enum),
            (self.terms, Entry::Term),
            (self.functions, Entry::Function),
        ];
        let mut column = number;
        for (count, entry) in kinds {
            if column < count {
                return entry(column);
            }
            column -= count;
        }
        let behind = self
            .first_columns
            .partition_point(|&first| first as usize <= column);
        let table = behind.saturating_sub(1);
        let first = self.first_columns.get(table).copied().unwrap_or_default();
        Entry::Column(table, column.saturating_sub(first as usize))
    }

    /// Returns the number of a column.
    pub(super) fn column(&self, table: usize, column: usize) -> usize {
        let first = self.first_columns.get(table).map(|&first| first as usize);
        self.top_level() + first.unwrap_or(self.columns) + column
    }
}

// === impl Posting ===

impl Posting {
    fn new(number: usize, count: u32, flags: u32) -> Self {
        let count = count.min(MAX_COUNT) << COUNT_SHIFT;
        Self(position(number) << NUMBER_SHIFT | count | flags)
    }

    /// Returns the number of the entry.
    pub(super) fn number(self) -> usize {
        (self.0 >> NUMBER_SHIFT) as usize
    }

    /// Returns how often the entry has the word; a name counts twice.
    pub(super) fn count(self) -> u32 {
        self.0 >> COUNT_SHIFT & MAX_COUNT
    }

    /// Returns whether the word is in the name of the entry.
    pub(super) fn is_in_name(self) -> bool {
        self.0 & IN_NAME != 0
    }

    /// Returns whether the word is in the name of a column of the table.
    pub(super) fn is_in_column(self) -> bool {
        self.0 & IN_COLUMN != 0
    }

    /// Returns the posting of a column for its table.
    fn of_table(self, table: usize) -> Self {
        let flags = if self.is_in_name() { IN_COLUMN } else { 0 };
        Self::new(table, self.count(), flags)
    }

    /// Adds another posting of the entry.
    fn with(self, other: Self) -> Self {
        let flags = (self.0 | other.0) & (IN_NAME | IN_COLUMN);
        Self::new(self.number(), self.count() + other.count(), flags)
    }
}

// === impl Builder ===

impl<'a> Builder<'a> {
    fn new(metadata: &'a Metadata, glossary: &Glossary) -> Self {
        let mut index = Index {
            tables: metadata.tables().len(),
            enums: metadata.enums().count(),
            terms: glossary.terms().len(),
            functions: metadata.functions().len(),
            ..Index::default()
        };
        for table in metadata.tables() {
            index.first_columns.push(position(index.columns));
            index.columns += table.columns().len();
        }
        let entries = index.top_level() + index.columns;
        index.name_words = vec![0; entries];
        Self {
            index,
            ..Self::default()
        }
    }

    fn add_table(&mut self, at: usize, table: Table<'a>, note: impl Fn(Option<&str>) -> &'a str) {
        let before = self.pairs.len();
        if !table.is_partition() {
            self.add_name(at, table.name());
            for text in [table.schema(), table.comment(), note(None)] {
                self.add_text(at, text);
            }
            for (place, column) in table.columns().enumerate() {
                let number = self.index.column(at, place);
                let start = self.pairs.len();
                self.add_name(number, column.name());
                self.add_text(number, column.comment());
                self.add_text(number, note(Some(column.name())));
                if let Some(kind) = column.enum_type() {
                    self.add_labels(number, kind);
                }
                self.add_to_table(at, start);
            }
        }
        let length = position(self.pairs.len() - before);
        self.index.lengths.push(length);
    }

    /// Adds the words of a column, which begin at `start`, to its table.
    fn add_to_table(&mut self, table: usize, start: usize) {
        for at in start..self.pairs.len() {
            if let Some(&(word, posting)) = self.pairs.get(at) {
                self.pairs.push((word, posting.of_table(table)));
            }
        }
    }

    fn add_enum(&mut self, at: usize, kind: EnumType<'a>) {
        let number = self.index.tables + at;
        self.add_name(number, kind.name());
        self.add_text(number, kind.schema());
        self.add_text(number, kind.comment());
        self.add_labels(number, kind);
    }

    fn add_term(&mut self, at: usize, term: &'a str, note: &'a str) {
        let number = self.index.tables + self.index.enums + at;
        self.add_name(number, term);
        self.add_text(number, note);
    }

    fn add_function(&mut self, at: usize, function: Function<'a>) {
        let number = self.index.tables + self.index.enums + self.index.terms + at;
        self.add_name(number, function.name);
        self.add_text(number, function.schema);
        self.add_text(number, function.comment);
    }

    fn add_labels(&mut self, number: usize, kind: EnumType<'a>) {
        for label in kind.labels().take(MAX_WORDS) {
            self.add_text(number, label);
        }
    }

    fn add_name(&mut self, number: usize, name: &'a str) {
        let mut words = self.read(name);
        words.sort_unstable();
        words.dedup();
        if let Some(count) = self.index.name_words.get_mut(number) {
            *count = u8::try_from(words.len()).unwrap_or(u8::MAX);
        }
        self.post(&words, Posting::new(number, 2, IN_NAME));
    }

    fn add_text(&mut self, number: usize, text: &'a str) {
        if !text.is_empty() {
            let words = self.read(text);
            self.post(&words, Posting::new(number, 1, 0));
        }
    }

    fn post(&mut self, words: &[u32], posting: Posting) {
        let pairs = words.iter().map(|&word| (word, posting));
        self.pairs.extend(pairs);
    }

    /// Returns the words of a text, by the order in which they were found first. Names of columns
    /// come again and again, and are split once.
    fn read(&mut self, text: &'a str) -> Vec<u32> {
        if let Some(known) = self.texts.get(text) {
            return known.to_vec();
        }
        let mut found = Vec::new();
        words::each(text, |word| {
            if found.len() < MAX_WORDS {
                let next = position(self.known.len());
                let number = match self.known.get(word) {
                    Some(&known) => known,
                    None => *self.known.entry(word.into()).or_insert(next),
                };
                found.push(number);
            }
        });
        self.texts.insert(text, found.as_slice().into());
        found
    }

    fn finish(mut self) -> Index {
        let mut words: Vec<_> = self.known.into_iter().collect();
        words.sort_unstable();
        let mut ranks = vec![0; words.len()];
        for (rank, (_, number)) in words.iter().enumerate() {
            if let Some(place) = ranks.get_mut(*number as usize) {
                *place = position(rank);
            }
        }
        for (word, _) in &mut self.pairs {
            *word = ranks.get(*word as usize).copied().unwrap_or_default();
        }
        self.pairs.sort_unstable();
        self.pairs.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0 && next.1.number() == kept.1.number();
            if is_same {
                kept.1 = kept.1.with(next.1);
            }
            is_same
        });
        let mut index = self.index;
        index.words = words.into_iter().map(|(word, _)| word).collect();
        index.starts = vec![0; index.words.len() + 1];
        for (word, posting) in self.pairs {
            index.postings.push(posting);
            if let Some(end) = index.starts.get_mut(word as usize + 1) {
                *end = position(index.postings.len());
            }
        }
        let lengths: u64 = index.lengths.iter().map(|&length| u64::from(length)).sum();
        #[expect(clippy::cast_precision_loss, reason = "an average may be rounded")]
        let average = lengths as f32 / index.lengths.len().max(1) as f32;
        index.average_length = average;
        index
    }
}

fn position(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
