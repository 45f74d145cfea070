//! Limit of the system on open files, connections included.
//!
//! ```
//! use ziggurat_runtime::open_files;
//!
//! assert!(open_files::room_for(10, "limits.max_connections") <= 10);
//! ```

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// Files kept for other uses than client connections, such as connections to PostgreSQL.
const RESERVE: usize = 256;

/// Raises the limit on open files as far as needed, and returns the number of client connections it
/// allows, at most `wanted`.
///
/// Many systems allow 1,024 unless a program asks for more. `name` is the setting of the operator
/// for this number.
#[must_use]
pub fn room_for(wanted: usize, name: &str) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let current = match setrlimit(Resource::Nofile, all) {
        Ok(()) => limit.maximum,
        // The system may cap it lower, as macOS does.
        Err(_) => limit.current,
    };
    let Some(files) = current else { return wanted };
    let room = room_in(usize::try_from(files).unwrap_or(usize::MAX));
    if room < wanted {
        warn!("{name} is {wanted}, but {files} open files (ulimit -n) suffice for {room} only");
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
    fn some_files_are_kept_for_other_uses_than_client_connections() {
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
