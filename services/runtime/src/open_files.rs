//! How many files the system lets us have open, connections included.
//!
//! ```
//! use ziggurat_runtime::open_files;
//!
//! assert!(open_files::room_for(10, "limits.max_connections") <= 10);
//! ```

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// Kept for what is no client's connection: those to PostgreSQL, and files.
const RESERVE: usize = 256;

/// Has the system allow as many open files as it will, and says how many connections of clients
/// that is room for: as many as are wanted, if possible.
///
/// Many systems allow 1,024 unless a program asks for more, for the sake of programs that were
/// written when there could not be more. `name` is what the operator knows the number by.
#[must_use]
pub fn room_for(wanted: usize, name: &str) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let current = match setrlimit(Resource::Nofile, all) {
        Ok(()) => limit.maximum,
        // macOS has another limit below this one.
        Err(_) => limit.current,
    };
    let Some(files) = current else { return wanted };
    let room = room_in(usize::try_from(files).unwrap_or(usize::MAX));
    if room < wanted {
        warn!(
            "{name} is {wanted}, but with {files} open files (ulimit -n) there is \
             room for {room} only"
        );
    }
    wanted.min(room)
}

fn room_in(files: usize) -> usize {
    files.saturating_sub(RESERVE).max(files / 2).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_left_for_what_is_no_connection_of_a_client() {
        let cases = [
            (0, 1),
            (1, 1),
            (64, 32),
            (512, 256),
            (1024, 768),
            (20_000, 19_744),
        ];
        for (files, room) in cases {
            assert_eq!(room_in(files), room, "{files}");
        }
    }
}
