//! A strict reader of both formats of the page.
//!
//! It refuses everything that the formats forbid, and what the page has no reason to contain:
//! comments, timestamps, exemplars and empty lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::accept::Format;

/// Labels of a series by name.
pub(super) type Labels = BTreeMap<String, String>;

/// A metric with its series.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) kind: String,
    pub(super) help: String,
    pub(super) unit: Option<String>,
    /// Values by the names and labels of their samples.
    pub(super) samples: BTreeMap<(String, Labels), f64>,
}

/// Families by name.
pub(super) type Page = BTreeMap<String, Family>;

type Result<T> = std::result::Result<T, String>;

/// Reads a page.
pub(super) fn read(page: &str, format: Format) -> Result<Page> {
    let body = match format {
        Format::Text => page,
        Format::OpenMetrics => page.strip_suffix("# EOF\n").ok_or("no end")?,
    };
    let mut families = Page::new();
    let mut current = String::new();
    let lines = body.strip_suffix('\n').ok_or("the last line has no end")?;
    for line in lines.split('\n') {
        let read = read_line(line, format, &mut families, &mut current);
        read.map_err(|error| format!("{error}: {line}"))?;
    }
    for (name, family) in &families {
        let checked = check(name, family, format);
        checked.map_err(|error| format!("{error}: {name}"))?;
    }
    Ok(families)
}

fn read_line(line: &str, format: Format, families: &mut Page, current: &mut String) -> Result<()> {
    if let Some(comment) = line.strip_prefix("# ") {
        let mut words = comment.splitn(3, ' ');
        let mut next = || words.next().ok_or("a comment has three parts");
        let (keyword, name, text) = (next()?, next()?, next()?);
        if keyword == "HELP" {
            is_name(name)?;
            *current = name.to_owned();
            if families.contains_key(name) {
                return Err("a family is there twice".to_owned());
            }
            families.entry(name.to_owned()).or_default().help = unescape(text, format)?;
            return Ok(());
        }
        let family = families.get_mut(name).ok_or("HELP comes first")?;
        if name != current || !family.samples.is_empty() {
            return Err("a family is not in one piece".to_owned());
        }
        let of = match (keyword, format) {
            ("TYPE", _) if family.kind.is_empty() => &mut family.kind,
            ("UNIT", Format::OpenMetrics) if family.unit.is_none() => {
                family.unit.insert(String::new())
            }
            _ => return Err("a keyword is unknown or repeated".to_owned()),
        };
        text.clone_into(of);
        return Ok(());
    }
    let (name, labels, value) = sample(line)?;
    let family = families.get_mut(current).ok_or("a sample before HELP")?;
    if !suffixes(&family.kind, format)?.contains(&name.strip_prefix(&**current).ok_or("name")?) {
        return Err("the name does not belong to the family".to_owned());
    }
    if family.samples.insert((name, labels), value).is_some() {
        return Err("a series is there twice".to_owned());
    }
    Ok(())
}

/// Returns the endings of the names of samples.
fn suffixes(kind: &str, format: Format) -> Result<&'static [&'static str]> {
    Ok(match (kind, format) {
        ("gauge", _) | ("counter", Format::Text) => &[""],
        ("counter", Format::OpenMetrics) => &["_total"],
        ("info", Format::OpenMetrics) => &["_info"],
        ("histogram", _) => &["_bucket", "_sum", "_count"],
        _ => return Err("an unknown type".to_owned()),
    })
}

fn check(name: &str, family: &Family, format: Format) -> Result<()> {
    suffixes(&family.kind, format)?;
    let is_counter = family.kind == "counter";
    let has_end = name.ends_with("_total");
    if has_end != (is_counter && format == Format::Text) || name.ends_with("_info") && has_end {
        return Err("the family has the wrong ending".to_owned());
    }
    if family
        .unit
        .as_ref()
        .is_some_and(|unit| !name.ends_with(&format!("_{unit}")))
    {
        return Err("the name lacks the unit".to_owned());
    }
    let is_negative = family
        .samples
        .values()
        .any(|value| *value < 0.0 || value.is_nan());
    if is_negative {
        return Err("a value is negative".to_owned());
    }
    if family.kind == "histogram" {
        check_histogram(name, family)?;
    }
    Ok(())
}

/// Checks that buckets grow, that the last is infinite, and that sum and count are there.
fn check_histogram(name: &str, family: &Family) -> Result<()> {
    let mut series = BTreeMap::<Labels, Vec<(f64, f64)>>::new();
    let mut others = BTreeSet::new();
    for ((sample, labels), value) in &family.samples {
        let mut labels = labels.clone();
        match (labels.remove("le"), sample.ends_with("_bucket")) {
            (Some(bound), true) => {
                series
                    .entry(labels)
                    .or_default()
                    .push((number(&bound)?, *value));
            }
            (None, false) => {
                others.insert((sample.clone(), labels));
            }
            _ => return Err("`le` is for buckets".to_owned()),
        }
    }
    for (labels, mut buckets) in series.clone() {
        buckets.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        if !buckets.is_sorted_by(|(_, left), (_, right)| left <= right) {
            return Err("buckets are not cumulative".to_owned());
        }
        let count = family
            .samples
            .get(&(format!("{name}_count"), labels.clone()));
        if buckets.last() != count.map(|count| (f64::INFINITY, *count)).as_ref() {
            return Err("the last bucket is not the count".to_owned());
        }
        if !others.contains(&(format!("{name}_sum"), labels)) {
            return Err("a sum is missing".to_owned());
        }
    }
    if others.len() != 2 * series.len() {
        return Err("a sum without buckets".to_owned());
    }
    Ok(())
}

