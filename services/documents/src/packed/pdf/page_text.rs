//! Puts the texts of a page together: the page draws them at places, and has no words or lines.

use std::collections::BTreeMap;

use lopdf::{
    Document as Pdf, Encoding, Error, Object, ObjectId,
    content::{Content, Operation},
};

use crate::packed::MAX_PART;

/// Distance within a `TJ` array from which a gap is a space, in thousandths of the size of the font.
const GAP: f32 = -180.0;

/// Distance between two lines, at least.
const LINE: f32 = 0.5;

/// State while the operations of a page are read.
#[derive(Default)]
struct PageText<'a> {
    text: String,
    encodings: BTreeMap<Vec<u8>, Encoding<'a>>,
    font: Vec<u8>,
    /// Vertical place of the line, and of the text that was shown last.
    y: f32,
    last_y: f32,
    leading: f32,
    /// True if the place was changed since a text was shown.
    has_moved: bool,
}

/// Returns the text of a page.
pub(super) fn page_text(pdf: &Pdf, page: ObjectId) -> Result<String, Error> {
    let mut reader = PageText::default();
    let mut failed = None;
    for (name, font) in pdf.get_page_fonts(page)? {
        match font.get_font_encoding_with_limit(pdf, MAX_PART) {
            Ok(encoding) => {
                reader.encodings.insert(name, encoding);
            }
            Err(error) => failed = Some(error),
        }
    }
    let content = pdf.get_page_content_with_limit(page, MAX_PART)?;
    for operation in &Content::decode(&content)?.operations {
        reader.operation(operation);
    }
    match failed {
        Some(error) if reader.text.trim().is_empty() => Err(error),
        _ => Ok(reader.text),
    }
}

// === impl PageText ===

impl PageText<'_> {
    fn operation(&mut self, operation: &Operation) {
        let number = |index: usize| {
            let operand = operation.operands.get(index);
            operand.and_then(|operand| operand.as_float().ok())
        };
        match operation.operator.as_str() {
            "BT" => self.move_to(0.0),
            "Tf" => {
                let name = operation.operands.first();
                let name = name.and_then(|name| name.as_name().ok());
                self.font = name.unwrap_or_default().to_vec();
            }
            "TL" => self.leading = number(0).unwrap_or_default(),
            "Td" => self.move_to(self.y + number(1).unwrap_or_default()),
            "TD" => {
                let down = number(1).unwrap_or_default();
                self.leading = -down;
                self.move_to(self.y + down);
            }
            "Tm" => self.move_to(number(5).unwrap_or_default()),
            "T*" => self.move_to(self.y - self.leading),
            "Tj" | "TJ" => self.show(&operation.operands),
            "'" | "\"" => {
                self.move_to(self.y - self.leading);
                let text = operation.operands.last();
                self.show(text.map(std::slice::from_ref).unwrap_or_default());
            }
            // Another text may be at the same place of another system of coordinates.
            "ET" => self.end_line(),
            _ => {}
        }
    }

    fn move_to(&mut self, y: f32) {
        self.y = y;
        self.has_moved = true;
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Shows texts, with the space or the end of a line that the move before stands for.
    fn show(&mut self, operands: &[Object]) {
        if self.has_moved {
            if (self.y - self.last_y).abs() >= LINE {
                self.end_line();
            } else {
                self.space();
            }
        }
        (self.has_moved, self.last_y) = (false, self.y);
        for operand in operands {
            match operand {
                Object::String(bytes, _) => self.push(bytes),
                Object::Array(parts) => {
                    for part in parts {
                        match part {
                            Object::String(bytes, _) => self.push(bytes),
                            gap if gap.as_float().is_ok_and(|gap| gap < GAP) => self.space(),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(encoding) = self.encodings.get(&self.font)
            && let Ok(text) = Pdf::decode_text(encoding, bytes)
        {
            self.text.push_str(&text);
        }
    }
}
