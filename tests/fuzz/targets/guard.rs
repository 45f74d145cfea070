//! Any text around a call of something dangerous: if the call is not inside of anything quoted,
//! no text before it keeps it from being seen.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_sql::{Lexer, Policy, Refusal, Token};

const CALLS: &[&str] = &[
    " pg_read_file('a')",
    " \"pg_read_file\" ('a')",
    " U&\"pg_read\\005ffile\" ('a')",
    " pg_catalog . /* ( */ PG_Read_File -- (\n('a')",
    " ('a'::text).pg_read_file",
    " set_config('a', 'b', false)",
];

fuzz_target!(|input: (&str, u8)| {
    let (text, call) = input;
    let read_only = Policy::read_only().check(text);
    let writable = Policy::writable().check(text);
    // Who may write may do all that who may not write may, and switches only add.
    assert!(read_only.is_err() || writable.is_ok(), "{writable:?}");
    let switched = Policy::read_only()
        .with_dangerous_functions(true)
        .check(text);
    assert!(read_only.is_err() || switched.is_ok(), "{switched:?}");
    let open = Policy::writable()
        .with_dangerous_functions(true)
        .check(text);
    assert_eq!(open == Err(Refusal::Nul), text.contains('\0'));
    if let Err(refusal) = read_only {
        assert!(refusal.to_string().starts_with("query rejected: "));
    }

    let is_whole = !Lexer::new(text).any(|token| token == Token::Unclosed);
    let call = CALLS[usize::from(call) % CALLS.len()];
    // A comment up to the end of the line, or a `U&"…"` before `"`, would take it.
    if is_whole && !text.is_empty() {
        let hostile = format!("{text}\nSELECT {call}");
        assert!(Policy::read_only().check(&hostile).is_err(), "{hostile:?}");
    }
});
