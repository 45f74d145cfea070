//! Tokens that break a rule.

use std::{env, fs::OpenOptions, io::Write as _};

use jsonwebtoken::{DecodingKey, Validation, jwk::Jwk};

use super::{signer::encode, *};

type Change = Box<dyn Fn(&mut Value)>;

/// A change of the header or the claims of a valid token, with a name for messages.
fn insert(name: &'static str, value: &Value) -> (String, Change) {
    let value = value.clone();
    let shown = format!("{name}: {value}");
    (shown, Box::new(move |object| object[name] = value.clone()))
}

fn remove(name: &'static str) -> (String, Change) {
    let shown = format!("no {name}");
    (
        shown,
        Box::new(move |object| drop(object.as_object_mut().map(|it| it.remove(name)))),
    )
}

/// Changes of the header that each make a token invalid.
fn bad_headers(own: Algorithm) -> Vec<(String, Change)> {
    let mut bad: Vec<_> = [
        "none", "None", "", "HS256", "HS384", "HS512", "RS512", "ES256K", "PS512",
    ]
    .map(|name| insert("alg", &json!(name)))
    .into();
    let others = Algorithm::ALL.into_iter().filter(|other| *other != own);
    bad.extend(others.map(|other| insert("alg", &json!(other.name()))));
    let lower = own.name().to_ascii_lowercase();
    bad.extend([lower, format!("{} ", own.name())].map(|name| insert("alg", &json!(name))));
    bad.extend([json!(null), json!(["RS256"]), json!(1)].map(|value| insert("alg", &value)));
    let types = [
        json!("JWT"),
        json!("dpop+jwt"),
        json!("at+jwt "),
        json!("application/"),
        json!(""),
    ];
    bad.extend(types.map(|value| insert("typ", &value)));
    bad.extend([json!(null), json!(["at+jwt"]), json!(7)].map(|value| insert("typ", &value)));
    let extensions = [json!(["exp"]), json!(["b64"]), json!([]), json!(null)];
    bad.extend(extensions.map(|value| insert("crit", &value)));
    let names = [
        json!("unknown"),
        json!(""),
        json!(7),
        json!(null),
        json!(["a"]),
    ];
    bad.extend(names.map(|value| insert("kid", &value)));
    bad.extend([remove("alg"), remove("typ")]);
    bad
}

/// Changes of the claims that each make a token invalid.
fn bad_claims() -> Vec<(String, Change)> {
    let mut bad = Vec::new();
    let names = ["iss", "aud", "exp", "sub", "client_id"];
    bad.extend(names.map(remove));
    bad.extend(names.map(|name| insert(name, &json!(null))));
    bad.extend(["nbf", "iat", "jti", "grant_id", "scope"].map(|name| insert(name, &json!(null))));
    let issuers = [
        "",
        "https://accounts.example/",
        "https://Accounts.example",
        "accounts.example",
    ];
    bad.extend(issuers.map(|issuer| insert("iss", &json!(issuer))));
    bad.push(insert("iss", &json!([ISSUER])));
    let audiences = [
        json!("https://other.example"),
        json!("https://api.example/"),
        json!("https://api.example https://other.example"),
        json!([]),
        json!([["https://api.example"]]),
        json!(["https://api.example", 7]),
        json!({"0": "https://api.example"}),
    ];
    bad.extend(audiences.map(|audience| insert("aud", &audience)));
    let late = [
        json!(NOW),
        json!(NOW - 1),
        json!(0),
        json!(-1),
        json!(1_790_000_060.5),
    ];
    bad.extend(late.map(|date| insert("exp", &date)));
    let no_dates = [
        json!("1790000060"),
        json!(true),
        json!([NOW + 60]),
        json!(1e300),
    ];
    bad.extend(no_dates.map(|date| insert("exp", &date)));
    for name in ["nbf", "iat"] {
        let early = [
            json!(NOW + 61),
            json!(u64::MAX),
            json!(1.5),
            json!("0"),
            json!(-1),
        ];
        bad.extend(early.map(|date| insert(name, &date)));
    }
    bad.extend([json!(""), json!(7), json!(["alice"])].map(|value| insert("sub", &value)));
    bad.extend([json!(7), json!(["console"])].map(|value| insert("client_id", &value)));
    bad.extend([json!(["read"]), json!(7), json!({})].map(|value| insert("scope", &value)));
    bad
}

