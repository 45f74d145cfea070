//! The example of the chapter about checked writes, run as it is written.

use super::*;

const CHAPTER: &str = include_str!("../../../../../docs/src/checked-writes.md");

/// Returns the first text between fences of a language.
fn snippet(language: &str) -> &'static str {
    let begin = format!("```{language}\n");
    let (_, rest) = CHAPTER.split_once(&*begin).expect(language);
    rest.split("```").next().expect("an end")
}

/// Returns the JSON of an answer without the parts that differ each time.
fn without_marks(answer: &str) -> Value {
    let mut json: Value = serde_json::from_str(answer).expect(answer);
    for place in ["/confirm", "/preview/digest", "/done/ms"] {
        if let Some(mark) = json.pointer_mut(place) {
            *mark = json!("…");
        }
    }
    json
}

#[test]
fn the_example_of_the_chapter_shows_and_commits_the_change() {
    let postgres = Postgres::with(SHOP);
    let home = Home::new();
    let entry = postgres.entry("shop");
    let (_, preview) = snippet("yaml").split_once("  user: app\n").expect("a user");
    let preview = preview.replace("\n  ", "\n    ");
    home.configure(&format!("databases:\n{entry}  {preview}"));
    let (_program, client) = home.serve(&["-no-auth"]);
    let place = "http://localhost:8080";
    let console = snippet("console").replace(place, &format!("http://{}", client.address()));
    let mut commands = console.split("$ curl").skip(1).map(|command| {
        let (script, printed) = command.split_once("\n{").expect("an answer");
        (format!("curl{script}"), format!("{{{printed}"))
    });
    let (first, printed) = commands.next().expect("a statement");
    let shown = home.shell(&first, &[]);
    if shown.code == Some(127) {
        // There is no curl on this machine.
        return;
    }
    assert_eq!(without_marks(&shown.stdout), without_marks(&printed));
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 2);
    let answer: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let seal = answer["confirm"].as_str().expect("a seal");
    let (second, printed) = commands.next().expect("the same with a seal");
    let done = home.shell(&second.replace("AAAB…", seal), &[]);
    assert_eq!(without_marks(&done.stdout), without_marks(&printed));
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 1);
    assert!(commands.next().is_none());
}
