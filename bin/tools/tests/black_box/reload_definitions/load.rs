//! Reloads under load: each answer is wholly old or wholly new.

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{KEPT, RELOADED};
use crate::{
    revisions,
    support::{Answer, Client, Home, Postgres, Program},
};

/// Reloads of the test.
const RELOADS: u32 = 200;

/// The limit of calls, plus the number of the configuration.
const LIMIT: u32 = 1_000_000;

/// Calls are sent by this many threads.
const CALLERS: usize = 2;

/// A server with files that change, and the contents that it may show.
struct Changing {
    postgres: Postgres,
    home: Home,
    /// States that calls may see: the number of the configuration and the number of the
    /// definitions.
    good: Mutex<BTreeSet<String>>,
}

// === impl Changing ===

impl Changing {
    fn new() -> Self {
        Self {
            postgres: Postgres::new(),
            home: Home::new(),
            good: Mutex::default(),
        }
    }

    /// The definitions: everything says the same two numbers.
    fn definitions(configuration: u32, number: u32) -> String {
        let state = format!("{configuration}.{number}");
        let tool = |name: &str| {
            format!(
                "- {{name: {name}, description: \"{state}\", database: db_{configuration}, \
                 statement: \"SELECT '{state}' AS one, '{state}' AS two\"}}\n"
            )
        };
        let resource = |name: &str| {
            format!(
                "- {{uri: \"custom://{name}\", name: R, description: \"{state}\", type: static, \
                 data: \"{state}\"}}\n"
            )
        };
        let prompt = |name: &str| {
            format!(
                "- {{name: {name}, description: \"{state}\", messages: [{{role: user, content: \
                 {{type: text, text: \"{state}\"}}}}]}}\n"
            )
        };
        format!(
            "tools:\n{}{}{}resources:\n{}{}prompts:\n{}{}",
            tool("which"),
            tool(&format!("one_{configuration}")),
            tool(&format!("two_{configuration}")),
            resource("which"),
            resource(&format!("other_{configuration}")),
            prompt("which"),
            prompt(&format!("other_{configuration}")),
        )
    }

    /// The configuration. Its toolset has the full names of all its definitions, and its limit ends
    /// with its number.
    fn configuration(&self, number: u32) -> String {
        format!(
            "databases:\n{}{}custom_definitions_path: own.yaml\ntoolsets:\n- name: all\n  \
             tools: [which, one_{number}, two_{number}, list_databases]\n  \
             resources: [\"custom://which\", \"custom://other_{number}\"]\n  \
             prompts: [which, other_{number}]\n  rest: [databases]\n  for: {{everyone: true}}\n\
             limits: {{callers: [{{for: {{everyone: true}}, calls: {} per minute}}]}}\n",
            self.postgres.entry(&format!("db_{number}")),
            self.postgres.entry(&format!("dc_{number}")),
            LIMIT + number,
        )
    }

    fn allow(&self, configuration: u32, number: u32) {
        let mut good = self.good.lock().expect("whole");
        good.insert(format!("{configuration}.{number}"));
    }

    /// Writes a file as editors and programs do: in one step, or not.
    fn write(&self, name: &str, text: &str, in_one_step: bool) {
        let path = self.home.file(name);
        if in_one_step {
            self.home.replace(&path, text);
        } else {
            fs::write(path, text).expect("written");
        }
    }

    /// Reloads everything, or only the definitions, with good, bad and half-written files in turn.
    fn reload_all(&self, program: &Program) {
        let (mut configuration, mut number) = (0, 0);
        for reload in 1..=RELOADS {
            let with_configuration = reload % 2 == 0;
            let in_one_step = reload % 3 == 0;
            if with_configuration {
                configuration = reload;
            }
            number += 1;
            let text = Self::definitions(configuration, number);
            let wrong = match reload % 5 {
                0 => Some(text.replace("description", "descripton")),
                // Ends within a text in quotes.
                1 => Some(text[..text.rfind('"').expect("one")].to_owned()),
                _ => None,
            };
            let yaml = self.configuration(configuration);
            if let Some(wrong) = &wrong {
                // The server may notice the file before the signal.
                let said = if with_configuration {
                    "configuration not reloaded"
                } else {
                    KEPT
                };
                program.until_it_says(said, || {
                    self.write("own.yaml", wrong, in_one_step);
                    if with_configuration {
                        self.write("ziggurat-tools.yaml", &yaml, in_one_step);
                        program.signal(Signal::HUP);
                    }
                });
            }
            self.allow(configuration, number);
            let said = if with_configuration {
                "configuration reloaded"
            } else {
                RELOADED
            };
            program.until_it_says(said, || {
                self.write("own.yaml", &text, in_one_step);
                if with_configuration {
                    self.write("ziggurat-tools.yaml", &yaml, in_one_step);
                    program.signal(Signal::HUP);
                }
            });
        }
    }

