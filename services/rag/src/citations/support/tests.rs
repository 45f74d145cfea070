use serde::Deserialize;

use super::*;

/// Passages as a search finds them, and claims.
#[derive(Deserialize)]
struct Found {
    name: String,
    language: String,
    passages: Vec<String>,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    /// The position of the passage that it is from, from 1.
    of: usize,
    says: String,
}

/// Marks that were flagged, of all marks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Flagged {
    flagged: u32,
    all: u32,
}

/// The figures of claims whose passage is known.
#[derive(Debug, Default)]
struct Figures {
    right: Flagged,
    /// Marks of each other passage.
    wrong: Flagged,
    /// Marks of the other passage that has most of the claim.
    next: Flagged,
}

impl Flagged {
    fn add(&mut self, is_flagged: bool) {
        self.flagged += u32::from(is_flagged);
        self.all += 1;
    }

    fn percent(self) -> f64 {
        100.0 * f64::from(self.flagged) / f64::from(self.all)
    }
}

impl Figures {
    fn add(&mut self, passages: &[String], of: usize, claim: &str) {
        let words = read(passages);
        let is_flagged = |passage| !words.support(claim, lone(passage));
        self.right.add(is_flagged(of));
        let others = (0..passages.len()).filter(|passage| *passage != of);
        others
            .clone()
            .for_each(|passage| self.wrong.add(is_flagged(passage)));
        let next = others.max_by_key(|passage| shared(&passages[*passage], claim));
        self.next.add(is_flagged(next.expect("several passages")));
    }
}

fn found() -> Vec<Found> {
    serde_yaml::from_str(include_str!("claims.yaml")).expect("passages and claims")
}

fn read<T: AsRef<str>>(passages: &[T]) -> PassageWords {
    PassageWords::new(passages.iter().map(|passage| [passage.as_ref()]))
}

fn lone(passage: usize) -> Mark {
    Mark {
        passage,
        is_shared: false,
    }
}

/// Returns the number of words that two texts share.
fn shared(passage: &str, claim: &str) -> usize {
    let passage = sorted(words(passage));
    let claim = sorted(words(claim)).into_iter();
    claim
        .filter(|word| passage.binary_search(word).is_ok())
        .count()
}

fn is_translated(found: &Found) -> bool {
    found.name.starts_with("claims in another language")
}

/// Returns sentences that are long enough to be compared.
fn quotes(passage: &str) -> impl Iterator<Item = &str> {
    sentences(passage).filter(|sentence| sorted(words(sentence)).len() > 2)
}

#[test]
fn quotes_with_the_right_mark_pass_and_others_are_flagged() {
    let mut figures = Figures::default();
    for found in found() {
        for (of, passage) in found.passages.iter().enumerate() {
            quotes(passage).for_each(|quote| figures.add(&found.passages, of, quote));
        }
    }
    println!("quotes: {figures:?}");
    assert!(figures.right.all > 200, "{figures:?}");
    assert_eq!(figures.right.flagged, 0, "{figures:?}");
    assert!(figures.wrong.percent() > 95.0, "{figures:?}");
    assert!(figures.next.percent() > 90.0, "{figures:?}");
}

#[test]
fn paraphrases_in_four_languages_pass_and_are_flagged_behind_another_passage() {
    let mut figures = Figures::default();
    for language in ["English", "German", "French", "Japanese"] {
        let mut own = Figures::default();
        let found = found().into_iter();
        for found in found.filter(|it| it.language == language && !is_translated(it)) {
            for claim in &found.claims {
                own.add(&found.passages, claim.of - 1, &claim.says);
                figures.add(&found.passages, claim.of - 1, &claim.says);
            }
        }
        println!("{language}: {own:?}");
        assert!(own.wrong.percent() > 85.0, "{language}: {own:?}");
    }
    println!("paraphrases: {figures:?}");
    assert!(figures.right.all > 120, "{figures:?}");
    assert!(figures.right.percent() <= 2.0, "{figures:?}");
    assert!(figures.wrong.percent() >= 90.0, "{figures:?}");
    assert!(figures.next.percent() >= 75.0, "{figures:?}");
}

