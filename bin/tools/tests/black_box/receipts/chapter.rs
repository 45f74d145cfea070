//! The example of the chapter about receipts, from the key to the check.

use std::fs;

use crate::support::{Home, Postgres, Ran};

const CHAPTER: &str = include_str!("../../../../../docs/src/receipts.md");

/// Returns the code blocks of the chapter in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let rest = CHAPTER.split(&*fence).skip(1);
    rest.filter_map(|block| block.split("```").next()).collect()
}

/// Runs a command of the chapter, and returns the output and the printed one.
fn run(home: &Home, block: &str) -> (Ran, String) {
    let (line, printed) = block.split_once('\n').expect("a command and its output");
    let line = line.strip_prefix("$ ").expect(line);
    (home.shell(line, &[]), printed.to_owned())
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

#[test]
fn the_example_of_the_chapter_does_as_it_says() {
    let postgres = Postgres::with(
        "CREATE TABLE orders (id int, total numeric);
         INSERT INTO orders SELECT n, 5.00 FROM generate_series(1, 12) n",
    );
    let home = Home::new();
    let [first, good, bad, replay, ..] = blocks("console")[..] else {
        panic!("four commands")
    };
    let (made, printed) = run(&home, first);
    assert!(is_as_printed(&made.stdout, &printed), "{made:?}");
    let section = blocks("yaml")[0];
    home.configure(&format!("databases:\n{}{section}", postgres.entry("shop")));
    let token = home.token("shop");
    let (_program, client) = home.serve(&[]);
    let server = format!("http://{}", client.address());
    let variables = [("SERVER", &*server), ("TOKEN", &*token)];
    let fetched = home.shell(blocks("sh")[0], &variables);
    if fetched.code == Some(127) {
        // There is no curl on this machine.
        return;
    }
    assert_eq!(fetched.code, Some(0), "{fetched:?}");
    let (verified, printed) = run(&home, good);
    assert!(is_as_printed(&verified.stdout, &printed), "{verified:?}");
    assert_eq!(verified.code, Some(0));
    let answer = home.file("answer.ndjson");
    let text = fs::read_to_string(&answer).expect("text");
    fs::write(&answer, text.replacen("5.00", "6.00", 1)).expect("written");
    let (refused, printed) = run(&home, bad);
    assert_eq!((refused.stdout, refused.code), (printed, Some(1)));
    shows_the_new_row(&postgres, &home, &text, replay);
}

/// Runs the request of the chapter again after a row was added.
fn shows_the_new_row(postgres: &Postgres, home: &Home, answer: &str, command: &str) {
    let request = blocks("sh")[0].split('\'').nth(1).expect("a body");
    let request: serde_json::Value = serde_json::from_str(request).expect("JSON");
    let kept = serde_json::json!({"request": request, "response": answer});
    fs::write(home.file("kept.json"), kept.to_string()).expect("written");
    let configuration = fs::read_to_string(home.file("ziggurat-tools.yaml")).expect("text");
    let accounts = "http: {auth: {user_file: users.yaml}}\n";
    fs::write(home.file("shop.yaml"), configuration + accounts).expect("written");
    home.user("alice", "correct horse");
    postgres.run("INSERT INTO orders VALUES (13, 5.00)");
    let (replayed, printed) = run(home, command);
    assert!(is_as_printed(&replayed.stdout, &printed), "{replayed:?}");
    assert_eq!(replayed.code, Some(3));
}
