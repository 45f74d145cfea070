//! Names that are close to one that is wrong.

use strsim::osa_distance;

/// Limit on the names that are suggested for one name.
pub(super) const MAX_SUGGESTED: usize = 3;

/// Returns up to three items with names close to this one, nearest first. Case does not count, and
/// the plural of a name is close to it.
pub(super) fn nearest<T>(
    sought: &str,
    items: impl Iterator<Item = T>,
    name: impl Fn(&T) -> &str,
) -> Vec<T> {
    let lower = sought.to_lowercase();
    let mut near: Vec<_> = items
        .filter_map(|item| distance(&lower, name(&item)).map(|distance| (distance, item)))
        .collect();
    near.sort_by(|(one, a), (two, b)| (one, name(a)).cmp(&(two, name(b))));
    near.truncate(MAX_SUGGESTED);
    near.into_iter().map(|(_, item)| item).collect()
}

/// Returns the number of edits between two names, unless it exceeds a third of the length.
fn distance(lower: &str, name: &str) -> Option<usize> {
    let (length, other) = (lower.chars().count(), name.chars().count());
    let limit = length / 3;
    // A plural may be three characters longer.
    if length.abs_diff(other) > limit.max(3) {
        return None;
    }
    let name = name.to_lowercase();
    if is_plural(lower, &name) || is_plural(&name, lower) {
        return Some(1);
    }
    if length.abs_diff(other) > limit {
        return None;
    }
    Some(osa_distance(lower, &name)).filter(|&distance| distance <= limit)
}

fn is_plural(name: &str, of: &str) -> bool {
    let ends = |end| name.strip_suffix(end);
    ends("s") == Some(of)
        || ends("es") == Some(of)
        || matches!((ends("ies"), of.strip_suffix('y')), (Some(one), Some(two)) if one == two)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_distant_ones_never() {
        let names = [
            "name", "names", "game", "Name", "nme", "nickname", "category", "boxes",
        ];
        let near = |sought| nearest(sought, names.iter().copied(), |name| name);
        assert_eq!(near("nmae"), ["Name", "name", "nme"]);
        assert_eq!(near("NAME"), ["Name", "name", "game"]);
        assert_eq!(near("categories"), ["category"]);
        assert_eq!(near("box"), ["boxes"]);
        assert_eq!(near("total"), [""; 0]);
        assert_eq!(near(""), [""; 0]);
    }
}
