use super::*;

/// Waits until the server notices a change.
async fn changed(accounts: &Accounts, change: impl FnOnce()) {
    let mut changes = accounts.shared.changes.subscribe();
    change();
    let change = tokio::time::timeout(Duration::from_secs(20), changes.changed());
    change.await.expect("noticed").expect("still there");
}

/// Runs `work` while the files are watched.
async fn watched(accounts: &Accounts, work: impl Future<Output = ()>) {
    let watch = accounts.watch();
    tokio::select! {
        () = watch.run() => unreachable!("it never ends"),
        () = work => {}
    }
}

#[tokio::test]
async fn a_change_of_a_file_is_applied_while_the_server_runs() {
    let setup = TestAccounts::new();
    let accounts = &setup.accounts;
    watched(accounts, async {
        let mut token = SecretString::default();
        changed(accounts, || token = setup.token(None)).await;
        assert!(setup.is_good(&token), "renamed into place");

        let text = fs::read_to_string(setup.tokens.path()).expect("a file");
        let other = "0".repeat(64);
        let text = text.replace(&key(&token), &other);
        changed(accounts, || {
            fs::write(setup.tokens.path(), text).expect("written");
        })
        .await;
        assert!(!setup.is_good(&token), "written in place");
    })
    .await;
}

#[tokio::test]
async fn a_new_user_file_is_noticed() {
    let setup = TestAccounts::new();
    let settings = Settings {
        token_file: setup.path("tokens.yaml"),
        user_file: setup.path("later/users.yaml"),
        password_cost: 4,
        ..Settings::default()
    };
    let accounts = open(settings, &Arc::default()).expect("good files");
    let users = UserFile::new(setup.path("later/users.yaml"))
        .with_cost(4)
        .with_min_length(1);
    watched(&accounts, async {
        let now = setup.clock.now();
        changed(&accounts, || {
            users
                .add(NewUser::new("bob", &"secret".into()), now)
                .expect("added");
        })
        .await;
        let session = accounts.login("bob", "secret".into(), None).await;
        assert!(session.is_ok(), "{session:?}");
    })
    .await;
}

#[tokio::test]
async fn a_changed_link_counts_as_a_changed_file() {
    let setup = TestAccounts::new();
    // Container platforms mount secrets this way: a link to a link to a folder.
    let (one, two) = (setup.path("..1"), setup.path("..2"));
    let tokens = [&one, &two].map(|folder| {
        let file = TokenFile::new(folder.join("tokens.yaml"));
        let made = file.add(NewToken::default(), setup.clock.now());
        made.expect("made").token
    });
    let mount = setup.path("mount");
    fs::create_dir(&mount).expect("a folder");
    let swap = |to: &Path| {
        let new = mount.join("..new");
        symlink(to, &new).expect("linked");
        fs::rename(new, mount.join("..data")).expect("swapped");
    };
    swap(&one);
    symlink("..data/tokens.yaml", mount.join("tokens.yaml")).expect("linked");

    let settings = Settings {
        token_file: mount.join("tokens.yaml"),
        user_file: setup.path("users.yaml"),
        ..Settings::default()
    };
    let gone = Arc::default();
    let accounts = open(settings, &gone).expect("good files");
    watched(&accounts, async {
        changed(&accounts, || swap(&two)).await;
        assert_eq!(*gone.lock().expect("nobody panicked"), [key(&tokens[0])]);
        assert!(accounts.verify(tokens[1].expose_secret()).await.is_ok());
        changed(&accounts, || swap(&one)).await;
        assert!(accounts.verify(tokens[0].expose_secret()).await.is_ok());

        // Changes the file at the end of the links.
        let file = TokenFile::new(one.join("tokens.yaml"));
        changed(&accounts, || {
            file.remove(&key(&tokens[0])).expect("removed");
        })
        .await;
        assert!(accounts.verify(tokens[0].expose_secret()).await.is_err());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_is_removed_before_the_next_regular_sweep() {
    let setup = TestAccounts::new();
    let token = setup.token(Some(Duration::from_secs(10)));
    setup.reload();
    let accounts = &setup.accounts;
    watched(accounts, async {
        changed(accounts, || setup.clock.advance(Duration::from_secs(10))).await;
        assert_eq!(setup.gone(), [key(&token)]);
    })
    .await;
}

#[test]
fn a_broken_or_missing_file_changes_nothing() {
    let setup = TestAccounts::new();
    let token = setup.token(None);
    setup.reload();
    let text = fs::read_to_string(setup.tokens.path()).expect("a file");
    let half = &text[..text.len() / 2 - 10];
    for broken in ["tokens: [", "tokens: 7", half, "\u{0}"] {
        fs::write(setup.tokens.path(), broken).expect("written");
        setup.reload();
        assert!(setup.is_good(&token), "{broken:?}");
    }
    fs::remove_file(setup.tokens.path()).expect("removed");
    setup.reload();
    setup.accounts.sweep();
    assert!(setup.is_good(&token), "gone");
    assert!(!setup.tokens.path().exists(), "and stays so");

    fs::write(setup.tokens.path(), "").expect("written");
    setup.reload();
    assert!(!setup.is_good(&token), "an empty file is a good one");
}

#[test]
fn changes_by_the_server_itself_are_not_reported() {
    let setup = TestAccounts::new();
    setup.token(Some(DAY));
    setup.reload();
    setup.clock.advance(2 * DAY);
    setup.accounts.sweep();
    assert!(!setup.accounts.reload());
}

#[tokio::test]
async fn claims_change_with_their_files_and_end_no_session() {
    let setup = TestAccounts::new();
    let claims = |text: &str| Claims::of_file(serde_json::json!({"tenant": text})).expect("valid");
    let new = NewToken {
        claims: claims("acme"),
        ..NewToken::default()
    };
    let file = TokenFile::new(setup.path("tokens.yaml"));
    let token = file.add(new, setup.clock.now()).expect("added").token;
    let session = setup.session().await;
    let of = |token: &SecretString| setup.whose(token).expect("valid").claims().clone();
    setup.reload();
    assert_eq!(of(&token), claims("acme"));
    assert_eq!(of(&session), Claims::default());
    setup.gone();
    let text = fs::read_to_string(file.path()).expect("a file");
    fs::write(file.path(), text.replace("acme", "globex")).expect("written");
    let changed = NewClaims::read(["tenant=initech"]).expect("valid");
    setup
        .users
        .update(
            "alice",
            &UserChanges {
                claims: changed,
                ..UserChanges::default()
            },
        )
        .expect("written");
    setup.reload();
    assert_eq!(of(&token), claims("globex"));
    assert_eq!(of(&session), claims("initech"));
    assert_eq!(setup.gone(), [""; 0]);
}