/// Documents that say one thing twice, or are no objects.
fn bad_documents(document: &Value) -> Vec<String> {
    let text = document.to_string();
    let members = document.as_object().expect("an object");
    let mut bad: Vec<String> = members
        .iter()
        .map(|(name, value)| format!(r#"{{"{name}":{value},{}"#, &text[1..]))
        .collect();
    bad.extend(members.iter().map(|(name, value)| {
        let escaped = format!("\\u{:04x}{}", name.as_bytes()[0], &name[1..]);
        format!(r#"{},"{escaped}":{value}}}"#, &text[..text.len() - 1])
    }));
    bad.extend(["", "{}", "[]", "null", "7", "\"a\"", "{"].map(str::to_owned));
    bad.extend([
        format!("{text}{text}"),
        format!("{text},"),
        format!("[{text}]"),
    ]);
    bad
}

/// Damaged signatures and frames of a valid token.
fn damaged(token: &str, signer: &Signer) -> Vec<String> {
    let parts: Vec<&str> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else {
        panic!("three parts");
    };
    let length = (signer.sign)(b"").len();
    let mut bad = vec![
        format!("{header}.{claims}."),
        format!("{header}.{claims}"),
        format!("{header}.{claims}.{signature}."),
        format!(".{header}.{claims}.{signature}"),
        format!("{header}.{claims}.{signature}.{signature}"),
        format!("{header}.{claims}.{signature}=="),
        format!("{header}.{claims}.{signature}A"),
        format!("{header}.{claims}.{}", encode(vec![0; length])),
        format!("{header}.{claims}.{}", encode(vec![0xff; length])),
        format!("{header}.{claims}.{}", encode(vec![1; length - 1])),
        format!(
            "{header}.{claims}.{}",
            encode([(signer.sign)(b"other"), vec![0]].concat())
        ),
        format!("{header}.{claims}.{}", encode((signer.sign)(b"other"))),
        format!("{claims}.{header}.{signature}"),
        format!("..{signature}"),
        "..".to_owned(),
        ".".to_owned(),
        String::new(),
        format!(" {token}"),
        format!("{token}\n"),
        token.to_uppercase(),
    ];
    // One character of each part.
    bad.extend((0..token.len()).step_by(7).filter_map(|at| {
        let replaced = if token.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        let changed = format!("{}{replaced}{}", &token[..at], &token[at + 1..]);
        // The last character of a part may have bits that are not used.
        (token.as_bytes()[at] != b'.').then_some(changed)
    }));
    bad
}

fn forged(signer: &Signer) -> Vec<(String, String)> {
    let mut forged = Vec::new();
    let headers = bad_headers(signer.algorithm);
    for (n, (name, change)) in headers.iter().enumerate() {
        let token = signer.token(|header, _| change(header));
        forged.push((name.clone(), token));
        for (second_name, second) in &headers[..n] {
            let token = signer.token(|header, _| {
                change(header);
                second(header);
            });
            forged.push((format!("{name}, {second_name}"), token));
        }
    }
    for (name, change) in bad_claims() {
        forged.push((name, signer.token(|_, claims| change(claims))));
    }
    let (header, claims) = (signer.header(), claims());
    for document in bad_documents(&header) {
        let token = signer.sign(&document, &claims.to_string());
        forged.push((format!("header {document}"), token));
    }
    for document in bad_documents(&claims) {
        let token = signer.sign(&header.to_string(), &document);
        forged.push((format!("claims {document}"), token));
    }
    let damaged = damaged(&signer.plain(), signer);
    forged.extend(
        damaged
            .into_iter()
            .map(|token| (format!("damaged {token}"), token)),
    );
    forged
}

/// Tokens that bring the key they are signed with.
fn with_own_key(signer: &Signer) -> Vec<(String, String)> {
    let own = Signer::new(signer.algorithm, "a");
    let keys = [
        ("jwk", own.jwk.clone()),
        ("jku", json!("https://evil.example/keys")),
        ("x5u", json!("https://evil.example/certificate")),
        ("x5c", json!(["AAAA"])),
    ];
    keys.map(|(name, value)| {
        let token = own.token(|header, _| header[name] = value);
        (name.to_owned(), token)
    })
    .into()
}

#[test]
fn no_forged_token_is_accepted() {
    for algorithm in Algorithm::ALL {
        let signer = Signer::new(algorithm, "a");
        let world = World::new(&[&signer], same);
        let mut forged = forged(&signer);
        forged.extend(with_own_key(&signer));
        assert!(forged.len() >= 400, "{} tokens", forged.len());
        for (name, token) in forged {
            let verdict = world.tokens.check(&token);
            assert!(
                !matches!(verdict, Some(Ok(_))),
                "{}: {name}",
                algorithm.name()
            );
        }
        assert!(
            world.verdict(&signer.plain()).is_ok(),
            "the unchanged one is accepted"
        );
    }
}

#[test]
fn a_key_in_the_header_is_ignored_in_a_good_token_too() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[&signer], same);
    for name in ["jwk", "jku", "x5u", "x5c", "x5t", "cty", "nonce"] {
        let token = signer.token(|header, _| header[name] = json!("https://evil.example"));
        assert!(world.verdict(&token).is_ok(), "{name}");
    }
}

#[test]
fn a_public_key_is_not_the_secret_of_an_hmac() {
    // The attack of CVE-2015-9235: the verifier's RSA key used as an HMAC secret.
    let signer = Signer::new(Algorithm::Rs256, "a");
    let world = World::new(&[&signer], same);
    let secret = signer.jwk["n"].as_str().expect("a text").as_bytes();
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret);
    let token = signer.token(|header, _| header["alg"] = json!("HS256"));
    let (text, _) = token.rsplit_once('.').expect("three parts");
    let mac = aws_lc_rs::hmac::sign(&key, text.as_bytes());
    let forged = format!("{text}.{}", encode(mac));
    assert_eq!(world.verdict(&forged), Err(Denied::Invalid));
}

