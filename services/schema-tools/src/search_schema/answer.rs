//! The entries of an answer, and the text about them.

use std::sync::Arc;

use tokio::task;
use ziggurat_databases::Current;
use ziggurat_mcp::{Error, Reported, Structure};
use ziggurat_postgres::{
    metadata::{ForeignKey, Metadata, Table},
    statement::MaskedColumns,
};

use crate::{
    search_schema::{
        SearchSchema,
        arguments::{Kind, Request, SearchFilter, Subject, invalid_cursor},
        index::{Entry, Index},
        level::Level,
        lines::Lines,
        name,
        page::{Page, Span},
        paths,
        ranking::{Ranking, rank},
        structured,
    },
    table_details::DetailOptions,
};

/// With more entries, a search does not run between other tasks.
const LARGE: usize = 20_000;

/// Limit on the tables of a page at the level `full`.
const MAX_FULL: usize = 20;

/// Limit on the columns that are shown because they match, for each table.
const MAX_COLUMNS: usize = 6;

/// Number of tables that link tables are looked for.
const LINKED: usize = 8;

/// Limit on the words of a question that names are compared with.
const MAX_NEAR_WORDS: usize = 8;

/// Limit on the link tables that are added.
const MAX_LINKS: usize = 5;

/// Limit on the references to a table among which link tables are looked for.
const MAX_REFERENCES: usize = 2_000;

/// A page.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) structure: Structure,
}

/// A database and the request about it.
struct Search<'a> {
    lines: Lines<'a>,
    index: &'a Index,
    ranking: Ranking,
    request: &'a Request,
}

impl SearchSchema {
    /// Answers a request; `None` if nothing matches.
    pub(super) async fn answer(
        &self,
        request: &Request,
        current: &Current,
        metadata: &Arc<Metadata>,
        heading: &str,
    ) -> Result<Option<Answer>, Error> {
        let filter = match &request.subject {
            Subject::Paths { from, to } => {
                return Ok(join(request, [from, to], metadata, heading)?);
            }
            Subject::Entries(filter) => filter,
        };
        let index = self
            .cache
            .index(metadata, current.label(), &self.glossary)
            .await?;
        let masked = MaskedColumns::marks(current.pool()).await;
        let mut search = Search {
            lines: Lines::new(metadata, current.label(), &self.glossary).with_marks(masked),
            ranking: ranking(&index, filter).await?,
            index: &index,
            request,
        };
        let entries = search.entries(filter)?;
        if entries.is_empty() {
            return Ok(None);
        }
        if request.start > 0 && request.start >= search.positions(&entries) {
            return Err(invalid_cursor().into());
        }
        if request.level == Level::Full {
            let tables = search.shown_in_full(&entries, heading);
            let options = DetailOptions {
                values_max: self.values_max,
            };
            let lines = &mut search.lines;
            self.cache
                .add_details(lines, &tables, metadata, current, options)
                .await?;
        }
        Ok(Some(search.answer(&entries, heading)))
    }
}

/// Ranks the entries that match the words of a request, off the tasks of other calls if it may take
/// long.
async fn ranking(index: &Arc<Index>, filter: &SearchFilter) -> Result<Ranking, Error> {
    if filter.query.is_empty() {
        return Ok(Ranking::default());
    }
    let with_columns = filter.has_columns();
    if index.top_level() < LARGE {
        return Ok(rank(index, &filter.query, with_columns));
    }
    let (index, query) = (Arc::clone(index), filter.query.clone());
    let ranked = task::spawn_blocking(move || rank(&index, &query, with_columns));
    ranked.await.map_err(Error::internal)
}

// === impl Search ===

