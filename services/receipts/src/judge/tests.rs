use std::env;

use serde_json::json;

use super::*;
use crate::{Keys, RowFacts, Sent, Signer, SigningKey};

/// Signs payloads at once, as one batch or as several.
async fn signed(payloads: Vec<Payload>) -> (Keys, Vec<Receipt>) {
    let (key, _) = SigningKey::generate().expect("a key");
    let keys = Keys::new(key, &[]);
    let (signer, task) = Signer::new(keys.clone());
    let mut tasks = tokio::task::JoinSet::new();
    let all = payloads.into_iter().enumerate();
    for (place, payload) in all {
        let signer = signer.clone();
        tasks.spawn(async move { (place, signer.sign(payload.encode()).await) });
    }
    drop(signer);
    let (mut answers, ()) = tokio::join!(tasks.join_all(), task.run());
    answers.sort_by_key(|(place, _)| *place);
    let receipts = answers
        .into_iter()
        .map(|(_, receipt)| receipt.expect("signed"));
    (keys, receipts.collect())
}

fn lines(id: u64) -> (String, Value) {
    let before = format!("{{\"started\":{{\"id\":\"{id}\"}}}}\n{{\"rows\":[[{id}]]}}\n");
    (before, json!({"rows": 1, "truncated": null, "ms": 0.25}))
}

fn payload_of_lines(id: u64) -> Payload {
    let (before, done) = lines(id);
    Payload {
        id: format!("{id:016x}"),
        tool: QUERY.to_owned(),
        statement: StatementDigest::Sha256(hex(&sha256(b"SELECT 1"))),
        parameters: Some(hex(&canonical(&json!({"sql": "SELECT 1"})))),
        sent: Sent {
            lines: Some(hex(&lines_digest(sha_of(&before), &done))),
            ..Sent::default()
        },
        rows: RowFacts {
            count: 1,
            ..RowFacts::default()
        },
        ..Payload::default()
    }
}

fn text_of_lines(id: u64, receipt: &Receipt) -> String {
    let (before, mut done) = lines(id);
    done["receipt"] = serde_json::to_value(receipt).expect("JSON");
    format!("{before}{}\n", json!({"done": done}))
}

#[tokio::test]
async fn batches_of_all_sizes_verify() {
    let mut left = 0;
    for size in [1, 2, 3, 7, 64, 65, 1000] {
        let payloads: Vec<_> = (0..size).map(payload_of_lines).collect();
        let (keys, receipts) = signed(payloads).await;
        let public = keys.public();
        left = receipts.iter().filter(|it| it.size > 1).count();
        for (id, receipt) in (0..).zip(&receipts) {
            let kept = Kept::read(&text_of_lines(id, receipt));
            let judged = kept.judge(&public).expect("good");
            assert_eq!(judged.rows, [json!([id])], "{size}");
            let other = Kept::read(&text_of_lines(id + 1, receipt));
            assert_eq!(other.judge(&public).expect_err("other"), Fault::Rows);
        }
    }
    assert!(left > 500, "most of a thousand share a signature: {left}");
}

#[tokio::test]
async fn each_flipped_byte_of_an_answer_fails() {
    let (keys, receipts) = signed(vec![payload_of_lines(7)]).await;
    let public = keys.public();
    let text = text_of_lines(7, &receipts[0]).into_bytes();
    assert!(judged(&text, &public).is_ok());
    // Without the last line break, which is no part of the answer.
    for place in 0..text.len() - 1 {
        for bit in [0x01, 0x02, 0x20] {
            let mut flipped = text.clone();
            flipped[place] ^= bit;
            let is_same = same_json(&text, &flipped);
            assert!(
                is_same || judged(&flipped, &public).is_err(),
                "{place} {bit}"
            );
        }
    }
}

/// Returns whether the last lines have the same members, as `1e5` and `1E5` have.
fn same_json(one: &[u8], two: &[u8]) -> bool {
    let parsed = |text: &[u8]| {
        let text = str::from_utf8(text).ok()?.trim_end();
        let (before, last) = text.rsplit_once('\n')?;
        let last: Value = serde_json::from_str(last).ok()?;
        Some((before.to_owned(), last))
    };
    parsed(one) == parsed(two)
}

