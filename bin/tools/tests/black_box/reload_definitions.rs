//! Tests of reloading the definitions: on SIGHUP, and when their files change.

mod load;

use std::{fs, slice};

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::MetricsPage;

use crate::support::{Client, Home, Postgres, Program, Ran, StdioClient, until};

const RELOADED: &str = "definitions reloaded";
const KEPT: &str = "definitions not reloaded, the old ones stay: ";

/// A file with a tool of this name that answers with it, a prompt, a resource and a term.
fn definitions(name: &str) -> String {
    format!(
        "tools: [{{name: {name}, description: D, statement: SELECT '{name}', result: value}}]\n\
         prompts: [{{name: p-{name}, messages: [{{role: user, content: {{type: text, text: T}}}}]}}]\n\
         resources: [{{uri: custom://{name}, name: R, type: static, data: 1}}]\n"
    )
}

/// A server with definitions in the folder `own`.
fn home(postgres: &Postgres, more: &str) -> Home {
    let home = Home::new();
    fs::create_dir_all(home.file("own/more")).expect("a folder");
    write(&home, "a.yaml", &definitions("one"));
    home.configure(&format!(
        "databases:\n{}custom_definitions_path: own\n{more}",
        postgres.entry("main")
    ));
    home
}

fn write(home: &Home, name: &str, text: &str) {
    fs::write(home.file("own").join(name), text).expect("written");
}

/// Returns the names in the lists of tools, prompts and resources that are not built in.
fn own_names(mut call: impl FnMut(&str) -> Value) -> Vec<String> {
    let lists = [("tools", "name"), ("prompts", "name"), ("resources", "uri")];
    let mut names = Vec::new();
    for (list, key) in lists {
        let answer = call(&format!("{list}/list"));
        let entries = answer["result"][list].as_array().expect("a list").clone();
        let name = |entry: Value| entry[key].as_str().expect("a name").to_owned();
        let is_own = |name: &String| name.contains("one") || name.contains("two");
        names.extend(entries.into_iter().map(name).filter(is_own));
    }
    names
}

fn names_of(client: &Client) -> Vec<String> {
    own_names(|method| client.call(method, &json!({})))
}

fn names_of_stdio(client: &mut StdioClient) -> Vec<String> {
    own_names(|method| client.call(&json!(1), method, &json!({})))
}

/// Returns the names that a file of [`definitions`] has.
fn expected(name: &str) -> [String; 3] {
    [
        name.to_owned(),
        format!("p-{name}"),
        format!("custom://{name}"),
    ]
}

#[test]
fn a_path_starts_at_the_folder_of_the_configuration_and_a_variable_where_the_server_runs() {
    let postgres = Postgres::new();
    let home = home(&postgres, "");
    let working = home.file("working");
    fs::create_dir_all(working.join("own")).expect("a folder");
    fs::write(working.join("own/a.yaml"), definitions("two")).expect("written");
    let command = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.current_dir(&working);
        command
    };
    let http = ["-http", "-addr", "127.0.0.1:0", "-no-auth"];
    let (program, client) = Program::listening(&mut command(&http));
    assert_eq!(names_of(&client), expected("one"));
    program.until_it_says("configuration reloaded", || program.signal(Signal::HUP));
    assert_eq!(names_of(&client), expected("one"));
    let (_piped, mut stdio) = Home::talking(&mut command(&[]));
    assert_eq!(names_of_stdio(&mut stdio), expected("one"));
    let variable = "ZIGGURAT_CUSTOM_DEFINITIONS_PATH";
    let (_other, client) = Program::listening(command(&http).env(variable, "own"));
    assert_eq!(names_of(&client), expected("two"));

    write(&home, "a.yaml", "tools: [{name: one}]\n");
    let checked = Ran::from(command(&["-check-config"]).output().expect("built"));
    let problem = "own/a.yaml:1: tool 'one': description is required";
    assert!(checked.stdout.contains(problem), "{}", checked.stdout);
}

