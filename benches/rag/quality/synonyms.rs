//! A made-up language: questions in other words than their answers, and passages that have the
//! words of a question but are about something else.
//!
//! A concept has several words, and some words mean two concepts. A passage is about three concepts
//! of a topic, and mentions others in passing. The vectors know most words and not all, and no
//! codes; so neither vectors nor words alone find everything, as in a real collection.

use super::{
    collection::{Collection, Judged, Passage},
    random::{Random, add, normalize},
};

const DIMENSIONS: usize = 64;
const TOPICS: usize = 40;
const CONCEPTS: usize = 10;
const SYNONYMS: usize = 4;
const PASSAGES: usize = 900;
const QUESTIONS: usize = 200;

/// Number of concepts that a passage is about.
const SUBJECTS: usize = 3;

/// Share of the words that the vectors do not know.
const UNKNOWN: f64 = 0.2;

/// Deviation of the vector of a word from the vector of its concept.
const NOISE: f64 = 0.6;

/// Weight of the random part in the vector of a text, relative to its words.
const BLUR: f64 = 0.5;

/// Words that say nothing, the most common first.
const FILLERS: [&str; 24] = [
    "the",
    "of",
    "and",
    "in",
    "it",
    "with",
    "for",
    "that",
    "also",
    "often",
    "many",
    "used",
    "while",
    "usually",
    "about",
    "however",
    "example",
    "different",
    "general",
    "number",
    "large",
    "known",
    "several",
    "further",
];

/// A word: its base form, and its vector.
struct Word {
    base: String,
    vector: Vec<f64>,
}

struct Language {
    random: Random,
    words: Vec<Word>,
    /// The words of each concept.
    concepts: Vec<[usize; SYNONYMS]>,
}

/// A passage, and what it is about.
struct Draft {
    subjects: Vec<usize>,
    /// Its words by number, with their forms.
    words: Vec<(usize, String)>,
    code: Option<String>,
}

/// Makes the collection.
pub(super) fn collection() -> Collection {
    let mut language = Language::new();
    let mut drafts: Vec<_> = (0..PASSAGES).map(|_| language.draft()).collect();
    let mut questions = Vec::new();
    for number in 0..QUESTIONS {
        let about = language.random.below(PASSAGES);
        let (words, code) = language.question(&drafts[about], number);
        let subjects = drafts[about].subjects.clone();
        drafts.push(language.distraction(&words));
        questions.push((subjects, words, code));
    }
    let questions = questions.into_iter().map(|(subjects, words, code)| {
        let grades = drafts.iter().enumerate().filter_map(|(at, draft)| {
            let grade = draft.grade(&subjects, code.as_deref());
            (grade > 0).then(|| (at.to_string(), grade))
        });
        Judged {
            grades: grades.collect(),
            vector: language.vector(&words, code.as_deref()),
            text: language.text(&words, code.as_deref()),
        }
    });
    let questions = questions.collect::<Vec<_>>();
    let passages = drafts.iter().enumerate().map(|(at, draft)| Passage {
        id: at.to_string(),
        vector: language.vector(&draft.words, draft.code.as_deref()),
        text: language.text(&draft.words, draft.code.as_deref()),
    });
    Collection {
        name: "synonyms",
        passages: passages.collect(),
        questions,
    }
}

// === impl Language ===

impl Language {
    fn new() -> Self {
        let mut random = Random::new(2026);
        let (mut words, mut concepts) = (Vec::new(), Vec::new());
        for _ in 0..TOPICS {
            let topic = random.direction(DIMENSIONS);
            for _ in 0..CONCEPTS {
                let mut meaning = random.direction(DIMENSIONS);
                add(&mut meaning, &topic, 0.8);
                normalize(&mut meaning);
                let own: [usize; SYNONYMS] = std::array::from_fn(|_| {
                    // A word in ten has a second meaning.
                    if !words.is_empty() && random.unit() < 0.1 {
                        let shared = random.below(words.len());
                        let word: &mut Word = &mut words[shared];
                        add(&mut word.vector, &meaning, 1.0);
                        normalize(&mut word.vector);
                        return shared;
                    }
                    words.push(Word::new(&mut random, &meaning));
                    words.len() - 1
                });
                concepts.push(own);
            }
        }
        Self {
            random,
            words,
            concepts,
        }
    }

