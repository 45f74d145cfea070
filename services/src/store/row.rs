//! What a row of either database says.

use serde_json::value::RawValue;
use sqlx::{ColumnIndex, Decode, Row, Type};

use super::{Conversation, Listed, StoreError};

/// A conversation in a list.
pub(super) fn listed<R: Row>(row: &R) -> Result<Listed, StoreError>
where
    usize: ColumnIndex<R>,
    String: for<'r> Decode<'r, R::Database> + Type<R::Database>,
{
    Ok(Listed {
        id: row.try_get(0)?,
        title: row.try_get(1)?,
        connection: row.try_get(2)?,
        created_at: row.try_get(3)?,
        updated_at: row.try_get(4)?,
        preview: row.try_get(5)?,
    })
}

/// A conversation, whole.
pub(super) fn conversation<R: Row>(row: &R) -> Result<Conversation, StoreError>
where
    usize: ColumnIndex<R>,
    String: for<'r> Decode<'r, R::Database> + Type<R::Database>,
{
    Ok(Conversation {
        id: row.try_get(0)?,
        username: row.try_get(1)?,
        title: row.try_get(2)?,
        provider: row.try_get(3)?,
        model: row.try_get(4)?,
        connection: row.try_get(5)?,
        preview: row.try_get(6)?,
        created_at: row.try_get(7)?,
        updated_at: row.try_get(8)?,
        messages: RawValue::from_string(row.try_get(9)?)?,
    })
}
