//! Extracts visible text and headings from HTML.
//!
//! Made for documentation, not as a browser: it builds no tree, takes tags in sequence, and runs in
//! linear time.

mod flow;
mod tag;

use self::{
    flow::{Break, Flow},
    tag::{Tag, find_end},
};
use super::{Document, entities, outline::Outline};

/// Elements whose content is raw text up to their end tag.
const RAW: [&str; 4] = ["script", "style", "textarea", "xmp"];

/// Elements that hold no text of the document.
const HIDDEN: [&str; 8] = [
    "nav", "noscript", "template", "svg", "math", "iframe", "object", "select",
];

/// Elements that start a new line.
const BLOCKS: [&str; 34] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "legend",
    "li",
    "main",
    "menu",
    "ol",
    "optgroup",
    "option",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tr",
    "ul",
];

/// State of the extraction.
struct Reader {
    outline: Outline,
    flow: Flow,
    /// The current heading and its level.
    heading: Option<(u8, String)>,
    /// The hidden element that the position is in, and its nesting depth.
    hidden: Option<(&'static str, usize)>,
    /// Nesting depth of elements that preserve white space.
    preformatted: usize,
}

pub(super) fn read(html: &str) -> Document {
    let mut reader = Reader {
        outline: Outline::default(),
        flow: Flow::default(),
        heading: None,
        hidden: None,
        preformatted: 0,
    };
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, markup) = rest.split_at(at);
        reader.text(text);
        rest = reader.markup(markup);
    }
    reader.text(rest);
    reader.end_heading();
    reader.outline.finish()
}

// === impl Reader ===

