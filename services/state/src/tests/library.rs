//! Behaviour of the library in all stores.

use super::*;

fn content(kind: ItemKind, title: &str, text: &str) -> ItemContent {
    ItemContent {
        kind,
        title: title.to_owned(),
        text: text.to_owned(),
        database: None,
        tags: Vec::new(),
        shared: false,
    }
}

fn query(title: &str) -> ItemContent {
    content(ItemKind::Query, title, "SELECT 1")
}

fn shared(title: &str, database: Option<&str>) -> ItemContent {
    ItemContent {
        database: database.map(str::to_owned),
        shared: true,
        ..query(title)
    }
}

fn reader<'a>(user: &'a str, databases: &[&str]) -> Reader<'a> {
    let databases = databases.iter().copied().map(str::to_owned).collect();
    let account = user;
    Reader { account, databases }
}

async fn stored(store: &Library, content: ItemContent, owner: &str, at: Timestamp) -> Item {
    let item = content.into_item(owner, at).expect("made");
    assert!(store.create(&item).await.expect("created"), "{item:?}");
    item
}

async fn titles(store: &Library, reader: &Reader<'_>, filter: &Filter, page: Page) -> Vec<String> {
    let listed = store.list(reader, filter, page).await.expect("listed");
    listed.into_iter().map(|item| item.title).collect()
}

async fn an_item_is_kept_as_it_was_given(store: Conversations) {
    let store = store.library();
    let alice = reader("alice", &[]);
    let content = ItemContent {
        database: Some("shop".to_owned()),
        tags: vec!["a \"quote\"".to_owned(), "b\0".to_owned()],
        ..content(ItemKind::Prompt, "One\0", "line 1\nline 2")
    };
    let first = stored(&store, content, "alice", now()).await;
    let found = store.find(&alice, &first.id).await.expect("read");
    assert_eq!(found.as_ref(), Some(&first));
    assert_eq!((&*first.title, first.version), ("One\u{fffd}", 1));
    assert_eq!(first.tags, ["a \"quote\"", "b\u{fffd}"]);

    let later = now() + SignedDuration::from_secs(1);
    let second = store.replace(&first, query("Two"), later).await;
    let second = second.expect("replaced").expect("there");
    let expected = Item {
        id: first.id.clone(),
        ..query("Two").into_item("alice", later).expect("made")
    };
    let expected = Item {
        version: 2,
        ..expected
    };
    assert_eq!(second, expected);
    let found = store.find(&alice, &first.id).await.expect("read");
    assert_eq!(found, Some(second.clone()));

    let stale = store.replace(&first, query("Three"), later).await;
    assert_eq!(stale.expect("asked"), None, "another tab was first");
    assert!(store.delete(&first.id).await.expect("deleted"));
    assert!(!store.delete(&first.id).await.expect("asked"));
    let gone = store.replace(&second, query("Three"), later).await;
    assert_eq!(gone.expect("asked"), None);
}

async fn others_read_what_is_shared_and_for_their_databases(store: Conversations) {
    let store = store.library();
    for (second, (content, owner)) in (0..).zip([
        (query("of alice"), "alice"),
        (shared("for all", None), "alice"),
        (shared("for shop", Some("shop")), "alice"),
        (shared("for hr", Some("hr")), "alice"),
        (query("of bob"), "bob"),
    ]) {
        stored(
            &store,
            content,
            owner,
            now() + SignedDuration::from_secs(second),
        )
        .await;
    }
    for (reader, expected) in [
        (
            reader("alice", &[]),
            &["for hr", "for shop", "for all", "of alice"][..],
        ),
        (reader("bob", &["shop"]), &["of bob", "for shop", "for all"]),
        (
            reader("carol", &["hr", "shop"]),
            &["for hr", "for shop", "for all"],
        ),
        (reader("dave", &["sho", "Shop"]), &["for all"]),
    ] {
        let filter = Filter::default();
        let listed = store.list(&reader, &filter, Page::default()).await;
        let listed = listed.expect("listed");
        let found: Vec<_> = listed.iter().map(|item| &*item.title).collect();
        assert_eq!(found, expected, "{}", reader.account);
        let all = reader_of_all(&store).await;
        for item in all {
            let found = store.find(&reader, &item.id).await.expect("read");
            assert_eq!(found.is_some(), listed.contains(&item), "{}", item.title);
        }
    }
    for odd in ["", "x", "\0", "' OR 1=1 --"] {
        let found = store.find(&reader("alice", &[]), odd).await.expect(odd);
        assert_eq!(found, None, "{odd:?}");
        assert!(!store.delete(odd).await.expect(odd), "{odd:?}");
    }
}

