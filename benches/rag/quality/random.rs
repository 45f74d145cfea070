//! The same random numbers in every run.

/// A generator of random numbers (`SplitMix64`).
#[derive(Debug)]
pub(super) struct Random {
    state: u64,
}

// === impl Random ===

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number from zero to one.
    pub(super) fn unit(&mut self) -> f64 {
        let high = u32::try_from(self.bits() >> 32).expect("32 bits are left");
        f64::from(high) / f64::from(u32::MAX)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).expect("64 bits");
        usize::try_from((self.bits() >> 11) % end).expect("it is below a usize")
    }

    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A number of the normal distribution, nearly.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// A vector of length one in a random direction.
    pub(super) fn direction(&mut self, dimensions: usize) -> Vec<f64> {
        let mut vector: Vec<_> = (0..dimensions).map(|_| self.normal()).collect();
        normalize(&mut vector);
        vector
    }
}

/// Gives a vector the length one, unless it is zero.
pub(super) fn normalize(vector: &mut [f64]) {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        for x in vector {
            *x /= length;
        }
    }
}

/// Adds a multiple of a vector.
pub(super) fn add(sum: &mut [f64], vector: &[f64], factor: f64) {
    for (sum, x) in sum.iter_mut().zip(vector) {
        *sum += factor * x;
    }
}
