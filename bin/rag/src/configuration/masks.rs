//! Masked columns of a pipeline.

use ziggurat_callers::{Masks, mask_key};
use ziggurat_masking::Key;
use ziggurat_postgres::database::{Enforcement, Masking};
use ziggurat_runtime::config::Section;

/// Reads the key of hashes from its file.
pub(super) fn key(masking: &Section<'_>) -> Option<Key> {
    mask_key(&masking.key("key_file"))
}

/// Reads the list of a pipeline. Without the key no column is masked; an empty list is a problem,
/// because it might have been meant for some.
pub(super) fn read(pipeline: &Section<'_>, key: Option<&Key>) -> Option<Masks> {
    let list = pipeline.key("masks");
    let columns = list.list().unwrap_or_default();
    if !pipeline.names_key("masks") {
        return None;
    }
    list.check(!columns.is_empty(), "names no column");
    // An asker sends no text of a statement, so none has to be judged.
    Some(Masks::read(columns, key, |rules, _| {
        Masking::new(Enforcement::Origin, rules, Vec::new())
    }))
}
