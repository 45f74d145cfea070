//! Values that are found in longer texts. This is a heuristic.

#[cfg(test)]
mod tests;

use std::ops::Range;

/// Kind of a value that is found in texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pattern {
    /// The number of a card: 13 to 19 digits with a check digit.
    Card,
    /// An international account number with its check sum.
    Iban,
    /// An address of electronic mail.
    Email,
}

/// Number of digits of a card.
const CARD: Range<usize> = 13..20;

/// Number of letters and digits of an account number.
const IBAN: Range<usize> = 15..35;

/// Returns a text with another one in place of each find, or `None` without a find.
pub(crate) fn replaced(text: &str, patterns: &[Pattern], by: &str) -> Option<String> {
    let mut found: Vec<_> = patterns.iter().flat_map(|it| it.find(text)).collect();
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in found {
        // What begins in the one before belongs to it.
        if range.start >= end {
            out.push_str(&text[end..range.start]);
            out.push_str(by);
        }
        end = end.max(range.end);
    }
    out.push_str(&text[end..]);
    Some(out)
}

// === impl Pattern ===

impl Pattern {
    /// Reads the name that a configuration has for it.
    #[must_use]
    pub fn read(name: &str) -> Option<Self> {
        match name {
            "card" => Some(Self::Card),
            "iban" => Some(Self::Iban),
            "email" => Some(Self::Email),
            _ => None,
        }
    }

    /// Returns the places of its finds, in their order.
    fn find(self, text: &str) -> Vec<Range<usize>> {
        match self {
            Self::Card => grouped(text, char::is_ascii_digit, &CARD, " -", is_card),
            Self::Iban => grouped(text, char::is_ascii_alphanumeric, &IBAN, " ", is_iban),
            Self::Email => emails(text),
        }
    }
}

/// Finds values of letters that may stand in groups, with one separator between them.
fn grouped(
    text: &str,
    fits: fn(&char) -> bool,
    lengths: &Range<usize>,
    separators: &str,
    is_value: fn(&[u8]) -> bool,
) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut at, mut is_inside) = (0, false);
    while let Some(letter) = text[at..].chars().next() {
        let longest = if fits(&letter) && !is_inside {
            longest(&text[at..], fits, lengths, separators, is_value)
        } else {
            None
        };
        if let Some(length) = longest {
            found.push(at..at + length);
            at += length;
            is_inside = true;
        } else {
            is_inside = fits(&letter);
            at += letter.len_utf8();
        }
    }
    found
}

/// Returns the length of the longest value at the beginning of a text.
fn longest(
    text: &str,
    fits: fn(&char) -> bool,
    lengths: &Range<usize>,
    separators: &str,
    is_value: fn(&[u8]) -> bool,
) -> Option<usize> {
    let mut letters = text.char_indices().peekable();
    let (mut value, mut longest) = (Vec::new(), None);
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let goes_on = next.is_some_and(|next| fits(&next));
        if fits(&letter) {
            value.push(letter.to_ascii_uppercase() as u8);
            if value.len() >= lengths.end {
                break;
            }
            if !goes_on && lengths.contains(&value.len()) && is_value(&value) {
                longest = Some(at + 1);
            }
        } else if !separators.contains(letter) || !goes_on {
            break;
        }
    }
    longest
}

/// Returns whether the last digit is the check digit of the others (Luhn).
fn is_card(digits: &[u8]) -> bool {
    let digits = digits.iter().rev().map(|digit| u32::from(digit - b'0'));
    let sum: u32 = digits
        .enumerate()
        .map(|(place, digit)| match (place % 2, 2 * digit) {
            (0, _) => digit,
            (_, twice) if twice > 9 => twice - 9,
            (_, twice) => twice,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Returns whether the check sum is right (ISO 13616).
fn is_iban(letters: &[u8]) -> bool {
    let [c0, c1, d0, d1, ..] = letters else {
        return false;
    };
    let has_head = [c0, c1].iter().all(|it| it.is_ascii_uppercase())
        && [d0, d1].iter().all(|it| it.is_ascii_digit());
    if !has_head {
        return false;
    }
    let moved = letters[4..].iter().chain(&letters[..4]);
    let rest = moved.fold(0_u32, |rest, letter| match letter {
        b'0'..=b'9' => (rest * 10 + u32::from(letter - b'0')) % 97,
        _ => (rest * 100 + u32::from(letter - b'A') + 10) % 97,
    });
    rest == 1
}

/// Finds addresses: a name, `@`, and words with dots between them.
fn emails(text: &str) -> Vec<Range<usize>> {
    let is_name = |it: char| it.is_alphanumeric() || "._%+-'".contains(it);
    let is_domain = |it: char| it.is_alphanumeric() || ".-".contains(it);
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let floor = found.last().map_or(0, |last| last.end);
        let before = text.get(floor..at).unwrap_or_default();
        let name = before.trim_end_matches(is_name).len();
        let rest = &text[at + 1..];
        let domain = &rest[..rest.find(|it| !is_domain(it)).unwrap_or(rest.len())];
        let domain = domain.trim_end_matches(['.', '-']);
        let has_dot = domain.find('.').is_some_and(|dot| dot > 0);
        if name < before.len() && has_dot {
            found.push(floor + name..at + 1 + domain.len());
        }
    }
    found
}
