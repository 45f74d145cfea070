//! Limits as programs use them, in the time of a test.

mod callers;
mod calls;
mod days;
mod fields;
mod leases;
mod settings;
mod statements;

use std::time::Duration;

use ziggurat_layers::clock::ManualClock;
use ziggurat_runtime::{
    ConfigSources,
    config::{Input, LoadError, Loaded, Section},
    flags::Flags,
};
use ziggurat_tokens::{CallerId, CallerNames};

use crate::limits::{Allowance, Limits, Settings};

const ALICE: CallerId<'_> = CallerId::User("alice");
const BOB: CallerId<'_> = CallerId::User("bob");
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

/// Reads the members of the section `limits`; problems are in the error.
fn load(limits: &str) -> Result<Loaded<Settings>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    std::fs::write(&path, format!("limits: {{{limits}}}")).expect("written");
    let (sources, flags) = (ConfigSources::default(), Flags::default());
    let input = Input::new(&sources, &flags);
    let loaded = input.load(Some(&path), |file| Settings::read(&file.section("limits")));
    loaded.map_err(|error| match error {
        LoadError::File { source, .. } => source.to_string(),
        LoadError::Invalid(problems) => {
            let path = path.display().to_string();
            problems.join("; ").replace(&path, "a.yaml")
        }
    })
}

fn settings(limits: &str) -> Settings {
    load(limits).expect(limits).value
}

/// Returns settings with the same limits for all callers.
pub(crate) fn for_all(limits: &str) -> Settings {
    settings(&format!("callers: [{{for: {{everyone: true}}, {limits}}}]"))
}

fn limits(settings: Settings) -> (Limits<ManualClock>, ManualClock) {
    let clock = ManualClock::new();
    // Not zero, where the time of the clock and the date begin.
    clock.advance(DAY * 20_000 + SECOND);
    (Limits::with_clock(settings, clock.clone()), clock)
}

fn of(limits: &Limits<ManualClock>, caller: CallerId<'_>) -> Allowance<ManualClock> {
    limits.of(&caller).expect("the caller has limits")
}
