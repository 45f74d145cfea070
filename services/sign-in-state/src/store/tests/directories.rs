use ziggurat_telemetry::GrantCount;

use super::*;

fn origin(subject: &str) -> Origin {
    Origin {
        provider: "corp".to_owned(),
        subject: subject.to_owned(),
    }
}

fn link(subject: &str) -> Link {
    Link {
        origin: origin(subject),
        person: format!("corp:{subject}"),
        claims: r#"{"name":"ann"}"#.to_owned(),
        refresh: Some("sealed".to_owned()),
        checked_at: NOW,
    }
}

fn attempt(id: u64) -> Attempt {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&id.to_be_bytes());
    Attempt {
        hash,
        flow: "flow".to_owned(),
        nonce: [9; 32],
        verifier: "verifier".to_owned(),
        ends_at: NOW + 900,
    }
}

fn asserted(id: u8, made_at: Seconds) -> Grant {
    Grant {
        person: "corp:ann".to_owned(),
        origin: Some(origin("ann")),
        is_renewable: false,
        amr: String::new(),
        made_at,
        used_at: made_at,
        ends_at: made_at + 3600,
        ..grant(id, "")
    }
}

async fn attempts_are_good_once(store: &impl Store) {
    let first = attempt(1);
    assert_eq!(store.add_attempt(first.clone(), NOW).await, Ok(true));
    assert_eq!(
        store.use_attempt(first.hash, NOW + 899).await,
        Ok(Some(first.clone()))
    );
    assert_eq!(store.use_attempt(first.hash, NOW + 899).await, Ok(None));
    assert_eq!(store.add_attempt(first.clone(), NOW).await, Ok(true));
    assert_eq!(
        store.use_attempt(first.hash, NOW + 900).await,
        Ok(None),
        "too late"
    );
}

async fn a_link_is_checked_by_one_request_at_a_time(store: &impl Store) {
    let ann = origin("ann");
    assert_eq!(store.link(&ann).await, Ok(None));
    assert_eq!(store.begin_check(&ann, NOW + 15, NOW).await, Ok(None));
    assert_eq!(store.keep_link(link("ann")).await, Ok(()));
    assert_eq!(store.link(&ann).await, Ok(Some(link("ann"))));
    let begun = store.begin_check(&ann, NOW + 15, NOW).await;
    assert_eq!(begun, Ok(Some(link("ann"))));
    assert_eq!(store.begin_check(&ann, NOW + 29, NOW + 14).await, Ok(None));
    let late = store.begin_check(&ann, NOW + 30, NOW + 15).await;
    assert_eq!(late, Ok(Some(link("ann"))), "the other one is gone");
    let refused = Link {
        refresh: None,
        checked_at: 0,
        ..link("ann")
    };
    assert_eq!(store.keep_link(refused.clone()).await, Ok(()));
    let begun = store.begin_check(&ann, NOW + 40, NOW + 16).await;
    assert_eq!(begun, Ok(Some(refused)), "the turn has ended");
    assert_eq!(store.link(&origin("bob")).await, Ok(None));
}

async fn an_assertion_makes_or_prolongs_one_grant(store: &impl Store) {
    assert_eq!(store.keep_link(link("ann")).await, Ok(()));
    let first = asserted(61, NOW);
    let made = store.assert_grant(first.clone(), consent(61)).await;
    assert_eq!(made, Ok(Some(first.clone())));
    let again = store.assert_grant(asserted(62, NOW), consent(61)).await;
    assert_eq!(again, Ok(None), "it was used before");
    let later = Grant {
        scope: "mcp".to_owned(),
        databases: None,
        ..asserted(63, NOW + 60)
    };
    let prolonged = Grant {
        id: first.id,
        made_at: NOW,
        ..later.clone()
    };
    let kept = store.assert_grant(later, consent(62)).await;
    assert_eq!(kept, Ok(Some(prolonged.clone())));
    assert_eq!(store.grant(first.id, NOW + 61).await, Ok(Some(prolonged)));
    let other = Grant {
        client: "dcr_other".to_owned(),
        ..asserted(64, NOW + 60)
    };
    let made = store.assert_grant(other.clone(), consent(63)).await;
    assert_eq!(made, Ok(Some(other)));
    assert_eq!(
        store.end_grant(first.id, Why::Revoked, NOW + 70).await,
        Ok(true)
    );
    let new = asserted(65, NOW + 80);
    let made = store.assert_grant(new.clone(), consent(64)).await;
    assert_eq!(made, Ok(Some(new)), "the one before has ended");
    let grants = store.grants("corp:ann", NOW + 90).await.expect("grants");
    assert_eq!(grants.len(), 2);
}

async fn origins_are_kept(store: &impl Store) {
    let session = Session {
        hash: [70; 32],
        person: "corp:ann".to_owned(),
        signed_in_at: NOW,
        amr: String::new(),
        origin: Some(origin("ann")),
        used_at: NOW,
        ends_at: NOW + 3600,
    };
    assert_eq!(store.add_session(session.clone()).await, Ok(()));
    let idle = Duration::from_hours(1);
    let found = store.session([70; 32], idle, NOW).await;
    assert_eq!(found, Ok(Some(session)));
}

