//! Any stream of bytes, cut anywhere: the same lines come out as when it arrives whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};

const LIMIT: usize = 16;

fn lines(pieces: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    let mut decoder = LineDecoder::new().with_max_bytes(LIMIT);
    let mut lines = Vec::new();
    let mut keep = |line| {
        lines.push(match line {
            Line::Message(bytes) => {
                assert!(bytes.len() <= LIMIT && !bytes.contains(&b'\n'));
                Some(bytes.to_vec())
            }
            Line::TooLong => None,
        });
    };
    for &(mut piece) in pieces {
        while let Some(line) = decoder.decode(&mut piece) {
            keep(line);
        }
        assert!(piece.is_empty(), "all of it is taken in");
    }
    if let Some(line) = decoder.finish() {
        keep(line);
    }
    lines
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
    assert_eq!(lines(&pieces), lines(&[stream]));
});
