use proptest::prelude::*;

use super::*;

/// Number of passages that were shown.
const SHOWN: usize = 3;

/// A checked answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    text: String,
    markers: Vec<Marker>,
    dropped: u64,
}

impl Answer {
    fn add(&mut self, parts: Vec<Checked>) {
        for part in parts {
            match part {
                Checked::Text(text) => {
                    assert!(!text.is_empty());
                    self.text.push_str(&text);
                }
                Checked::Marker(marker) => {
                    // A client gets a marker after its text.
                    assert_eq!(self.text.chars().count(), marker.end, "{self:?}");
                    self.markers.push(marker);
                }
            }
        }
    }
}

fn check_pieces(pieces: &[&str]) -> Answer {
    let mut checker = MarkerChecker::new(SHOWN);
    let mut answer = Answer::default();
    for piece in pieces {
        answer.add(checker.push(piece));
    }
    answer.add(checker.finish());
    answer.dropped = checker.dropped();
    answer
}

fn check(text: &str) -> Answer {
    check_pieces(&[text])
}

/// Checks an answer in two pieces, split at every byte that begins a character, and letter by
/// letter.
fn check_all_ways(text: &str) -> Answer {
    let whole = check(text);
    for (at, _) in text.char_indices() {
        let (first, second) = text.split_at(at);
        assert_eq!(check_pieces(&[first, second]), whole, "{text:?} at {at}");
    }
    let letters = text
        .char_indices()
        .map(|(at, letter)| &text[at..at + letter.len_utf8()]);
    let letters: Vec<_> = letters.collect();
    assert_eq!(check_pieces(&letters), whole, "{text:?}");
    whole
}

fn numbers(answer: &Answer) -> Vec<usize> {
    answer.markers.iter().map(|marker| marker.number).collect()
}

#[test]
fn valid_markers_stay_and_have_their_positions_in_characters() {
    let answer = check_all_ways("Größe [1]. Moos[3][2] ü.");
    assert_eq!(answer.text, "Größe [1]. Moos[3][2] ü.");
    let marker = |number, start, end| Marker { number, start, end };
    assert_eq!(
        answer.markers,
        [marker(1, 6, 9), marker(3, 15, 18), marker(2, 18, 21)]
    );
    assert_eq!(answer.dropped, 0);
}

#[test]
fn invented_markers_are_removed_with_the_space_before_them() {
    for (text, expected, dropped) in [
        ("Shade [4].", "Shade.", 1),
        ("Shade [0] and [99] rain", "Shade and rain", 2),
        ("Shade [4][1].", "Shade [1].", 1),
        ("Shade [1][4].", "Shade [1].", 1),
        ("Shade[4], rain [5]\n[6]- x", "Shade, rain\n- x", 3),
        ("Shade [4]", "Shade", 1),
        ("[007] [99999999999999999999999999] a", " a", 2),
        ("In 2020 [4], so", "In 2020 , so", 1),
    ] {
        let answer = check_all_ways(text);
        assert_eq!(
            (&*answer.text, answer.dropped),
            (expected, dropped),
            "{text:?}"
        );
    }
}

#[test]
fn several_numbers_become_one_marker_each() {
    for (text, expected, found, dropped) in [
        ("a [1, 3] b", "a [1][3] b", vec![1, 3], 0),
        ("a [1,2,9]", "a [1][2]", vec![1, 2], 1),
        ("a [7, 8].", "a.", vec![], 2),
        ("a [01] b", "a [1] b", vec![1], 0),
    ] {
        let answer = check_all_ways(text);
        assert_eq!(answer.text, expected, "{text:?}");
        assert_eq!(
            (numbers(&answer), answer.dropped),
            (found, dropped),
            "{text:?}"
        );
    }
}

#[test]
fn other_brackets_are_text() {
    for text in [
        "[",
        "]",
        "[]",
        "[a]",
        "[1a]",
        "[-1]",
        "[ 1]",
        "[1 ]",
        "[1",
        "[1,]",
        "[,1]",
        "[1,  2]",
        "a ] [ b",
        "[^1]",
        "[1.5]",
        "[see](https://example.com/x)",
        "Ends in a space ",
    ] {
        let answer = check_all_ways(text);
        assert_eq!(
            (&*answer.text, answer.markers.len(), answer.dropped),
            (text, 0, 0)
        );
    }
}

#[test]
fn markers_in_code_are_text() {
    for text in [
        "Use `x[0]` or ``y[9]`z``.",
        "Use\n```python\nx[0] = [7, 8]\n```\nthen",
        "~~~\nx[9]\n~~~\n",
        "- ```\n  x[9]\n  ```\nend",
        "> ```\n> x[9]\n> ```\nend",
        "```\nnever closed [9]",
    ] {
        let answer = check_all_ways(text);
        assert_eq!(
            (&*answer.text, answer.markers.len(), answer.dropped),
            (text, 0, 0)
        );
    }
    let answer = check_all_ways("`x[0]` [1] `[9]` [9] a `b [9]");
    assert_eq!(answer.text, "`x[0]` [1] `[9]` a `b");
    assert_eq!((numbers(&answer), answer.dropped), (vec![1], 2));
}

