//! Any text: scrubbed without a panic, scrubbing twice changes nothing, and a password in a
//! documented form never remains.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_layers::sanitize::scrub;

const SECRET: &str = "correct-horse-battery-9";

fuzz_target!(|input: (&str, &str)| {
    let (before, after) = input;
    if before.contains(SECRET) || after.contains(SECRET) {
        return;
    }
    let once = scrub(before).into_owned();
    assert_eq!(scrub(&once), once);

    for shape in [
        "\npassword=",
        "\npostgres://app:",
        "\nAuthorization: Bearer ",
    ] {
        let end = if shape.contains("://") {
            "@db/x\n"
        } else {
            "\n"
        };
        let text = format!("{before}{shape}{SECRET}{end}{after}");
        assert!(!scrub(&text).contains(SECRET), "{text:?}");
    }
});
