//! The paths of the console of `ziggurat-tools` and their files.

use crate::{
    embedded_file::{ASSETS, EmbeddedFile, PAGE, TOOLS_FILES},
    policy::{policy, policy_of_docs},
};

/// Path of the console.
pub const HOME: &str = "/console/";

/// Paths that need no token. What does not exist there is not found, and asks for none either.
pub const OPEN_PATHS: [&str; 3] = ["/console", "/console/*", "/api/console/session"];

/// Paths of the page that shows the description of the API, and of its files. They need no token.
pub const DOCS_PATHS: [&str; 2] = ["/docs", "/docs/assets/*"];

/// Paths of the screens below [`HOME`], which one script shows.
const SCREENS: [&str; 9] = [
    "", "sign-in", "ask", "sql", "schema", "search", "tools", "activity", "admin",
];

/// Folder of the page that shows the description of the API.
const DOCS: &str = "docs/";

/// Returns the paths of the screens and of their files, each with its handler.
pub fn pages() -> impl Iterator<Item = (String, EmbeddedFile)> {
    let page = TOOLS_FILES.iter().find(|file| file.path == PAGE);
    let page = page.map(|file| EmbeddedFile::page(file, policy()));
    let screens = SCREENS.into_iter().filter_map(move |screen| {
        let page = page.clone()?;
        Some((format!("{HOME}{screen}"), page))
    });
    let assets = TOOLS_FILES.iter();
    let assets = assets.filter(|file| file.path.starts_with(ASSETS));
    let assets = assets.map(|file| {
        let path = format!("{HOME}{}", file.path);
        (path, EmbeddedFile::asset(file, policy()))
    });
    screens.chain(assets)
}

/// Returns the paths of the page that shows the description of the API, and of its files, each with
/// its handler.
pub fn docs() -> impl Iterator<Item = (String, EmbeddedFile)> {
    TOOLS_FILES.iter().filter_map(|file| {
        let name = file.path.strip_prefix(DOCS)?;
        let [page, assets] = DOCS_PATHS;
        let headers = policy_of_docs();
        Some(if name == PAGE {
            (page.to_owned(), EmbeddedFile::page(file, headers))
        } else {
            (
                assets.replace('*', name),
                EmbeddedFile::asset(file, headers),
            )
        })
    })
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