/// Reads all items of both owners.
async fn reader_of_all(store: &Library) -> Vec<Item> {
    let mut all = Vec::new();
    for owner in ["alice", "bob"] {
        let owner = reader(owner, &[]);
        let filter = Filter::default();
        let listed = store.list(&owner, &filter, Page::default()).await;
        all.extend(listed.expect("listed"));
    }
    all
}

async fn lists_are_in_pages_by_kind_and_by_words(store: Conversations) {
    let store = store.library();
    let mut all = Vec::new();
    // Several have the same time, and there are more than are read at once.
    for number in 0..80 {
        let kind = [ItemKind::Query, ItemKind::Prompt][number % 2];
        let text = ["by MONTH", "by week", "by week", "by week"][number % 4];
        let content = content(kind, &format!("Revenue {number}"), text);
        let at = now() + SignedDuration::from_secs(i64::try_from(number / 3).expect("few"));
        all.push(stored(&store, content, "alice", at).await);
    }
    all.sort_by(|a, b| (&b.updated_at, &b.id).cmp(&(&a.updated_at, &a.id)));
    let alice = reader("alice", &[]);
    let expected = |fits: &dyn Fn(&&Item) -> bool| -> Vec<String> {
        let fitting = all.iter().filter(fits);
        fitting.map(|item| item.title.clone()).collect()
    };
    let everything = Page {
        limit: 100,
        offset: 0,
    };
    let is_query = |item: &&Item| item.kind == ItemKind::Query;
    let is_monthly = |item: &&Item| item.text.contains("MONTH");
    let queries = Filter {
        kind: Some(ItemKind::Query),
        words: None,
    };
    let having = |text: &str| {
        let words = Words::of(text);
        Filter { kind: None, words }
    };
    // No character of a word is a wildcard.
    let [monthly, wildcards] = ["month REVENUE", "rev%nue"].map(having);
    let none = Filter {
        kind: Some(ItemKind::Prompt),
        words: Words::of("month"),
    };
    for (filter, expected) in [
        (&Filter::default(), expected(&|_| true)),
        (&queries, expected(&is_query)),
        (&monthly, expected(&is_monthly)),
        (&none, Vec::new()),
        (&wildcards, Vec::new()),
    ] {
        let found = titles(&store, &alice, filter, everything).await;
        assert_eq!(found, expected, "{filter:?}");
        for (limit, offset) in [(7, 0), (7, 7), (50, 33), (5, 79), (5, u64::MAX)] {
            let found = titles(&store, &alice, filter, Page { limit, offset }).await;
            let from = usize::try_from(offset)
                .expect("a number")
                .min(expected.len());
            let until = expected.len().min(from.saturating_add(limit as usize));
            assert_eq!(found, expected[from..until], "{filter:?} {limit} {offset}");
        }
    }
}

async fn one_of_many_changes_to_a_version_is_made(store: Conversations) {
    let store = store.library();
    let first = stored(&store, query("first"), "alice", now()).await;
    let mut tabs = JoinSet::new();
    for tab in 0..20 {
        let (store, first) = (store.clone(), first.clone());
        tabs.spawn(async move {
            let new = query(&format!("tab {tab}"));
            store.replace(&first, new, now()).await.expect("asked")
        });
    }
    let made: Vec<_> = tabs.join_all().await.into_iter().flatten().collect();
    assert_eq!(made.len(), 1, "{made:?}");
    let found = store.find(&reader("alice", &[]), &first.id).await;
    assert_eq!(found.expect("read").as_ref(), made.first());
}

async fn a_user_has_a_thousand_items_at_most(store: Conversations) {
    let store = store.library();
    let mut writers = JoinSet::new();
    for writer in 0..10 {
        let store = store.clone();
        writers.spawn(async move {
            for number in 0..100 {
                let title = format!("{writer} {number}");
                stored(&store, query(&title), "alice", now()).await;
            }
        });
    }
    writers.join_all().await;
    let more = query("more").into_item("alice", now()).expect("made");
    assert!(!store.create(&more).await.expect("asked"), "it is full");
    stored(&store, query("own"), "bob", now()).await;
    let alice = reader("alice", &[]);
    let page = Page {
        limit: 2000,
        offset: 0,
    };
    let listed = store.list(&alice, &Filter::default(), page).await;
    let listed = listed.expect("listed");
    assert_eq!(listed.len(), 1000);
    assert!(store.delete(&listed[0].id).await.expect("deleted"));
    assert!(store.create(&more).await.expect("created"));
}

for_every_store!(
    an_item_is_kept_as_it_was_given,
    others_read_what_is_shared_and_for_their_databases,
    lists_are_in_pages_by_kind_and_by_words,
    one_of_many_changes_to_a_version_is_made,
    a_user_has_a_thousand_items_at_most,
);