#[test]
fn what_is_left_of_nested_markers_is_no_invalid_marker() {
    for (text, expected, found) in [
        ("[[1]]", "[[1]]", vec![1]),
        ("[[9]]", "[]", vec![]),
        ("[[9]1]", "[1]", vec![1]),
        ("[[9]9]", "[9", vec![]),
        ("[1[9]]", "[1]", vec![1]),
        ("[[[9]9]9]]", "[[99", vec![]),
        ("[1[2]3]", "[1[2]3]", vec![2]),
        ("[7 [9], 8]", "[7 , 8]", vec![]),
        ("[1, [9]2]", "[1, 2", vec![]),
    ] {
        let answer = check_all_ways(text);
        assert_eq!(
            (&*answer.text, numbers(&answer)),
            (expected, found),
            "{text:?}"
        );
    }
    let long = format!("[[9]{}]", "1,".repeat(MAX_MARKER) + "1");
    let expected = long.replace("[9]", "");
    assert_eq!(check_all_ways(&long).text, expected[..expected.len() - 1]);
}

#[test]
fn what_is_left_around_a_removed_marker_is_no_other_code() {
    for (text, expected) in [
        ("`[9]``[8]``", "` ``[8]``"),
        ("[9]```\n```\n[8]\n```", "```\n```\n\n```"),
        ("~~[9]~\n[8]", "~~ ~\n"),
    ] {
        assert_eq!(check_all_ways(text).text, expected, "{text:?}");
    }
}

#[test]
fn the_beginning_of_a_marker_is_held_back_and_nothing_else() {
    let mut checker = MarkerChecker::new(SHOWN);
    let text = |text: &str| vec![Checked::Text(text.to_owned())];
    assert_eq!(checker.push("Ferns like"), text("Ferns like"));
    assert_eq!(checker.push(" shade "), text(" shade"));
    assert_eq!(checker.push("["), []);
    assert_eq!(checker.push("1"), []);
    let marker = Marker {
        number: 1,
        start: 17,
        end: 20,
    };
    let expected = [Checked::Text(" [1]".to_owned()), Checked::Marker(marker)];
    assert_eq!(checker.push("]"), expected);
    assert_eq!(checker.push("[x"), text("[x"));
    assert_eq!(checker.push(&"[1".repeat(99)).len(), 1);
    assert_eq!(checker.finish(), text("[1"));
}

/// Returns the numbers of all markers in a text without code, invalid ones too.
fn scan(text: &str) -> Vec<usize> {
    let closed = text
        .split('[')
        .skip(1)
        .filter_map(|rest| rest.split_once(']'));
    let lists = closed
        .map(|(list, _)| list.replace(", ", ","))
        .collect::<Vec<_>>();
    let lists = lists
        .iter()
        .map(|list| list.split(',').map(str::parse).collect());
    lists
        .filter_map(Result::ok)
        .flat_map(|list: Vec<usize>| list)
        .collect()
}

const PIECES: &str =
    "(\\[|\\]|[0-4]|9|99999|, |,| |`|``|```|~~~|\n|a|ä|- |> |x\\[0\\]|\\[1\\]|\\[9\\]){0,40}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn a_split_answer_is_checked_as_the_whole_one(text in PIECES, cuts in prop::collection::vec(0_usize..80, 0..6)) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
        cuts.sort_unstable();
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([text.len()]);
        let pieces = starts.zip(ends).map(|(start, end)| &text[start..end]);
        let pieces: Vec<_> = pieces.collect();
        prop_assert_eq!(check_pieces(&pieces), check(&text));
    }

    #[test]
    fn a_checked_answer_has_no_invalid_marker(text in PIECES) {
        let answer = check(&text);
        let again = check(&answer.text);
        let expected = Answer { dropped: 0, ..answer };
        prop_assert_eq!(again, expected);
    }

    #[test]
    fn each_position_is_that_of_a_marker_that_was_shown(text in PIECES) {
        let answer = check(&text);
        let letters: Vec<_> = answer.text.chars().collect();
        for marker in &answer.markers {
            prop_assert!((1..=SHOWN).contains(&marker.number));
            let found: String = letters[marker.start..marker.end].iter().collect();
            // A marker with a removed one inside keeps its zeros.
            let digits = found.trim_matches(['[', ']']).parse::<usize>();
            prop_assert_eq!(digits, Ok(marker.number), "{}", found);
        }
    }

    #[test]
    fn without_code_all_numbers_in_brackets_are_valid(text in "(\\[|\\]|[0-4]|9|, |,| |\n|a|\\[1\\]|\\[9\\]){0,40}") {
        let answer = check(&text);
        let found = scan(&answer.text);
        prop_assert!(found.iter().all(|number| (1..=SHOWN).contains(number)), "{}", answer.text);
        prop_assert_eq!(found, numbers(&answer));
    }
}
