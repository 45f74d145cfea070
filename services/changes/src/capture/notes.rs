//! Sentences about what the changed rows do not show.

use crate::{
    capture::sought::Facts,
    change::{TableChanges, Unread},
};

impl Facts<'_> {
    /// Describes what the changed rows do not show.
    pub(super) fn notes(&self, tables: &[TableChanges], unread: &[Unread]) -> Vec<String> {
        let drawn = self.touched.drawn(self.opening).into_iter();
        let drawn = drawn.map(|it| format!("Numbers of {} stay drawn.", it.name));
        let uncompared = (!self.touched.knows_sequences(self.opening)).then(|| {
            "Drawn numbers are compared like other values: there are more than 2,000 sequences."
                .to_owned()
        });
        let outside = self.described.outside.iter();
        let outside = outside.map(|name| format!("{name} may have effects that are not shown."));
        let notes = drawn
            .chain(uncompared)
            .chain(unread.iter().map(Unread::note));
        notes.chain(self.hidden(tables)).chain(outside).collect()
    }

    /// Counts the events of tables that cannot be read.
    pub(super) fn unread(&self) -> Vec<Unread> {
        let found = self.described.found.iter();
        let counted = found.filter(|it| !it.is_readable).map(|table| Unread {
            table: table.name.clone(),
            rows: self.touched.moved(&self.opening.counters, table.oid),
        });
        counted.filter(|it| it.rows != [0; 3]).collect()
    }

    /// Counts the events beyond the changed rows of tables with row security.
    fn hidden(&self, tables: &[TableChanges]) -> impl Iterator<Item = String> {
        let described = self.described.tables.values().filter(|it| it.hides_rows);
        described.filter_map(move |table| {
            let parts = self.described.found.iter();
            let parts = parts.filter(|it| it.is_readable && it.root == table.oid);
            let moved = parts.map(|it| self.touched.moved(&self.opening.counters, it.oid));
            let events: u64 = moved.flatten().sum();
            let shown = tables.iter().find(|it| it.table.oid == table.oid);
            let shown = shown.map_or(0, |it| it.changes.len() as u64);
            let more = events.checked_sub(shown).filter(|more| *more > 0)?;
            let name = &table.name;
            Some(format!(
                "{name}: up to {more} more changes that you may not see."
            ))
        })
    }
}
