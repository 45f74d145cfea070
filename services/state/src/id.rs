//! Ids of conversations and of items of the library.

use jiff::Timestamp;
use rand::{
    TryRng as _,
    rngs::{SysError, SysRng},
};

/// Makes a unique id: a kind, `_` and 32 hexadecimal digits. The first twelve are the time in
/// milliseconds, so that new ids are added at the end of an index.
pub(super) fn new_id(kind: &str, now: Timestamp) -> Result<String, SysError> {
    let mut random = [0; 16];
    SysRng.try_fill_bytes(&mut random[6..])?;
    let random = u128::from_be_bytes(random);
    Ok(format!("{kind}_{:012x}{random:020x}", now.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_digits_behind_a_prefix_in_the_order_of_time_and_never_the_same() {
        let early: Timestamp = "2026-11-21T10:00:00Z".parse().expect("a date");
        let late = "2026-11-21T10:00:00.001Z".parse().expect("a date");
        let before = new_id("conv", early).expect("random bytes");
        let mut seen = HashSet::new();
        for _ in 0..100 {
            let id = new_id("conv", late).expect("random bytes");
            let digits = id.strip_prefix("conv_").expect("the prefix");
            assert_eq!(digits.len(), 32, "{id}");
            assert!(digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
            assert!(before < id);
            assert!(seen.insert(id), "twice the same");
        }
    }
}
