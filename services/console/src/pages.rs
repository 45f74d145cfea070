//! The paths of the console and their files.

use http::{HeaderMap, HeaderValue, header};

use crate::{
    embedded_file::{EmbeddedFile, FILES},
    policy::policy,
};

/// Path of the console.
pub const HOME: &str = "/console/";

/// Paths that need no token. What does not exist there is not found, and asks for none either.
pub const OPEN_PATHS: [&str; 2] = ["/console", "/console/*"];

/// The page, which every screen has.
const PAGE: &str = "index.html";

/// Paths of the screens below [`HOME`], which one script shows.
const SCREENS: [&str; 7] = ["", "sign-in", "ask", "sql", "schema", "search", "tools"];

/// Folder of the files whose names change with their content.
const ASSETS: &str = "assets/";

/// Browsers ask again each time, and mostly learn that nothing has changed.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// A new version has new names.
const KEEP: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Returns the paths of the screens and of their files, each with its handler.
pub fn pages() -> impl Iterator<Item = (String, EmbeddedFile)> {
    let page = FILES.iter().find(|file| file.path == PAGE);
    let page = page.map(|file| EmbeddedFile::new(file, headers(ASK_AGAIN)));
    let screens = SCREENS.into_iter().flat_map(move |screen| {
        let page = page.clone();
        page.map(|page| (format!("{HOME}{screen}"), page))
    });
    let assets = FILES.iter().filter(|file| file.path.starts_with(ASSETS));
    let assets = assets.map(|file| {
        let path = format!("{HOME}{}", file.path);
        (path, EmbeddedFile::new(file, headers(KEEP)))
    });
    screens.chain(assets)
}

fn headers(cache_control: HeaderValue) -> HeaderMap {
    let mut headers = policy();
    headers.insert(header::CACHE_CONTROL, cache_control);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_and_every_file_has_a_path_of_its_own() {
        let mut paths: Vec<_> = pages().map(|(path, _)| path).collect();
        for screen in ["/console/", "/console/sign-in", "/console/sql"] {
            assert!(paths.iter().any(|path| path == screen), "{screen}");
        }
        assert!(paths.iter().all(|path| path.starts_with(HOME)));
        let all = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), all);
    }
}
