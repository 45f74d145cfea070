//! Tables with columns that are masked for a caller.

use std::collections::HashSet;

use crate::retrieval_queries::{
    Restriction, SearchTable,
    shape::{Index, Shape, literal},
};

// === impl Shape ===

impl Shape {
    /// Leaves out the indexes that tell of values of hidden columns.
    #[must_use]
    pub fn without_indexes_of(mut self, hidden: &HashSet<String>) -> Self {
        if hidden.is_empty() {
            return self;
        }
        let is_open = |index: &Index| self.is_open(index, hidden);
        let open: Vec<_> = self.indexes().iter().map(is_open).collect();
        if let Some(relation) = &mut self.relation {
            let mut open = open.into_iter();
            relation.indexes.retain(|_| open.next() == Some(true));
        }
        self
    }

    fn is_open(&self, index: &Index, hidden: &HashSet<String>) -> bool {
        if index.reads.iter().any(|name| hidden.contains(name)) {
            return false;
        }
        let mut keys = index.keys.iter().filter(|key| key.class == "tsvector_ops");
        // Words in a column that a trigger or the application fills may be from any column.
        keys.all(|key| {
            let column = key.column.as_ref().and_then(|name| self.column(name));
            column
                .is_none_or(|column| column.made.is_some() || self.is_filled(column.name(), hidden))
        })
    }

    /// Returns whether a trigger is known to fill a column from columns that are not hidden.
    fn is_filled(&self, column: &str, hidden: &HashSet<String>) -> bool {
        let mut filling = self
            .trigger_arguments()
            .filter(|arguments| arguments.len() > 2 && arguments[0] == column)
            .peekable();
        filling.peek().is_some()
            && filling.all(|arguments| arguments[2..].iter().all(|name| !hidden.contains(*name)))
    }
}

// === impl SearchTable ===

impl SearchTable {
    /// Searches the table only while its name means this one.
    pub fn only(&mut self, table: u32) {
        let name = literal(&self.table);
        let condition = format!("pg_catalog.to_regclass({name})::pg_catalog.oid = {table}");
        self.filters.push(Restriction::Raw(condition));
    }

    /// Leaves the title out of the words that are searched, if it is among them by default.
    pub fn drop_words_of_title(&mut self) {
        if self.has_title_by_default {
            self.keyword_columns.pop();
            self.has_title_by_default = false;
        }
    }

    /// Forgets the order of its rows.
    pub fn drop_order(&mut self) {
        self.order = None;
    }

    /// Returns the name of the text column.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names of the columns with the ids, the titles and the addresses.
    #[must_use]
    pub fn labels(&self) -> [Option<&str>; 3] {
        [&self.id, &self.title, &self.url].map(Option::as_deref)
    }

    /// Returns the columns that are searched by words because an operator wants it.
    #[must_use]
    pub fn wanted_keyword_columns(&self) -> &[String] {
        let wanted = self.keyword_columns.len() - usize::from(self.has_title_by_default);
        &self.keyword_columns[..wanted]
    }

    /// Returns the columns that order its rows.
    #[must_use]
    pub fn order(&self) -> Option<[&str; 2]> {
        let order = self.order.as_ref()?;
        Some([&order.document, &order.position])
    }
}
