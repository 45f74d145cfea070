//! Strings, numbers and dates.

use crate::tree::{Value, toml::Reader};

// === impl Reader ===

impl Reader<'_> {
    pub(super) fn string(&mut self) -> Option<String> {
        if self.takes("\"\"\"") {
            self.takes("\r");
            self.takes("\n");
            return self.until("\"\"\"", true);
        }
        if self.takes("'''") {
            self.takes("\r");
            self.takes("\n");
            return self.until("'''", false);
        }
        match self.peek()? {
            b'"' => self.basic(),
            _ => self.literal(),
        }
    }

    pub(super) fn basic(&mut self) -> Option<String> {
        self.takes("\"").then_some(())?;
        let line = self.line();
        let text = self.until("\"", true)?;
        (line == self.line()).then_some(text)
    }

    pub(super) fn literal(&mut self) -> Option<String> {
        self.takes("'").then_some(())?;
        let line = self.line();
        let text = self.until("'", false)?;
        (line == self.line()).then_some(text)
    }

    /// Reads up to the end of a string.
    fn until(&mut self, end: &str, has_escapes: bool) -> Option<String> {
        let began = self.at;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(end) {
                // Up to two quotes may stand before the end of a long string.
                let quote = &end[..1];
                while end.len() == 3 && self.rest()[end.len()..].starts_with(quote) {
                    text.push_str(quote);
                    self.at += 1;
                }
                self.at += end.len();
                return Some(text);
            }
            let Some(next) = rest.chars().next() else {
                self.at = began;
                return None;
            };
            if next == '\\' && has_escapes {
                self.escape(&mut text)?;
            } else {
                if next != '\r' {
                    text.push(next);
                }
                self.at += next.len_utf8();
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Option<()> {
        let (mark, rest) = self.rest().strip_prefix('\\')?.split_at_checked(1)?;
        let digits = match mark {
            "u" => 4,
            "U" => 8,
            _ => 0,
        };
        let character = match mark {
            "b" => '\u{8}',
            "t" => '\t',
            "n" => '\n',
            "f" => '\u{c}',
            "r" => '\r',
            "e" => '\u{1b}',
            "\"" => '"',
            "\\" => '\\',
            "u" | "U" => {
                let code = u32::from_str_radix(rest.get(..digits)?, 16).ok()?;
                char::from_u32(code)?
            }
            " " | "\t" | "\r" | "\n" => {
                self.at += 1;
                let blanks = self.take_while(char::is_whitespace);
                return blanks.contains('\n').then_some(());
            }
            _ => return None,
        };
        text.push(character);
        self.at += 2 + digits;
        Some(())
    }

    /// Reads a boolean, a number or a date.
    pub(super) fn bare(&mut self) -> Option<Value> {
        let began = self.at;
        let is_part =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_' | ':');
        let mut word = self.take_while(is_part).to_owned();
        let is_date = word.len() == 10 && word.matches('-').count() == 2;
        if is_date && self.rest().starts_with(' ') && self.rest().as_bytes().get(3) == Some(&b':') {
            self.at += 1;
            word = format!("{word} {}", self.take_while(is_part));
        }
        let digits = word.trim_start_matches(['+', '-']);
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
        match word.as_str() {
            "true" => Some(Value::Boolean(true)),
            "false" => Some(Value::Boolean(false)),
            _ if is_number || matches!(digits, "inf" | "nan") => Some(Value::Number(word)),
            _ => {
                self.at = began;
                None
            }
        }
    }
}
