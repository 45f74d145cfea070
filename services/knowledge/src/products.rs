//! Products in a knowledge base, and the filter for a search.

use crate::Error;

/// A product with documentation, in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Product {
    /// Its name.
    pub name: String,
    /// Its version; empty if it has none.
    pub version: String,
    /// Number of its chunks.
    pub chunks: u64,
}

/// Selects the products to search: all that are named, or all if none is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of products.
    pub projects: Vec<String>,
    /// Their versions.
    pub versions: Vec<String>,
}

// === impl Product ===

impl Product {
    pub(super) fn new(name: String, version: String, chunks: u64) -> Self {
        Self {
            name,
            version,
            chunks,
        }
    }
}

// === impl Filter ===

impl Filter {
    /// Returns for each of these products whether it is selected.
    ///
    /// # Errors
    /// Fails if it names an unknown product. An unknown version selects nothing.
    pub(super) fn select(&self, products: &[Product]) -> Result<Vec<bool>, Error> {
        let unknown = self.projects.iter().find(|name| {
            let mut products = products.iter();
            !products.any(|product| product.name == **name)
        });
        if let Some(name) = unknown {
            return Err(Error::UnknownProject(name.clone()));
        }
        let lets = |wanted: &[String], found: &String| wanted.is_empty() || wanted.contains(found);
        Ok(products
            .iter()
            .map(|product| {
                lets(&self.projects, &product.name) && lets(&self.versions, &product.version)
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(projects: &[&str], versions: &[&str]) -> Result<Vec<bool>, Error> {
        let product = |name: &str, version: &str| Product::new(name.into(), version.into(), 1);
        let products = [
            product("Garden", "1"),
            product("Garden", "2"),
            product("Pond", ""),
        ];
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let filter = Filter {
            projects: owned(projects),
            versions: owned(versions),
        };
        filter.select(&products)
    }

    #[test]
    fn names_and_versions_must_both_match() {
        for (projects, versions, expected) in [
            (&[][..], &[][..], [true, true, true]),
            (&["Garden"], &[], [true, true, false]),
            (&[], &["1"], [true, false, false]),
            (&["Pond", "Garden"], &["", "2"], [false, true, true]),
            (&["Pond"], &["1"], [false, false, false]),
            (&[], &["7"], [false, false, false]),
        ] {
            let found = selected(projects, versions).expect("known");
            assert_eq!(found, expected, "{projects:?} {versions:?}");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        for names in [&["garden"][..], &["Garden", "Lake"]] {
            let error = selected(names, &[]).expect_err("unknown").to_string();
            assert!(error.starts_with("Unknown project name: "), "{error}");
        }
    }
}