#[test]
fn a_right_mark_passes_beside_a_much_longer_passage() {
    let all = found();
    let mut right = Flagged::default();
    for found in all.iter().filter(|found| !is_translated(found)) {
        for claim in &found.claims {
            let own = &found.passages[claim.of - 1];
            let same_language = all.iter().filter(|it| it.language == found.language);
            let others = same_language.flat_map(|it| &it.passages);
            let others: Vec<_> = others.filter(|it| *it != own).cloned().collect();
            let words = read(&[own, &others.join("\n")]);
            right.add(!words.support(&claim.says, lone(0)));
        }
    }
    println!("beside a long passage: {right:?}");
    assert!(right.percent() <= 2.0, "{right:?}");
}

#[test]
fn a_claim_in_another_language_than_its_passages_is_not_flagged() {
    let mut right = Flagged::default();
    for found in found().iter().filter(|found| is_translated(found)) {
        let words = read(&found.passages);
        for claim in &found.claims {
            right.add(!words.support(&claim.says, lone(claim.of - 1)));
        }
    }
    assert_eq!((right.flagged, right.all), (0, 8));
}

#[test]
fn marks_that_share_a_claim_are_flagged_only_if_their_passage_adds_nothing() {
    let (mut right, mut wrong) = (Flagged::default(), Flagged::default());
    for found in found() {
        let words = read(&found.passages);
        for (one, other) in found.claims.iter().zip(found.claims.iter().skip(2)) {
            let one_says = one.says.trim_end_matches(['.', '。']);
            let both = format!("{one_says}, {}", other.says);
            for passage in 0..found.passages.len() {
                let mark = Mark {
                    passage,
                    is_shared: true,
                };
                let is_right = [one.of - 1, other.of - 1].contains(&passage);
                let flagged = if is_right { &mut right } else { &mut wrong };
                flagged.add(!words.support(&both, mark));
            }
        }
    }
    println!("marks that share a claim: {right:?}, wrong {wrong:?}");
    assert!(right.percent() <= 2.0, "{right:?}");
    assert!(wrong.percent() >= 60.0, "{wrong:?}");
}

const FERNS: &str = "Ferns like shade and damp soil. They have spores since 1851.";
const MOSS: &str = "Moss likes rain and grows on a stone. It holds 1,200 litres in 20 days.";

#[test]
fn a_claim_that_says_too_little_is_not_judged() {
    let words = read(&[FERNS, MOSS]);
    for claim in [
        "",
        "Yes",
        "Both like it",
        "Moss",
        "…!",
        "According to",
        "The moon is made of cheese",
        "Experts doubt that any of these strange little creatures came first, before rain and stone",
        "- ",
        "Moss likes rain and grows on a stone.\n- ",
        "`moss`",
        "| Moss |",
    ] {
        assert!(words.support(claim, lone(0)), "{claim:?}");
    }
    for claim in [
        "Moss likes rain",
        "- Moss needs a stone and rain",
        "| Moss | stone | rain |",
        "It takes up `1200` litres",
        "It holds 1.200 l for 20 days",
        "Ferns like shade.\n\nMoss likes rain and grows on a stone.",
    ] {
        assert!(words.support(claim, lone(1)), "{claim:?}");
        assert!(!words.support(claim, lone(0)), "{claim:?}");
    }
}

#[test]
fn a_mark_behind_several_sentences_may_support_any_of_them() {
    let words = read(&[FERNS, MOSS]);
    let claim = "Ferns like shade and damp soil, and they have spores. Not so moss on a stone.";
    assert!(words.support(claim, lone(0)));
    let apart = "Ferns like shade and damp soil, and they have spores.\n\nNot so moss on a stone.";
    assert!(!words.support(apart, lone(0)));
}

#[test]
fn with_one_passage_or_with_equal_ones_nothing_is_flagged() {
    assert!(read(&[FERNS]).support("Moss likes rain", lone(0)));
    let words = read(&[MOSS, FERNS, MOSS]);
    assert!(words.support("Moss likes rain on a stone", lone(0)));
    assert!(words.support("Moss likes rain on a stone", lone(2)));
}

#[test]
fn words_are_compared_by_their_beginning_and_numbers_without_separators() {
    let same = |one: &str, other: &str| sorted(words(one)) == sorted(words(other));
    assert!(same("Gardener", "gardening"));
    assert!(same("1,200 m", "1.200 m"));
    assert!(same("1’200 25.5", "1200 255"));
    assert!(same("20cm", "20 cm"));
    assert!(same("２，５００円", "2500円"));
    assert!(same("水で洗う", "水を洗って"));
    assert!(!same("1200", "12001"));
    assert!(words("der die das les une 7 a 。").is_empty());
    assert!(FREQUENT_WORDS.is_sorted());
}
