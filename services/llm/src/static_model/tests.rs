use std::{collections::BTreeMap, fs};

use serde::Deserialize;

use super::*;
use crate::Embedder;

/// Small models, and the vectors that the Python library has for texts; `make.py` in the folder
/// makes them.
const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/static_models");

#[derive(Deserialize)]
struct Reference {
    texts: Vec<String>,
    vectors: BTreeMap<String, Vec<Vec<f32>>>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(MODELS).join(name)
}

/// Copies a model, so that a test can break it.
fn copied(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::copy(folder(name).join(file), copy.path().join(file)).expect("copied");
    }
    copy
}

/// Returns a file of tensors, each with its name, its type, its shape and its bytes.
fn tensors(list: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, dtype, shape, bytes) in list {
        let from = data.len();
        data.extend_from_slice(bytes);
        let tensor = serde_json::json!({
            "dtype": dtype, "shape": shape, "data_offsets": [from, data.len()],
        });
        header.insert((*name).to_owned(), tensor);
    }
    let header = serde_json::to_vec(&header).expect("JSON");
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(data);
    file
}

#[test]
fn vectors_are_those_of_the_original_library() {
    let text = fs::read_to_string(folder("vectors.json")).expect("a file");
    let reference: Reference = serde_json::from_str(&text).expect("vectors");
    assert_eq!(reference.vectors.len(), 4);
    for (name, vectors) in &reference.vectors {
        let model = StaticModel::load(&folder(name)).expect(name);
        assert_eq!((model.name(), model.dimensions()), (&**name, 16));
        for (text, expected) in reference.texts.iter().zip(vectors) {
            let shown: String = text.chars().take(40).collect();
            let vector = model.embed(text).expect("a vector");
            for (one, other) in vector.iter().zip(expected) {
                let difference = (one - other).abs();
                assert!(
                    difference < 1e-5,
                    "{name}, {shown:?}: {vector:?} {expected:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_embedder_makes_one_vector_and_many_and_knows_their_dimensions_before() {
    let model = StaticModel::load(&folder("float32")).expect("a model");
    let embedder = Embedder::of_static_model(model).with_input_type(Some("document"));
    assert_eq!(
        (embedder.provider(), embedder.model()),
        ("static", "float32")
    );
    assert_eq!(embedder.dimensions(), Some(16));
    assert!(!embedder.is_local() && embedder.http().is_none());
    let long = "Wool is washed by hand. ".repeat(1000);
    let texts = ["Ferns like shade.", &*long, ""];
    let vectors = embedder.embed_all(&texts, 2).await.expect("vectors");
    for (text, vector) in texts.iter().zip(vectors) {
        let one = embedder.embed(text).await.expect("a vector");
        assert_eq!(one.vector, vector, "{text}");
    }
}

#[test]
fn a_folder_is_read_once_while_its_model_is_in_use() {
    let models = StaticModels::default();
    let one = models.load(&folder("int8")).expect("a model");
    let other = models.load(&folder("int8")).expect("a model");
    assert!(Arc::ptr_eq(&one.0, &other.0));
    drop((one, other));
    let again = models.load(&folder("int8")).expect("a model");
    assert_eq!(Arc::strong_count(&again.0), 1);
}

/// Loads a copy of a model in which a file is removed or replaced, and returns the error.
#[track_caller]
fn refused(file: &str, content: Option<Vec<u8>>) -> String {
    let copy = copied("float32");
    let path = copy.path().join(file);
    match content {
        Some(content) => fs::write(&path, content).expect("written"),
        None => fs::remove_file(&path).expect("removed"),
    }
    let error = StaticModel::load(copy.path()).expect_err(file).to_string();
    assert!(error.contains(path.to_str().expect("UTF-8")), "{error}");
    error
}

#[test]
fn a_folder_that_is_no_model_is_refused_with_its_file_and_the_reason() {
    let unknown = br#"{"model": {"type": "none"}}"#;
    let cases: [(&str, Option<&[u8]>, &str); 7] = [
        ("config.json", None, "it cannot be read"),
        ("config.json", Some(b"["), "EOF while"),
        ("tokenizer.json", Some(b"{}"), "missing field `model`"),
        ("tokenizer.json", Some(unknown), "tokenizer.json: "),
        ("model.safetensors", None, "it cannot be read"),
        ("model.safetensors", Some(b""), "model.safetensors: "),
        (
            "model.safetensors",
            Some(&[0xff; 64]),
            "model.safetensors: ",
        ),
    ];
    for (file, content, expected) in cases {
        let error = refused(file, content.map(<[u8]>::to_vec));
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn tensors_that_are_no_vectors_for_the_tokens_are_refused() {
    let one = 1.0_f32.to_le_bytes();
    let rows = |rows: usize| one.repeat(rows * 16);
    let nan = f32::NAN.to_le_bytes().repeat(214);
    let mapping = 2_i64.to_le_bytes().repeat(214);
    for (file, expected) in [
        (
            tensors(&[("vectors", "F32", &[214, 16], rows(214))]),
            "there is no tensor \"embeddings\"",
        ),
        (
            tensors(&[("embeddings", "F32", &[3, 16], rows(3))]),
            "vectors for 3 tokens and weights for 214, and tokenizer.json has 214 tokens",
        ),
        (
            tensors(&[("embeddings", "BF16", &[2], one.to_vec())]),
            "has the type BF16; F32, F16 and I8 are read",
        ),
        (
            tensors(&[("embeddings", "F32", &[214 * 16], rows(214))]),
            "is no table",
        ),
        (
            tensors(&[("embeddings", "F32", &[214, 1], nan)]),
            "the vector 0 has a number that is not finite",
        ),
        (
            tensors(&[
                ("embeddings", "F32", &[2, 16], rows(2)),
                ("mapping", "I64", &[214], mapping),
            ]),
            "a token has the vector 2 of only 2",
        ),
    ] {
        let error = refused("model.safetensors", Some(file));
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let copy = copied("float32");
    let path = copy.path().join("config.json");
    let file = File::create(&path).expect("a file");
    file.set_len(MAX_CONFIG + 1).expect("a sparse file");
    let error = StaticModel::load(copy.path())
        .expect_err("too large")
        .to_string();
    assert!(error.contains("it is larger than 1048576 bytes"), "{error}");
}

#[test]
fn the_median_is_that_of_the_original_library() {
    for (lengths, expected) in [
        (vec![], 1),
        (vec![3, 1, 9], 3),
        (vec![1, 4, 2, 5], 3),
        (vec![2, 5], 3),
    ] {
        assert_eq!(median(lengths.clone()), expected, "{lengths:?}");
    }
}
