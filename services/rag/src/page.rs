//! The page for asking pipelines in a browser.

/// A page that lists the pipelines and sends questions to them. It loads nothing from other servers
/// and shows all received data as text.
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
    fn the_page_loads_nothing_from_other_servers() {
        for external in [
            "http:", "https:", "src=", "href=", "@import", "url(", "//cdn",
        ] {
            assert!(!PAGE.contains(external), "{external}");
        }
        for path in ["/v1/pipelines", "/v1/health"] {
            assert!(PAGE.contains(path), "{path}");
        }
    }

    #[test]
    fn nothing_the_page_receives_becomes_markup_or_code() {
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
    fn the_page_has_one_style_element_and_one_script_element() {
        for tag in ["<style>", "</style>", "<script>", "</script>"] {
            assert_eq!(PAGE.matches(tag).count(), 1, "{tag}");
        }
    }

    #[test]
    fn every_field_has_a_label_and_every_id_in_the_script_exists() {
        let ids = PAGE
            .split("byId(\"")
            .skip(1)
            .map(|rest| rest.split('"').next());
        for id in ids {
            let id = id.expect("an id");
            assert!(PAGE.contains(&format!("id=\"{id}\"")), "{id}");
        }
        for field in ["pipeline", "query", "token"] {
            assert!(
                PAGE.contains(&format!("<label for=\"{field}\">")),
                "{field}"
            );
        }
    }
}
