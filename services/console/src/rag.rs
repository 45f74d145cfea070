//! The console of `ziggurat-rag`: its paths and their files.

use crate::{
    embedded_file::{ASSETS, EmbeddedFile, PAGE, RAG_FILES},
    policy::policy,
};

/// Path of the page.
const HOME: &str = "/";

/// Folder of the paths of its files.
const FILES: &str = "/console/";

/// Paths that need no token.
pub const OPEN_PATHS: [&str; 2] = [HOME, "/console/assets/*"];

/// Returns the path of the page and the paths of its files, each with its handler.
pub fn pages() -> impl Iterator<Item = (String, EmbeddedFile)> {
    RAG_FILES.iter().filter_map(|file| {
        if file.path == PAGE {
            Some((HOME.to_owned(), EmbeddedFile::page(file, policy())))
        } else if file.path.starts_with(ASSETS) {
            let path = format!("{FILES}{}", file.path);
            Some((path, EmbeddedFile::asset(file, policy())))
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn every_file_has_a_path_and_the_page_names_only_files_that_are_there() {
        let paths: Vec<_> = pages().map(|(path, _)| path).collect();
        assert_eq!(paths.len(), RAG_FILES.len());
        let page = RAG_FILES.iter().find(|file| file.path == PAGE);
        let mut html = String::new();
        let inflated = GzDecoder::new(page.expect("a page").gzip).read_to_string(&mut html);
        inflated.expect("the build compressed it");
        assert!(html.starts_with("<!doctype html>"), "{html}");
        for attribute in ["src=\"", "href=\""] {
            for rest in html.split(attribute).skip(1) {
                let path = rest.split('"').next().expect("an end");
                assert!(paths.iter().any(|known| known == path), "{path}");
            }
        }
        // The policy allows no script or style in the page itself.
        assert!(
            !html.contains("<style") && !html.contains("<script>"),
            "{html}"
        );
    }
}
