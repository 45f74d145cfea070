//! Splits Markdown at its headings, and joins the lines of its paragraphs. Its marks stay, since they
//! are readable.

use serde::Deserialize as _;
use serde_json::{Map, Value};
use ziggurat_runtime::yaml;

use crate::{document::Document, outline::Outline, paragraph::Paragraph};

/// Maximum size of front matter that is parsed, in bytes.
const MAX_FRONT_MATTER: usize = 64 << 10;

/// A fenced code block.
#[derive(Clone, Copy)]
struct Fence {
    mark: u8,
    length: usize,
}

pub(super) fn read(text: &str) -> Document {
    let mut outline = Outline::default();
    let text = front_matter(text, &mut outline);
    let mut fence: Option<Fence> = None;
    let mut in_comment = false;
    let mut lines = text.lines().peekable();
    // A heading if the next line underlines it.
    let mut follows_blank = true;
    let mut is_table = false;
    let mut paragraph = Paragraph::default();
    while let Some(line) = lines.next() {
        if let Some(open) = fence {
            push(&mut outline, line);
            if open.is_closed_by(line) {
                fence = None;
                outline.set_whole(false);
            }
            continue;
        }
        if in_comment || line.trim_start().starts_with("<!--") {
            in_comment = !line.contains("-->");
            paragraph = Paragraph::None;
            continue;
        }
        if let Some((level, heading)) = heading(line) {
            outline.heading(level, &plain(heading));
            follows_blank = true;
            paragraph = Paragraph::None;
            continue;
        }
        let underlined = lines.peek().and_then(|next| underline(next));
        if let Some(level) = underlined
            && follows_blank
            && is_prose(line)
        {
            lines.next();
            outline.heading(level, &plain(line));
            paragraph = Paragraph::None;
            continue;
        }
        fence = Fence::opened_by(line);
        is_table = line.trim_start().starts_with('|')
            || line.contains('|')
                && (is_table || lines.peek().is_some_and(|next| is_delimiter(next)));
        let is_whole = fence.is_some() || is_table;
        outline.set_whole(is_whole);
        follows_blank = line.trim().is_empty();
        if is_whole {
            push(&mut outline, line);
            paragraph = Paragraph::None;
        } else {
            paragraph = paragraph.push(outline.text(), line);
        }
    }
    outline.finish()
}

fn push(outline: &mut Outline, line: &str) {
    let text = outline.text();
    text.push_str(line);
    text.push('\n');
}

/// Skips the front matter, and takes the title and the metadata from it.
fn front_matter<'a>(text: &'a str, outline: &mut Outline) -> &'a str {
    let Some(rest) = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
    else {
        return text;
    };
    let mut length = 0;
    let mut title = None;
    for line in rest.split_inclusive('\n') {
        length += line.len();
        let line = line.trim_end();
        if line == "---" || line == "..." {
            outline.title(title.unwrap_or_default());
            outline.metadata(metadata(&rest[..length]));
            return &rest[length..];
        }
        if let Some(value) = line.strip_prefix("title:") {
            title = Some(value.trim().trim_matches(['"', '\'']));
        }
    }
    text
}

/// Parses front matter; the result is empty unless it is YAML with keys, of limited length and
/// without aliases.
fn metadata(text: &str) -> Map<String, Value> {
    let text = text.trim_end().trim_end_matches(['-', '.']);
    if text.len() > MAX_FRONT_MATTER || yaml::has_alias(text) {
        return Map::new();
    }
    let reader = yaml::reader(text);
    reader.and_then(Map::deserialize).unwrap_or_default()
}

/// Parses a heading with `#` marks: its level and text.
fn heading(line: &str) -> Option<(u8, &str)> {
    let line = flush(line)?;
    let rest = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - rest.len()).ok()?;
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let heading = rest.trim();
    // Marks at the end belong to the heading unless a blank separates them.
    let without = heading.trim_end_matches('#');
    let is_closed = without.is_empty() || without.ends_with([' ', '\t']);
    Some((
        level,
        if is_closed {
            without.trim_end()
        } else {
            heading
        },
    ))
}

