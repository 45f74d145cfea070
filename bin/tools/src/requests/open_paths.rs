//! Paths of requests that are not calls, and that need no token.

use ziggurat_console::{DOCS_PATHS, OPEN_PATHS};

/// Paths of the description of the server.
///
/// They need no token: the document is the same on every server and holds no secret, and a client
/// reads it to learn how to authenticate.
pub(crate) const DESCRIPTION: [&str; 2] = [ziggurat_openapi::PATH, "/openapi.json"];

/// Paths of probes, which send any host and no token.
pub(crate) const PROBES: [&str; 2] = ["/health", "/ready"];

/// Paths below which a client looks for an OAuth server.
pub(crate) const WELL_KNOWN: &str = "/.well-known/*";

/// Returns whether a path is of a probe, a page, a description or the sign-in. Requests for these
/// paths have to work while a caller has used up its allowance.
pub(crate) fn is_open(path: &str) -> bool {
    let fits = |open: &&str| match open.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == *open,
    };
    let paths = PROBES.iter().chain(&DESCRIPTION).chain(&OPEN_PATHS);
    paths.chain(&DOCS_PATHS).chain([&WELL_KNOWN]).any(fits)
}
