//! Rows and their columns.

use std::{io, sync::Arc};

use bytes::Bytes;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::RowDescriptionBody;

use crate::{driver::DriverError, large_rows::LargeRowPermit};

/// Column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub(crate) name: String,
    /// The OID of its type, or of the base type of its domain.
    pub(crate) type_oid: u32,
    /// The OID of its table and its number there; zeros if it is not a column of a table.
    pub(crate) origin: (u32, i16),
}

/// Row, as it was received.
#[derive(Clone, Debug)]
pub struct Row {
    /// The length and the bytes of each value; validated in `new`.
    body: Bytes,
    fields: Arc<[Field]>,
    /// Permit of a large row.
    permit: Option<Arc<LargeRowPermit>>,
}

/// Values of a row, in their order.
pub(crate) struct Values<'a> {
    rest: &'a [u8],
}

/// Type that a value can be read as.
pub trait FromText: Sized {
    /// Reads a value from its text, `None` for NULL.
    fn from_text(text: Option<&str>) -> Result<Self, RowError>;
}

/// Error for a value that is missing or of another type.
pub(crate) type RowError = DriverError;

// === impl Row ===

impl Row {
    /// Parses the body of a message. A large row has a permit.
    pub(super) fn new(
        mut body: Bytes,
        fields: &Arc<[Field]>,
        permit: Option<LargeRowPermit>,
    ) -> Result<Self, DriverError> {
        let wrong = DriverError::Protocol("a row does not match its description");
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
            permit: permit.map(Arc::new),
        })
    }

    /// Makes a row of texts that were not received.
    pub(crate) fn of_texts(texts: &[&str]) -> Self {
        let mut body = Vec::new();
        for text in texts {
            // A text that is longer than PostgreSQL allows is left out.
            let (length, text) =
                i32::try_from(text.len()).map_or((0, ""), |length| (length, *text));
            body.extend(length.to_be_bytes());
            body.extend(text.bytes());
        }
        Self {
            body: body.into(),
            fields: Arc::default(),
            permit: None,
        }
    }

    /// Returns a row with other values, and the permit of this one.
    pub(crate) fn with_values(
        &self,
        values: impl Iterator<Item = Option<impl AsRef<[u8]>>>,
    ) -> Self {
        let mut body = Vec::with_capacity(self.body.len());
        for value in values {
            // A value that is longer than PostgreSQL allows is left out, as NULL.
            let sized = value.and_then(|it| Some((i32::try_from(it.as_ref().len()).ok()?, it)));
            if let Some((length, value)) = sized {
                body.extend(length.to_be_bytes());
                body.extend_from_slice(value.as_ref());
            } else {
                body.extend((-1_i32).to_be_bytes());
            }
        }
        Self {
            body: body.into(),
            fields: Arc::clone(&self.fields),
            permit: self.permit.clone(),
        }
    }

    /// Returns its permit, if it is large.
    pub(crate) fn permit(&self) -> Option<&Arc<LargeRowPermit>> {
        self.permit.as_ref()
    }

    /// Returns the columns.
    pub fn fields(&self) -> &Arc<[Field]> {
        &self.fields
    }

    /// Returns the number of bytes of the message.
    #[must_use]
    pub fn size(&self) -> usize {
        self.body.len()
    }

    /// Returns the values in the order of the columns, `None` for NULL.
    pub(crate) fn values(&self) -> Values<'_> {
        Values { rest: &self.body }
    }

    /// Returns one value, `None` for NULL.
    pub fn value(&self, index: usize) -> Result<Option<&[u8]>, RowError> {
        let value = self.values().nth(index);
        value.ok_or(DriverError::Protocol("a row has too few values"))
    }

    /// Reads a value as a Rust type.
    pub fn get<T: FromText>(&self, index: usize) -> Result<T, RowError> {
        let text = self.value(index)?.map(str::from_utf8).transpose();
        T::from_text(text.map_err(DriverError::value)?)
    }

    /// Returns the text of a value, empty for NULL.
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

impl FromText for u32 {
    fn from_text(text: Option<&str>) -> Result<Self, RowError> {
        text.ok_or(NULL)?.parse().map_err(DriverError::value)
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

const NULL: DriverError = DriverError::Protocol("an unexpected NULL");

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

/// Reads the columns of a row description.
pub(super) fn fields(body: &RowDescriptionBody) -> io::Result<Arc<[Field]>> {
    let fields = body.fields().map(|field| {
        Ok(Field {
            name: field.name().to_owned(),
            type_oid: field.type_oid(),
            origin: (field.table_oid(), field.column_id()),
        })
    });
    fields.collect::<Vec<_>>().map(Into::into)
}

/// Returns the count at the end of a command tag such as `INSERT 0 5`; zero without a count.
pub(super) fn count(tag: &str) -> u64 {
    let last = tag.rsplit(' ').next().unwrap_or_default();
    last.parse().unwrap_or(0)
}
