//! Values of the process, as Linux knows them. Other systems have none.

/// Values of the process at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Process {
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) open_fds: Option<u64>,
}

// === impl Process ===

impl Process {
    /// Reads the values from `/proc`.
    #[cfg(target_os = "linux")]
    pub(crate) fn read() -> Self {
        use std::fs;

        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fds = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
        // Reading the folder takes one itself.
        let open_fds = fds.and_then(|count| u64::try_from(count.saturating_sub(1)).ok());
        Self {
            open_fds,
            ..Self::parse(&stat).unwrap_or_default()
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn read() -> Self {
        Self::default()
    }

    /// Reads processor time and memory from a line of `/proc/self/stat`. The name of the program,
    /// in brackets, may contain spaces and brackets.
    #[cfg(target_os = "linux")]
    fn parse(stat: &str) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(')')?;
        let numbers: Vec<u64> = fields
            .split_ascii_whitespace()
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        // The fields after the name begin with the third; user and system time are 14 and 15.
        let ticks = numbers.get(11)? + numbers.get(12)?;
        let pages = numbers.get(21)?;
        let page = u64::try_from(rustix::param::page_size()).ok()?;
        #[expect(clippy::cast_precision_loss, reason = "a tick is 10 ms")]
        let cpu_seconds = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
        Some(Self {
            cpu_seconds: Some(cpu_seconds),
            resident_bytes: Some(pages * page),
            open_fds: None,
        })
    }
}

/// Returns the memory of the process that is resident, in bytes. Linux only.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    Process::read().resident_bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_the_name_of_the_program() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 4194560 9 0 0 0 250 50 0 0 20 0 3 0 99 1000 3 1844";
        let process = Process::parse(line).expect("complete");
        assert_eq!(process.cpu_seconds, Some(3.0));
        let pages = process.resident_bytes.expect("present") / rustix::param::page_size() as u64;
        assert_eq!(pages, 3);
        for line in ["", "7 (a", "7 (a) S 1 2 3"] {
            assert_eq!(Process::parse(line), None, "{line}");
        }
    }

    #[test]
    fn this_process_has_all_values() {
        let process = Process::read();
        assert!(process.cpu_seconds.is_some());
        assert!(process.resident_bytes.is_some_and(|bytes| bytes > 100_000));
        assert!(process.open_fds.is_some_and(|fds| fds >= 3));
    }
}
