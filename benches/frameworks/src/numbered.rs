//! Requests and answers with a number in them.

/// Stands for the number in the text that a [`Numbered`] is made of.
pub(crate) const NUMBER: u32 = 73_509_182;

/// The first number; all numbers have as many digits, so that lengths never change.
pub(crate) const FIRST: u32 = 10_000_000;

const DIGITS: usize = 8;

/// Bytes in which a number can be replaced where it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbered {
    bytes: Vec<u8>,
    /// Starts of the number.
    places: Vec<usize>,
}

// === impl Numbered ===

impl Numbered {
    /// Remembers where `number` stands.
    pub(crate) fn new(bytes: Vec<u8>, number: u32) -> Self {
        let digits = digits(number);
        let windows = bytes.windows(DIGITS).enumerate();
        let places = windows.filter(|(_, window)| *window == digits);
        let places = places.map(|(place, _)| place).collect();
        Self { bytes, places }
    }

    /// The bytes, with another number.
    pub(crate) fn with(&mut self, number: u32) -> &[u8] {
        let digits = digits(number);
        for &place in &self.places {
            self.bytes[place..place + DIGITS].copy_from_slice(&digits);
        }
        &self.bytes
    }
}

fn digits(mut number: u32) -> [u8; DIGITS] {
    let mut digits = [b'0'; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(number % 10).expect("a digit");
        number /= 10;
    }
    digits
}
