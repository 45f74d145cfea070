//! The example of the chapter about receipts, from the key to the check.

use std::fs;

use crate::support::{Client, Home, Postgres, Ran};

const CHAPTER: &str = include_str!("../../../../../docs/src/receipts.md");

/// Returns the code blocks of the chapter in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let rest = CHAPTER.split(&*fence).skip(1);
    rest.filter_map(|block| block.split("```").next()).collect()
}

/// Runs a command of the chapter in the folder, and returns the output and the printed one.
fn run(home: &Home, block: &str) -> (Ran, String) {
    let (line, printed) = block.split_once('\n').expect("a command and its output");
    let words = line.strip_prefix("$ ziggurat-tools ").expect(line);
    let mut command = home.bare(&words.split(' ').collect::<Vec<_>>());
    let output = command.current_dir(home.path()).output().expect("built");
    (Ran::from(output), printed.to_owned())
}

/// Returns whether an output is the printed one, where `…` and the id stand for any word.
fn is_as_printed(output: &str, printed: &str) -> bool {
    let words = |text: &str| {
        text.split([' ', ',', ';'])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (output, printed) = (words(output), words(printed));
    let is_word = |(found, shown): (&String, &String)| {
        found == shown || shown.contains('…') || shown.len() == 16
    };
    output.len() == printed.len() && output.iter().zip(&printed).all(is_word)
}

/// Sends the requests of the chapter as `curl` would, and keeps the answers in the folder.
fn fetch(client: &Client, home: &Home, script: &str) {
    let script = script.replace("\\\n", " ");
    for line in script.lines() {
        let (request, file) = line.split_once(" > ").expect(line);
        let path = request.split("$SERVER").nth(1).expect(line);
        let path = path.split('"').next().expect(line);
        let answer = match request.split('\'').nth(1) {
            Some(body) => client.post(path, body),
            None => client.get(path),
        };
        assert_eq!(answer.status, 200, "{answer:?}");
        fs::write(home.file(file.trim()), answer.body).expect("written");
    }
}

#[test]
fn the_example_of_the_chapter_does_as_it_says() {
    let postgres = Postgres::with(
        "CREATE TABLE orders (id int, total numeric);
         INSERT INTO orders SELECT n, 5.00 FROM generate_series(1, 12) n",
    );
    let home = Home::new();
    let [first, good, bad, ..] = blocks("console")[..] else {
        panic!("three commands")
    };
    let (made, printed) = run(&home, first);
    assert!(is_as_printed(&made.stdout, &printed), "{made:?}");
    let section = blocks("yaml")[0];
    home.configure(&format!("databases:\n{}{section}", postgres.entry("shop")));
    let token = home.token("shop");
    let (_program, stranger) = home.serve(&[]);
    fetch(&stranger.bearing(&token), &home, blocks("sh")[0]);
    let (verified, printed) = run(&home, good);
    assert!(is_as_printed(&verified.stdout, &printed), "{verified:?}");
    assert_eq!(verified.code, Some(0));
    let answer = home.file("answer.ndjson");
    let text = fs::read_to_string(&answer).expect("text");
    fs::write(&answer, text.replacen("5.00", "6.00", 1)).expect("written");
    let (refused, printed) = run(&home, bad);
    assert_eq!((refused.stdout, refused.code), (printed, Some(1)));
}
