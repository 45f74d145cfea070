//! Any stream of bytes, cut anywhere: the same events come out as when it arrives whole, and
//! none of them is longer than it may be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_text::events::{EventDecoder, TooLong};

const LIMIT: usize = 16;

fn events(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Result<(), TooLong>) {
    let mut decoder = EventDecoder::new().with_max_bytes(LIMIT);
    let mut events = Vec::new();
    for &(mut piece) in pieces {
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(event)) => events.push(event.to_vec()),
                Ok(None) => break,
                Err(error) => return (events, Err(error)),
            }
        }
        assert!(piece.is_empty(), "all of it is taken in");
    }
    let last = decoder.finish();
    let outcome = last.map(|event| events.extend(event.map(|event| event.to_vec())));
    assert!(events.iter().all(|event| event.len() <= LIMIT));
    (events, outcome)
}

fuzz_target!(|input: (Vec<u8>, &[u8])| {
    let (sizes, stream) = input;
    let mut rest = stream;
    let cut = sizes.iter().map(|&size| {
        let (piece, after) = rest.split_at(usize::from(size).min(rest.len()));
        rest = after;
        piece
    });
    let mut pieces: Vec<_> = cut.collect();
    pieces.push(rest);
    assert_eq!(events(&pieces), events(&[stream]));
});
