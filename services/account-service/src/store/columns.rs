//! Columns and values in the forms of the accounts.

use ziggurat_state::{Row, StoreError, Value};

use crate::{Id, InvalidId, UnixTime};

/// Reads columns of a row in the forms of the accounts.
pub(super) trait Columns {
    /// Returns the id in a column.
    fn id(&self, at: usize) -> Result<Id, StoreError>;

    /// Returns the time in a column.
    fn time(&self, at: usize) -> Result<UnixTime, StoreError>;

    /// Returns whether the number in a column is not zero.
    fn flag(&self, at: usize) -> Result<bool, StoreError>;
}

// === impl Columns ===

impl Columns for Row {
    fn id(&self, at: usize) -> Result<Id, StoreError> {
        let text: String = self.get(at)?;
        text.parse()
            .map_err(|error: InvalidId| sqlx::Error::Decode(error.into()).into())
    }

    fn time(&self, at: usize) -> Result<UnixTime, StoreError> {
        self.get(at).map(UnixTime::from_seconds)
    }

    fn flag(&self, at: usize) -> Result<bool, StoreError> {
        self.get(at).map(|number: i64| number != 0)
    }
}

// === impl Value ===

impl From<Id> for Value {
    fn from(id: Id) -> Self {
        id.to_string().into()
    }
}

impl From<UnixTime> for Value {
    fn from(at: UnixTime) -> Self {
        at.seconds().into()
    }
}
