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
    fn a_misspelt_name_has_one_mistake() {
        let cases = [
            ("orders", 0, "odrers"),
            ("orders", 1, "orers"),
            ("orders", 2, "ordeers"),
            ("sum", 0, "smu"),
            ("too", 0, "oto"),
            ("Aufträge", 4, "Auftrge"),
        ];
        for (name, seed, expected) in cases {
            assert_eq!(misspell(name, seed), expected, "{name} {seed}");
        }
    }
}
