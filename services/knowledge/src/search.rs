//! Searches for the passages closest to a question.

mod passages;
#[cfg(test)]
mod tests;
mod words;

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::Arc,
};

use futures_util::TryStreamExt as _;
use sqlx::Row as _;
use tokio::{sync::Semaphore, task::spawn_blocking};
use ziggurat_search::fusion::{Fusion, add_known};

pub use self::passages::Passage;
use crate::{
    Error, Provider,
    base::{ProductIndex, Snapshot, Vectors},
    matrix::{Candidates, Matrix},
    top_chunks::{Scored, TopChunks},
    vector::{self, QueryVector},
};

/// Number of vectors that are read from the file at a time.
const BATCH: usize = 128;

/// Number of passages that are found by vectors, and by words, before both are merged.
const CANDIDATES: usize = 50;

/// A search among some products, in the contents of the file when it was prepared.
#[derive(Clone)]
pub struct Search {
    snapshot: Arc<Snapshot>,
    provider: Provider,
    /// Selected products, by index.
    selected: Arc<[bool]>,
    searching: Arc<Semaphore>,
}

// === impl Search ===

impl Search {
    pub(super) fn new(
        snapshot: Arc<Snapshot>,
        provider: Provider,
        selected: Vec<bool>,
        searching: Arc<Semaphore>,
    ) -> Self {
        Self {
            snapshot,
            provider,
            selected: selected.into(),
            searching,
        }
    }

    /// Checks that there are vectors, if there are products.
    pub(super) fn check(&self) -> Result<(), Error> {
        let has_vectors = match &self.snapshot.vectors {
            Vectors::Absent => false,
            Vectors::Held(matrices) => matrices.iter().any(|one| one.has(&self.selected)),
            Vectors::TooMany => true,
        };
        let is_any = self.selected.contains(&true);
        if is_any && !has_vectors {
            return Err(Error::NoVectors(self.provider.name()));
        }
        Ok(())
    }

    /// Finds the `count` passages that fit a question best, by its vector and by its words.
    ///
    /// A file without an index over its words is searched by the vector alone.
    ///
    /// # Errors
    /// Fails if the file can no longer be read, and if its vectors have another length.
    pub async fn find(
        &self,
        question: &str,
        vector: &[f32],
        count: usize,
    ) -> Result<Vec<Passage>, Error> {
        let wanted = count.max(CANDIDATES);
        let Some(top_chunks) = self.top_chunks(vector, wanted).await? else {
            return Ok(Vec::new());
        };
        let closest = top_chunks.into_vec();
        let by_words = words::find(&self.snapshot, &self.selected, question, wanted).await?;
        let pairs = |found: &[Scored]| -> Vec<_> {
            found.iter().map(|found| (found.id, found.score)).collect()
        };
        let mut closest = pairs(&closest);
        let mut similarities: HashMap<_, _> = closest.iter().copied().collect();
        let ids = by_words.iter().map(|found| found.id);
        let unknown = ids.filter(|id| !similarities.contains_key(id));
        let unknown: Vec<_> = unknown.collect();
        let others = self.similarities(vector, &unknown).await?;
        similarities.extend(others.iter().copied());
        add_known(&mut closest, others);
        let fused = Fusion::default().fuse(closest, pairs(&by_words));
        // Passages without a vector are not comparable, and are left out.
        let best = fused.iter().filter_map(|entry| {
            let score = *similarities.get(&entry.key)?;
            let id = entry.key;
            Some(Scored { score, id })
        });
        passages::read(&self.snapshot, best.take(count).collect()).await
    }

    /// Finds the `count` passages with the highest cosine similarity to this vector, the closest
    /// first.
    ///
    /// # Errors
    /// Fails if the file can no longer be read, and if its vectors have another length.
    pub async fn nearest(&self, vector: &[f32], count: usize) -> Result<Vec<Passage>, Error> {
        match self.top_chunks(vector, count).await? {
            Some(top_chunks) => passages::read(&self.snapshot, top_chunks.into_vec()).await,
            None => Ok(Vec::new()),
        }
    }

    async fn top_chunks(&self, vector: &[f32], count: usize) -> Result<Option<TopChunks>, Error> {
        // A zero vector is close to nothing.
        let Some(question) = QueryVector::new(vector) else {
            return Ok(None);
        };
        if !self.selected.contains(&true) {
            return Ok(None);
        }
        let top_chunks = match &self.snapshot.vectors {
            Vectors::Absent => return Err(Error::NoVectors(self.provider.name())),
            Vectors::Held(_) => self.among_held(question, count).await?,
            Vectors::TooMany => self.among_all(&question, count).await?,
        };
        Ok(Some(top_chunks))
    }

