//! The search of one table.

use std::{
    error::Error,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tracing::{info, warn};
use ziggurat_postgres::{error::QueryError, pool::Pool};
use ziggurat_runtime::lock;
use ziggurat_vector_search::retrieval_queries::{
    Adjacent, Hit, Restriction, Search, SearchTable, Shape, TextConfiguration,
};

use crate::{
    filter::CheckedFilter,
    retrieval::{
        Backend, ForbiddenColumn, Operators, SearchOptions, Table, TableFilter,
        askers::Asker,
        columns::AllowedColumns,
        failure::SearchFailure,
        fusion::Hits,
        keywords::{KeywordHits, KeywordMethod, KeywordSearch, Lexemes, TextStatistics},
        known_tables::{Known, KnownTable, KnownTables, MAX_AGE},
        masks::TableMasks,
    },
};

/// Maximum age of a table description that may be wrong.
pub(super) const MAX_DOUBTFUL_AGE: Duration = Duration::from_secs(10);

/// Age from which the description of a table that cannot be searched is loaded again.
pub(super) const MIN_RELOAD_AGE: Duration = Duration::from_secs(1);

/// The search of one table of a pipeline.
pub(super) struct TableSearch {
    /// Name of the table, as configured.
    pub(super) name: String,
    pub(super) pipeline: String,
    pub(super) place: Arc<SearchTable>,
    /// The weights of the columns that are searched by words besides the texts.
    weights: Vec<u32>,
    /// The columns a request may filter by.
    pub(super) allowed: AllowedColumns,
    backend: Backend,
    /// The method of keyword search that was last logged, and whether an index was missing.
    logged: Mutex<Option<(&'static str, bool)>>,
    pub(super) known: KnownTables<KnownTable, Lexemes>,
    /// Set once the mismatch between the dimensions of vectors and column is logged.
    pub(super) has_warned_of_size: AtomicBool,
    /// Set once the log says that more rows match than are read.
    has_warned_of_limit: AtomicBool,
    /// Set once the log says that some askers cannot search the table.
    pub(super) has_warned_of_masks: AtomicBool,
}

/// A search request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) text: &'a str,
    pub(super) filter: Option<&'a CheckedFilter>,
    pub(super) operators: Option<&'a Operators>,
    /// Maximum number of rows that a search returns.
    pub(super) rows: u32,
    pub(super) options: &'a SearchOptions,
    /// Connections of the asker, for the call, and its masks.
    pub(super) asker: &'a Asker,
}

// === impl Request ===

impl<'a> Request<'a> {
    /// Returns the words that texts must not have.
    pub(super) fn excluded(&self) -> &'a [String] {
        let operators = self.operators;
        operators.map_or(&[], |operators| &*operators.excluded)
    }

    /// Returns its search of a table.
    fn of(&'a self, known: &'a KnownTable) -> Search<'a> {
        Search {
            filter: self.filter.map(CheckedFilter::conditions),
            excluded: self.excluded(),
            ..known.whole(self.rows)
        }
    }

    /// Returns the beginnings of words that are searched.
    pub(super) fn prefixes(&self) -> &'a [String] {
        let operators = self.operators;
        operators.map_or(&[], |operators| &*operators.prefixes)
    }
}

/// Returns whether the title is searched by words although no configured column says so.
fn is_title_added(table: &Table) -> bool {
    table.title.as_ref().is_some_and(|title| {
        let mut columns = table.keyword_columns.iter();
        *title != table.text && columns.all(|(name, _)| name != title)
    })
}

// === impl TableSearch ===

