//! Enums and their labels.

use std::{collections::HashMap, fmt, num::NonZeroU16, ops::Range};

use crate::{
    driver::{DriverError, Row},
    metadata::{
        Content, Metadata,
        field::{number, text},
        interner::{InternerBuilder, TextId},
    },
};

/// Maximum number of enums.
const MAX_ENUMS: u16 = 10_000;

/// Maximum number of types between a column and its enum: domains over domains and arrays.
const MAX_DEPTH: u32 = 16;

/// Enum, a type with a fixed list of values.
#[derive(Clone, Copy)]
pub struct EnumType<'a> {
    metadata: &'a Metadata,
    entry: &'a EnumEntry,
}

/// Enums of a database.
#[derive(Default)]
pub(super) struct Enums {
    /// Sorted by schema and name.
    entries: Vec<EnumEntry>,
    labels: Vec<TextId>,
}

struct EnumEntry {
    schema: TextId,
    name: TextId,
    comment: TextId,
    labels: Range<u32>,
}

/// Enums that are still being collected.
#[derive(Default)]
pub(super) struct EnumsBuilder {
    enums: Enums,
    is_full: bool,
    /// Positions, counted from one, by OID.
    positions: HashMap<u32, NonZeroU16>,
    /// The base type of each domain, and the element type of each array of an enum or a domain.
    underlying: HashMap<u32, u32>,
}

// === impl EnumType ===

impl<'a> EnumType<'a> {
    /// Returns the name of its schema.
    #[must_use]
    pub fn schema(self) -> &'a str {
        self.metadata.content.words.text(self.entry.schema)
    }

    /// Returns its name in the schema.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.metadata.content.words.text(self.entry.name)
    }

    /// Returns its comment, or an empty text.
    #[must_use]
    pub fn comment(self) -> &'a str {
        self.metadata.content.words.text(self.entry.comment)
    }

    /// Returns its first 1,000 values in their order.
    pub fn labels(self) -> impl Iterator<Item = &'a str> {
        let Content { words, enums, .. } = &*self.metadata.content;
        let Range { start, end } = self.entry.labels;
        let labels = enums.labels[start as usize..end as usize].iter();
        labels.map(|&label| words.text(label))
    }
}

impl fmt::Debug for EnumType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ENUM {}.{}", self.schema(), self.name())
    }
}

// === impl Enums ===

impl Enums {
    pub(super) fn all<'a>(&'a self, metadata: &'a Metadata) -> impl Iterator<Item = EnumType<'a>> {
        let entries = self.entries.iter();
        entries.map(move |entry| EnumType { metadata, entry })
    }

    pub(super) fn get<'a>(
        &'a self,
        metadata: &'a Metadata,
        position: NonZeroU16,
    ) -> Option<EnumType<'a>> {
        let entry = self.entries.get(usize::from(position.get()) - 1)?;
        Some(EnumType { metadata, entry })
    }
}

// === impl EnumsBuilder ===

impl EnumsBuilder {
    /// Reads an enum or a domain.
    pub(super) fn read(
        &mut self,
        row: &Row,
        words: &mut InternerBuilder,
        limit: usize,
    ) -> Result<(), DriverError> {
        let (oid, array, base) = (number(row, 0)?, number(row, 1)?, number(row, 2)?);
        self.underlying.insert(array, oid);
        if base != 0 {
            self.underlying.insert(oid, base);
            return Ok(());
        }
        let labels: Vec<String> =
            serde_json::from_str(&text(row, 6)?).map_err(DriverError::value)?;
        let mut keep = |text: &str| words.keep(text, limit);
        let texts = (
            keep(&text(row, 3)?),
            keep(&text(row, 4)?),
            keep(&text(row, 5)?),
        );
        let labels: Option<Vec<_>> = labels.iter().map(|label| keep(label)).collect();
        let (Some(schema), Some(name), Some(comment)) = texts else {
            self.is_full = true;
            return Ok(());
        };
        let position = u16::try_from(self.enums.entries.len() + 1).ok();
        let position = position.filter(|&position| position <= MAX_ENUMS && !self.is_full);
        let (Some(labels), Some(position)) = (labels, position.and_then(NonZeroU16::new)) else {
            self.is_full = true;
            return Ok(());
        };
        let start = length(&self.enums.labels);
        self.enums.labels.extend(labels);
        self.enums.entries.push(EnumEntry {
            schema,
            name,
            comment,
            labels: start..length(&self.enums.labels),
        });
        self.positions.insert(oid, position);
        Ok(())
    }

    /// Finds the enum of a column with this type.
    pub(super) fn find(&self, type_oid: &str) -> Option<NonZeroU16> {
        let mut type_oid = type_oid.parse().ok()?;
        for _ in 0..MAX_DEPTH {
            if let Some(&position) = self.positions.get(&type_oid) {
                return Some(position);
            }
            type_oid = *self.underlying.get(&type_oid)?;
        }
        None
    }

    pub(super) fn finish(self) -> Enums {
        let mut enums = self.enums;
        enums.entries.shrink_to_fit();
        enums.labels.shrink_to_fit();
        enums
    }
}

fn length(labels: &[TextId]) -> u32 {
    u32::try_from(labels.len()).unwrap_or(u32::MAX)
}
