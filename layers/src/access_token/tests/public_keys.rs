//! Keys of signers that are no issuers.

use serde_json::json;

use super::signer::Signer;
use crate::access_token::{Algorithm, PublicKeys, Unproved};

#[test]
fn an_assertion_is_proved_by_a_published_key_of_its_type_alone() {
    for algorithm in Algorithm::ALL {
        let (signer, stranger) = (Signer::new(algorithm, "1"), Signer::new(algorithm, "1"));
        let set = json!({"keys": [signer.jwk]}).to_string();
        let keys = PublicKeys::parse(set.as_bytes(), &[algorithm]).expect("a key");
        let token = |signer: &Signer, typ: &str, kid: &str| {
            let header = json!({"alg": algorithm.name(), "kid": kid, "typ": typ}).to_string();
            signer.sign(&header, "{}")
        };
        let types = ["JWT", "client-authentication+jwt"];
        let own = token(&signer, "client-authentication+jwt", "1");
        assert_eq!(keys.payload(&own, &types), Ok(b"{}".to_vec()));
        for (refused, expected) in [
            (token(&signer, "at+jwt", "1"), Unproved::Invalid),
            (token(&stranger, "JWT", "1"), Unproved::Invalid),
            (token(&signer, "JWT", "2"), Unproved::UnknownKey),
        ] {
            assert_eq!(
                keys.payload(&refused, &types),
                Err(expected),
                "{algorithm:?}"
            );
        }
    }
}