fn judged(text: &[u8], keys: &[PublicKey]) -> Result<Judged, Fault> {
    let text = String::from_utf8_lossy(text);
    Kept::read(&text).judge(keys)
}

#[tokio::test]
async fn forged_receipts_fail() {
    let (keys, receipts) = signed((0..4).map(payload_of_lines).collect()).await;
    let (others, foreign) = signed(vec![payload_of_lines(0)]).await;
    let public = keys.public();
    let text = text_of_lines(0, &foreign[0]);
    let unknown = ReceiptError::UnknownKey(foreign[0].kid.clone());
    assert_eq!(
        judged(text.as_bytes(), &public).expect_err("foreign"),
        unknown.into()
    );
    let renamed = Receipt {
        kid: receipts[0].kid.clone(),
        ..foreign[0].clone()
    };
    let mixed = |take: &dyn Fn(&mut Receipt)| {
        let mut forged = receipts[0].clone();
        take(&mut forged);
        forged
    };
    let forged = [
        renamed,
        mixed(&|it| it.v = 2),
        mixed(&|it| it.payload.clone_from(&foreign[0].payload)),
        mixed(&|it| it.signature.clone_from(&foreign[0].signature)),
        mixed(&|it| it.index += 1),
        mixed(&|it| it.size = 0),
        mixed(&|it| it.path.push(it.path.last().cloned().unwrap_or_default())),
        mixed(&|it| it.path.push("A".repeat(43))),
    ];
    for (place, receipt) in forged.iter().enumerate() {
        if receipt == &receipts[0] {
            continue;
        }
        let error = receipt.verify(&public).expect_err("forged");
        assert_eq!(error, ReceiptError::Signature, "{place}");
    }
    assert!(foreign[0].verify(&others.public()).is_ok());
}

#[tokio::test]
async fn the_request_is_compared_if_it_was_kept() {
    let (keys, receipts) = signed(vec![payload_of_lines(1)]).await;
    let public = keys.public();
    let lines = text_of_lines(1, &receipts[0]);
    for (request, is_same) in [
        (json!({"sql": "SELECT 1"}), true),
        (
            json!({"sql": "SELECT 1", "receipt": true, "confirm": "x"}),
            true,
        ),
        (json!({"sql": "SELECT 2"}), false),
        (json!({"sql": "SELECT 1", "max_rows": 2}), false),
        (json!({}), false),
    ] {
        let kept = json!({"request": request, "response": lines}).to_string();
        let judged = Kept::read(&kept).judge(&public);
        assert_eq!(
            judged.map_err(|it| it == Fault::Statement).err(),
            (!is_same).then_some(true)
        );
    }
}

#[tokio::test]
async fn the_statement_is_compared_beside_the_parameters() {
    let other = Payload {
        statement: StatementDigest::Sha256(hex(&sha256(b"SELECT 2"))),
        ..payload_of_lines(1)
    };
    let (keys, receipts) = signed(vec![other]).await;
    let lines = text_of_lines(1, &receipts[0]);
    let kept = json!({"request": {"sql": "SELECT 1"}, "response": lines}).to_string();
    let error = Kept::read(&kept).judge(&keys.public()).expect_err("other");
    assert_eq!(error, Fault::Statement);
}