    /// Checks that all these texts say the same state, and that it is a good one.
    fn assert_whole(&self, answer: &str, states: &[String]) {
        let (first, rest) = states
            .split_first()
            .unwrap_or_else(|| panic!("none: {answer}"));
        assert!(rest.iter().all(|state| state == first), "{answer}");
        let good = self.good.lock().expect("whole");
        assert!(good.contains(first), "{first} was never good: {answer}");
    }

    /// Checks a list: names end with the number of the configuration, which is returned, and
    /// descriptions are the state.
    fn check_list(&self, answer: &Value, list: &str, key: &str, names: &[&str]) -> String {
        let entries = answer["result"][list].as_array();
        let entries = entries.unwrap_or_else(|| panic!("no list: {answer}"));
        let own = entries
            .iter()
            .filter(|entry| entry[key] != "list_databases");
        let own: Vec<_> = own.collect();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let states: Vec<_> = own
            .iter()
            .map(|entry| text(&entry["description"]))
            .collect();
        let answer = answer.to_string();
        self.assert_whole(&answer, &states);
        let configuration = states[0].split('.').next().expect("a number");
        let expected: BTreeSet<_> = names
            .iter()
            .map(|name| name.replace('#', configuration))
            .collect();
        let found: BTreeSet<_> = own.iter().map(|entry| text(&entry[key])).collect();
        assert_eq!(found, expected, "{answer}");
        configuration.to_owned()
    }

    /// Checks that an answer announces the limit of this configuration.
    fn check_limit(answer: &Answer, configuration: &str) {
        let configuration: u32 = configuration.parse().expect("a number");
        let expected = format!("\"calls\";q={};w=60", LIMIT + configuration);
        let announced = answer.header("ratelimit-policy");
        assert_eq!(announced, Some(&*expected), "{answer:?}");
    }

    /// Sends one call of each kind, and checks the answers.
    fn check_all(&self, client: &Client) {
        let lists: [(&str, &str, &[&str]); 3] = [
            ("tools", "name", &["which", "one_#", "two_#"]),
            ("resources", "uri", &["custom://which", "custom://other_#"]),
            ("prompts", "name", &["which", "other_#"]),
        ];
        for (list, key, names) in lists {
            let method = format!("{list}/list");
            let answer = client.call(&method, &json!({}));
            self.check_list(&answer, list, key, names);
            for path in ["/mcp", "/mcp/x/all", "/mcp?tools=one_*,two_*"] {
                let (headers, body) = revisions::modern(&method, &json!({}));
                let answer = client.send("POST", path, &headers, &body);
                let narrow = list == "tools" && path.contains('?');
                let names = if narrow { &names[1..] } else { names };
                let configuration = self.check_list(&answer.json(), list, key, names);
                Self::check_limit(&answer, &configuration);
            }
        }
        let (text, is_error) = client.tool("which", &json!({}));
        assert!(!is_error, "{text}");
        let last = text.lines().last().expect("a line");
        let states: Vec<_> = last.split('\t').map(str::to_owned).collect();
        self.assert_whole(&text, &states);
        let read = client.call("resources/read", &json!({"uri": "custom://which"}));
        let text = read["result"]["contents"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{read}"));
        self.assert_whole(text, &[text.trim_matches('"').to_owned()]);
        let prompt = client.call("prompts/get", &json!({"name": "which"}));
        let result = &prompt["result"];
        let texts = [
            &result["description"],
            &result["messages"][0]["content"]["text"],
        ];
        let states = texts.map(|text| text.as_str().unwrap_or_default().to_owned());
        self.assert_whole(&prompt.to_string(), &states);
        let answer = client.get("/api/databases");
        let databases = answer.json();
        let names = databases["databases"].as_array().expect("a list").iter();
        let names = names.map(|entry| entry["name"].as_str().expect("a name")[3..].to_owned());
        let names: BTreeSet<_> = names.collect();
        assert_eq!(names.len(), 1, "{databases}");
        Self::check_limit(&answer, names.first().expect("one"));
    }
}

#[test]
fn every_answer_is_wholly_old_or_wholly_new() {
    let changing = Changing::new();
    changing.write("own.yaml", &Changing::definitions(0, 0), true);
    changing.home.configure(&changing.configuration(0));
    changing.allow(0, 0);
    let (program, client) = changing.home.serve(&["-no-auth"]);
    let (is_over, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let callers = [(); CALLERS].map(|()| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    changing.check_all(&client);
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        changing.reload_all(&program);
        is_over.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.join().expect("every answer is whole");
        }
    });
    assert!(rounds.load(Ordering::Relaxed) > 10, "a load");
    let last = client.tool("which", &json!({})).0;
    let expected = format!("{RELOADS}.{RELOADS}");
    assert!(last.ends_with(&format!("{expected}\t{expected}")), "{last}");
}
