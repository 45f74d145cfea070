//! Extracts visible text and headings from HTML.
//!
//! Made for documentation, not as a browser: it builds no tree, takes tags in sequence, and runs in
//! linear time. The tokens follow the HTML standard.

mod flow;

use html5gum::{State, Token, Tokenizer, naive_next_state};

use self::flow::{Break, TextWriter};
use crate::{document::Document, outline::Outline};

/// Elements that hold no text of the document.
const HIDDEN: [&str; 13] = [
    "nav", "noscript", "template", "svg", "math", "iframe", "object", "select", "script", "style",
    "textarea", "xmp", "noembed",
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
#[derive(Default)]
struct Reader {
    outline: Outline,
    flow: TextWriter,
    /// The title, while the position is in it.
    title: Option<String>,
    /// The current heading and its level.
    heading: Option<(u8, String)>,
    /// The hidden element that the position is in, and its nesting depth.
    hidden: Option<(&'static str, usize)>,
    /// Nesting depth of elements that preserve white space.
    preformatted: usize,
    /// Nesting depth of tables.
    tables: usize,
}

pub(super) fn read(html: &str) -> Document {
    let mut reader = Reader::default();
    let mut tokens = Tokenizer::new(html);
    while let Some(Ok(token)) = tokens.next() {
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                if let Some(state) = reader.start(&name, tag.self_closing) {
                    tokens.set_state(state);
                }
            }
            Token::EndTag(tag) => reader.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            _ => {}
        }
    }
    reader.end_title();
    reader.end_heading();
    reader.outline.finish()
}

// === impl Reader ===

impl Reader {
    /// Processes a start tag, and returns the state that reads its content if it is not markup.
    fn start(&mut self, name: &str, is_empty: bool) -> Option<State> {
        // The standard has no such content in SVG and MathML.
        let is_foreign = matches!(self.hidden, Some(("svg" | "math", _)));
        let state = naive_next_state(name.as_bytes()).filter(|_| !is_foreign);
        if let Some((hidden, depth)) = &mut self.hidden {
            if name == *hidden && !is_empty {
                *depth += 1;
            }
        } else if let Some(hidden) = HIDDEN.into_iter().find(|hidden| *hidden == name) {
            // The standard ignores the slash of `<script/>`.
            if state.is_some() || !is_empty {
                self.hidden = Some((hidden, 1));
            }
        } else if name == "title" {
            self.title = Some(String::new());
        } else {
            self.tag(name, true);
        }
        state
    }

    fn end(&mut self, name: &str) {
        if let Some((hidden, depth)) = &mut self.hidden {
            if name == *hidden {
                *depth -= 1;
            }
            if *depth == 0 {
                self.hidden = None;
            }
        } else if name == "title" {
            self.end_title();
        } else {
            self.tag(name, false);
        }
    }

    /// Processes a tag of visible text.
    fn tag(&mut self, name: &str, is_start: bool) {
        if let [b'h', digit @ b'1'..=b'6'] = name.as_bytes() {
            self.end_heading();
            self.flow.breaks(Break::Paragraph);
            if is_start {
                self.heading = Some((digit - b'0', String::new()));
            }
            return;
        }
        match name {
            "br" => return self.flow.breaks(Break::Line),
            "td" | "th" if is_start => return self.flow.cell(),
            "pre" if is_start => self.preformatted += 1,
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            "table" if is_start => self.tables += 1,
            "table" => self.tables = self.tables.saturating_sub(1),
            _ => {}
        }
        self.outline
            .set_whole(self.preformatted > 0 || self.tables > 0);
        if !BLOCKS.contains(&name) {
            return;
        }
        self.flow.breaks(if name == "li" || name == "tr" {
            Break::Line
        } else {
            Break::Paragraph
        });
        if name == "li" && is_start {
            self.flow.item();
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        // A soft hyphen would split a word for the search.
        let text = text.replace('\u{ad}', "").replace('\u{a0}', " ");
        match (&mut self.title, &mut self.heading) {
            (Some(title), _) => title.push_str(&text),
            (None, Some((_, heading))) => heading.push_str(&text),
            (None, None) if self.preformatted > 0 => {
                self.flow.preformatted(&text, self.outline.text());
            }
            (None, None) => self.flow.text(&text, self.outline.text()),
        }
    }

    fn end_title(&mut self) {
        if let Some(title) = self.title.take() {
            self.outline.title(&title);
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
    use crate::Section;

    fn text(html: &str) -> String {
        let document = read(html);
        let texts: Vec<_> = document.sections.iter().map(Section::text).collect();
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
            .map(|section| (section.heading.as_deref(), section.text()))
            .collect();
        assert_eq!(
            sections,
            [
                (None, "First paragraph.\n\nSecond,\nin two lines."),
                (Some("Soil"), "- loam\n- sand\n\na | b\n1 | 2"),
                (Some("Soil > Code"), "SELECT 1;\n   -- a < b"),
            ]
            .map(|(heading, text)| (heading, text.to_owned()))
        );
    }

    #[test]
    fn characters_that_are_no_markup_are_text() {
        for (html, expected) in [
            ("a < b > c", "a < b > c"),
            ("1<2 <3", "1<2 <3"),
            ("a<>b", "a<>b"),
            ("x<", "x<"),
            ("a<!bogus>b<?php x ?>c</>d</1>e", "abcde"),
            ("a<!-->b<!--->c<!-- --!>d", "abcd"),
            ("<p title=\"a > b\">c</P  >", "c"),
            ("a&nbsp;b", "a b"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn characters_are_decoded_by_name_and_number() {
        for (html, expected) in [
            ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
            ("&#8212;&#x2014;&#X2014;&#151;", "————"),
            ("&amp;lt;", "&lt;"),
            (
                "AT&T &unknown; &amp &#; &#x; &",
                "AT&T &unknown; & &#; &#x; &",
            ),
            ("&#0;&#xD800;&#x110000;", "\u{fffd}\u{fffd}\u{fffd}"),
            ("&é;&\u{1f600}aaaaaaaaaaaa;", "&é;&\u{1f600}aaaaaaaaaaaa;"),
            ("&#99999999999999;", "\u{fffd}"),
            ("com&shy;post", "compost"),
            ("<pre>a&nbsp;&nbsp;b</pre>", "a  b"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn an_element_in_a_drawing_is_hidden_with_the_drawing_only() {
        for drawing in [
            "<svg><title/><style/></svg>",
            "<svg><title>Beds</title></svg>",
            "<svg><svg/><svg></svg><script>\"</svg>",
        ] {
            let document = read(&format!("{drawing}loam"));
            assert_eq!(document.title, None, "{drawing}");
            assert_eq!(document.sections[0].text(), "loam", "{drawing}");
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
                prop_assert!(!section.text().trim().is_empty());
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
