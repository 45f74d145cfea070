//! A list that grows without locks for those that read it.

use std::sync::OnceLock;

/// Length of the first segment; each is twice as long as the one before.
const FIRST: usize = 8;

/// Segments of a list, which has room for 8,184 values.
const SEGMENTS: usize = 10;

/// List of values that are made when they are first used, and then stay where they are.
///
/// Two threads that use a value for the first time may wait for each other. Reading waits for
/// nothing, and nothing waits for it.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    segments: [OnceLock<Box<[OnceLock<T>]>>; SEGMENTS],
}

// === impl Slots ===

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            segments: [const { OnceLock::new() }; SEGMENTS],
        }
    }
}

impl<T: Default> Slots<T> {
    /// Returns the value at an index, which is made if need be.
    pub(crate) fn at(&self, index: usize) -> &T {
        let (segment, offset) = place(index);
        self.segments
            .get(segment)
            .map(|cells| cells.get_or_init(|| empty(FIRST << segment)))
            .and_then(|cells| cells.get(offset))
            .expect("numbers of names are below the room of a list")
            .get_or_init(T::default)
    }
}

impl<T> Slots<T> {
    /// Returns the values that have been made, with their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let cells = self
            .segments
            .iter()
            .enumerate()
            .flat_map(|(segment, cells)| {
                let start = (FIRST << segment) - FIRST;
                let cells = cells.get().into_iter().flatten().enumerate();
                cells.map(move |(offset, cell)| (start + offset, cell))
            });
        cells.filter_map(|(index, cell)| Some((index, cell.get()?)))
    }
}

/// Returns the segment of an index and its place there.
fn place(index: usize) -> (usize, usize) {
    let shifted = index + FIRST;
    let segment = (shifted.ilog2() - FIRST.ilog2()) as usize;
    (segment, shifted - (FIRST << segment))
}

fn empty<T>(length: usize) -> Box<[OnceLock<T>]> {
    std::iter::repeat_with(OnceLock::new).take(length).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn each_index_has_a_value_of_its_own_and_only_used_ones_are_listed() {
        let slots = Slots::<Cell<usize>>::default();
        let used = [0, 7, 8, 23, 24, 4097, 8183];
        for index in used {
            slots.at(index).set(slots.at(index).get() + index);
        }
        let listed = slots.iter().map(|(index, value)| (index, value.get()));
        assert!(listed.eq(used.map(|index| (index, index))));
    }
}