impl TableSearch {
    pub(super) fn new(table: Table, pipeline: &str, is_hybrid: bool) -> Self {
        let allowed = AllowedColumns::of(&table);
        let mut place = SearchTable::new(&table.name, &table.text, &table.vector);
        if let Some(id) = &table.id {
            place = place.with_id(id);
        }
        if let Some(name) = &table.text_search_config {
            place = place.with_configuration(TextConfiguration::named(name));
        }
        if let Some(title) = &table.title {
            place = place.with_title(title);
        }
        if let Some(url) = &table.url {
            place = place.with_url(url);
        }
        let is_title_added = is_title_added(&table);
        let columns = table.keyword_columns.into_iter();
        let columns = columns.filter(|(_, weight)| *weight > 0);
        let (names, mut weights): (_, Vec<_>) = columns.unzip();
        place = place.with_keyword_columns(names);
        if is_title_added {
            place = place.with_words_of_title();
            weights.push(1);
        }
        if let Some(order) = table.order {
            place = place.with_order(order);
        }
        let filter = table.filter.and_then(|filter| match filter {
            TableFilter::Raw(raw) => raw.sql().map(|sql| Restriction::Raw(sql.to_owned())),
            TableFilter::Structured(filter) => {
                Some(Restriction::Tests(filter.conditions().clone()))
            }
        });
        if let Some(filter) = filter {
            place = place.with_filter(filter);
        }
        Self {
            name: table.name,
            pipeline: pipeline.to_owned(),
            place: Arc::new(place),
            weights,
            allowed,
            backend: if is_hybrid {
                table.keyword
            } else {
                Backend::Off
            },
            logged: Mutex::default(),
            known: KnownTables::default(),
            has_warned_of_size: AtomicBool::new(false),
            has_warned_of_limit: AtomicBool::new(false),
            has_warned_of_masks: AtomicBool::new(false),
        }
    }

    /// Returns whether its rows have ids.
    pub(super) fn has_ids(&self) -> bool {
        self.place.has_ids()
    }

    /// Returns the configured name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Checks that a request may filter by these columns.
    pub(super) fn check_filter(&self, filter: &CheckedFilter) -> Result<(), ForbiddenColumn> {
        self.allowed.check(filter)
    }

    /// Returns whether the table allows the filter of a request.
    fn takes(&self, request: &Request<'_>) -> bool {
        let is_taken = |filter| self.check_filter(filter).is_ok();
        request.filter.is_none_or(is_taken)
    }

    /// Returns the description, if the asker may search the table with its filter.
    async fn opened(&self, request: &Request<'_>) -> Result<Arc<KnownTable>, SearchFailure> {
        // What an asker with masks may not search tells nothing of filters.
        if request.asker.masks.is_none() && !self.takes(request) {
            return Err(SearchFailure::Unfit);
        }
        let known = self.known_for(request).await;
        let known = known.map_err(|error| self.missed(error, request))?;
        let Some(masks) = &known.masks else {
            return Ok(known);
        };
        if known.is_closed() {
            self.log_masks(&known);
            return Err(SearchFailure::LeftOut);
        }
        let refuses = |filter| masks.refuses(filter, &known.shape);
        if !self.takes(request) || request.filter.is_some_and(refuses) {
            return Err(SearchFailure::Unfit);
        }
        Ok(known)
    }

    /// Finds the rows with the most similar vectors.
    pub(super) async fn closest(
        &self,
        request: &Request<'_>,
        asked: &[f32],
    ) -> Result<Vec<Hit>, SearchFailure> {
        let result = async {
            let known = self.opened(request).await?;
            self.compare_sizes(&known, asked.len());
            let mut found = self.nearest(&known, request, asked).await?;
            if found.is_empty() && self.forget_replaced(&known, request.asker) {
                let known = self.opened(request).await?;
                found = self.nearest(&known, request, asked).await?;
            }
            Ok(found)
        };
        let result = result.await;
        if let Err(SearchFailure::Failed(error)) = &result {
            warn!(
                error = error as &dyn Error,
                pipeline = self.pipeline,
                table = self.name,
                "vector search failed"
            );
        }
        result
    }

    async fn nearest(
        &self,
        known: &KnownTable,
        request: &Request<'_>,
        asked: &[f32],
    ) -> Result<Vec<Hit>, SearchFailure> {
        let SearchOptions {
            min_similarity,
            ef_search,
            ..
        } = *request.options;
        let search = request.of(known);
        let found = search.closest(asked, min_similarity, ef_search, &request.asker.pool);
        let found = found.await.map_err(|error| self.missed(error, request))?;
        Ok(known.shown(found))
    }

