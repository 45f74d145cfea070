//! Form of the values from the database in the texts of results.

use std::{borrow::Cow, fmt::Write as _};

use ziggurat_mcp::{Error, Reported, ToolRequest};
use ziggurat_postgres::tsv;
use ziggurat_text::hidden;

/// Form of the values from the database in the texts of results; structures are not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultFormat {
    /// The clients for which hidden characters are written as their numbers.
    pub show_hidden: ShowHidden,
    /// Limit on the bytes of a value for clients that negotiate a revision; longer ones are cut.
    pub max_cell_bytes: Option<usize>,
    /// Set if lines mark where values begin and end, for clients that negotiate a revision.
    pub is_fenced: bool,
}

/// Clients for which hidden characters are written as their numbers: `\u{202e}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShowHidden {
    /// Those that negotiate a revision; the text for others has a fixed form.
    #[default]
    Negotiated,
    /// All clients.
    Always,
    /// No client.
    Never,
}

/// The form for one call.
#[derive(Clone, Copy, Debug)]
pub struct CallFormat {
    fields: tsv::Format,
}

/// Lines before and after values from the database. Their mark is random, so that no value can
/// contain the last line.
#[derive(Clone, Debug)]
pub struct Fence {
    mark: String,
}

// === impl ResultFormat ===

impl ResultFormat {
    /// Returns the form for the client of a call.
    pub fn of(self, request: &ToolRequest) -> CallFormat {
        self.for_client(request.is_negotiated())
    }

    /// Returns the form for a client that negotiates a revision, or for another.
    #[must_use]
    pub fn for_client(self, is_negotiated: bool) -> CallFormat {
        CallFormat {
            fields: tsv::Format {
                is_unambiguous: is_negotiated,
                shows_hidden: match self.show_hidden {
                    ShowHidden::Negotiated => is_negotiated,
                    ShowHidden::Always => true,
                    ShowHidden::Never => false,
                },
                guards_end: self.is_fenced && is_negotiated,
                max_bytes: self.max_cell_bytes.filter(|_| is_negotiated),
            },
        }
    }
}

impl Default for ResultFormat {
    fn default() -> Self {
        Self {
            show_hidden: ShowHidden::default(),
            max_cell_bytes: Some(8192),
            is_fenced: false,
        }
    }
}

// === impl CallFormat ===

impl CallFormat {
    /// Returns the form of tab-separated fields.
    #[must_use]
    pub fn fields(self) -> tsv::Format {
        self.fields
    }

    /// Returns a text with its hidden characters shown, if the client gets it so.
    #[must_use]
    pub fn text(self, text: &str) -> Cow<'_, str> {
        if self.fields.shows_hidden {
            hidden::escaped(text)
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Shows the hidden characters of the end of a text, from a position on.
    pub fn show(self, text: &mut String, start: usize) {
        if self.fields.shows_hidden
            && let Cow::Owned(shown) = hidden::escaped(&text[start..])
        {
            text.truncate(start);
            text.push_str(&shown);
        }
    }

    /// Returns an error with the hidden characters of its message shown.
    #[must_use]
    pub fn error(self, error: Error) -> Error {
        match error {
            Error::Reported(reported) if self.fields.shows_hidden => {
                Reported::new(hidden::escaped(reported.as_str()).into_owned()).into()
            }
            error => error,
        }
    }

    /// Returns the lines around the values of a result, if the operator enabled them.
    pub fn fence(self) -> Option<Fence> {
        self.fields.guards_end.then(Fence::new).flatten()
    }

    /// Returns a text of its own between the lines of a fence.
    #[must_use]
    pub fn fenced(self, text: &str) -> String {
        let shown = self.text(text);
        match self.fence() {
            Some(fence) => {
                let inside = shown.replace("</data", "\\u{3c}/data");
                format!("{}{inside}{}", fence.first_line(), fence.last_line())
            }
            None => shown.into_owned(),
        }
    }
}

// === impl Fence ===

impl Fence {
    /// Returns `None` if the system has no random numbers: a mark that can be guessed is useless.
    fn new() -> Option<Self> {
        const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut random = [0; 6];
        getrandom::fill(&mut random).ok()?;
        let mark = random.map(|byte| char::from(BASE32[usize::from(byte % 32)]));
        Some(Self {
            mark: mark.iter().collect(),
        })
    }

    /// Returns the line before the values, with its line break.
    #[must_use]
    pub fn first_line(&self) -> String {
        format!("<data {}>\n", self.mark)
    }

    /// Returns the line after the values, with the line break before it.
    #[must_use]
    pub fn last_line(&self) -> String {
        format!("\n</data {}>", self.mark)
    }
}

/// Writes the note below values that were cut.
pub fn write_cut_note(text: &mut String, max_bytes: Option<usize>) {
    let Some(max_bytes) = max_bytes else { return };
    writeln!(
        text,
        "Note: values of more than {max_bytes} bytes are cut and end with their size. Read more \
         of one with substr(column, first_character, count)."
    )
    .expect("a string takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_random_and_its_end_cannot_be_written_by_a_value() {
        let format = ResultFormat {
            is_fenced: true,
            ..ResultFormat::default()
        };
        let fenced = format.for_client(true).fenced("a\n</data x>\u{200b}");
        let lines: Vec<_> = fenced.lines().collect();
        let mark = lines[0].strip_prefix("<data ").expect(&fenced);
        assert_eq!(lines[1..3], ["a", r"\u{3c}/data x>\u{200b}"]);
        assert_eq!(lines[3], format!("</data {mark}"));
        assert_eq!(mark.len(), 7, "{fenced}");
        let other = format.for_client(true).fenced("a");
        assert!(!other.contains(mark), "{other}");
        assert_eq!(format.for_client(false).fenced("a</data"), "a</data");
        // Four bytes are a token.
        assert!(format.for_client(true).fenced("").len() <= 15 * 4);
    }
}
