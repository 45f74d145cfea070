//! What there is to search, and which of it somebody wants.

use super::Error;

/// A product of which there is documentation, in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Product {
    /// What it is called.
    pub name: String,
    /// Of which version; empty if it has none.
    pub version: String,
    /// How many chunks there are.
    pub chunks: u64,
}

/// Which products to search: all that are named, or all there are if none is.
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
    /// Which of these products it lets through, one by one.
    ///
    /// # Errors
    /// Fails if it names a product that is not there. A version nobody has lets nothing through.
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
    fn names_and_versions_both_have_to_fit() {
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
    fn a_name_nobody_has_is_a_mistake() {
        for names in [&["garden"][..], &["Garden", "Lake"]] {
            let error = selected(names, &[]).expect_err("unknown").to_string();
            assert!(error.starts_with("Unknown project name: "), "{error}");
        }
    }
}