    /// Adds the similarities of the rows that only the keyword search found. A failure is logged,
    /// and these rows then count as the least similar ones.
    pub(super) async fn compare(&self, request: &Request<'_>, asked: &[f32], hits: &mut Hits) {
        let ids = hits.ids_by_words();
        if ids.is_empty() || hits.vector.is_empty() {
            return;
        }
        let result = async {
            let known = self.known(request.asker).await?;
            let search = request.of(&known);
            search.similarities(&ids, asked, &request.asker.pool).await
        };
        match result.await {
            Ok(similarities) => hits.similarities = similarities.into_iter().collect(),
            Err(error) => warn!(
                error = &error as &dyn Error,
                pipeline = self.pipeline,
                table = self.name,
                "failed to compare the vectors of rows that were found by words"
            ),
        }
    }

    /// Finds the rows that contain words of the question. Failures are logged and do not affect the
    /// vector search.
    pub(super) async fn keyword_search(&self, request: &Request<'_>) -> Vec<Hit> {
        let result = async {
            let known = self.opened(request).await?;
            let words = self.words(&known, &request.asker.pool);
            let found = words.find(&known.method, request).await;
            let found = found.map_err(|error| self.missed(error, request))?;
            // Row security keeps PostgreSQL from an index for words.
            let is_cut = found.is_cut && !known.shape.hides_rows();
            Ok(KeywordHits {
                is_cut,
                found: known.shown(found.found),
            })
        };
        match result.await {
            Ok(keyword_search) => {
                if keyword_search.is_cut && !self.has_warned_of_limit.swap(true, Ordering::Relaxed)
                {
                    warn!(
                        pipeline = self.pipeline,
                        table = self.name,
                        "more rows contain the words of a question than are read, so some are not \
                         found by keywords: create an index for keyword search"
                    );
                }
                keyword_search.found
            }
            Err(missed) => {
                if let SearchFailure::Failed(error) = missed {
                    warn!(
                        error = &error as &dyn Error,
                        pipeline = self.pipeline,
                        table = self.name,
                        "failed to fetch documents for BM25"
                    );
                }
                Vec::new()
            }
        }
    }

    /// Finds the rows next to those with these ids, in the same documents.
    pub(super) async fn adjacent(
        &self,
        ids: &[String],
        distance: u32,
        request: &Request<'_>,
    ) -> Result<Vec<Adjacent>, QueryError> {
        if !self.place.has_order() {
            return Ok(Vec::new());
        }
        let known = self.known(request.asker).await?;
        if !known.place.has_order() || known.is_closed() {
            return Ok(Vec::new());
        }
        let search = request.of(&known);
        let found = search.adjacent(ids, distance, &request.asker.pool).await?;
        Ok(match &known.masks {
            Some(masks) => found
                .into_iter()
                .map(|row| masks.apply_to_neighbour(row))
                .collect(),
            None => found,
        })
    }

    /// Returns the share of the rows that contain each word; `None` if that is not known.
    pub(super) async fn word_shares(
        &self,
        words: &[&str],
        asker: &Asker,
    ) -> Result<Vec<Option<f64>>, QueryError> {
        let known = self.known(asker).await?;
        if known.is_closed() {
            // The asker finds no row here.
            return Ok(vec![Some(0.0); words.len()]);
        }
        let search = self.words(&known, &asker.pool);
        search.shares(&known.method, words).await
    }