impl Search<'_> {
    /// Returns the entries of the answer in their order.
    fn entries(&self, filter: &SearchFilter) -> Result<Vec<Entry>, Reported> {
        if let Some(table) = &filter.table {
            return self.named(filter, table);
        }
        let fits = |entry: &Entry| self.fits(filter, *entry);
        if filter.query.is_empty() {
            let with_columns = filter.has_columns();
            let end = if with_columns {
                self.index.len()
            } else {
                self.index.top_level()
            };
            let all = (0..end).map(|number| self.index.entry(number));
            return Ok(all.filter(fits).collect());
        }
        let found = self.ranking.found.iter();
        let found = found.map(|(_, number)| self.index.entry(*number as usize));
        let mut entries: Vec<_> = found.filter(fits).collect();
        if self.request.level > Level::Names {
            self.add_links(filter, &mut entries);
        }
        Ok(entries)
    }

    /// Returns the tables of a name, or their columns.
    fn named(&self, filter: &SearchFilter, table: &str) -> Result<Vec<Entry>, Reported> {
        let tables = name::find(&self.lines.tables, filter.schema.as_deref(), table);
        if tables.len() > 1 && self.request.level == Level::Full {
            let tables = tables.iter().filter_map(|&at| self.lines.table(at));
            return Err(ambiguous(table, tables));
        }
        let with_columns = tables.iter().flat_map(|&at| {
            let columns = self
                .lines
                .table(at)
                .map_or(0, |table| table.columns().len());
            let columns = (0..columns).map(move |column| Entry::Column(at, column));
            [Entry::Table(at)].into_iter().chain(columns)
        });
        Ok(with_columns
            .filter(|entry| self.is_of_kind(filter, *entry))
            .collect())
    }

    fn fits(&self, filter: &SearchFilter, entry: Entry) -> bool {
        let in_schema = |schema: &str| filter.schema.as_deref().is_none_or(|only| only == schema);
        let is_in = match entry {
            Entry::Table(at) | Entry::Column(at, _) => {
                let table = self.lines.table(at);
                // A call that names a table sees it even if its role may not read it.
                let is_shown = |table: &Table<'_>| !table.is_partition() && table.is_readable();
                table.is_some_and(|table| is_shown(&table) && in_schema(table.schema()))
            }
            Entry::Function(at) => {
                let function = self.lines.functions.get(at);
                function.is_some_and(|function| in_schema(function.schema))
            }
            Entry::Enum(at) => self
                .lines
                .enum_type(at)
                .is_some_and(|it| in_schema(it.schema())),
            Entry::Term(_) => filter.schema.is_none(),
        };
        is_in && self.is_of_kind(filter, entry)
    }

    /// Returns whether entries of the kind are asked for. A column is shown with its table where
    /// that is asked for, too.
    fn is_of_kind(&self, filter: &SearchFilter, entry: Entry) -> bool {
        match entry {
            Entry::Column(table, _) => {
                filter.has(Kind::Column) && !filter.has(self.lines.kind(Entry::Table(table)))
            }
            _ => filter.has(self.lines.kind(entry)),
        }
    }

    /// Places tables that join two of the best matching tables right after these two.
    fn add_links(&self, filter: &SearchFilter, entries: &mut Vec<Entry>) {
        let best = self.ranking.found.first().map_or(0, |(score, _)| *score);
        let is_good = |at: &usize| self.ranking.score(*at) >= best / 2;
        let tables = entries.iter().filter_map(|entry| match entry {
            Entry::Table(at) => Some(*at),
            _ => None,
        });
        let matched: Vec<_> = tables.take(LINKED).filter(is_good).collect();
        let mut links = Vec::new();
        for (later, &two) in matched.iter().enumerate() {
            for &one in matched.iter().take(later) {
                for link in self.links(one, two) {
                    let is_new =
                        !matched.contains(&link) && links.iter().all(|(known, _)| *known != link);
                    if is_new && self.fits(filter, Entry::Table(link)) && links.len() < MAX_LINKS {
                        links.push((link, two));
                    }
                }
            }
        }
        for (link, behind) in links.into_iter().rev() {
            entries.retain(|entry| *entry != Entry::Table(link));
            let place = entries
                .iter()
                .position(|entry| *entry == Entry::Table(behind));
            entries.insert(
                place.map_or(entries.len(), |place| place + 1),
                Entry::Table(link),
            );
        }
    }

    /// Returns the tables with foreign keys to both of two tables that have none to each other.
    fn links(&self, one: usize, two: usize) -> Vec<usize> {
        let (Some(one), Some(two)) = (self.lines.table(one), self.lines.table(two)) else {
            return Vec::new();
        };
        let is = |table: Table<'_>, other: Table<'_>| {
            (table.schema(), table.name()) == (other.schema(), other.name())
        };
        let refers =
            |table: Table<'_>, other| table.foreign_keys().any(|key| is(key.target(), other));
        if refers(one, two) || refers(two, one) {
            return Vec::new();
        }
        let links = one
            .referenced_by()
            .take(MAX_REFERENCES)
            .map(ForeignKey::table)
            .filter(|link| refers(*link, two));
        let links = links.take(MAX_LINKS);
        links
            .flat_map(|link| name::find(&self.lines.tables, Some(link.schema()), link.name()))
            .collect()
    }

    /// Returns the columns of a table that match the words best, in their order.
    fn matching_columns(&self, table: usize) -> Vec<usize> {
        self.ranking.columns(self.index, table, MAX_COLUMNS)
    }

    /// Returns the only table of an answer, if it is shown in full: then pages are of its columns.
    fn single(&self, entries: &[Entry]) -> Option<usize> {
        match entries {
            [Entry::Table(at)] if self.request.level == Level::Full => Some(*at),
            _ => None,
        }
    }

    /// Returns the number of positions that pages divide: entries, or the columns of the single
    /// table and one position for the sections below them.
    fn positions(&self, entries: &[Entry]) -> usize {
        let single = self.single(entries).and_then(|at| self.lines.table(at));
        single.map_or(entries.len(), |table| table.columns().len() + 1)
    }

    /// Writes a page.
    fn page(&self, entries: &[Entry], heading: &str) -> Page {
        let Request {
            level,
            max_tokens,
            start,
            format,
            ..
        } = *self.request;
        let count = self.positions(entries);
        let mut page = Page::new(heading.to_owned(), max_tokens, format);
        let next = if let Some(table) = self.single(entries) {
            let span = Span {
                start,
                end: count,
                count,
            };
            self.fill_with_columns(&mut page, table, span)
        } else {
            let end = start + self.fitting(entries.get(start..).unwrap_or_default());
            page.fill(Span { start, end, count }, level, |out, position, level| {
                if let Some(&entry) = entries.get(position) {
                    let columns = match entry {
                        Entry::Table(at) if level == Level::Summary => self.matching_columns(at),
                        _ => Vec::new(),
                    };
                    self.lines.write(out, entry, level, &columns);
                }
            })
        };
        page.end(next, count, self.request.fingerprint);
        page
    }

    /// Returns how many entries may be on a page: as many as have [`MAX_FULL`] tables in full.
    fn fitting(&self, entries: &[Entry]) -> usize {
        let tables = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| matches!(entry, Entry::Table(_)));
        let end = tables.map(|(at, _)| at).nth(MAX_FULL);
        end.filter(|_| self.request.level == Level::Full)
            .unwrap_or(entries.len())
    }

    fn fill_with_columns(&self, page: &mut Page, at: usize, span: Span) -> usize {
        let Some(table) = self.lines.table(at) else {
            return span.count;
        };
        let mut head = String::new();
        self.lines.write_table(&mut head, table, Level::Full);
        page.push_head(&head);
        let columns: Vec<_> = table.columns().collect();
        page.fill(span, Level::Full, |out, position, level| {
            match columns.get(position) {
                Some(column) if level < Level::Full => {
                    out.push_str("  ");
                    name::push(out, column.name());
                    out.push('\n');
                }
                Some(_) => self.lines.write_columns(out, at, [position]),
                None => self.lines.write_sections(out, at),
            }
        })
    }

    /// Returns the tables of a page that are shown in full, as if they had no details: with them,
    /// fewer may fit.
    fn shown_in_full(&self, entries: &[Entry], heading: &str) -> Vec<usize> {
        if let Some(table) = self.single(entries) {
            return vec![table];
        }
        let page = self.page(entries, heading);
        let shown = page.shown.iter().filter(|(_, level)| *level == Level::Full);
        let tables = shown.filter_map(|(position, _)| match entries.get(*position) {
            Some(Entry::Table(at)) => Some(*at),
            _ => None,
        });
        tables.collect()
    }

    fn answer(&self, entries: &[Entry], heading: &str) -> Answer {
        let page = self.page(entries, heading);
        let matches = match self.single(entries) {
            Some(at) => {
                let columns = page.shown.iter().map(|(column, _)| *column).collect();
                vec![structured::Match::of(
                    &self.lines,
                    Entry::Table(at),
                    Level::Full,
                    columns,
                )]
            }
            None => page
                .shown
                .iter()
                .filter_map(|(position, level)| {
                    let entry = *entries.get(*position)?;
                    let columns = match (entry, level) {
                        (Entry::Table(at), Level::Summary) => self.matching_columns(at),
                        (Entry::Table(at), Level::Full) => self.lines.all_columns(at),
                        _ => Vec::new(),
                    };
                    Some(structured::Match::of(&self.lines, entry, *level, columns))
                })
                .collect(),
        };
        Answer::new(page, matches)
    }
}

