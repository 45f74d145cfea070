//! Words of questions and names.

/// Returns the words of a text in lower case, without the last letters that grammar changes.
pub(super) fn of(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().count() > 2);
    long.map(|word| stem(word).to_owned()).collect()
}

/// Returns the number of words of the question that are in a text.
pub(super) fn in_common(question: &[String], text: &str) -> usize {
    let words = of(text);
    question.iter().filter(|word| words.contains(word)).count()
}

fn stem(word: &str) -> &str {
    let endings = ["ies", "es", "en", "s", "y", "e", "n"];
    let stems = endings
        .iter()
        .filter_map(|ending| word.strip_suffix(ending));
    stems
        .into_iter()
        .find(|stem| stem.chars().count() > 2)
        .unwrap_or(word)
}
