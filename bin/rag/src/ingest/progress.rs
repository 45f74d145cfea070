//! Progress of loading documents: a bar on a terminal, a line every ten seconds elsewhere.

use std::time::{Duration, Instant};

use ziggurat_ingest::{Event, Outcome};
use ziggurat_runtime::escape::escape;

/// Length of the bar.
const BAR: usize = 20;

/// Interval between two bars on a terminal, and between two lines elsewhere.
const REDRAW: Duration = Duration::from_millis(100);
const LINE: Duration = Duration::from_secs(10);

/// Number of documents that are named when they are skipped. Each line of a file may be one.
const MAX_NAMED: usize = 100;

/// Moves to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// The counts of a run, as text.
#[derive(Debug)]
pub(super) struct Progress {
    is_terminal: bool,
    began: Instant,
    shown: Instant,
    all_files: usize,
    files: usize,
    passages: usize,
    embedded: usize,
    failed: usize,
}

// === impl Progress ===

impl Progress {
    pub(super) fn new(is_terminal: bool, now: Instant) -> Self {
        Self {
            is_terminal,
            began: now,
            shown: now,
            all_files: 0,
            files: 0,
            passages: 0,
            embedded: 0,
            failed: 0,
        }
    }

    /// Counts an event, and returns the text to print.
    pub(super) fn event(&mut self, event: &Event<'_>, now: Instant) -> String {
        let line = match event {
            Event::Begun { files } => {
                self.all_files = *files;
                None
            }
            Event::FileRead => {
                self.files += 1;
                None
            }
            Event::Embedded { passages } => {
                self.embedded += passages;
                None
            }
            Event::Written { passages, .. } => {
                self.passages += passages;
                None
            }
            Event::Skipped { name, reason } => {
                self.failed += 1;
                self.skipped(name, reason)
            }
            Event::LeftOut { name, reason } => {
                Some(format!("left out {}: {}\n", escape(name), escape(reason)))
            }
            Event::Renamed {
                source,
                other,
                prefix,
            } => Some(format!(
                "the ids of {} begin with {}, because {} has the same name: if the folder was moved, \
                 use -source {}\n",
                escape(source),
                escape(prefix),
                escape(other),
                escape(other)
            )),
            Event::Created { table } => Some(format!("table {} created\n", escape(table))),
            _ => None,
        };
        let Some(line) = line else {
            return self.tick(now);
        };
        if self.is_terminal {
            return format!("{CLEAR_LINE}{line}{}", self.counts(now));
        }
        line + &self.tick(now)
    }

    /// Returns the line about a document that was skipped.
    fn skipped(&self, name: &str, reason: &str) -> Option<String> {
        let named = format!("skipped {}: {}\n", escape(name), escape(reason));
        match self.failed {
            ..=MAX_NAMED => Some(named),
            number if number == MAX_NAMED + 1 => {
                Some("skipped more: these are only counted\n".to_owned())
            }
            _ => None,
        }
    }

    /// Returns the text to print after some time.
    pub(super) fn tick(&mut self, now: Instant) -> String {
        let pause = if self.is_terminal { REDRAW } else { LINE };
        if now.duration_since(self.shown) < pause {
            return String::new();
        }
        self.shown = now;
        if self.is_terminal {
            format!("{CLEAR_LINE}{}", self.counts(now))
        } else {
            self.counts(now) + "\n"
        }
    }

    /// Returns the text that removes the bar.
    pub(super) fn end(&self) -> &'static str {
        if self.is_terminal { CLEAR_LINE } else { "" }
    }

    /// Returns the lines about a run that has ended.
    pub(super) fn summary(&self, outcome: &Outcome, is_trial: bool, now: Instant) -> String {
        let trial = if is_trial {
            "nothing was written: this was a trial run\n"
        } else {
            ""
        };
        format!(
            "{}\ndocuments: {} written, {} unchanged, {} removed, {} skipped\n{trial}",
            self.counts(now),
            grouped(outcome.written),
            grouped(outcome.kept),
            grouped(outcome.removed),
            grouped(outcome.skipped),
        )
    }

    fn counts(&self, now: Instant) -> String {
        let bar = if self.is_terminal && self.all_files > 0 {
            let full = (BAR * self.files / self.all_files).min(BAR);
            format!("{}{}  ", "█".repeat(full), "░".repeat(BAR - full))
        } else {
            String::new()
        };
        format!(
            "{} files  {bar}{} passages  {} embedded  {} failed  {} s",
            grouped(self.files),
            grouped(self.passages),
            grouped(self.embedded),
            grouped(self.failed),
            now.duration_since(self.began).as_secs(),
        )
    }
}

/// Writes a number with commas between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(is_terminal: bool) -> Vec<String> {
        let began = Instant::now();
        let mut progress = Progress::new(is_terminal, began);
        let after = |seconds| began + Duration::from_secs(seconds);
        let skipped = Event::Skipped {
            name: "docs/\x1b[2Jc.md",
            reason: "it is not UTF-8",
        };
        let written = Event::Written {
            id: "docs/a.md",
            passages: 3801,
        };
        [
            (Event::Begun { files: 4 }, 0),
            (Event::FileRead, 9),
            (written, 11),
            (skipped, 12),
        ]
        .map(|(event, seconds)| progress.event(&event, after(seconds)))
        .to_vec()
    }

    #[test]
    fn a_hundred_skipped_documents_are_named_and_more_are_counted() {
        let began = Instant::now();
        let mut progress = Progress::new(false, began);
        let skipped = Event::Skipped {
            name: "a.jsonl, line 7",
            reason: "it has no id",
        };
        let texts: Vec<_> = (0..300).map(|_| progress.event(&skipped, began)).collect();
        assert!(
            texts[..100]
                .iter()
                .all(|text| text.starts_with("skipped a.jsonl, line 7"))
        );
        assert_eq!(texts[100], "skipped more: these are only counted\n");
        assert_eq!(texts[101..].concat(), "");
        assert_eq!(progress.failed, 300);
    }

    #[test]
    fn without_a_terminal_there_is_a_line_every_ten_seconds() {
        assert_eq!(
            events(false),
            [
                "",
                "",
                "1 files  3,801 passages  0 embedded  0 failed  11 s\n",
                "skipped docs/\\x1b[2Jc.md: it is not UTF-8\n",
            ]
        );
    }

    #[test]
    fn on_a_terminal_there_is_a_bar() {
        let shown = events(true);
        let bar = "█████░░░░░░░░░░░░░░░";
        assert_eq!(shown[0], "");
        let expected = format!("{CLEAR_LINE}1 files  {bar}  0 passages  0 embedded  0 failed  9 s");
        assert_eq!(shown[1], expected);
        assert!(shown[3].starts_with("\r\x1b[Kskipped docs/\\x1b[2Jc.md"));
        assert!(shown[3].ends_with("1 failed  12 s"), "{shown:?}");
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