// === impl Answer ===

impl Answer {
    fn new(page: Page, matches: Vec<structured::Match<'_>>) -> Self {
        let structure = structured::of(matches, &page);
        let text = page.text;
        Self { text, structure }
    }
}

/// Returns the paths between two tables; `None` if one of them does not exist.
fn join(
    request: &Request,
    names: [&str; 2],
    metadata: &Metadata,
    heading: &str,
) -> Result<Option<Answer>, Reported> {
    let tables: Vec<_> = metadata.tables().collect();
    let mut ends = Vec::new();
    for name in names {
        match *name::find(&tables, None, name) {
            [] => return Ok(None),
            [at] => ends.extend(tables.get(at)),
            ref several => {
                let several = several.iter().filter_map(|&at| tables.get(at).copied());
                return Err(ambiguous(name, several));
            }
        }
    }
    let [from, to] = *ends else {
        return Ok(None);
    };
    let paths = paths::between(from, to);
    let mut page = Page::new(heading.to_owned(), request.max_tokens, request.format);
    if paths.is_empty() {
        page.push_head("No path of up to 4 foreign keys joins them.");
    }
    let (start, count) = (request.start, paths.len());
    let next = page.fill(
        Span {
            start,
            end: count,
            count,
        },
        request.level,
        |out, position, _| {
            if let Some(path) = paths.get(position) {
                out.extend([path, "\n"]);
            }
        },
    );
    page.end(next, count, request.fingerprint);
    let shown = paths.get(start..next).unwrap_or_default();
    let matches = shown
        .iter()
        .map(|path| structured::Match::path(path, request.level));
    let matches = matches.collect();
    Ok(Some(Answer::new(page, matches)))
}

