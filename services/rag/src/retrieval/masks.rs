//! Columns that are masked for an asker.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex},
};

use ziggurat_callers::Masks;
use ziggurat_masking::Mask;
use ziggurat_postgres::{
    database::{CallerMasks, Database},
    error::QueryError,
    pool::Pool,
    statement::MaskedColumns,
};
use ziggurat_runtime::lock;
use ziggurat_tokens::Identity;
use ziggurat_vector_search::retrieval_queries::{Adjacent, Column, Hit, SearchTable, Shape};

use crate::filter::CheckedFilter;

/// Limit on the sets of rules that are kept.
const MAX_KNOWN: usize = 1000;

/// The masked columns of a pipeline, and the askers for whom they are masked.
pub struct AskerMasks {
    masks: Masks,
    base: Arc<Database>,
    /// By the rules that are for an asker.
    known: Mutex<HashMap<Vec<bool>, Arc<CallerMasks>>>,
}

/// The masks of one table that hold for an asker.
#[derive(Debug)]
pub(super) struct TableMasks {
    columns: MaskedColumns,
    /// Columns with values that are masked whole.
    hidden: HashSet<String>,
    /// The masked column because of which the table is not searched.
    closed_by: Option<String>,
    text: Option<Mask>,
    /// The masks of the ids, the titles and the addresses.
    labels: [Option<Mask>; 3],
    /// True if no document can be read by its id.
    hides_ids: bool,
}

// === impl AskerMasks ===

impl AskerMasks {
    /// Takes the rules for the columns of a database.
    #[must_use]
    pub fn new(masks: Masks, base: &Arc<Database>) -> Self {
        Self {
            masks,
            base: Arc::clone(base),
            known: Mutex::default(),
        }
    }

    /// Returns the masks that hold for an asker. Askers with the same rules share them.
    pub(super) fn of(&self, identity: Option<&Identity>) -> Option<Arc<CallerMasks>> {
        let holds = self.masks.hold(identity);
        holds.contains(&true).then(|| self.shared(holds))
    }

    /// Returns the masks of an asker whom all rules are for.
    pub(super) fn all(&self) -> Arc<CallerMasks> {
        self.shared(vec![true; self.masks.callers.len()])
    }

    fn shared(&self, holds: Vec<bool>) -> Arc<CallerMasks> {
        let mut known = lock(&self.known);
        if let Some(masks) = known.get(&holds) {
            return Arc::clone(masks);
        }
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        let made = CallerMasks::new(&self.masks.masking, &self.base, holds.clone());
        Arc::clone(known.entry(holds).or_insert(Arc::new(made)))
    }
}

impl fmt::Debug for AskerMasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AskerMasks").field(&self.masks).finish()
    }
}

// === impl TableMasks ===

impl TableMasks {
    /// Looks up the masks of a table, and adapts it: the title is not searched by words if it is
    /// masked, and rows have no order if one of its columns is.
    pub(super) async fn load(
        held: &CallerMasks,
        pool: &Pool,
        shape: &Shape,
        place: &mut SearchTable,
    ) -> Result<Self, QueryError> {
        let table = shape.oid().unwrap_or_default();
        let columns = MaskedColumns::held_by(held, pool, table).await?;
        let made = Self::new(columns, table, shape, place);
        let hides = |name: Option<&str>| name.is_some_and(|name| made.hidden.contains(name));
        let [_, title, _] = place.labels();
        let hides_title = hides(title);
        let order = place.order();
        let hides_order = order.is_some_and(|order| order.iter().any(|name| hides(Some(name))));
        if hides_title {
            place.drop_words_of_title();
        }
        if hides_order {
            place.drop_order();
        }
        // Another table of this name would have other columns.
        place.only(table);
        Ok(made)
    }

    fn new(columns: MaskedColumns, table: u32, shape: &Shape, place: &SearchTable) -> Self {
        let mask = |name: &str| {
            let column = shape.column(name)?;
            columns.mask(table, column.number())
        };
        let names = shape.columns().iter().map(Column::name);
        let is_hidden = |name: &&str| mask(name).is_some_and(|mask| !mask.is_partial());
        let hidden: HashSet<_> = names.filter(is_hidden).map(str::to_owned).collect();
        let words = place.wanted_keyword_columns().iter().map(String::as_str);
        let mut searched = [place.text(), place.vector()].into_iter().chain(words);
        let closed_by = searched.find(|name| hidden.contains(*name));
        let [id, ..] = place.labels();
        Self {
            closed_by: closed_by.map(str::to_owned),
            text: mask(place.text()),
            labels: place.labels().map(|name| mask(name?)),
            hides_ids: id.is_some_and(|id| hidden.contains(id)),
            columns,
            hidden,
        }
    }

    /// Returns whether they hold still.
    pub(super) async fn are_current(
        &self,
        held: &CallerMasks,
        pool: &Pool,
        shape: &Shape,
    ) -> Result<bool, QueryError> {
        let table = shape.oid().unwrap_or_default();
        let columns = MaskedColumns::held_by(held, pool, table).await?;
        Ok(columns.is_same(&self.columns))
    }

    /// Returns the columns with values that are masked whole.
    pub(super) fn hidden(&self) -> &HashSet<String> {
        &self.hidden
    }

    /// Returns the masked column because of which the table is not searched, if there is one.
    pub(super) fn closed_by(&self) -> Option<&str> {
        self.closed_by.as_deref()
    }

    /// Returns whether no document can be read by its id.
    pub(super) fn hides_ids(&self) -> bool {
        self.hides_ids
    }

    /// Returns whether ids are not shown as they are.
    pub(super) fn changes_ids(&self) -> bool {
        self.labels[0].is_some()
    }

    /// Returns whether texts are not shown as they are.
    pub(super) fn changes_texts(&self) -> bool {
        self.text.is_some()
    }

    /// Returns whether a filter names a column that the asker does not know.
    pub(super) fn refuses(&self, filter: &CheckedFilter, shape: &Shape) -> bool {
        let mut names = filter.columns();
        names.any(|name| self.hidden.contains(name) || shape.column(name).is_none())
    }

    /// Masks a row. Its own id still identifies it.
    pub(super) fn apply(&self, hit: Hit) -> Hit {
        let [id, title, url] = &self.labels;
        Hit {
            key: hit.id.clone(),
            id: masked(id.as_ref(), hit.id),
            content: self.text(hit.content),
            title: masked(title.as_ref(), hit.title),
            url: masked(url.as_ref(), hit.url),
            ..hit
        }
    }

    /// Masks the text of a row next to another one.
    pub(super) fn apply_to_neighbour(&self, row: Adjacent) -> Adjacent {
        Adjacent {
            content: row.content.map(|text| self.text(text)),
            ..row
        }
    }

    /// Masks a text.
    pub(super) fn text(&self, text: String) -> String {
        masked(self.text.as_ref(), Some(text)).unwrap_or_default()
    }

    /// Masks the id, the title and the address of a row.
    pub(super) fn labels(&self, labels: [Option<String>; 3]) -> [Option<String>; 3] {
        let mut masks = self.labels.iter();
        labels.map(|label| masked(masks.next().and_then(Option::as_ref), label))
    }
}

fn masked(mask: Option<&Mask>, value: Option<String>) -> Option<String> {
    let (Some(mask), Some(text)) = (mask, &value) else {
        return value;
    };
    let masked = mask.apply(text.as_bytes())?;
    let masked = match masked {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    };
    Some(masked.into_owned())
}