/// Returns whether another implementation accepts the token, with a validation set up like ours.
fn jsonwebtoken_accepts(signer: &Signer, token: &str) -> bool {
    let algorithm = signer.algorithm.name().parse().expect("a known algorithm");
    let mut validation = Validation::new(algorithm);
    validation.set_issuer(&[ISSUER]);
    validation.set_audience(&[AUDIENCE]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    // The tests have a clock of their own.
    validation.validate_exp = false;
    let jwk: Jwk = serde_json::from_value(signer.jwk.clone()).expect("a key");
    let key = DecodingKey::from_jwk(&jwk).expect("a public key");
    jsonwebtoken::decode::<Value>(token, &key, &validation).is_ok()
}

/// Appends the accepted tokens to the file named by `ZIGGURAT_ACCEPTED_TOKENS`, if it is set, for
/// implementations in other languages: `tests/interop/tokens.py`.
fn hand_on(signer: &Signer, accepted: &[String]) {
    if let Some(file) = env::var_os("ZIGGURAT_ACCEPTED_TOKENS") {
        let line = json!({
            "algorithm": signer.algorithm.name(),
            "key": signer.jwk,
            "issuer": ISSUER,
            "audience": AUDIENCE,
            "tokens": accepted,
        });
        let file = OpenOptions::new().create(true).append(true).open(file);
        writeln!(file.expect("a path"), "{line}").expect("written");
    }
}

#[test]
fn another_implementation_accepts_every_token_that_this_one_accepts() {
    for algorithm in Algorithm::ALL {
        let signer = Signer::new(algorithm, "a");
        let world = World::new(&[&signer], same);
        let mut tokens = forged(&signer);
        tokens.extend((0..50).map(|n| {
            let token = signer.token(|_, claims| claims["sub"] = json!(format!("user {n}")));
            (format!("good {n}"), token)
        }));
        let mut accepted = Vec::new();
        for (name, token) in tokens {
            if let Some(Ok(_)) = world.tokens.check(&token) {
                let theirs = jsonwebtoken_accepts(&signer, &token);
                assert!(theirs, "{}: {name}", algorithm.name());
                accepted.push(token);
            }
        }
        assert_eq!(accepted.len(), 50, "{}", algorithm.name());
        hand_on(&signer, &accepted);
    }
}
