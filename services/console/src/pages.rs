//! The paths of the console and their files.

use http::{HeaderMap, HeaderValue, header};

use crate::{
    embedded_file::{EmbeddedFile, FILES},
    policy::{policy, policy_of_docs},
};

/// Path of the console.
pub const HOME: &str = "/console/";

/// Paths that need no token. What does not exist there is not found, and asks for none either.
pub const OPEN_PATHS: [&str; 3] = ["/console", "/console/*", "/api/console/session"];

/// Paths of the page that shows the description of the API, and of its files. They need no token.
pub const DOCS_PATHS: [&str; 2] = ["/docs", "/docs/assets/*"];

/// The page, which every screen has.
const PAGE: &str = "index.html";

/// Paths of the screens below [`HOME`], which one script shows.
const SCREENS: [&str; 9] = [
    "", "sign-in", "ask", "sql", "schema", "search", "tools", "activity", "admin",
];

/// Folder of the files whose names change with their content.
const ASSETS: &str = "assets/";

/// Folder of the page that shows the description of the API.
const DOCS: &str = "docs/";

/// Browsers ask again each time, and mostly learn that nothing has changed.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// A new version has new names.
const KEEP: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Returns the paths of the screens and of their files, each with its handler.
pub fn pages() -> impl Iterator<Item = (String, EmbeddedFile)> {
    let page = FILES.iter().find(|file| file.path == PAGE);
    let page = page.map(|file| EmbeddedFile::new(file, with_cache(policy(), ASK_AGAIN)));
    let screens = SCREENS.into_iter().filter_map(move |screen| {
        let page = page.clone()?;
        Some((format!("{HOME}{screen}"), page))
    });
    let assets = FILES.iter().filter(|file| file.path.starts_with(ASSETS));
    let assets = assets.map(|file| {
        let path = format!("{HOME}{}", file.path);
        (path, EmbeddedFile::new(file, with_cache(policy(), KEEP)))
    });
    screens.chain(assets)
}

/// Returns the paths of the page that shows the description of the API, and of its files, each with
/// its handler.
pub fn docs() -> impl Iterator<Item = (String, EmbeddedFile)> {
    FILES.iter().filter_map(|file| {
        let name = file.path.strip_prefix(DOCS)?;
        let [page, assets] = DOCS_PATHS;
        let (path, cache_control) = if name == PAGE {
            (page.to_owned(), ASK_AGAIN)
        } else {
            (assets.replace('*', name), KEEP)
        };
        let headers = with_cache(policy_of_docs(), cache_control);
        Some((path, EmbeddedFile::new(file, headers)))
    })
}

fn with_cache(mut headers: HeaderMap, cache_control: HeaderValue) -> HeaderMap {
    headers.insert(header::CACHE_CONTROL, cache_control);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_and_every_file_has_a_path_of_its_own() {
        let files = pages().chain(docs());
        let mut paths: Vec<_> = files.map(|(path, _)| path).collect();
        for page in [
            "/console/",
            "/console/sign-in",
            "/console/sql",
            "/console/activity",
            "/console/admin",
            "/docs",
        ] {
            assert!(paths.iter().any(|path| path == page), "{page}");
        }
        let all = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), all);
    }
}