async fn the_rules_of_directories_hold(store: &impl Store) {
    attempts_are_good_once(store).await;
    a_link_is_checked_by_one_request_at_a_time(store).await;
    an_assertion_makes_or_prolongs_one_grant(store).await;
    origins_are_kept(store).await;
}

#[tokio::test]
async fn the_rules_of_directories_hold_in_memory() {
    the_rules_of_directories_hold(&MemoryStore::default()).await;
}

#[tokio::test]
async fn the_rules_of_directories_hold_in_a_file() {
    let (_folder, store) = local().await;
    the_rules_of_directories_hold(&store).await;
}

#[tokio::test]
async fn the_rules_of_directories_hold_in_postgresql() {
    let (_fixture, _tasks, store) = replicated().await;
    the_rules_of_directories_hold(&store).await;
}

#[tokio::test]
async fn ten_thousand_attempts_wait_in_memory() {
    let store = MemoryStore::default();
    for id in 0..10_000 {
        assert_eq!(store.add_attempt(attempt(id), NOW).await, Ok(true));
    }
    assert_eq!(store.add_attempt(attempt(10_000), NOW).await, Ok(false));
    let late = Attempt {
        ends_at: NOW + 1800,
        ..attempt(10_001)
    };
    assert_eq!(store.add_attempt(late, NOW + 900).await, Ok(true));
}

#[tokio::test]
async fn ten_thousand_attempts_wait_in_a_file() {
    let (_folder, store) = local().await;
    let fill = "INSERT INTO oauth_upstream_attempts (state_hash, flow, nonce, verifier, ends_at) \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
                SELECT 'x' || i, '', '', '', $1 FROM n";
    let mut writing = store.tables.write().await.expect("writing");
    let filled = writing.rows(fill, [columns::moment(NOW + 900)]).await;
    filled.expect("filled");
    writing.commit().await.expect("kept");
    assert_eq!(store.add_attempt(attempt(1), NOW).await, Ok(false));
    assert_eq!(store.add_attempt(attempt(1), NOW + 900).await, Ok(true));
}

/// Sends eight assertions of one person at once, and one of them at two places.
async fn assertions_race(store: SignInStore) {
    assert_eq!(store.keep_link(link("ann")).await, Ok(()));
    let mut tasks = JoinSet::new();
    for id in 0..16 {
        let store = store.clone();
        let used = consent(id / 2);
        tasks.spawn(async move { store.assert_grant(asserted(id, NOW), used).await });
    }
    let kept = tasks.join_all().await;
    let kept: Vec<_> = kept
        .into_iter()
        .filter_map(|it| it.expect("kept"))
        .collect();
    assert_eq!(kept.len(), 8, "each assertion is good once");
    assert!(kept.iter().all(|grant| grant.id == kept[0].id), "one grant");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_eight_assertions_is_good_once_in_a_file() {
    let (_folder, store) = local().await;
    assertions_race(store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_eight_assertions_is_good_once_in_postgresql() {
    let (_fixture, _tasks, store) = replicated().await;
    assertions_race(store).await;
}

async fn an_administrator_links(store: SignInStore) {
    let ann = origin("ann");
    let written = store.link_person(&ann, "1", NOW).await;
    written.expect("written");
    let linked = store.link(&ann).await.expect("read").expect("linked");
    assert_eq!(
        (&*linked.person, linked.checked_at),
        ("1", 0),
        "no access yet"
    );
    let confirmed = Link {
        person: "1".to_owned(),
        ..link("ann")
    };
    assert_eq!(store.keep_link(confirmed.clone()).await, Ok(()));
    let by_account = |id, person: &str| Grant {
        person: person.to_owned(),
        ..asserted(id, NOW)
    };
    for (id, grant) in [(1, by_account(1, "1")), (2, grant(2, "1"))] {
        assert_eq!(
            store.add_grant(grant, code(id), consent(id)).await,
            Ok(true)
        );
    }
    store.link_person(&ann, "1", NOW).await.expect("written");
    assert_eq!(store.link(&ann).await, Ok(Some(confirmed)), "as before");
    assert_eq!(store.list_grants(NOW).await.expect("read").len(), 2);
    let counted = store.count_grants(NOW).await.expect("read");
    let codes = GrantCount {
        kind: "code".to_owned(),
        count: 2,
    };
    assert_eq!(counted, [codes]);

    store.link_person(&ann, "2", NOW).await.expect("written");
    let linked = store.link(&ann).await.expect("read").expect("linked");
    assert_eq!((&*linked.person, linked.checked_at), ("2", 0));
    assert_eq!((linked.refresh, &*linked.claims), (None, "{}"));
    let left = store.list_grants(NOW).await.expect("read");
    assert_eq!(left.len(), 1, "the grant of the first person has ended");
    let counted = store.count_grants(NOW).await.expect("read");
    assert_eq!((counted.len(), counted[0].count), (1, 1));
    assert_eq!(
        (left[0].id, store.ended().contains([1; 16])),
        ([2; 16], true)
    );
}

#[tokio::test]
async fn an_account_at_a_provider_is_linked_to_another_person_in_a_file() {
    let (_folder, store) = local().await;
    an_administrator_links(store).await;
}

#[tokio::test]
async fn an_account_at_a_provider_is_linked_to_another_person_in_postgresql() {
    let (_fixture, _tasks, store) = replicated().await;
    an_administrator_links(store).await;
}
