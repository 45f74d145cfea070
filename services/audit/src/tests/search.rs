//! Search for records.

use super::*;
use crate::{ChainState, Page, Search, search::Scan};

/// Writes calls of these tools, each in a file of its own if `is_rotated`.
async fn written(trail: &Trail, tools: &[&str], is_rotated: bool) -> Audit {
    let running = started(Settings {
        max_bytes: if is_rotated { 500 } else { 0 },
        ..trail.synced()
    });
    for tool in tools {
        whole_call(&running.0, tool).await;
    }
    finish(running);
    Audit::open(trail.settings()).expect("opened").0
}

fn search(audit: &Audit, search: &Search) -> Page {
    audit.search(search).expect("read").expect("a file")
}

fn all() -> Search {
    Search {
        limit: 500,
        ..Search::default()
    }
}

/// Returns the tools of the records of calls.
fn tools(page: &Page) -> Vec<String> {
    let records = page.records.iter();
    let records = records.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let tools = records.filter_map(|record| Some(record["tool"].as_str()?.to_owned()));
    tools.collect()
}

#[tokio::test]
async fn pages_go_from_the_last_record_to_the_first_over_all_files() {
    let names = ["a", "b", "c", "d", "e", "f"];
    for is_rotated in [false, true] {
        let trail = Trail::new();
        let audit = written(&trail, &names, is_rotated).await;
        let whole = search(&audit, &all());
        let expected: Vec<_> = names.iter().rev().collect();
        assert_eq!(tools(&whole).iter().collect::<Vec<_>>(), expected);
        assert_eq!((whole.next, whole.chain), (None, ChainState::Intact));
        assert!(
            !whole
                .records
                .iter()
                .any(|line| line.contains(r#""kind":"open""#))
        );
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let limit = 2;
            let page = search(
                &audit,
                &Search {
                    limit,
                    before,
                    ..all()
                },
            );
            found.extend(page.records);
            before = page.next;
            if before.is_none() {
                break;
            }
            let text = before.expect("a position").to_string();
            assert_eq!(text.parse().ok(), before);
        }
        assert_eq!(found, whole.records, "{is_rotated}");
    }
}

#[tokio::test]
async fn a_search_that_has_read_enough_says_where_it_goes_on() {
    let trail = Trail::new();
    written(&trail, &["first", "b", "c", "d"], false).await;
    let wanted = Search {
        tool: "first".to_owned(),
        ..all()
    };
    let (mut pages, mut before) = (0, None);
    let found = loop {
        let search = Search {
            before,
            ..wanted.clone()
        };
        let page = Scan::new(&search)
            .with_most(1)
            .run(&trail.path)
            .expect("read");
        pages += 1;
        if !page.records.is_empty() {
            break page;
        }
        before = Some(page.next.expect("there is more"));
    };
    assert!(pages > 4, "{pages}");
    assert_eq!(tools(&found), ["first"]);
}

#[tokio::test]
async fn a_changed_or_missing_line_breaks_the_chain() {
    let trail = Trail::new();
    let audit = written(&trail, &["a", "b"], false).await;
    let whole = trail.text();
    fs::write(&trail.path, whole.replacen("\"a\"", "\"x\"", 1)).expect("written");
    assert_eq!(search(&audit, &all()).chain, ChainState::Broken);
    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    fs::write(&trail.path, [&lines[..2], &lines[3..]].concat().concat()).expect("written");
    assert_eq!(search(&audit, &all()).chain, ChainState::Broken);
    // A line that is being written is not looked at.
    fs::write(&trail.path, whole.clone() + "{\"v\":1,\"seq\":").expect("written");
    let page = search(&audit, &all());
    assert_eq!((page.chain, tools(&page).len()), (ChainState::Intact, 2));
}

#[tokio::test]
async fn a_position_of_no_record_is_an_error() {
    let trail = Trail::new();
    let audit = written(&trail, &["a"], false).await;
    for position in ["1-1", "9-0", "2-0"] {
        let before = position.parse().ok();
        assert!(before.is_some());
        let found = audit.search(&Search { before, ..all() });
        assert!(found.is_err(), "{position}");
    }
    for wrong in ["", "1", "1-", "-1", "a-b", "1-2-3"] {
        assert!(wrong.parse::<crate::Position>().is_err(), "{wrong}");
    }
}
