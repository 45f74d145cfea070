//! Finds the rows with the vectors closest to the vector of a question.

use crate::{
    number, quoted,
    retrieval_queries::{DriverError, Hit, Row, Search},
    settings, text, vector,
};
use ziggurat_postgres::{error::QueryError, pool::Pool, single_round_trip::ReadOnlyQuery};

/// Minimum and maximum number of rows that an index examines; pgvector sets the maximum.
const EF_SEARCH: (u32, u32) = (40, 1000);

impl Search<'_> {
    /// Finds the closest rows by cosine similarity, the closest first. The score is the similarity,
    /// which is at least `least`. An index examines at least `ef_search` rows, if that is set.
    ///
    /// # Errors
    /// Fails when there is no connection, when PostgreSQL refuses or cancels the query, and when
    /// the connection breaks.
    pub async fn closest(
        &self,
        asked: &[f32],
        least: Option<f64>,
        ef_search: Option<u32>,
        pool: &Pool,
    ) -> Result<Vec<Hit>, QueryError> {
        let read_query = self.closest_query(asked, least, ef_search);
        let mut found = read_query.read(pool.lease().await?, similar).await?;
        // An index may return rows of almost equal distance in any order.
        found.sort_by(|one, two| match (one, two) {
            (Some(one), Some(two)) => two.score.total_cmp(&one.score),
            _ => one.is_none().cmp(&two.is_none()),
        });
        Ok(found.into_iter().flatten().collect())
    }

    pub(super) fn closest_query(
        &self,
        asked: &[f32],
        least: Option<f64>,
        ef_search: Option<u32>,
    ) -> ReadOnlyQuery {
        let mut builder = self.builder();
        let name = quoted(&self.place.vector);
        let distance = self.distance(asked);
        let mut query = format!(
            "SELECT {} FROM {}
             WHERE {} AND {name} IS NOT NULL
             ORDER BY 3 LIMIT {}",
            builder.hit_columns(&distance),
            self.place.table,
            self.allowed(&mut builder),
            self.rows,
        );
        if let Some(least) = least {
            // Outside of the search, because an index would search on for rows that are similar
            // enough. To plan a query within another takes time, so only this case has one.
            query = format!(
                "SELECT * FROM ({query}) AS near (id, content, distance, title, url)
                 WHERE 1 - near.distance >= {least:e}"
            );
        }
        ReadOnlyQuery {
            name: "SELECT",
            before: self.settings(ef_search),
            query,
            values: builder.values,
        }
    }

    /// Returns the cosine similarities of the rows with these ids, for the rows that have a vector.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn similarities(
        &self,
        ids: &[String],
        asked: &[f32],
        pool: &Pool,
    ) -> Result<Vec<(String, f64)>, QueryError> {
        let Some(read_query) = self.similarities_query(ids, asked) else {
            return Ok(Vec::new());
        };
        let pair = |row: &Row| {
            let distance = number(row, 1)?.filter(|distance| distance.is_finite());
            Ok(text(row, 0)?.zip(distance.map(|distance| 1.0 - distance)))
        };
        let found = read_query.read(pool.lease().await?, pair).await?;
        Ok(found.into_iter().flatten().collect())
    }

    pub(super) fn similarities_query(
        &self,
        ids: &[String],
        asked: &[f32],
    ) -> Option<ReadOnlyQuery> {
        let id = self.place.id.as_ref()?;
        let mut builder = self.builder();
        let ids = builder.ids(ids);
        let query = format!(
            "SELECT {id}::text, {} FROM {} WHERE {id} = ANY ({ids})",
            self.distance(asked),
            self.place.table,
            id = quoted(id),
        );
        Some(ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query,
            values: builder.values,
        })
    }

    /// Returns the SQL of the distance from a vector, by the expression that an index has.
    fn distance(&self, asked: &[f32]) -> String {
        let column = self.shape.column(&self.place.vector);
        let data_type = column.map_or("vector", |column| &*column.data_type);
        match self.shape.half_precision(self.place) {
            Some((expression, data_type)) => vector::distance(expression, &data_type, "<=>", asked),
            None => vector::distance(&quoted(&self.place.vector), data_type, "<=>", asked),
        }
    }

    /// Returns the settings for the index. Without a filter, few rows need none, and to plan and
    /// run them takes PostgreSQL a part of the time of the whole search.
    fn settings(&self, ef_search: Option<u32>) -> Option<String> {
        let reach = self.rows.max(ef_search.unwrap_or_default());
        // Rows of others fall out behind the index, as under a filter.
        let is_filtered = self.is_filtered() || self.shape.hides_rows();
        let is_default = !is_filtered && reach <= EF_SEARCH.0;
        let reach = reach.clamp(EF_SEARCH.0, EF_SEARCH.1);
        (!is_default).then(|| settings(reach, self.shape.is_acting))
    }
}

/// Reads a row that has its distance in the third column.
fn similar(row: &Row) -> Result<Option<Hit>, DriverError> {
    let hit = Hit::read(row)?;
    Ok(hit.map(|hit| Hit {
        score: 1.0 - hit.score,
        ..hit
    }))
}
