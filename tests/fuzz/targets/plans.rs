//! Any change of a stored plan, and any text as a plan: what the check of plans lets pass uses no masked
//! column in an expression.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ziggurat_fuzz::{StoredPlan, changed, passes, stored};

static PLANS: LazyLock<Vec<StoredPlan>> = LazyLock::new(|| {
    let files = [
        include_str!("../inputs/plans/14.jsonl"),
        include_str!("../inputs/plans/16.jsonl"),
        include_str!("../inputs/plans/18.jsonl"),
        include_str!("../inputs/plans/newer.jsonl"),
    ];
    files.into_iter().flat_map(stored).collect()
});

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = str::from_utf8(bytes) {
        let _ = passes(text, &[0], 18);
    }
    if let Some(plan) = changed(&PLANS, bytes) {
        let _ = passes(&plan.plan.to_string(), &plan.results, plan.version);
    }
});