    fn words<'a>(&'a self, known: &'a KnownTable, pool: &'a Pool) -> KeywordSearch<'a> {
        KeywordSearch {
            place: &known.place,
            // The title, which may be left out, is the last.
            weights: &self.weights,
            shape: &known.shape,
            statistics: &known.statistics,
            pool,
        }
    }

    fn missed(&self, error: QueryError, request: &Request<'_>) -> SearchFailure {
        let slot = self.known.of(request.asker);
        let known = slot.table.load_full();
        let is_sound = |known: &Arc<KnownTable>| known.shape.is_sound(&self.place);
        // If the table differs from its configuration, the filter is not the cause of the error.
        let is_sound = known.as_ref().is_some_and(is_sound);
        let missed = SearchFailure::new(error, request.filter.is_some() && is_sound);
        let is_old = known.is_some_and(|known| known.since.elapsed() > MAX_DOUBTFUL_AGE);
        if is_old && matches!(missed, SearchFailure::Failed(QueryError::Failed { .. })) {
            // The table may have changed.
            slot.table.store(None);
        }
        missed
    }

    /// Returns the description, loaded again if the filter names unknown columns, which may be new.
    async fn known_for(&self, request: &Request<'_>) -> Result<Arc<KnownTable>, QueryError> {
        let known = self.known(request.asker).await?;
        let is_new = |filter: &CheckedFilter| {
            let mut names = filter.columns();
            names.any(|name| known.lacks(name))
        };
        if known.since.elapsed() > MAX_DOUBTFUL_AGE && request.filter.is_some_and(is_new) {
            let slot = self.known.of(request.asker);
            return self.load(&slot, request.asker).await;
        }
        Ok(known)
    }

    pub(super) async fn known(&self, asker: &Asker) -> Result<Arc<KnownTable>, QueryError> {
        // The first load is not shared: while the database is down, each waiting task would wait
        // for the failures of the others.
        let slot = self.known.of(asker);
        let Some(known) = slot.table.load_full() else {
            return self.load(&slot, asker).await;
        };
        if !known.has_masks_of(asker).await? {
            return self.load(&slot, asker).await;
        }
        if known.since.elapsed() < MAX_AGE {
            return Ok(known);
        }
        // The other tasks use the previous description meanwhile.
        let Ok(_turn) = slot.loading.try_acquire() else {
            return Ok(known);
        };
        Ok(self.load(&slot, asker).await.unwrap_or(known))
    }

    pub(super) async fn load(
        &self,
        slot: &Known<KnownTable>,
        asker: &Asker,
    ) -> Result<Arc<KnownTable>, QueryError> {
        let since = Instant::now();
        let mut shape = Shape::load(&self.place, &asker.pool).await?;
        let mut place = Arc::clone(&self.place);
        let mut masks = None;
        if let Some(held) = &asker.masks {
            let (pool, adapted) = (&asker.pool, Arc::make_mut(&mut place));
            let found = TableMasks::load(held, pool, &shape, adapted).await?;
            shape = shape.without_indexes_of(found.hidden());
            masks = Some(found);
        }
        let (method, advice) = KeywordMethod::choose(self.backend, &shape, &place);
        if !asker.pool.database().is_acting() && masks.is_none() {
            self.log_method(&method, advice);
        }
        let lexemes = self.known.lexemes(method.configuration(&place));
        let known = Arc::new(KnownTable {
            place,
            shape,
            method,
            statistics: TextStatistics::new(lexemes),
            masks,
            since,
        });
        slot.table.store(Some(Arc::clone(&known)));
        Ok(known)
    }

    /// Logs the method of keyword search if it has changed.
    fn log_method(&self, method: &KeywordMethod, advice: Option<String>) {
        if self.backend == Backend::Off {
            return;
        }
        let mut logged = lock(&self.logged);
        let now = (method.name(), advice.is_some());
        if logged.replace(now) == Some(now) {
            return;
        }
        let (pipeline, table, backend) = (&*self.pipeline, &*self.name, method.name());
        match advice {
            None => info!(pipeline, table, backend, "keyword back-end chosen"),
            Some(index) if matches!(method, KeywordMethod::Lexicon(_)) => warn!(
                pipeline,
                table,
                backend,
                index,
                "the index for keyword search lacks a column that is searched, so rows with a word \
                 only there are not found by it: create this one"
            ),
            Some(index) => warn!(
                pipeline,
                table, backend, index, "no index for keyword search: create this one"
            ),
        }
    }
}