impl Reader {
    /// Processes markup that begins with `<`, and returns the rest after it.
    fn markup<'a>(&mut self, markup: &'a str) -> &'a str {
        if let Some(comment) = markup.strip_prefix("<!--") {
            return comment.find("-->").map_or("", |end| &comment[end + 3..]);
        }
        if markup.starts_with("<!") || markup.starts_with("<?") {
            return markup.find('>').map_or("", |end| &markup[end + 1..]);
        }
        let Some((tag, rest)) = Tag::read(markup) else {
            self.text("<");
            return &markup[1..];
        };
        if tag.is_start
            && let Some(name) = RAW.into_iter().find(|name| tag.is(name))
        {
            return find_end(rest, name).1;
        }
        if tag.is_start && tag.is("title") && self.hidden.is_none() {
            let (title, rest) = find_end(rest, "title");
            let mut text = String::new();
            entities::decode(title, &mut text);
            self.outline.title(&text);
            return rest;
        }
        if self.is_hidden(&tag) {
            return rest;
        }
        self.tag(&tag);
        rest
    }

    /// Returns whether a tag is inside a hidden element, or begins one.
    fn is_hidden(&mut self, tag: &Tag<'_>) -> bool {
        if let Some((name, depth)) = &mut self.hidden {
            if tag.is(name) && tag.is_start && !tag.is_empty {
                *depth += 1;
            } else if tag.is(name) && !tag.is_start {
                *depth -= 1;
            }
            if *depth == 0 {
                self.hidden = None;
            }
            return true;
        }
        let name = HIDDEN.into_iter().find(|name| tag.is(name));
        if let Some(name) = name.filter(|_| tag.is_start && !tag.is_empty) {
            self.hidden = Some((name, 1));
        }
        name.is_some()
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        if let Some(level) = tag.heading_level() {
            self.end_heading();
            self.flow.breaks(Break::Paragraph);
            if tag.is_start {
                self.heading = Some((level, String::new()));
            }
            return;
        }
        if tag.is("br") {
            self.flow.breaks(Break::Line);
            return;
        }
        if tag.is("td") || tag.is("th") {
            if tag.is_start {
                self.flow.cell();
            }
            return;
        }
        if !BLOCKS.into_iter().any(|name| tag.is(name)) {
            return;
        }
        if tag.is("pre") {
            self.preformatted = if tag.is_start {
                self.preformatted + 1
            } else {
                self.preformatted.saturating_sub(1)
            };
        }
        self.flow.breaks(if tag.is("li") || tag.is("tr") {
            Break::Line
        } else {
            Break::Paragraph
        });
        if tag.is("li") && tag.is_start {
            self.flow.item();
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() || text.is_empty() {
            return;
        }
        let mut decoded = String::with_capacity(text.len());
        entities::decode(text, &mut decoded);
        match &mut self.heading {
            Some((_, heading)) => heading.push_str(&decoded),
            None if self.preformatted > 0 => {
                self.flow.preformatted(&decoded, self.outline.text());
            }
            None => self.flow.text(&decoded, self.outline.text()),
        }
    }

    fn end_heading(&mut self) {
        if let Some((level, heading)) = self.heading.take() {
            self.outline.heading(level, &heading);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(html: &str) -> String {
        let document = read(html);
        let texts: Vec<_> = document.sections.into_iter().map(|one| one.text).collect();
        texts.join("\n§\n")
    }

    #[test]
    fn a_page_has_a_title_and_texts_under_headings() {
        let page = "<!DOCTYPE html><html><head><title>Beds &amp; Soil</title>\n\
            <style>p { color: red }</style><script>if (a < b) { \"</p>\" }</script></head>\n\
            <body><nav><ul><li>Home<nav>x</nav></li></ul></nav><h1>Beds &amp; Soil</h1>\n\
            <p>First  <b>para</b>graph.<p>Second,<br>in two lines.\n\
            <h2 id='x>y'>So<em>il</em></h2><ul><li>loam</li><li>sand</li></ul>\n\
            <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\n\
            <h3>Code</h3><pre>SELECT 1;\n   -- a &lt; b\n</pre><!-- not <p>this --></body></html>";
        let document = read(page);
        assert_eq!(document.title.as_deref(), Some("Beds & Soil"));
        let sections: Vec<_> = document
            .sections
            .iter()
            .map(|section| (section.heading.as_deref(), &*section.text))
            .collect();
        assert_eq!(
            sections,
            [
                (None, "First paragraph.\n\nSecond,\nin two lines."),
                (Some("Soil"), "- loam\n- sand\n\na | b\n1 | 2"),
                (Some("Soil > Code"), "SELECT 1;\n   -- a < b"),
            ]
        );
    }

    #[test]
    fn characters_that_are_no_markup_are_text() {
        for (html, expected) in [
            ("a < b > c", "a < b > c"),
            ("1<2 <3", "1<2 <3"),
            ("a<>b", "a<>b"),
            ("x<", "x<"),
            ("a<!bogus>b<?php x ?>c</>d", "abc</>d"),
            ("<p title=\"a > b\">c</P  >", "c"),
            ("a&nbsp;b", "a b"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn an_element_without_an_end_tag_ends_with_the_page() {
        for (html, expected) in [
            ("a<!-- b", "a"),
            ("a<script>b</p>", "a"),
            ("a<SCRIPT>b</scripts></SCRIPT >c", "ac"),
            ("a<p class='b>c", "a"),
            ("a<nav>b<p>c", "a"),
            ("a<title>b", "a"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
        let document = read("<h1>One<h2>Two<p>text");
        assert_eq!(document.title.as_deref(), Some("One"));
    }

    #[test]
    fn a_long_page_of_open_tags_is_read_in_linear_time() {
        // In quadratic time, these would take minutes.
        for opening in [
            "<", "<!", "<a ", "<!--", "</", "<script", "<script>", "&", "<p '",
        ] {
            read(&opening.repeat(300_000));
        }
    }

    proptest! {
        #[test]
        fn every_page_is_read_without_a_panic(
            html in "(<|>|/|!--|-->|script|style|nav|h1|pre|&amp;|&#|;|'|\"|=| |\n|a|ü){0,60}",
        ) {
            let document = read(&html);
            for section in document.sections {
                prop_assert!(!section.text.trim().is_empty());
            }
        }

        #[test]
        fn scripts_are_never_text(
            before in "[a-z <>/=\"]{0,20}",
            name in "(script|STYLE|Script)",
            after in "[a-z ]{0,20}",
        ) {
            let html = format!("<p>{before}</p>\">'><{name} x>secret</{name}>{after}");
            prop_assert!(!text(&html).contains("secret"));
        }
    }
}
