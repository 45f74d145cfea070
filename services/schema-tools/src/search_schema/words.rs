//! The words of names, comments and questions.

use ziggurat_search::tokens;

/// Words of questions that no name is found by, in addition to the stop words of texts; sorted.
const QUESTION_WORDS: [&str; 33] = [
    "about", "any", "been", "between", "did", "do", "doe", "during", "find", "get", "give", "if",
    "into", "many", "much", "often", "or", "per", "please", "show", "since", "tell", "them",
    "then", "there", "these", "those", "through", "us", "whose", "within", "without", "would",
];

/// In bytes. A longer word is data, and no name has one.
const LONGEST: usize = 63;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Small,
    Capital,
    Digit,
    Other,
}

/// Calls `take` with each word of a name or text: in lower case, without the plural.
///
/// Names are split where their writers begin a word: `order_items`, `orderItems`, `OrderItems2`.
pub(super) fn each(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::new();
    let mut before = CharKind::Other;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let kind = CharKind::of(c);
        let is_start = match (before, kind) {
            // The last capital of `HTTPServer` belongs to the next word.
            (CharKind::Capital, CharKind::Capital) => {
                rest.peek().is_some_and(|next| next.is_lowercase())
            }
            (CharKind::Capital, CharKind::Small) => false,
            (before, kind) => before != kind,
        };
        if is_start {
            finish(&mut word, &mut take);
        }
        if kind != CharKind::Other {
            word.extend(c.to_lowercase());
        }
        before = kind;
    }
    finish(&mut word, &mut take);
}

/// Returns the distinct words of a question, at most `most`, without those that say nothing about
/// its subject; if it has no others, with them.
pub(super) fn of_question(text: &str, most: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    each(text, |word| {
        if !all.iter().any(|known| known == word) {
            all.push(word.to_owned());
        }
    });
    let is_subject = |word: &&String| {
        tokens::terms(word).next().is_some()
            && QUESTION_WORDS.binary_search(&word.as_str()).is_err()
    };
    let subjects: Vec<_> = all.iter().filter(is_subject).cloned().collect();
    let mut words = if subjects.is_empty() { all } else { subjects };
    words.truncate(most);
    words
}

fn finish(word: &mut String, take: &mut impl FnMut(&str)) {
    if !word.is_empty() && word.len() <= LONGEST {
        make_singular(word);
        take(word);
    }
    word.clear();
}

/// Removes the plural of English words: `categories`, `boxes`, `orders`.
fn make_singular(word: &mut String) {
    let ends = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    let length = word.len();
    if length <= 3 || !word.ends_with('s') || ends(&["ss", "us", "is"]) {
        return;
    }
    if length > 4 && ends(&["ies"]) {
        word.truncate(length - 3);
        word.push('y');
    } else if ends(&["sses", "shes", "ches", "xes", "zes"]) {
        word.truncate(length - 2);
    } else {
        word.truncate(length - 1);
    }
}

// === impl CharKind ===

impl CharKind {
    fn of(c: char) -> Self {
        if c.is_numeric() {
            Self::Digit
        } else if c.is_uppercase() {
            Self::Capital
        } else if c.is_alphabetic() {
            Self::Small
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn names_are_split_as_they_are_written_and_lose_the_plural() {
        let cases = [
            ("order_items", "order item"),
            ("orderItems", "order item"),
            ("HTTPServerAddresses2", "http server address 2"),
            ("CUSTMST", "custmst"),
            ("Größen der Straße", "größen der straße"),
            (
                "categories boxes buses status analysis",
                "category box buse status analysis",
            ),
            ("a1b22", "a 1 b 22"),
            ("  --  ", ""),
            ("数据 table", "数据 table"),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_question_is_its_subjects_and_a_name_of_stop_words_stays() {
        let question = "How many open orders per customer were there last month? Orders!";
        assert_eq!(
            of_question(question, 16),
            ["open", "order", "customer", "last", "month"]
        );
        assert_eq!(of_question(question, 2), ["open", "order"]);
        assert_eq!(of_question("all", 16), ["all"]);
        assert!(of_question("?", 16).is_empty());
    }

    #[test]
    fn the_words_of_questions_are_in_order_so_that_they_are_found() {
        assert!(QUESTION_WORDS.is_sorted());
    }
}
