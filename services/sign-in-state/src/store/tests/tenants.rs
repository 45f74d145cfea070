//! Grants of tenants end with the membership of their person.

use super::*;

async fn add(store: &SignInStore, id: u8, person: &str, tenant: &str) {
    let made = Grant {
        tenant: Some(tenant.to_owned()),
        used_at: NOW + Seconds::from(id),
        ..grant(id, person)
    };
    let added = store.add_grant(made, code(id), consent(id)).await;
    assert_eq!(added, Ok(true));
}

async fn grants_of_a_tenant_end(store: SignInStore) {
    for (id, person, tenant) in [(1, "ann", "shop"), (2, "ann", "bank"), (3, "bob", "shop")] {
        add(&store, id, person, tenant).await;
    }
    let left = async |tenant: &str| {
        let grants = store.grants_in(tenant, NOW + 10).await.expect("read");
        grants.iter().map(|it| it.id[0]).collect::<Vec<_>>()
    };
    assert_eq!(left("shop").await, [3, 1]);
    let end = async |person, tenant| {
        let ended = store.end_of(person, tenant, NOW + 10).await;
        ended.expect("written");
    };
    end(Some("ann"), Some("shop")).await;
    assert_eq!(left("shop").await, [3]);
    assert_eq!(left("bank").await, [2], "the person is still there");
    assert!(store.ended().contains([1; 16]));
    assert_eq!(store.ended().list(), [([1; 16], NOW + 10)]);
    end(Some("ann"), None).await;
    assert_eq!(left("bank").await, Vec::<u8>::new());
    end(None, Some("shop")).await;
    assert_eq!(left("shop").await, Vec::<u8>::new());
}

#[tokio::test]
async fn grants_of_a_tenant_end_in_a_file() {
    let (_folder, store) = local().await;
    grants_of_a_tenant_end(store).await;
}

#[tokio::test]
async fn grants_of_a_tenant_end_in_postgresql() {
    let (_fixture, _tasks, store) = replicated().await;
    grants_of_a_tenant_end(store).await;
}