fn ambiguous<'a, I>(name: &str, tables: I) -> Reported
where
    I: Iterator<Item = Table<'a>>,
{
    let names: Vec<_> = tables.take(MAX_FULL).map(name::of).collect();
    let name: String = name.chars().take(100).collect();
    let names = names.join(", ");
    Reported::new(format!(
        "Several schemas have a table '{name}': {names}. Name the schema, too."
    ))
}

/// The text if a schema is not known, with those that are.
fn no_schema(metadata: &Metadata) -> String {
    let mut schemas: Vec<_> = metadata.tables().map(Table::schema).collect();
    schemas.dedup();
    let known = name::list(schemas.iter().copied().take(MAX_FULL));
    let more = if schemas.len() > MAX_FULL {
        ", …"
    } else {
        ""
    };
    format!("Nothing matches. No such schema is known; the schemas are: {known}{more}.")
}

/// The error if nothing matches, with the names that are nearest.
pub(super) async fn nothing(request: &Request, metadata: &Arc<Metadata>) -> Error {
    let asked: Vec<String> = match &request.subject {
        Subject::Paths { from, to } => {
            let tables: Vec<_> = metadata.tables().collect();
            let is_unknown = |name: &&String| name::find(&tables, None, name).is_empty();
            [from, to].into_iter().filter(is_unknown).cloned().collect()
        }
        Subject::Entries(SearchFilter {
            schema: Some(schema),
            ..
        }) if metadata.schema(schema).len() == 0 => {
            return Reported::new(no_schema(metadata)).into();
        }
        Subject::Entries(SearchFilter {
            table: Some(table), ..
        }) => vec![table.clone()],
        Subject::Entries(filter) => {
            let words = filter.query.split_whitespace().take(MAX_NEAR_WORDS);
            words.map(str::to_owned).collect()
        }
    };
    let metadata = Arc::clone(metadata);
    // It compares the names of all tables.
    let near = task::spawn_blocking(move || name::near(metadata.tables(), &asked)).await;
    match near {
        Ok(near) if near.is_empty() => {
            Reported::new("Nothing matches. No tables are known that the role may use.").into()
        }
        Ok(near) => {
            let near = near.join(", ");
            Reported::new(format!("Nothing matches. The nearest names are: {near}.")).into()
        }
        Err(error) => Error::internal(error),
    }
}