    /// Returns the similarities of chunks to a vector, for those that have one.
    async fn similarities(&self, vector: &[f32], ids: &[i64]) -> Result<Vec<(i64, f64)>, Error> {
        let mut top_chunks = TopChunks::new(ids.len());
        if let Some(question) = QueryVector::new(vector)
            && !ids.is_empty()
        {
            self.compare(ids, &question, &mut top_chunks).await?;
        }
        let found = top_chunks.into_vec().into_iter();
        Ok(found.map(|found| (found.id, found.score)).collect())
    }

    /// Finds the candidates in memory, and compares them exactly.
    async fn among_held(&self, question: QueryVector, count: usize) -> Result<TopChunks, Error> {
        let turn = Arc::clone(&self.searching).acquire_owned().await;
        let (snapshot, selected) = (Arc::clone(&self.snapshot), Arc::clone(&self.selected));
        let work = move || {
            // Held until the work ends, even if the caller no longer waits for it.
            let _turn = turn;
            let found = candidates(&snapshot, &question, &selected, count);
            (question, found)
        };
        let (question, found) = spawn_blocking(work).await.map_err(Error::Interrupted)?;
        if !found.is_any {
            return self.nothing_compared(&question);
        }
        let mut top_chunks = TopChunks::new(count);
        let mut rest = VecDeque::from(found.rows);
        while let Some(next) = rest.front() {
            // The remaining candidates cannot reach the best.
            if top_chunks
                .threshold()
                .is_some_and(|threshold| threshold > next.score)
            {
                break;
            }
            let batch = rest.drain(..rest.len().min(BATCH));
            let ids: Vec<_> = batch.map(|row| row.id).collect();
            self.compare(&ids, &question, &mut top_chunks).await?;
        }
        Ok(top_chunks)
    }

    /// Compares a few chunks exactly.
    async fn compare(
        &self,
        ids: &[i64],
        question: &QueryVector,
        top_chunks: &mut TopChunks,
    ) -> Result<(), Error> {
        let mut connection = self.snapshot.connection.lock().await;
        let mut rows = sqlx::query(self.provider.statements().some)
            .bind(passages::json(ids))
            .fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            if let Some(score) = question.similarity(row.try_get(1)?) {
                let id = row.try_get(0)?;
                top_chunks.offer(Scored { score, id });
            }
        }
        Ok(())
    }

    /// Reads the whole file.
    async fn among_all(&self, question: &QueryVector, count: usize) -> Result<TopChunks, Error> {
        let places = ProductIndex::new(&self.snapshot.products);
        let mut top_chunks = TopChunks::new(count);
        let (mut is_any, mut other) = (false, None);
        let mut connection = self.snapshot.connection.lock().await;
        let mut rows = sqlx::query(self.provider.statements().all).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            let product = places.find(row.try_get(1)?, row.try_get(2)?);
            let at = product.and_then(|at| usize::try_from(at).ok());
            if at.and_then(|at| self.selected.get(at)) != Some(&true) {
                continue;
            }
            let bytes: &[u8] = row.try_get(3)?;
            if vector::dimensions(bytes) != Some(question.dimensions()) {
                other = other.or(vector::dimensions(bytes));
                continue;
            }
            is_any = true;
            if let Some(score) = question.similarity(bytes) {
                let id = row.try_get(0)?;
                top_chunks.offer(Scored { score, id });
            }
        }
        if is_any {
            return Ok(top_chunks);
        }
        Err(self.lengths(other, question))
    }

    /// Returns the error for vectors of another length than the question's, if there is one.
    fn nothing_compared(&self, question: &QueryVector) -> Result<TopChunks, Error> {
        let Vectors::Held(matrices) = &self.snapshot.vectors else {
            return Err(Error::NoVectors(self.provider.name()));
        };
        let other = matrices.iter().find(|one| one.has(&self.selected));
        let held = other.map(Matrix::dimensions);
        if held == Some(question.dimensions()) {
            return Ok(TopChunks::new(0));
        }
        Err(self.lengths(held, question))
    }

    fn lengths(&self, held: Option<usize>, question: &QueryVector) -> Error {
        let provider = self.provider.name();
        held.map_or(Error::NoVectors(provider), |held| Error::Lengths {
            provider,
            held,
            asked: question.dimensions(),
        })
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

fn candidates(
    snapshot: &Snapshot,
    question: &QueryVector,
    selected: &[bool],
    count: usize,
) -> Candidates {
    let matrices = match &snapshot.vectors {
        Vectors::Held(matrices) => &**matrices,
        Vectors::Absent | Vectors::TooMany => &[],
    };
    matrices
        .iter()
        .find(|matrix| matrix.dimensions() == question.dimensions())
        .map_or(
            Candidates {
                is_any: false,
                rows: Vec::new(),
            },
            |matrix| matrix.candidates(question, selected, count),
        )
}