/// Reads the name, the labels and the value of a sample.
fn sample(line: &str) -> Result<(String, Labels, f64)> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    is_name(name)?;
    let mut labels = Labels::new();
    if let Some(list) = rest.strip_prefix('{') {
        rest = list;
        loop {
            let (label, quoted) = rest.split_once("=\"").ok_or("no label")?;
            is_label(label)?;
            let end = closing_quote(quoted)?;
            let value = unescape_value(&quoted[..end])?;
            if labels.insert(label.to_owned(), value).is_some() {
                return Err("a label is there twice".to_owned());
            }
            rest = &quoted[end + 1..];
            match rest.strip_prefix(',') {
                Some(next) => rest = next,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').ok_or("labels do not end")?;
    }
    let value = rest.strip_prefix(' ').ok_or("no space before the value")?;
    Ok((name.to_owned(), labels, number(value)?))
}

fn closing_quote(text: &str) -> Result<usize> {
    let mut is_escaped = false;
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return Ok(position),
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    Err("a value does not end".to_owned())
}

fn unescape_value(text: &str) -> Result<String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next() {
                Some(same @ ('\\' | '"')) => same,
                Some('n') => '\n',
                _ => return Err("an unknown escape".to_owned()),
            },
            '"' => return Err("a quote is not escaped".to_owned()),
            letter => letter,
        });
    }
    Ok(plain)
}

/// Reads a help text; OpenMetrics escapes quotes there too.
fn unescape(text: &str, format: Format) -> Result<String> {
    let quotes = if format == Format::Text { "" } else { "\"" };
    if text.is_empty() || text.contains(|letter| quotes.contains(letter)) {
        return Err("a help text is empty or has bare quotes".to_owned());
    }
    unescape_value(&text.replace('"', "\\\""))
}

fn number(text: &str) -> Result<f64> {
    if text == "+Inf" {
        return Ok(f64::INFINITY);
    }
    let is_plain = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'-' | b'+'));
    let number = text.parse().map_err(|_| "not a number")?;
    if is_plain {
        Ok(number)
    } else {
        Err("not a plain number".to_owned())
    }
}

fn is_name(name: &str) -> Result<()> {
    is_word(name, |byte| matches!(byte, b'_' | b':'))
}

fn is_label(name: &str) -> Result<()> {
    is_word(name, |byte| byte == b'_')
}

fn is_word(name: &str, is_mark: fn(u8) -> bool) -> Result<()> {
    let is_right = |byte: u8| byte.is_ascii_alphanumeric() || is_mark(byte);
    let starts_right = name
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    if starts_right && name.bytes().all(is_right) {
        Ok(())
    } else {
        Err(format!("`{name}` is not a name"))
    }
}

#[test]
fn broken_pages_are_refused() {
    let head = "# HELP a b\n# TYPE a gauge\n";
    for (page, why) in [
        ("", "the last line has no end"),
        ("a 1\n", "before HELP"),
        ("# HELP a b\n# TYPE a gauge\na 1", "the last line"),
        ("# HELP a b\n# TYPE a gauge\n\n", "no value"),
        ("# HELP a b\n# TYPE a gauge\nb 1\n", "name"),
        ("# HELP a b\n# TYPE a gauge\na 1\na 1\n", "twice"),
        (
            "# HELP a b\n# TYPE a gauge\na{b=\"c\"d\"} 1\n",
            "do not end",
        ),
        ("# HELP a b\n# TYPE a gauge\na{b=\"\\t\"} 1\n", "escape"),
        (
            "# HELP a b\n# TYPE a gauge\na{b=\"c\",b=\"d\"} 1\n",
            "twice",
        ),
        ("# HELP a b\n# TYPE a gauge\na{} 1\n", "no label"),
        ("# HELP a b\n# TYPE a gauge\na 1 2\n", "number"),
        ("# HELP a b\n# TYPE a gauge\na nan\n", "number"),
        ("# HELP a b\n# TYPE a counter\na 1\n", "ending"),
        (
            "# HELP a b\n# TYPE a histogram\na_sum 1\na_count 1\n",
            "sum without",
        ),
        ("# HELP a b\na 1\n", "unknown type"),
    ] {
        let error = read(page, Format::Text).expect_err(page);
        assert!(error.contains(why), "{page}: {error}");
    }
    assert!(read(&format!("{head}a 1\n"), Format::Text).is_ok());
    assert!(read(&format!("{head}a 1\n"), Format::OpenMetrics).is_err());
    assert!(read(&format!("{head}a 1\n# EOF\n"), Format::OpenMetrics).is_ok());
    let total = "# HELP a_total b\n# TYPE a_total counter\na_total 1\n";
    assert!(read(total, Format::Text).is_ok());
    assert!(read(&format!("{total}# EOF\n"), Format::OpenMetrics).is_err());
}
