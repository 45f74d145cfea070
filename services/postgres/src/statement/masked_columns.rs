//! The columns that are masked for a caller.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::warn;
use ziggurat_masking::Mask;
use ziggurat_sql::{Lexer, Refusal, Token};

use crate::{
    database::{Acting, CallerColumns, CallerMasks, Database, MaskFindings, Masking},
    error::{Phase, QueryError},
    pool::Pool,
};

/// The columns of a database that are masked for a caller, for statements and answers of this server
/// about tables that a caller names.
#[derive(Clone, Debug, Default)]
pub struct MaskedColumns(Known);

#[derive(Clone, Debug, Default)]
enum Known {
    /// No rule holds for the caller.
    #[default]
    None,
    Columns(Arc<CallerColumns>),
    /// There are rules for the caller, and the columns cannot be looked up.
    Unknown,
}

// === impl MaskedColumns ===

impl MaskedColumns {
    /// Looks them up, if there are rules for the caller, so that a table is among those that are
    /// known.
    ///
    /// # Errors
    /// Fails if they are not known.
    pub async fn of(pool: &Pool, table: u32) -> Result<Self, QueryError> {
        match pool.database().masks() {
            Some(masks) => Self::held_by(masks, pool, table).await,
            None => Ok(Self::default()),
        }
    }

    /// Looks up the columns that these masks hide, so that a table is among those that are known.
    ///
    /// # Errors
    /// Fails if they are not known.
    pub async fn held_by(masks: &CallerMasks, pool: &Pool, table: u32) -> Result<Self, QueryError> {
        let known = Self::look_up(masks, pool, |columns| columns.know_table(table)).await;
        match known.0 {
            Known::Unknown => Err(Refusal::NotReady.into()),
            _ => Ok(known),
        }
    }

    /// Looks them up, if there are rules for the caller, for an answer about tables. If they are not
    /// known, no column has a mark, and texts about all columns are hidden.
    pub async fn marks(pool: &Pool) -> Self {
        match pool.database().masks() {
            Some(masks) => Self::look_up(masks, pool, |_| true).await,
            None => Self::default(),
        }
    }

    async fn look_up(
        masks: &CallerMasks,
        pool: &Pool,
        is_recent: impl Fn(&CallerColumns) -> bool,
    ) -> Self {
        let known = masks.known(role(pool.database()));
        let columns = match known.filter(|it| is_recent(it)) {
            Some(columns) => Some(columns),
            // Boxed: rare, and large.
            None => Box::pin(look_up(masks, pool)).await,
        };
        Self(columns.map_or(Known::Unknown, Known::Columns))
    }

    /// Returns whether no rule holds for the caller.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Known::None)
    }

    /// Returns whether a column of a table is masked, at least in part, or could be.
    #[must_use]
    pub fn has(&self, table: u32, column: u16) -> bool {
        match &self.0 {
            Known::None => false,
            Known::Columns(columns) => columns.has(table, column),
            Known::Unknown => true,
        }
    }

    /// Returns whether a column of a table is known to be masked, at least in part.
    #[must_use]
    pub fn mark(&self, table: u32, column: u16) -> bool {
        matches!(&self.0, Known::Columns(columns) if columns.mark(table, column))
    }

    /// Returns the mask of a column of a table.
    #[must_use]
    pub fn mask(&self, table: u32, column: u16) -> Option<Mask> {
        match &self.0 {
            Known::Columns(columns) => columns.mask(table, column),
            _ => None,
        }
    }

    /// Returns whether the other ones were looked up at the same time, for the same caller.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Known::Columns(one), Known::Columns(two)) => Arc::ptr_eq(one, two),
            (Known::None, Known::None) => true,
            _ => false,
        }
    }

    /// Returns whether a text names a masked column of a table, by the schema and name of that.
    #[must_use]
    pub fn are_in(&self, text: &str, table: (&str, &str)) -> bool {
        match &self.0 {
            Known::None => false,
            Known::Columns(columns) => {
                let names = columns.names(table);
                let mut words = Lexer::new(text).filter_map(Token::identifier);
                words.any(|word| names.contains(&*word))
            }
            Known::Unknown => true,
        }
    }

    /// Returns whether a table, by its schema and name, has a masked column, or could have one.
    #[must_use]
    pub fn are_of(&self, table: (&str, &str)) -> bool {
        match &self.0 {
            Known::None => false,
            Known::Columns(columns) => !columns.names(table).is_empty(),
            Known::Unknown => true,
        }
    }

    /// Returns an expression, or the definition of an index with its condition, without what could be a
    /// value of a masked column.
    #[must_use]
    pub fn shown<'a>(&self, text: &'a str, table: (&str, &str)) -> &'a str {
        let is_open = |text| !(self.are_in(text, table) && has_value(text));
        let parts = [" where ", " WHERE "].map(|word| text.rsplit_once(word));
        let start = parts.into_iter().flatten().next().map(|(start, _)| start);
        let mut shown = [Some(text), start].into_iter().flatten();
        shown.find(|text| is_open(text)).unwrap_or_default()
    }
}

/// Returns whether a text has a constant.
fn has_value(text: &str) -> bool {
    Lexer::new(text).any(|it| matches!(it, Token::Literal | Token::Number | Token::Unclosed))
}

/// Looks for mistakes in the masks of a database, and for roles that may read masked columns. The
/// connections have its own user. `may_give` says of a role if a caller may get it.
///
/// # Errors
/// Fails if a query does.
pub async fn mask_findings(
    pool: &Pool,
    masking: &Masking,
    may_give: impl Fn(&str) -> bool,
) -> Result<MaskFindings, QueryError> {
    let database = pool.database();
    let mut client = pool.side_connection().await?;
    client.set_patience(database.query_timeout());
    let user = &database.settings().user;
    let found = masking.findings(&mut client, user, may_give).await;
    found.map_err(|error| QueryError::new(error, Phase::Run, 0))
}

/// Looks up the masked columns of a caller.
pub(super) async fn look_up(masks: &CallerMasks, pool: &Pool) -> Option<Arc<CallerColumns>> {
    let connect = pool.side_connection_to(masks.base());
    let role = role(pool.database());
    let columns = masks.newer(Instant::now(), role, connect).await;
    let columns = columns.inspect_err(|error| {
        let database = pool.database().name();
        warn!(
            error = &**error,
            database, "the masked columns are not ready, so statements are refused"
        );
    });
    columns.ok()
}

/// Returns the columns of a relation that a caller may read; none if they cannot be looked up.
pub(super) async fn readable(masks: &CallerMasks, pool: &Pool, relation: u32) -> Vec<String> {
    let connect = pool.side_connection_to(masks.base());
    let columns = masks.readable(relation, role(pool.database()), connect);
    columns.await.unwrap_or_default()
}

/// Returns the role of a caller, if it is not the database's own user.
pub(super) fn role(database: &Database) -> Option<&str> {
    database.acts().and_then(Acting::role)
}