#[tokio::test]
async fn a_result_of_a_tool_is_compared_with_its_text_its_rows_and_its_request() {
    let structured = json!({"columns": ["a"], "rows": [[1]]});
    let arguments = json!({"query": "SELECT 1", "limit": 5});
    let payload = Payload {
        tool: "query_database".to_owned(),
        parameters: Some(hex(&canonical(&arguments))),
        sent: Sent {
            text: Some(hex(&sha256("a\n1".as_bytes()))),
            structured: Some(hex(&canonical(&structured))),
            lines: None,
        },
        ..Payload::default()
    };
    let (keys, receipts) = signed(vec![payload]).await;
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "content": [{"type": "text", "text": "a\n1"}],
        "structuredContent": structured,
        "_meta": {RECEIPT_KEY: receipts[0]},
    }});
    let request = json!({"method": "tools/call",
        "params": {"name": "query_database", "arguments": arguments}});
    let kept = json!({"request": request, "response": response});
    let changed = |pointer: &str, value: Value| {
        let mut kept = kept.clone();
        *kept.pointer_mut(pointer).expect(pointer) = value;
        Kept::read(&kept.to_string())
            .judge(&keys.public())
            .map(drop)
    };
    assert_eq!(changed("/response/id", json!(2)), Ok(()));
    let text = "/response/result/content/0/text";
    assert_eq!(changed(text, json!("a\n2")), Err(Fault::Text));
    let row = "/response/result/structuredContent/rows/0/0";
    assert_eq!(changed(row, json!(2)), Err(Fault::Rows));
    let limit = "/request/params/arguments/limit";
    assert_eq!(changed(limit, json!(6)), Err(Fault::Statement));
    assert_eq!(
        changed("/request/params/name", json!("b")),
        Err(Fault::Statement)
    );
    assert_eq!(
        changed("/response/result/_meta", json!({})),
        Err(Fault::NoReceipt)
    );
}

#[tokio::test]
async fn members_that_stand_twice_and_names_of_keys_with_line_breaks_deceive_no_reader() {
    let (keys, receipts) = signed(vec![payload_of_lines(1)]).await;
    let text = text_of_lines(1, &receipts[0]);
    assert!(judged(text.as_bytes(), &keys.public()).is_ok());
    let twice = text.replace(
        r#""truncated":null"#,
        r#""truncated":"rows","truncated":null"#,
    );
    assert_ne!(twice, text);
    let error = judged(twice.as_bytes(), &keys.public()).expect_err("twice");
    assert_eq!(error, Fault::NoReceipt);
    let kid = "x\nanswer.ndjson: receipt 1, good".to_owned();
    let error = ReceiptError::UnknownKey(kid).to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// Returns a number of cases, which a long proof raises.
fn cases(variable: &str, usual: u64) -> u64 {
    let given = env::var(variable).ok();
    given.map_or(usual, |text| text.parse().expect("a number"))
}

/// Random numbers from a fixed seed (`SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("small");
        usize::try_from(self.number() % end).expect("small")
    }

    /// Changes one letter of a text in base64url.
    fn bend(&mut self, text: &mut String) {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut bytes = text.clone().into_bytes();
        let place = self.below(bytes.len());
        bytes[place] = LETTERS[self.below(LETTERS.len())];
        *text = String::from_utf8(bytes).expect("ASCII");
    }

    /// Forges a receipt from good ones.
    fn forge(&mut self, good: &[Receipt]) -> (Receipt, Receipt) {
        let original = good[self.below(good.len())].clone();
        let other = &good[self.below(good.len())];
        let mut forged = original.clone();
        match self.below(6) {
            0 => self.bend(&mut forged.payload),
            1 => self.bend(&mut forged.signature),
            2 => forged.payload.clone_from(&other.payload),
            3 => forged.signature.clone_from(&other.signature),
            4 => forged.path.clone_from(&other.path),
            _ => {
                let place = self.below(forged.path.len().max(1));
                match forged.path.get_mut(place) {
                    Some(digest) => self.bend(digest),
                    None => forged.path.push("A".repeat(43)),
                }
            }
        }
        (original, forged)
    }
}

#[tokio::test]
async fn made_receipts_verify_and_no_forged_one_does() {
    let count = cases("MADE_RECEIPTS", 1_000);
    let (keys, receipts) = signed((0..count).map(payload_of_lines).collect()).await;
    let public = keys.public();
    for (id, receipt) in (0..).zip(&receipts) {
        let kept = Kept::read(&text_of_lines(id, receipt));
        assert!(kept.judge(&public).is_ok(), "{id}");
    }
    let mut numbers = Numbers(7);
    let mut forgeries = 0;
    for _ in 0..cases("FORGED_RECEIPTS", 10_000) {
        let (original, forged) = numbers.forge(&receipts);
        // Receipts of one batch share a signature, and those at its end parts of their paths.
        if forged != original {
            forgeries += 1;
            let error = forged.verify(&public).map(drop);
            assert_eq!(
                error,
                Err(ReceiptError::Signature),
                "{forged:?} of {original:?}"
            );
        }
    }
    assert!(forgeries > 5_000);
}
