//! Values of the catalogue.

use std::borrow::Cow;

use crate::driver::{DriverError, Row};

/// Returns the text of a value, empty for NULL. With the encoding `SQL_ASCII` a name need not be
/// UTF-8; such a name must not make the read fail.
pub fn text(row: &Row, index: usize) -> Result<Cow<'_, str>, DriverError> {
    let bytes = row.value(index)?;
    Ok(bytes.map_or(Cow::Borrowed(""), String::from_utf8_lossy))
}

/// Reads a number.
///
/// # Errors
/// Fails if the value is not a number of this type.
pub fn number<T>(row: &Row, index: usize) -> Result<T, DriverError>
where
    T: std::str::FromStr<Err = std::num::ParseIntError>,
{
    text(row, index)?.parse().map_err(DriverError::value)
}