#[test]
fn a_changed_file_is_applied_over_http_and_stdio() {
    let postgres = Postgres::new();
    let home = home(&postgres, "");
    let (program, client) = home.serve(&["-no-auth"]);
    let (piped, mut stdio) = home.stdio(&[]);
    assert_eq!(names_of(&client), expected("one"));
    assert_eq!(names_of_stdio(&mut stdio), expected("one"));
    program.until_it_says(RELOADED, || write(&home, "a.yaml", &definitions("two")));
    assert_eq!(names_of(&client), expected("two"));
    assert_eq!(client.tool("two", &json!({})), ("two".to_owned(), false));
    let gone = client.call("tools/call", &json!({"name": "one", "arguments": {}}));
    assert!(gone["error"].is_object(), "{gone}");
    piped.wait_for(RELOADED);
    assert_eq!(names_of_stdio(&mut stdio), expected("two"));
}

#[test]
fn new_and_included_and_removed_files_are_noticed() {
    let postgres = Postgres::new();
    let home = home(&postgres, "");
    let (program, client) = home.serve(&["-no-auth"]);
    let has = |names: &[&str]| {
        let names = names.iter().flat_map(|name| expected(name));
        let (mut names, mut found) = (names.collect::<Vec<_>>(), names_of(&client));
        names.sort();
        found.sort();
        assert_eq!(found, names);
    };
    program.until_it_says(RELOADED, || write(&home, "b.yml", &definitions("two")));
    has(&["one", "two"]);
    program.until_it_says(RELOADED, || {
        fs::remove_file(home.file("own/b.yml")).expect("removed");
    });
    has(&["one"]);
    let line = program.until_it_says(KEPT, || {
        write(&home, "a.yaml", "include: [more/c.yaml]\n");
    });
    assert!(line.contains("include more/c.yaml"), "{line}");
    has(&["one"]);
    program.until_it_says(RELOADED, || {
        write(&home, "more/c.yaml", &definitions("two"));
    });
    has(&["two"]);
    program.until_it_says(RELOADED, || {
        write(&home, "more/c.yaml", &definitions("one"));
    });
    has(&["one"]);
}

