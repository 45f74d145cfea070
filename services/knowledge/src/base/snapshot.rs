//! Contents of a file at one moment.

use std::{collections::HashMap, path::Path};

use futures_util::TryStreamExt as _;
use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions,
};
use tokio::sync::Mutex;
use tracing::{debug, warn};

use crate::{
    Error, Product, Provider,
    matrix::Matrix,
    schema::{self, Columns},
    vector::{self, MAX_DIMENSIONS},
};

/// Contents of a file at one moment, and the connection for reading the texts.
pub(crate) struct Snapshot {
    /// The only connection, because a second would be opened later and might find another file
    /// under the same path. Its lock is asynchronous, and held by one query at a time.
    pub(crate) connection: Mutex<SqliteConnection>,
    /// By name and version.
    pub(crate) products: Vec<Product>,
    pub(crate) vectors: Vectors,
    /// The model of the vectors, if the file names one.
    pub(crate) model: Option<String>,
    /// True if the file has an index over the words.
    pub(crate) has_words: bool,
}

/// The vectors of one provider.
#[derive(Debug)]
pub(crate) enum Vectors {
    /// The file has no column for them.
    Absent,
    /// One matrix per length.
    Held(Vec<Matrix>),
    /// There are more than the memory limit allows.
    TooMany,
}

// === impl Snapshot ===

impl Snapshot {
    /// Reads a file.
    pub(super) async fn load(
        path: &Path,
        provider: Provider,
        max_bytes: usize,
    ) -> Result<Self, Error> {
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        let mut connection = options.connect().await?;
        // A transaction, so that all reads see the same moment.
        let mut transaction = connection.begin().await?;
        let columns = Columns::read(&mut transaction).await?;
        columns.check()?;
        let products = products(&mut transaction).await?;
        let model = schema::model(&mut transaction, provider).await?;
        let has_words = schema::has_words(&mut transaction).await?;
        let vectors = if columns.has_vectors_of(provider) {
            vectors(&mut transaction, provider, &products, max_bytes).await?
        } else {
            Vectors::Absent
        };
        transaction.commit().await?;
        Ok(Self {
            connection: Mutex::new(connection),
            products,
            vectors,
            model,
            has_words,
        })
    }
}

async fn products(connection: &mut SqliteConnection) -> Result<Vec<Product>, Error> {
    let rows = sqlx::query(
        "SELECT project_name, project_version, count(*) FROM chunks GROUP BY 1, 2 ORDER BY 1, 2",
    )
    .fetch_all(connection)
    .await?;
    let mut products = Vec::with_capacity(rows.len());
    for row in rows {
        let chunks: i64 = row.try_get(2)?;
        products.push(Product::new(
            row.try_get(0)?,
            row.try_get(1)?,
            chunks.unsigned_abs(),
        ));
    }
    Ok(products)
}

/// Reads the vectors of a provider, if they fit into memory.
async fn vectors(
    connection: &mut SqliteConnection,
    provider: Provider,
    products: &[Product],
    max_bytes: usize,
) -> Result<Vectors, Error> {
    let mut matrices = matrices(connection, provider).await?;
    let size = |(dimensions, rows): &(usize, usize)| Matrix::size(*dimensions, *rows);
    let bytes = matrices.iter().map(size).fold(0, usize::saturating_add);
    if bytes > max_bytes {
        warn!(
            bytes,
            max_bytes,
            "the knowledge base is read through for each search: it takes more memory \
            than knowledgebase.max_memory_bytes allows"
        );
        return Ok(Vectors::TooMany);
    }
    if matrices.len() > 1 {
        warn!("the knowledge base has vectors of several lengths: only some can be compared");
    }
    let mut held: Vec<_> = matrices
        .drain(..)
        .map(|(dimensions, rows)| Matrix::new(dimensions, rows))
        .collect();
    let places = ProductIndex::new(products);
    let mut rows = sqlx::query(provider.statements().all).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        let bytes: &[u8] = row.try_get(3)?;
        let matrix = held
            .iter_mut()
            .find(|matrix| vector::dimensions(bytes) == Some(matrix.dimensions()));
        if let Some(matrix) = matrix
            && let Some(product) = places.find(row.try_get(1)?, row.try_get(2)?)
        {
            matrix.push(row.try_get(0)?, product, bytes);
        }
    }
    for matrix in &mut held {
        matrix.finish();
        debug!(
            dimensions = matrix.dimensions(),
            rows = matrix.len(),
            "vectors of the knowledge base are in memory"
        );
    }
    Ok(Vectors::Held(held))
}

/// Counts the vectors of each length.
async fn matrices(
    connection: &mut SqliteConnection,
    provider: Provider,
) -> Result<Vec<(usize, usize)>, Error> {
    let rows = sqlx::query(provider.statements().lengths)
        .fetch_all(connection)
        .await?;
    let mut matrices = Vec::new();
    for row in rows {
        let (bytes, count): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let bytes = usize::try_from(bytes).unwrap_or(0);
        let is_vector = bytes.is_multiple_of(4) && (1..=MAX_DIMENSIONS).contains(&(bytes / 4));
        if is_vector {
            matrices.push((bytes / 4, usize::try_from(count).unwrap_or(usize::MAX)));
        } else {
            warn!(
                count,
                "chunks of the knowledge base have vectors that are none"
            );
        }
    }
    Ok(matrices)
}

/// Index of the products in the list.
pub(crate) struct ProductIndex<'a>(HashMap<(&'a str, &'a str), u32>);

// === impl ProductIndex ===

impl<'a> ProductIndex<'a> {
    pub(crate) fn new(products: &'a [Product]) -> Self {
        let names = products
            .iter()
            .map(|product| (&*product.name, &*product.version));
        Self(names.zip(0..).collect())
    }

    pub(crate) fn find(&self, name: &str, version: &str) -> Option<u32> {
        self.0.get(&(name, version)).copied()
    }
}
