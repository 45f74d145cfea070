//! What reading a text costs before it is sent: twice, once for what it may and once for what
//! it is. The times of the sizes tell whether any of them grows faster than its text.

use divan::{AllocProfiler, Bencher, counter::BytesCount};
use ziggurat_sql::{StatementShape, guard};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Lengths in bytes: about a query, a long one, and what a body may hold at most.
const LENGTHS: [usize; 3] = [100, 10_000, 1_000_000];

/// What a text is made of: the usual, and what a lexer may have to look at more than once.
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
        let sketch = StatementShape::new(divan::black_box(&case.text));
        (sketch.is_several(), guard(&case.text))
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
