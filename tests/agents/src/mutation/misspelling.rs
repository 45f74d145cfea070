//! Spelling mistakes.

/// Misspells a name of at least three characters: two neighbours change places, one is left out, or
/// one is written twice.
pub(super) fn misspell(name: &str, seed: usize) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    // Not the first one: people rarely get that wrong.
    let at = 1 + seed % (letters.len() - 2).max(1);
    match seed % 3 {
        1 if letters.len() > 4 => {
            letters.remove(at);
        }
        2 if letters.len() > 4 => letters.insert(at, letters[at]),
        _ if letters[at] != letters[at + 1] => letters.swap(at, at + 1),
        _ => letters.swap(at - 1, at),
    }
    letters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::misspell;

    #[test]
    fn a_misspelt_name_is_one_mistake_away() {
        let made = (0..6).map(|seed| misspell("orders", seed));
        let expected = ["odrers", "oders", "orddders", "ordesr", "orers", "orrders"];
        for (made, expected) in made.zip(expected) {
            assert!(made.len().abs_diff(6) <= 1, "{made} {expected}");
            assert_ne!(made, "orders");
        }
        assert_eq!(misspell("sum", 0), "smu");
    }
}
