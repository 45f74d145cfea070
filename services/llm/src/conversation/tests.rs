use std::collections::HashSet;

use super::*;

fn roles(messages: &[Message]) -> Vec<(Role, String)> {
    let shown = |message: &Message| (message.role, message.text().into_owned());
    messages.iter().map(shown).collect()
}

#[test]
fn neighbours_of_one_role_become_one_message_with_a_blank_line() {
    let messages = [
        Message::user("one"),
        Message::user("two"),
        Message::assistant("three"),
        Message::assistant("four"),
        Message::user("five"),
    ];
    let expected = [
        (Role::User, "one\n\ntwo".to_owned()),
        (Role::Assistant, "three\n\nfour".to_owned()),
        (Role::User, "five".to_owned()),
    ];
    assert_eq!(roles(&in_turns(&messages)), expected);
}

#[test]
fn the_user_begins_and_empty_messages_are_left_out() {
    let messages = [
        Message::assistant("hello"),
        Message::user(""),
        Message::user("one"),
        Message::assistant(""),
        Message::user("two"),
    ];
    let expected = [(Role::User, "one\n\ntwo".to_owned())];
    assert_eq!(roles(&in_turns(&messages)), expected);
}

#[test]
fn texts_of_one_message_and_results_of_tools_stay_separate_blocks() {
    let result = Block::tool_result("1", "");
    let messages = [
        Message {
            role: Role::User,
            blocks: vec![Block::text("a"), Block::text("b")],
        },
        Message {
            role: Role::User,
            blocks: vec![result.clone(), Block::text("c")],
        },
    ];
    let turns = in_turns(&messages);
    let expected = [Block::text("a"), Block::text("b"), result, Block::text("c")];
    assert_eq!(turns[0].blocks, expected);
}

#[test]
fn a_text_that_is_cached_keeps_its_place() {
    let mut marked = Message::user("a");
    marked.blocks[0].set_cache(Cache::Hour);
    let turns = in_turns(&[marked.clone(), Message::user("b")]);
    assert_eq!(
        turns[0].blocks,
        [marked.blocks[0].clone(), Block::text("b")]
    );

    let turns = in_turns(&[Message::user("b"), marked]);
    let mut expected = Block::text("b\n\na");
    expected.set_cache(Cache::Hour);
    assert_eq!(turns[0].blocks, [expected]);
}

#[test]
fn ids_are_never_the_same() {
    let ids: HashSet<String> = (0..1000).map(|_| new_id()).collect();
    assert_eq!(ids.len(), 1000);
}

#[test]
fn only_a_json_object_is_an_object() {
    for (text, is_object) in [
        ("{}", true),
        (" {\"a\":1} ", true),
        ("[]", false),
        ("\"{}\"", false),
        ("{", false),
        ("", false),
    ] {
        assert_eq!(object(text).is_some(), is_object, "{text}");
    }
}

#[test]
fn words_for_stopping_are_read_and_written_alike() {
    for word in [
        "end_turn",
        "tool_use",
        "max_tokens",
        "refusal",
        "pause_turn",
    ] {
        assert_eq!(Stop::from_word(word).as_str(), word);
    }
}