/// Returns the level if a line underlines the one before as a heading.
fn underline(line: &str) -> Option<u8> {
    let line = flush(line)?.trim_end();
    let is_all = |mark| line.len() > 1 && line.bytes().all(|byte| byte == mark);
    match () {
        () if is_all(b'=') => Some(1),
        () if is_all(b'-') => Some(2),
        () => None,
    }
}

/// Returns whether a line stands between the head and the rows of a table.
fn is_delimiter(line: &str) -> bool {
    let is_mark = |c: char| matches!(c, '|' | '-' | ':' | ' ' | '\t');
    line.contains('|') && line.contains('-') && line.chars().all(is_mark)
}

/// Returns whether a line is not blank and does not start with a mark.
fn is_prose(line: &str) -> bool {
    flush(line).is_some_and(|line| {
        !line.is_empty()
            && !line.starts_with(['-', '*', '+', '>', '|', '=', '`', '~', '<'])
            && !line.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns a line unless it is indented as code.
fn flush(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() < 4).then_some(text)
}

/// Removes marks for emphasis, code, anchors and the targets of links from a heading.
fn plain(heading: &str) -> String {
    let heading = match heading.rfind("{#") {
        Some(at) if heading.ends_with('}') => &heading[..at],
        _ => heading,
    };
    let mut plain = String::with_capacity(heading.len());
    let mut rest = heading;
    while let Some(at) = rest.find("](") {
        let (text, target) = rest.split_at(at);
        let Some(end) = target.find(')') else {
            break;
        };
        match text.rfind('[') {
            Some(begin) => {
                plain.push_str(&text[..begin]);
                plain.push_str(&text[begin + 1..]);
            }
            None => plain.push_str(text),
        }
        rest = &target[end + 1..];
    }
    plain.push_str(rest);
    plain.retain(|c| c != '`' && c != '*');
    plain
}

// === impl Fence ===

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start().as_bytes();
        let mark = *line.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = line.iter().take_while(|byte| **byte == mark).count();
        let has_code = mark == b'`' && line[length..].contains(&mark);
        (length >= 3 && !has_code).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim().as_bytes();
        line.len() >= self.length && line.iter().all(|byte| *byte == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sections(text: &str) -> Vec<(Option<String>, String)> {
        let sections = read(text).sections.into_iter();
        sections
            .map(|one| (one.heading.clone(), one.text()))
            .collect()
    }

    #[test]
    fn headings_are_distinguished_from_similar_lines() {
        for (line, expected) in [
            ("# One", Some((1, "One"))),
            ("   ###### Six ######", Some((6, "Six"))),
            ("## C#", Some((2, "C#"))),
            ("#", Some((1, ""))),
            ("####### seven", None),
            ("#hashtag", None),
            ("    # code", None),
            ("text # text", None),
        ] {
            assert_eq!(heading(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_document_is_cut_at_its_headings() {
        let text = "---\ntags: x\ntitle: \"The Manual\"\n---\n\nIntro.\n\n\
            Beds\n----\n\nSoil is *good*.\n\n- a list\n---\n\n\
            ### `Sand` and [loam](soil.md) {#sand}\n<!-- a\n# secret\n-->\nGrains.\n";
        assert_eq!(read(text).title.as_deref(), Some("The Manual"));
        assert_eq!(
            sections(text),
            [
                (None, "Intro.".to_owned()),
                (
                    Some("Beds".to_owned()),
                    "Soil is *good*.\n\n- a list\n---".to_owned()
                ),
                (
                    Some("Beds > Sand and loam".to_owned()),
                    "Grains.".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn the_first_heading_of_a_document_is_its_title() {
        let document = read("Title\n=====\ntext\n\n# Second\nmore");
        assert_eq!(document.title.as_deref(), Some("Title"));
        assert_eq!(document.sections[1].heading.as_deref(), Some("Second"));
    }

    #[test]
    fn code_has_no_headings() {
        for fence in ["```", "~~~~", "   ```sh"] {
            let close = fence.trim().trim_end_matches("sh");
            let text = format!("# T\n{fence}\n# not one\n``\n{close}\n## One\nx\n");
            let found = sections(&text);
            assert_eq!(found.len(), 2, "{found:?}");
            assert!(found[0].1.contains("# not one"), "{found:?}");
        }
        assert_eq!(sections("``` `a` is code\n# One\nx").len(), 2);
    }

    #[test]
    fn front_matter_becomes_metadata() {
        let text = "---\ntitle: Beds\ntags: [soil, 2]\ndraft: false\n---\ntext\n";
        let document = read(text);
        assert_eq!(document.title.as_deref(), Some("Beds"));
        let expected = serde_json::json!({"title": "Beds", "tags": ["soil", 2], "draft": false});
        assert_eq!(Value::Object(document.metadata), expected);
        for bad in ["---\ntitle: [\n---\ntext\n", "---\n- a\n---\ntext\n"] {
            assert_eq!(read(bad).metadata, Map::new(), "{bad}");
        }
    }

    #[test]
    fn tables_and_code_are_blocks_of_their_own() {
        let document = read("One.\n| a | b |\n|---|---|\n| 1 | 2 |\nTwo.\n```\nx\n```\nThree.");
        let blocks = document.sections[0].blocks.iter();
        let blocks: Vec<_> = blocks.map(|block| (&*block.text, block.is_whole)).collect();
        assert_eq!(
            blocks,
            [
                ("One.", false),
                ("| a | b |\n|---|---|\n| 1 | 2 |", true),
                ("Two.", false),
                ("```\nx\n```", true),
                ("Three.", false),
            ]
        );
        let document = read("One\nline.\n\na | b\n--|--\n1 | 2\n\nTwo\nlines.");
        let blocks = document.sections[0].blocks.iter();
        let blocks: Vec<_> = blocks.map(|block| (&*block.text, block.is_whole)).collect();
        let expected = [
            ("One line.", false),
            ("a | b\n--|--\n1 | 2", true),
            ("Two lines.", false),
        ];
        assert_eq!(blocks, expected);
    }

    #[test]
    fn a_paragraph_ends_with_a_heading_a_comment_or_code() {
        for between in ["# H", "<!-- c -->", "```\nx\n```"] {
            let text = format!("# T\nOne\nline\n{between}\nmore\nof it");
            let sections = sections(&text);
            let found: Vec<_> = sections.iter().map(|(_, text)| &**text).collect();
            let found = found.join("\n");
            assert!(found.starts_with("One line\n"), "{found}");
            assert!(found.ends_with("\nmore of it"), "{found}");
        }
    }

    #[test]
    fn front_matter_that_would_take_much_memory_or_time_is_no_metadata() {
        let keys = |front: String| read(&format!("---\n{front}\n---\ntext")).metadata;
        assert_eq!(keys("a: [{b: c}]\nd: a*b & c".to_owned()).len(), 2);
        let (one, two) = ("*a, ".repeat(5500), "*b, ".repeat(5500));
        let text = "x".repeat(10_000);
        let aliases = format!("a: &a \"{text}\"\nb: &b [{one}]\nc: [{two}]");
        assert_eq!(keys(aliases).len(), 0);
        let began = std::time::Instant::now();
        assert_eq!(keys(format!("a: {}", "[".repeat(60_000))).len(), 0);
        assert_eq!(keys(format!("a: {}", "[\n#]\n".repeat(12_000))).len(), 0);
        assert!(began.elapsed().as_millis() < 1500, "{:?}", began.elapsed());
    }

    #[test]
    fn a_rule_at_the_beginning_is_no_front_matter() {
        let found = sections("---\ntext\n");
        assert_eq!(found, [(None, "---\ntext".to_owned())]);
    }

    proptest! {
        #[test]
        fn every_text_is_read_without_a_panic(text in "[#`~=<>!\\-\\[\\](){} \na-zü]{0,200}") {
            let document = read(&text);
            let length: usize = document.sections.iter().map(|one| one.text().len()).sum();
            prop_assert!(length <= 2 * text.len() + 8 * document.sections.len());
        }
    }
}
