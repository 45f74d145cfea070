//! A million rows in one answer: the memory of the server, and the time to the first byte.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::ExitCode,
    time::Instant,
};

use ziggurat_benches::tools::{Home, Load, Postgres, Report, post, query};

const ROWS: u32 = 1_000_000;

/// Counts connections of the program with an open transaction.
const AT_WORK: &str = "SELECT count(*)::int FROM pg_stat_activity
    WHERE application_name = 'ziggurat' AND datname = current_database()
    AND xact_start IS NOT NULL";

fn main() -> ExitCode {
    let postgres = Postgres::with("");
    let home = Home::new(&postgres.entry(&format!("row_limit: {ROWS}, query_timeout: 5m")));
    let token = home.token();
    let (program, address) = home.serve();
    let mut report = Report::default();

    // A small query first: an idle server has connections and has been used.
    let small = Load::new(&address, 1, post(&address, &token, &query("SELECT 1"))).once();
    assert!(small.contains("Results (1 rows)"), "{small}");
    let idle = program.memory();

    let large = format!(
        "SELECT n, md5(n::text) AS digest, n * 1.5 AS price FROM generate_series(1, {ROWS}) AS n"
    );
    let mut stream = TcpStream::connect(&address).expect("listening");
    let begun = Instant::now();
    let request = post(&address, &token, &query(&large));
    stream.write_all(&request).expect("sent");
    let mut bytes = vec![0; 1 << 16];
    let mut read = stream.read(&mut bytes).expect("answered");
    let first = begun.elapsed();
    // The answer is paused meanwhile: it is larger than the socket buffers.
    let at_work = postgres.count(AT_WORK);

    let (mut length, mut lines, mut tail) = (0, 0_u32, Vec::new());
    while read > 0 {
        let piece = &bytes[..read];
        length += read;
        lines += count_lines(&mut tail, piece);
        if tail.ends_with(b"\r\n0\r\n\r\n") {
            break;
        }
        read = stream.read(&mut bytes).expect("more");
    }
    let whole = begun.elapsed();
    let peak = program.peak_memory();
    report.print(format_args!(
        "{lines} lines, {} MB, first byte after {first:.1?}, last after {whole:.1?}",
        length / 1_000_000
    ));
    assert!(lines > ROWS, "{lines} lines");
    report.print(format_args!("idle {idle:.1} MiB, most {peak:.1} MiB"));
    report.at_least(
        "transactions open at the first byte",
        at_work.into(),
        1.0,
        "",
    );
    report.less_than("memory above idle", peak - idle, 32.0, " MiB");
    report.exit_code()
}

/// Counts the line breaks, `
/// ` in JSON, that end in a chunk; keeps its last bytes in `tail`.
fn count_lines(tail: &mut Vec<u8>, piece: &[u8]) -> u32 {
    let crosses = tail.last() == Some(&b'\\') && piece[0] == b'n';
    let inside = piece.windows(2).filter(|pair| *pair == br"\n").count();
    tail.extend_from_slice(piece);
    let surplus = tail.len().saturating_sub(16);
    tail.drain(..surplus);
    u32::try_from(inside).unwrap_or(u32::MAX) + u32::from(crosses)
}
