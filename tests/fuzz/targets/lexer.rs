//! Reads any text to its end, a token at a time. The shape of the text agrees with its tokens, and
//! a quote hides all of it. Comments around the text change no token.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_sql::{Lexer, Policy, Token};

fuzz_target!(|text: &str| {
    let tokens: Vec<Token<'_>> = Lexer::new(text).collect();
    assert!(tokens.len() <= text.len());
    let ends = tokens.iter().position(|token| *token == Token::Unclosed);
    assert!(ends.is_none_or(|at| at + 1 == tokens.len()), "{tokens:?}");

    let ended = tokens
        .iter()
        .position(|token| *token == Token::Symbol(b';'));
    let goes_on = ended.is_some_and(|at| {
        let mut rest = tokens[at..].iter();
        rest.any(|token| *token != Token::Symbol(b';'))
    });
    let open = Policy::writable().with_dangerous_functions(true);
    if let Ok(shape) = open.check(text) {
        assert_eq!(shape.is_several(), goes_on, "{tokens:?}");
        let _ = shape.command();
    }

    if ends.is_none() {
        // Hidden in a dollar quote, nothing of it is left.
        if !text.contains('$') {
            let quoted = format!("$q${text}$q$");
            assert_eq!(Lexer::new(&quoted).collect::<Vec<_>>(), [Token::Literal]);
        }
        let quoted = format!("'{}'", text.replace('\'', "''"));
        assert_eq!(Lexer::new(&quoted).collect::<Vec<_>>(), [Token::Literal]);
        // Behind a comment and before one it is what it was.
        let commented = format!("/*;*/{text}\n--;");
        assert!(
            Lexer::new(&commented).eq(tokens.iter().copied()),
            "{tokens:?}"
        );
    }
});
