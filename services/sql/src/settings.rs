//! Settings a caller with read-only access may change for its session.

use crate::spelling;

/// Settings that are harmless to change: the format of values, the search path, the planning of
/// queries and the cost of an index search.
///
/// Not listed, among others, are settings that change how a text is read
/// (`standard_conforming_strings`, `client_encoding`), the role, limits on resources (`work_mem`,
/// `temp_file_limit`, the timeouts), and settings that only a superuser can change. A star stands
/// for any end of a name.
const SETTABLE: &[&str] = &[
    "bytea_output",
    "constraint_exclusion",
    "cpu_*",
    "cursor_tuple_fraction",
    "datestyle",
    "default_text_search_config",
    "effective_cache_size",
    "enable_*",
    "extra_float_digits",
    "from_collapse_limit",
    "geqo*",
    "gin_fuzzy_search_limit",
    "intervalstyle",
    "jit",
    "jit_above_cost",
    "jit_inline_above_cost",
    "jit_optimize_above_cost",
    "join_collapse_limit",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "lock_timeout",
    "parallel_setup_cost",
    "parallel_tuple_cost",
    "plan_cache_mode",
    "quote_all_identifiers",
    "random_page_cost",
    "recursive_worktable_factor",
    "row_security",
    "search_path",
    "seq_page_cost",
    "timezone",
    "xmlbinary",
    "xmloption",
    // Not settings, but statements that begin in the same way.
    "constraints",
    "schema",
    "time",
    "transaction",
    "xml",
];

/// Prefixes of extensions that audit or restrict statements. Any other setting with a dot in its
/// name may be set, such as a setting of pgvector or a variable of the caller.
const AUDIT_PREFIXES: &[&str] = &[
    "auto_explain",
    "pg_stat_statements",
    "pgaudit",
    "plpgsql",
    "set_user",
    "supautils",
];

/// Follows a SET or RESET up to the name of the setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Setting {
    /// The statement is no SET or RESET.
    #[default]
    None,
    /// SET was read, and perhaps SESSION or LOCAL.
    Awaited,
    /// A name was read; it names an extension if a dot follows.
    Named { is_settable: bool, may_own: bool },
    /// The name is complete; the rest is the value.
    Settled,
}

// === impl Setting ===

impl Setting {
    /// Reads a name. A quoted name means the same setting, but is never a keyword.
    pub(super) fn name(&mut self, name: &str, is_quoted: bool) -> bool {
        match self {
            Self::Awaited => {
                let is_scope = ["SESSION", "LOCAL"]
                    .iter()
                    .any(|scope| name.eq_ignore_ascii_case(scope));
                if !is_scope || is_quoted {
                    let name = spelling::folded(name);
                    *self = Self::Named {
                        is_settable: fits(&name, SETTABLE),
                        may_own: !fits(&name, AUDIT_PREFIXES),
                    };
                }
                true
            }
            _ => self.end(),
        }
    }

    /// Reads a symbol. Returns whether the setting may be changed, as far as it is known.
    pub(super) fn symbol(&mut self, symbol: u8) -> bool {
        match *self {
            Self::Named { may_own, .. } if symbol == b'.' => {
                *self = Self::Settled;
                may_own
            }
            _ => self.end(),
        }
    }

    /// Reads a token that can only follow a complete name.
    pub(super) fn end(&mut self) -> bool {
        match *self {
            Self::Named { is_settable, .. } => {
                *self = Self::Settled;
                is_settable
            }
            _ => true,
        }
    }
}

fn fits(name: &str, list: &[&str]) -> bool {
    list.iter().any(|entry| match entry.strip_suffix('*') {
        Some(start) => name
            .get(..start.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(start)),
        None => name.eq_ignore_ascii_case(entry),
    })
}