    /// Writes a passage about concepts of one topic.
    fn draft(&mut self) -> Draft {
        let topic = self.random.below(TOPICS) * CONCEPTS;
        let mut subjects = Vec::new();
        while subjects.len() < SUBJECTS {
            let subject = topic + self.random.below(CONCEPTS);
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        let mut words = Vec::new();
        for &subject in &subjects {
            for _ in 0..=self.random.below(3) {
                words.push(self.word(subject));
            }
        }
        for _ in 0..2 + self.random.below(5) {
            let other = self.random.below(self.concepts.len());
            words.push(self.word(other));
        }
        let code = (self.random.unit() < 0.3).then(|| {
            let number = self.random.below(400);
            format!("zk{number:04}")
        });
        self.shuffle(&mut words);
        Draft {
            subjects,
            words,
            code,
        }
    }

    /// Writes a passage of another topic that mentions words of a question.
    fn distraction(&mut self, words: &[(usize, String)]) -> Draft {
        let mut draft = self.draft();
        draft.words.extend(words.iter().take(2).cloned());
        self.shuffle(&mut draft.words);
        draft
    }

    /// Asks for what a passage is about: in its words, in other words, or by its code.
    fn question(&mut self, about: &Draft, number: usize) -> (Vec<(usize, String)>, Option<String>) {
        let in_its_words = number.is_multiple_of(3);
        let words = about.subjects.iter().map(|&subject| {
            let said = about.words.iter();
            let said = said
                .map(|(word, _)| *word)
                .find(|word| self.concepts[subject].contains(word));
            match said {
                Some(word) if in_its_words => self.form(word),
                _ => self.word(subject),
            }
        });
        let mut words: Vec<_> = words.collect();
        let code = about.code.clone().filter(|_| number % 3 == 1);
        if code.is_some() {
            words.truncate(1);
        }
        (words, code)
    }

    /// A word for a concept, in some form.
    fn word(&mut self, concept: usize) -> (usize, String) {
        let word = *self.random.pick(&self.concepts[concept]);
        self.form(word)
    }

    fn form(&mut self, word: usize) -> (usize, String) {
        let ending = *self.random.pick(&["", "", "s", "ing", "ed"]);
        (word, format!("{}{ending}", self.words[word].base))
    }

    fn shuffle(&mut self, words: &mut [(usize, String)]) {
        for at in (1..words.len()).rev() {
            words.swap(at, self.random.below(at + 1));
        }
    }

    /// Writes the words with common ones between them.
    fn text(&mut self, words: &[(usize, String)], code: Option<&str>) -> String {
        let mut text = Vec::new();
        for (_, form) in words {
            for _ in 0..self.random.below(4) {
                // Words at the beginning of the list are the most common.
                let place = self.random.below(FILLERS.len()) * self.random.below(FILLERS.len());
                text.push(FILLERS[place / FILLERS.len()]);
            }
            text.push(form);
        }
        text.extend(code);
        text.join(" ")
    }

    fn vector(&mut self, words: &[(usize, String)], code: Option<&str>) -> Vec<f64> {
        let mut sum = vec![0.0; DIMENSIONS];
        for (word, _) in words {
            add(&mut sum, &self.words[*word].vector, 1.0);
        }
        let chance = self.random.direction(DIMENSIONS);
        let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        add(&mut sum, &chance, BLUR * length);
        if code.is_some() {
            add(&mut sum, &self.random.direction(DIMENSIONS), 0.5);
        }
        normalize(&mut sum);
        sum
    }
}

// === impl Word ===

impl Word {
    fn new(random: &mut Random, meaning: &[f64]) -> Self {
        let mut vector = random.direction(DIMENSIONS);
        if random.unit() > UNKNOWN {
            for x in &mut vector {
                *x *= NOISE;
            }
            add(&mut vector, meaning, 1.0);
            normalize(&mut vector);
        }
        Self {
            base: base(random),
            vector,
        }
    }
}

/// Makes up a word. English rules reduce all of its forms to one stem.
fn base(random: &mut Random) -> String {
    const STARTS: [&str; 12] = ["b", "d", "f", "g", "k", "l", "m", "p", "r", "t", "tr", "pl"];
    const MIDDLES: [&str; 10] = ["r", "l", "n", "m", "lp", "rk", "nd", "mp", "v", "g"];
    const VOWELS: [&str; 4] = ["a", "o", "u", "ai"];
    const ENDS: [&str; 8] = ["rk", "mp", "nd", "lk", "rm", "nt", "rn", "sk"];
    let parts: [&[&str]; 6] = [&STARTS, &VOWELS, &MIDDLES, &VOWELS, &MIDDLES[..4], &VOWELS];
    let start: String = parts.iter().map(|part| *random.pick(part)).collect();
    start + random.pick::<&str>(&ENDS)
}

// === impl Draft ===

impl Draft {
    /// Grades the passage for a question about these concepts.
    fn grade(&self, asked: &[usize], code: Option<&str>) -> i32 {
        let shared = asked.iter().filter(|one| self.subjects.contains(one));
        let shared = shared.count();
        let has_code = code.is_some() && self.code.as_deref() == code;
        match (code, shared) {
            (Some(_), _) if has_code && shared > 0 => 3,
            (Some(_), _) if has_code => 1,
            (None, SUBJECTS) => 3,
            (None, 2) => 1,
            _ => 0,
        }
    }
}
