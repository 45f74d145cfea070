//! Values and columns in the forms of a sign-in.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ziggurat_mcp_auth::{Origin, Seconds};
use ziggurat_state::{Row, StoreError, Value};

/// Reads columns of a row in the forms of a sign-in.
pub(super) trait Columns {
    /// Returns the moment in a column.
    fn moment(&self, at: usize) -> Result<Seconds, StoreError>;

    /// Returns whether the number in a column is not zero.
    fn flag(&self, at: usize) -> Result<bool, StoreError>;

    /// Returns the bytes in a column; zeros for a text that is not one of this many bytes.
    fn bytes<const N: usize>(&self, at: usize) -> Result<[u8; N], StoreError>;

    /// Returns the account at another provider in two columns, if there is one.
    fn origin(&self, at: usize) -> Result<Option<Origin>, StoreError>;
}

// === impl Columns ===

impl Columns for Row {
    fn moment(&self, at: usize) -> Result<Seconds, StoreError> {
        let seconds: i64 = self.get(at)?;
        Ok(seconds.try_into().unwrap_or_default())
    }

    fn flag(&self, at: usize) -> Result<bool, StoreError> {
        self.get(at).map(|number: i64| number != 0)
    }

    fn bytes<const N: usize>(&self, at: usize) -> Result<[u8; N], StoreError> {
        let text: String = self.get(at)?;
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        Ok(bytes.unwrap_or([0; N]))
    }

    fn origin(&self, at: usize) -> Result<Option<Origin>, StoreError> {
        let (provider, subject) = (self.get(at)?, self.get(at + 1)?);
        let both: Option<(String, String)> = Option::zip(provider, subject);
        Ok(both.map(|(provider, subject)| Origin { provider, subject }))
    }
}

/// Makes a value of bytes.
pub(super) fn bytes(bytes: impl AsRef<[u8]>) -> Value {
    BASE64_URL_SAFE_NO_PAD.encode(bytes).into()
}

/// Makes a value of a moment.
pub(super) fn moment(at: Seconds) -> Value {
    number(at).into()
}

/// Converts a moment to a number of the database.
pub(super) fn number(at: Seconds) -> i64 {
    at.try_into().unwrap_or(i64::MAX)
}

/// Makes two values of an account at another provider.
pub(super) fn origin(origin: Option<&Origin>) -> [Value; 2] {
    [
        origin.map(|origin| &origin.provider).into(),
        origin.map(|origin| &origin.subject).into(),
    ]
}