#[test]
fn wrong_definitions_change_nothing_and_each_problem_is_logged_once() {
    let postgres = Postgres::new();
    let more = "toolsets:\n- {name: all, tools: [one, 'query*'], prompts: ['*'], resources: ['*'], \
                for: {everyone: true}}\n\
                telemetry: {metrics: {address: 127.0.0.1:0}}\naudit: {file: audit.jsonl}\n";
    let home = home(&postgres, more);
    let (mut program, client) = home.serve(&["-no-auth"]);
    let page = MetricsPage::of(&program);
    let reloads =
        |result: &str| page.value(&format!("ziggurat_reloads_total{{result=\"{result}\"}}"));
    for (text, problem) in [
        ("tools: [", "own/a.yaml: the file cannot be parsed"),
        (
            "tools:\n- {name: one, description: D, statement: SELECT 1}\n- {name: one, description: D, \
             statement: SELECT 1}\n- {name: two}\n",
            "own/a.yaml:3: tool 'one': duplicate tool name: one",
        ),
        (&definitions("two"), "toolsets: 'all': unknown tool: one"),
    ] {
        let line = program.until_it_says(KEPT, || write(&home, "a.yaml", text));
        assert!(line.contains("ERROR") && line.contains(problem), "{line}");
        assert_eq!(names_of(&client), expected("one"));
    }
    let twice = program.log();
    assert!(
        twice.contains("own/a.yaml:4: tool 'two': description is required"),
        "{twice}"
    );
    assert_eq!((reloads("ok"), reloads("failed")), (Some(0.0), Some(3.0)));
    program.until_it_says(RELOADED, || {
        write(
            &home,
            "b.yaml",
            "tools: [{name: one, description: D, statement: SELECT 1}]",
        );
    });
    let log = program.log();
    assert_eq!(log.matches("unknown tool: one").count(), 1, "{log}");
    assert_eq!((reloads("ok"), reloads("failed")), (Some(1.0), Some(3.0)));
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let verdicts = trail
        .lines()
        .filter(|line| line.contains(r#""kind":"reload""#));
    let verdicts = verdicts.map(|line| line.contains(r#""verdict":"ok""#));
    assert_eq!(verdicts.collect::<Vec<_>>(), [false, false, false, true]);
}

#[test]
fn sighup_reads_the_configuration_and_its_definitions_together() {
    let postgres = Postgres::new();
    let home = home(&postgres, "");
    let (program, client) = home.serve(&["-no-auth"]);
    let configure = |database: &str, more: &str| {
        home.configure(&format!("databases:\n{}{more}", postgres.entry(database)));
        program.signal(Signal::HUP);
    };
    let second = definitions("two").replace("name: two", "name: two, database: shop");
    fs::write(home.file("second.yaml"), &second).expect("written");
    let own = "custom_definitions_path: second.yaml\n";
    let toolsets = "toolsets:\n- {name: all, tools: [two], prompts: [p-two], resources: ['*'], \
                    for: {everyone: true}}\n";
    let line = program.until_it_says(KEPT, || configure("main", own));
    assert!(
        line.contains("second.yaml:1: tool 'two': unknown database: shop"),
        "{line}"
    );
    program.wait_for("configuration not reloaded, the previous one stays in use: its definitions");
    assert_eq!(names_of(&client), expected("one"));

    program.until_it_says("configuration reloaded from", || {
        configure("shop", &format!("{own}{toolsets}"));
    });
    assert_eq!(names_of(&client), expected("two"));
    assert_eq!(client.tool("two", &json!({})), ("two".to_owned(), false));
    let log = program.log();
    assert!(!log.contains("restart"), "{log}");

    // The other file is watched now.
    program.until_it_says(RELOADED, || {
        fs::write(home.file("second.yaml"), format!("{second}# more")).expect("written");
    });
    program.until_it_says("configuration reloaded from", || configure("main", ""));
    assert!(names_of(&client).is_empty());
}

#[test]
fn statements_of_new_definitions_are_checked_anew() {
    let postgres = Postgres::with("CREATE TABLE orders AS SELECT 1 AS id");
    let home = home(&postgres, "");
    let tool = |name: &str, statement: &str| {
        format!("- {{name: {name}, description: D, statement: {statement}, result: value}}\n")
    };
    let write = |tools: &[String]| write(&home, "a.yaml", &format!("tools:\n{}", tools.concat()));
    let (good, bad) = (
        tool("one", "SELECT id FROM orders"),
        tool("two", "SELECT idd FROM orders"),
    );
    let (program, client) = home.serve(&["-no-auth"]);
    let two = || client.tool("two", &json!({}));
    program.until_it_says("own/a.yaml:3: tool 'two' cannot run", || {
        write(&[good.clone(), bad.clone()]);
    });
    let (text, is_error) = two();
    assert!(
        is_error && text.starts_with("Tool 'two' cannot run: "),
        "{text}"
    );
    // The error of a statement that stays is kept, and is not logged again.
    program.until_it_says(RELOADED, || write(slice::from_ref(&bad)));
    assert_eq!(two(), (text, true));
    program.until_it_says(RELOADED, || write(&[tool("two", "SELECT id FROM orders")]));
    assert_eq!(two(), ("1".to_owned(), false));
    until("it is said once", || {
        program.log().matches("tool 'two' cannot run").count() == 1
    });
}

/// Calls that have begun end with the databases and definitions of their beginning.
#[test]
fn a_call_that_has_begun_ends_with_what_it_began_with() {
    let (one, two) = (Postgres::new(), Postgres::new());
    let home = Home::new();
    let configure = |postgres: &Postgres, answer: &str| {
        let slow = format!(
            "tools: [{{name: slow, description: D, result: value, \
             statement: \"SELECT '{answer}' FROM pg_sleep(:s)\", \
             parameters: [{{name: s, type: number, default: 0}}]}}]"
        );
        fs::write(home.file("own.yaml"), slow).expect("written");
        home.configure(&format!(
            "databases:\n{}custom_definitions_path: own.yaml\n",
            postgres.entry("main")
        ));
    };
    configure(&one, "old");
    let (program, client): (Program, Client) = home.serve(&["-no-auth"]);
    std::thread::scope(|scope| {
        let held = scope.spawn(|| client.tool("slow", &json!({"s": 1.5})));
        one.wait_for_running("pg_sleep", 1);
        program.until_it_says("configuration reloaded from", || {
            configure(&two, "new");
            program.signal(Signal::HUP);
        });
        assert_eq!(client.tool("slow", &json!({})), ("new".to_owned(), false));
        assert_eq!(held.join().expect("no panic"), ("old".to_owned(), false));
    });
}
