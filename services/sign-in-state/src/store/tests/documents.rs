use super::*;

const URL: &str = "https://app.example/client.json";

fn document(text: &str, fetched_at: Seconds) -> KeptDocument {
    KeptDocument {
        text: Some(text.to_owned()),
        fetched_at,
        fresh_until: fetched_at + 600,
        failed_at: None,
    }
}

async fn documents_are_kept(store: &impl Store) {
    assert_eq!(store.document(URL).await, Ok(None));
    assert_eq!(store.document_failed(URL, NOW).await, Ok(()));
    let failed = KeptDocument {
        failed_at: Some(NOW),
        ..KeptDocument::default()
    };
    assert_eq!(store.document(URL).await, Ok(Some(failed)));
    let first = document("{}", NOW + 60);
    assert_eq!(store.keep_document(URL, first.clone()).await, Ok(()));
    assert_eq!(store.document(URL).await, Ok(Some(first.clone())));
    assert_eq!(store.document_failed(URL, NOW + 700).await, Ok(()));
    let stale = KeptDocument {
        failed_at: Some(NOW + 700),
        ..first
    };
    assert_eq!(store.document(URL).await, Ok(Some(stale)));
    let second = document("{ }", NOW + 800);
    assert_eq!(store.keep_document(URL, second.clone()).await, Ok(()));
    assert_eq!(store.document(URL).await, Ok(Some(second)));
}

/// 1,000 rows stay, and a copy is worth more than a failure.
async fn documents_are_bounded(store: &impl Store) {
    for number in 0..1000 {
        let url = format!("https://app.example/{number}");
        let failed = store.document_failed(&url, NOW + 1000 + number);
        assert_eq!(failed.await, Ok(()));
    }
    let kept = async |url: &str| store.document(url).await.expect("a store").is_some();
    assert!(kept(URL).await, "it has a copy");
    assert!(!kept("https://app.example/0").await, "the oldest failure");
    assert!(kept("https://app.example/1").await && kept("https://app.example/999").await);
}

async fn numbers_are_good_once(store: &impl Store) {
    let see = async |id: u8, now: Seconds| store.use_once([id; 32], now + 300, now).await;
    assert_eq!(see(1, NOW).await, Ok(true));
    assert_eq!(see(1, NOW).await, Ok(false));
    assert_eq!(see(2, NOW).await, Ok(true));
    assert_eq!(see(1, NOW + 299).await, Ok(false));
    assert_eq!(
        see(1, NOW + 300).await,
        Ok(true),
        "the first one has expired"
    );
    assert_eq!(see(1, NOW + 301).await, Ok(false));
}

async fn all_rules(store: &impl Store) {
    documents_are_kept(store).await;
    documents_are_bounded(store).await;
    numbers_are_good_once(store).await;
}

#[tokio::test]
async fn a_store_in_memory_keeps_documents_and_numbers() {
    all_rules(&MemoryStore::default()).await;
}

#[tokio::test]
async fn a_store_in_a_file_keeps_documents_and_numbers() {
    let (_folder, store) = local().await;
    all_rules(&store).await;
}

#[tokio::test]
async fn a_store_in_postgresql_keeps_documents_and_numbers() {
    let (_fixture, _tasks, store) = replicated().await;
    all_rules(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_at_two_replicas_at_once_is_new_at_one() {
    let (_fixture, _tasks, store) = replicated().await;
    for id in 0..40 {
        let see = || store.use_once([id; 32], NOW + 300, NOW);
        let (one, other) = tokio::join!(see(), see());
        assert_ne!(one.expect("a store"), other.expect("a store"));
    }
}

#[tokio::test]
async fn documents_go_a_week_after_they_were_fresh() {
    let (_folder, store) = local().await;
    let kept = store.keep_document(URL, document("{}", NOW)).await;
    assert_eq!(kept, Ok(()));
    let rules = SweepRules {
        idle: Duration::from_secs(30 * DAY),
    };
    for (day, expected) in [(7, true), (8, false)] {
        store
            .sweep_once(rules, NOW + day * DAY)
            .await
            .expect("swept");
        let found = store.document(URL).await.expect("a store");
        assert_eq!(found.is_some(), expected, "{day}");
    }
}
