use std::{
    sync::Mutex,
    task::{Context, Poll},
};

use tokio_test::{assert_pending, task};

use super::*;

/// Notes the calls that begin and end.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Note>>>);

/// The method of a call that begins, or that ends.
type Note = (String, Option<End>);

struct Noted {
    notes: Notes,
    method: String,
    /// The params of the call, which say whether it is refused.
    params: String,
}

impl Notes {
    fn push(&self, method: &str, end: Option<End>) {
        let mut notes = self.0.lock().expect("no panic");
        notes.push((method.to_owned(), end));
    }

    fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }
}

impl Observer for Notes {
    fn begin(&self, call: &Call, caller: &mut Caller) -> Option<Box<dyn ObservedCall>> {
        self.push(call.method(), None);
        caller.set_extension(doubles::Name("observed"));
        Some(Box::new(Noted {
            notes: self.clone(),
            method: call.method().to_owned(),
            params: call.raw_params().unwrap_or_default().to_owned(),
        }))
    }
}

impl ObservedCall for Noted {
    fn admission(&mut self) -> Option<Admission> {
        let admitted = match &self.params {
            params if params.contains("refuse") => Err(Failure::new("not now").into()),
            params if params.contains("limit") => Err(Error::said("too many")),
            _ => Ok(()),
        };
        Some(Box::pin(async { admitted }))
    }

    fn poll_cancelled(&mut self, _: &mut Context<'_>) -> Poll<Reported> {
        if self.params.contains("stop") {
            return Poll::Ready(Reported::new("stopped"));
        }
        Poll::Pending
    }

    fn end(self: Box<Self>, end: End) {
        self.notes.push(&self.method, Some(end));
    }
}

/// Calls, with the outcome and the code of each.
const CASES: [(&str, &str, Outcome, Option<i64>); 17] = [
    ("tools/call", r#"{"name":"says"}"#, Outcome::Ok, None),
    (
        "tools/call",
        r#"{"name":"fails","arguments":{"how":"in words"}}"#,
        Outcome::Reported,
        None,
    ),
    (
        "tools/call",
        r#"{"name":"fails","arguments":{"how":"login"}}"#,
        Outcome::Refused,
        Some(-32603),
    ),
    (
        "tools/call",
        r#"{"name":"fails","arguments":{"how":"in a panic"}}"#,
        Outcome::Failed,
        Some(-32603),
    ),
    (
        "tools/call",
        r#"{"name":"fails","arguments":{"how":"not ready"}}"#,
        Outcome::NotReady,
        Some(-32001),
    ),
    (
        "tools/call",
        r#"{"name":"pieces","arguments":{"pieces":["a"]}}"#,
        Outcome::Ok,
        None,
    ),
    (
        "tools/call",
        r#"{"name":"pieces","arguments":{"problem":"a"}}"#,
        Outcome::Reported,
        None,
    ),
    ("tools/call", r#"{"name":"off"}"#, Outcome::Disabled, None),
    (
        "tools/call",
        r#"{"name":"absent"}"#,
        Outcome::Unknown,
        Some(-32002),
    ),
    (
        "tools/call",
        r#"{"name":"says","refuse":1}"#,
        Outcome::NotAdmitted,
        Some(-32603),
    ),
    ("tools/call", "{}", Outcome::Refused, Some(-32602)),
    ("tools/list", "{}", Outcome::Ok, None),
    (
        "resources/read",
        r#"{"uri":"custom://a"}"#,
        Outcome::Ok,
        None,
    ),
    (
        "resources/read",
        r#"{"uri":"custom://broken"}"#,
        Outcome::Failed,
        Some(-32603),
    ),
    (
        "resources/read",
        r#"{"uri":"custom://none"}"#,
        Outcome::Unknown,
        Some(-32003),
    ),
    ("prompts/get", r#"{"name":"recites"}"#, Outcome::Ok, None),
    ("no/method", "{}", Outcome::Unknown, Some(-32601)),
];

#[test]
fn each_call_has_one_end_with_its_outcome() {
    let notes = Notes::default();
    let mcp = server().with_observer(notes.clone());
    for (method, params, outcome, code) in CASES {
        ask(&mcp, method, params);
        let notes: Vec<_> = notes.take();
        let [(first, None), (second, Some(end))] = &notes[..] else {
            panic!("{params}: {notes:?}");
        };
        assert_eq!((&**first, &**second), (method, method), "{params}");
        assert_eq!((end.outcome, end.code), (outcome, code), "{params}");
    }
    let who = ask(&mcp, "tools/call", r#"{"name":"a-who"}"#);
    assert!(who.contains("observed"), "{who}");
}

#[test]
fn a_call_that_is_not_admitted_for_a_reason_gets_it_in_the_form_of_its_method() {
    let mcp = server().with_observer(Notes::default());
    let tool = ask(&mcp, "tools/call", r#"{"name":"says","limit":1}"#);
    assert!(
        tool.contains(r#""text":"too many""#) && tool.contains(r#""isError":true"#),
        "{tool}"
    );
    let prompt = ask(&mcp, "prompts/get", r#"{"name":"recites","limit":1}"#);
    let error = r#""error":{"code":-32603,"message":"Internal error","data":"too many"}"#;
    assert!(prompt.contains(error), "{prompt}");
}

#[test]
fn a_call_that_is_dropped_ends_as_cancelled() {
    let notes = Notes::default();
    let mcp = server().with_observer(notes.clone());
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pieces","arguments":{"stuck":true}}}"#;
    let mut call = task::spawn(read(message.to_owned()).answer::<_, ResultBody>(mcp.clone()));
    assert_pending!(call.poll());
    drop(call);
    let ends: Vec<_> = notes
        .take()
        .into_iter()
        .filter_map(|(_, end)| end)
        .collect();
    assert_eq!(ends, [End::of(Outcome::Cancelled)]);
    // A stream that the client drops before its end.
    let message = message.replace(r#""stuck""#, r#""pieces":["a"],"stuck""#);
    let Ok(answer) = block_on(read(message).answer::<_, ResultBody>(mcp));
    assert_eq!(notes.take().len(), 1, "it has not ended yet");
    drop(answer);
    let ends: Vec<_> = notes
        .take()
        .into_iter()
        .filter_map(|(_, end)| end)
        .collect();
    assert_eq!(ends, [End::of(Outcome::Cancelled)]);
}

#[test]
fn a_call_that_its_observer_cancels_is_an_error_in_words() {
    let notes = Notes::default();
    let mcp = server().with_observer(notes.clone());
    for arguments in [r#"{"stuck":true}"#, r#"{"pieces":["a"],"stuck":true}"#] {
        let params = format!(r#"{{"name":"pieces","stop":1,"arguments":{arguments}}}"#);
        let answer = ask(&mcp, "tools/call", &params);
        let error = r#""text":"stopped"}],"isError":true"#;
        assert!(answer.contains(error), "{answer}");
        let ends = notes.take().into_iter().filter_map(|(_, end)| end);
        let ends: Vec<_> = ends.map(|end| end.outcome).collect();
        assert_eq!(ends, [Outcome::Cancelled], "{arguments}");
    }
    let done = ask(&mcp, "tools/call", r#"{"name":"says","stop":1}"#);
    assert!(!done.contains("stopped"), "it has ended before: {done}");
}

#[test]
fn a_notification_is_not_observed() {
    let notes = Notes::default();
    let mcp = server().with_observer(notes.clone());
    let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(answer(&mcp, read(message.to_owned())), None);
    assert_eq!(notes.take(), []);
}
