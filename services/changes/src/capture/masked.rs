//! Masks of the values that are shown.

use std::sync::Arc;

use ziggurat_postgres::{error::QueryError, statement::MaskedColumns};

use crate::capture::{connections::Capture, describe::Described};

impl Capture<'_> {
    /// Marks the columns that are masked for the caller. With `hides_new`, new values could be made of
    /// masked ones.
    pub(super) async fn mask(
        &self,
        described: &mut Described,
        hides_new: bool,
    ) -> Result<(), QueryError> {
        let pool = self.writer.pool();
        for table in described.tables.values_mut() {
            let masked = MaskedColumns::of(&pool, table.oid).await?;
            if masked.is_empty() {
                continue;
            }
            let table = Arc::make_mut(table);
            table.hides_new = hides_new;
            for column in &mut table.columns {
                column.is_masked = masked.has(table.oid, column.number);
            }
        }
        Ok(())
    }
}
