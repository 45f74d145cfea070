//! Settings a caller with read-only access may change for its session.

use super::spelling;

/// What a caller can change without harm: how values look, where names are looked up, how a
/// query is planned and what an index search costs.
///
/// Not here, among others: what decides how a text is read (`standard_conforming_strings`,
/// `client_encoding`), who one is (`role`), what one may take (`work_mem`, `temp_file_limit`,
/// the timeouts), and what only a superuser can set. A star stands for any end of a name.
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

/// Settings of extensions that watch what is done. Any other with a dot in its name may be set:
/// pgvector's, or a variable of the caller's own.
const WATCHING: &[&str] = &[
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
    /// The statement is none.
    #[default]
    None,
    /// SET was read, and perhaps SESSION or LOCAL.
    Awaited,
    /// The name of an extension, if a dot follows.
    Named { is_settable: bool, may_own: bool },
    /// Whatever follows is the value.
    Settled,
}

// === impl Setting ===

impl Setting {
    /// Takes a name. Quotes do not change which setting it is, but then it is no keyword.
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
                        may_own: !fits(&name, WATCHING),
                    };
                }
                true
            }
            _ => self.end(),
        }
    }

    /// Takes anything that is no name. Says whether the setting may be changed, as far as it is
    /// known.
    pub(super) fn symbol(&mut self, symbol: u8) -> bool {
        match *self {
            Self::Named { may_own, .. } if symbol == b'.' => {
                *self = Self::Settled;
                may_own
            }
            _ => self.end(),
        }
    }

    /// Takes what can only follow a whole name.
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
