//! The request paths that a rule applies to.

use http::Uri;

use crate::dot_segments::has_dot_segment;

/// A set of exact paths and of subtrees (`/docs/*`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    exact: Vec<String>,
    below: Vec<String>,
}

// === impl Paths ===

impl Paths {
    pub(crate) fn extend<P: Into<String>>(&mut self, paths: impl IntoIterator<Item = P>) {
        for path in paths {
            let mut path = path.into();
            if path.ends_with("/*") {
                path.pop();
                self.below.push(path);
            } else {
                self.exact.push(path);
            }
        }
    }

    /// Like [`contain`](Self::contain), but returns at once if there is no rule, the usual case.
    #[inline]
    pub(crate) fn contain_path_of(&self, uri: &Uri) -> bool {
        !(self.exact.is_empty() && self.below.is_empty()) && self.contain(uri.path())
    }

    pub(crate) fn contain(&self, path: &str) -> bool {
        self.exact.iter().any(|exact| exact == path)
            || (self.below.iter().any(|root| path.starts_with(root)) && !has_dot_segment(path))
    }
}
