//! The page pipelines are asked on.

/// A page that lists the pipelines and asks them. It needs nothing from anywhere else, and shows
/// whatever it is told as text.
pub(super) const PAGE: &str = concat!(
    include_str!("page/head.html"),
    "<style>\n",
    include_str!("page/style.css"),
    "</style>\n",
    include_str!("page/body.html"),
    "<script>\n",
    include_str!("page/script.js"),
    "</script>\n",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        for elsewhere in [
            "http:", "https:", "src=", "href=", "@import", "url(", "//cdn",
        ] {
            assert!(!PAGE.contains(elsewhere), "{elsewhere}");
        }
        for path in ["/v1/pipelines", "/v1/health"] {
            assert!(PAGE.contains(path), "{path}");
        }
    }

    #[test]
    fn nothing_the_page_is_told_becomes_markup_or_code() {
        let ways = [
            "HTML",
            "document.write",
            "eval(",
            "new Function",
            "createContextualFragment",
        ];
        for way in ways {
            assert!(!PAGE.contains(way), "{way}");
        }
        for handler in ["onclick", "onload", "onerror", "javascript:"] {
            assert!(!PAGE.contains(handler), "{handler}");
        }
    }

    #[test]
    fn the_page_shows_no_scores_and_says_why_there_are_no_sources() {
        assert!(!PAGE.contains("score,") && !PAGE.contains("toPrecision"));
        assert!(PAGE.contains("(notice ?? "));
    }

    #[test]
    fn the_page_has_one_style_and_one_script_that_ends_where_it_ends() {
        for tag in ["<style>", "</style>", "<script>", "</script>"] {
            assert_eq!(PAGE.matches(tag).count(), 1, "{tag}");
        }
    }

    #[test]
    fn every_field_has_a_label_and_everything_that_is_looked_for_is_there() {
        let ids = PAGE
            .split("byId(\"")
            .skip(1)
            .map(|rest| rest.split('"').next());
        for id in ids {
            let id = id.expect("an id");
            assert!(PAGE.contains(&format!("id=\"{id}\"")), "{id}");
        }
        for field in ["pipeline", "query"] {
            assert!(
                PAGE.contains(&format!("<label for=\"{field}\">")),
                "{field}"
            );
        }
    }
}
