//! Progress of a build: a bar on a terminal, lines otherwise.

use std::fmt::Write as _;

use ziggurat_knowledge::Event;
use ziggurat_runtime::console::{Console, plain};

/// Length of the bar, and of the name after it.
const BAR_WIDTH: usize = 24;
const NAME: usize = 40;

/// Moves to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Shows the progress of a build.
pub(super) struct Progress<'c, 'a> {
    console: &'c mut Console<'a>,
    documents: usize,
    done: usize,
    chunks: usize,
}

// === impl Progress ===

impl<'c, 'a> Progress<'c, 'a> {
    pub(super) fn new(console: &'c mut Console<'a>) -> Self {
        Self {
            console,
            documents: 0,
            done: 0,
            chunks: 0,
        }
    }

    pub(super) fn show(&mut self, event: Event<'_>) {
        match event {
            Event::Begun { documents } => self.documents = documents,
            Event::Embedded { .. } => self.chunks += 1,
            Event::Kept { .. } | Event::Written { .. } => self.done += 1,
            Event::Skipped { .. } => self.done = (self.done + 1).min(self.documents),
            _ => {}
        }
        let (line, name) = match event {
            Event::Written { name, chunks } => {
                (Some(format!("{}: {chunks} chunks", plain(name))), name)
            }
            Event::Skipped { name, reason } | Event::LeftOut { name, reason } => (
                Some(format!("{}: skipped, {}", plain(name), plain(reason))),
                name,
            ),
            Event::Removed { name } => (Some(format!("{}: removed", plain(name))), name),
            Event::Embedded { name } | Event::Kept { name } => (None, name),
            _ => (None, ""),
        };
        let mut text = String::new();
        if self.console.has_screen {
            text.push_str(CLEAR_LINE);
            // The bar already shows the documents that succeeded.
            if !matches!(event, Event::Written { .. }) {
                text.extend(line.map(|line| line + "\n"));
            }
            self.draw(&mut text, name);
        } else {
            text.extend(line.map(|line| line + "\n"));
        }
        if !text.is_empty() {
            // The build continues even if its progress cannot be printed.
            let _ = self.console.print_error(&text);
        }
    }

    /// Removes the bar.
    pub(super) fn end(self) {
        if self.console.has_screen {
            let _ = self.console.print_error(CLEAR_LINE);
        }
    }

    fn draw(&self, text: &mut String, name: &str) {
        let full = BAR_WIDTH * self.done / self.documents.max(1);
        let full = full.min(BAR_WIDTH);
        let name: String = plain(name).chars().take(NAME).collect();
        let _ = write!(
            text,
            "[{}{}] {}/{} documents, {} chunks  {name}",
            "#".repeat(full),
            "-".repeat(BAR_WIDTH - full),
            self.done,
            self.documents,
            self.chunks
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [Event<'_>; 6] = [
        Event::LeftOut {
            name: "docs/z.md",
            reason: "the link leads out of the folder",
        },
        Event::Begun { documents: 2 },
        Event::Kept { name: "docs/a.md" },
        Event::Embedded { name: "docs/b.md" },
        Event::Skipped {
            name: "docs/\x1b[2Jc.md",
            reason: "it is not UTF-8",
        },
        Event::Removed { name: "docs/d.md" },
    ];

    fn shown(has_screen: bool) -> String {
        let (mut said, mut remarks) = (Vec::new(), Vec::new());
        let mut console = Console {
            input: &mut &b""[..],
            output: &mut said,
            remarks: &mut remarks,
            is_terminal: false,
            has_screen,
        };
        let mut progress = Progress::new(&mut console);
        for event in EVENTS {
            progress.show(event);
        }
        progress.end();
        assert!(said.is_empty());
        String::from_utf8(remarks).expect("text")
    }

    #[test]
    fn without_a_terminal_each_event_is_a_line() {
        assert_eq!(
            shown(false),
            "docs/z.md: skipped, the link leads out of the folder\n\
             docs/ [2Jc.md: skipped, it is not UTF-8\ndocs/d.md: removed\n"
        );
    }

    #[test]
    fn on_a_terminal_there_is_a_bar_that_is_removed_at_the_end() {
        let text = shown(true);
        let bars: Vec<_> = text.split(CLEAR_LINE).collect();
        assert_eq!(
            bars[3],
            format!(
                "[{}{}] 1/2 documents, 0 chunks  docs/a.md",
                "#".repeat(12),
                "-".repeat(12)
            )
        );
        assert!(
            bars[4].ends_with("] 1/2 documents, 1 chunks  docs/b.md"),
            "{text:?}"
        );
        assert!(bars[5].starts_with("docs/ [2Jc.md: skipped"), "{text:?}");
        assert!(text.ends_with(CLEAR_LINE), "{text:?}");
    }
}
