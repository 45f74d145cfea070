//! Rows and their columns.

use std::{io, sync::Arc};

use bytes::Bytes;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::RowDescriptionBody;

use super::DriverError;
use crate::large_rows::Room;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub(crate) name: String,
    /// The number of its type in `pg_type`; of a domain, of what it is made of.
    pub(crate) type_oid: u32,
}

/// A row, as it came over the wire.
#[derive(Clone, Debug)]
pub struct Row {
    /// For each value its length, and so many bytes; checked when the row was made.
    body: Bytes,
    fields: Arc<[Field]>,
    /// Of a large row.
    room: Option<Arc<Room>>,
}

/// The values of a row, in their order.
pub(crate) struct Values<'a> {
    rest: &'a [u8],
}

/// A type that a value can be read as.
pub trait FromText: Sized {
    /// Reads the text of a value, `None` for NULL.
    fn from_text(text: Option<&str>) -> Result<Self, RowError>;
}

/// A row has no such value, or the value is of another type.
pub(crate) type RowError = DriverError;

// === impl Row ===

impl Row {
    /// Takes the body of a message apart.
    pub(super) fn new(mut body: Bytes, fields: &Arc<[Field]>) -> Result<Self, DriverError> {
        let wrong = DriverError::Protocol("a row is not what was announced");
        let Some((count, values)) = body.split_first_chunk::<2>() else {
            return Err(wrong);
        };
        let count = usize::from(u16::from_be_bytes(*count));
        let mut values = Values { rest: values };
        if count != fields.len() || values.by_ref().count() != count || !values.rest.is_empty() {
            return Err(wrong);
        }
        Ok(Self {
            body: body.split_off(2),
            fields: Arc::clone(fields),
            room: None,
        })
    }

    pub(super) fn with_room(mut self, room: Option<Room>) -> Self {
        self.room = room.map(Arc::new);
        self
    }

    /// The room it takes, if it is large.
    pub(crate) fn room(&self) -> Option<&Arc<Room>> {
        self.room.as_ref()
    }

    /// The columns.
    pub fn fields(&self) -> &Arc<[Field]> {
        &self.fields
    }

    /// The values in the order of the columns, `None` for NULL.
    pub(crate) fn values(&self) -> Values<'_> {
        Values { rest: &self.body }
    }

    /// One value, `None` for NULL.
    pub fn value(&self, index: usize) -> Result<Option<&[u8]>, RowError> {
        let value = self.values().nth(index);
        value.ok_or(DriverError::Protocol("a row has too few values"))
    }

    /// Reads a value as a type of ours.
    pub fn get<T: FromText>(&self, index: usize) -> Result<T, RowError> {
        let text = self.value(index)?.map(str::from_utf8).transpose();
        T::from_text(text.map_err(DriverError::value)?)
    }

    /// The text of a value that is not NULL.
    pub fn text(&self, index: usize) -> Result<&str, RowError> {
        let bytes = self.value(index)?.unwrap_or_default();
        str::from_utf8(bytes).map_err(DriverError::value)
    }
}

impl FromText for String {
    fn from_text(text: Option<&str>) -> Result<Self, RowError> {
        text.map(str::to_owned).ok_or(NULL)
    }
}

impl FromText for i64 {
    fn from_text(text: Option<&str>) -> Result<Self, RowError> {
        text.ok_or(NULL)?.parse().map_err(DriverError::value)
    }
}

impl FromText for f64 {
    fn from_text(text: Option<&str>) -> Result<Self, RowError> {
        text.ok_or(NULL)?.parse().map_err(DriverError::value)
    }
}

impl FromText for bool {
    fn from_text(text: Option<&str>) -> Result<Self, RowError> {
        Ok(text.ok_or(NULL)? == "t")
    }
}

impl<T: FromText> FromText for Option<T> {
    fn from_text(text: Option<&str>) -> Result<Self, RowError> {
        text.map(|text| T::from_text(Some(text))).transpose()
    }
}

const NULL: DriverError = DriverError::Protocol("a value is NULL where none may be");

// === impl Values ===

impl<'a> Iterator for Values<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length);
        let Ok(length) = usize::try_from(length) else {
            self.rest = rest;
            return Some(None);
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Some(value))
    }
}

/// The columns that a server describes.
pub(super) fn fields(body: &RowDescriptionBody) -> io::Result<Arc<[Field]>> {
    let fields = body.fields().map(|field| {
        Ok(Field {
            name: field.name().to_owned(),
            type_oid: field.type_oid(),
        })
    });
    fields.collect::<Vec<_>>().map(Into::into)
}

/// The count at the end of a command tag such as `INSERT 0 5`; zero if there is none.
pub(super) fn count(tag: &str) -> u64 {
    let last = tag.rsplit(' ').next().unwrap_or_default();
    last.parse().unwrap_or(0)
}
