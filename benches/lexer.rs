//! Cost of reading a statement before it is sent, for the policy and for its shape.
//! Comparing the sizes shows whether the cost grows faster than the text.

use divan::{AllocProfiler, Bencher, counter::BytesCount};
use ziggurat_sql::Policy;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Lengths in bytes: a short query, a long one, and the most that a body may hold.
const LENGTHS: [usize; 3] = [100, 10_000, 1_000_000];

/// Repeated texts: ordinary ones, and ones that a lexer may have to read more than once.
const TEXTS: [(&str, &str); 7] = [
    (
        "query",
        "SELECT a.id, count(*) FROM account a WHERE owner = 'x' ",
    ),
    ("calls", "f(pg_relation_size(x)),"),
    ("strings", "'a' -- why\n"),
    ("dollars", "$a $b $c1 $d$$d$ "),
    ("comments", "/* /* * / */ */ "),
    ("escapes", "U&\"a\\0062c\"."),
    ("symbols", "(((.)"),
];

#[divan::bench(args = cases())]
fn reading(bencher: Bencher<'_, '_>, case: &Case) {
    bencher.counter(BytesCount::of_str(&case.text)).bench(|| {
        let shape = Policy::read_only().check(divan::black_box(&case.text));
        shape.map(|shape| shape.is_several())
    });
}

#[derive(Debug)]
struct Case {
    name: String,
    text: String,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

fn cases() -> Vec<Case> {
    let each = |length: usize| {
        TEXTS.map(|(name, piece)| Case {
            name: format!("{name} {length}"),
            text: piece.repeat(length.div_ceil(piece.len())),
        })
    };
    LENGTHS.into_iter().flat_map(each).collect()
}
