//! The names in a statement: the names of its tables, and the name at a position.

use std::cmp::Reverse;

use ziggurat_postgres::{
    metadata::{Metadata, Table},
    name::{is_reserved, written},
};
use ziggurat_sql::{Lexer, Token};

/// Limit on the tokens that are read.
const MAX_TOKENS: usize = 20_000;

/// Limit on the sources that a name is compared with.
const MAX_VISIBLE: usize = 50;

/// A source with its table.
pub(super) type Known<'a> = (&'a Source, Table<'a>);

/// First words of queries.
const QUERIES: &[&str] = &["SELECT", "WITH", "VALUES", "TABLE"];

/// Names in a statement, found by its words and parentheses.
pub(super) struct Scope<'a> {
    pieces: Vec<Piece<'a>>,
    /// For each pair of parentheses the one around it, and the token that closes it. The first
    /// stands for the whole statement.
    groups: Vec<(usize, usize)>,
    sources: Vec<Source>,
    /// Names of WITH queries.
    queries: Vec<String>,
}

struct Piece<'a> {
    token: Token<'a>,
    /// Position of its end, in bytes.
    end: usize,
    group: usize,
}

/// Table, subquery or function that a statement reads from or writes to.
pub(super) struct Source {
    /// Number of its first token.
    index: usize,
    group: usize,
    schema: Option<String>,
    pub(super) name: String,
    pub(super) alias: Option<String>,
    may_be_table: bool,
}

// === impl Scope ===

impl<'a> Scope<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let mut scope = Self {
            pieces: Vec::new(),
            groups: vec![(0, usize::MAX)],
            sources: Vec::new(),
            queries: Vec::new(),
        };
        let mut lexer = Lexer::new(text);
        let mut group = 0;
        while let Some(token) = lexer.next().filter(|_| scope.pieces.len() < MAX_TOKENS) {
            if token == Token::Symbol(b'(') {
                scope.groups.push((group, usize::MAX));
                group = scope.groups.len() - 1;
            }
            let index = scope.pieces.len();
            scope.pieces.push(Piece {
                token,
                end: lexer.position(),
                group,
            });
            if token == Token::Symbol(b')') && group > 0 {
                scope.groups[group].1 = index;
                group = scope.groups[group].0;
            }
        }
        for index in 0..scope.pieces.len() {
            scope.find_query(index);
            scope.find_sources(index);
        }
        scope
    }

    /// Returns the number of the token at a position in bytes.
    pub(super) fn index_at(&self, at: usize) -> usize {
        self.pieces.partition_point(|piece| piece.end <= at)
    }

    pub(super) fn token(&self, index: usize) -> Option<Token<'a>> {
        self.pieces.get(index).map(|piece| piece.token)
    }

    /// Returns whether a token is one of these words.
    pub(super) fn is_word(&self, index: usize, any_of: &[&str]) -> bool {
        matches!(self.token(index), Some(Token::Word(word))
            if any_of.iter().any(|known| word.eq_ignore_ascii_case(known)))
    }

    pub(super) fn is_symbol(&self, index: usize, symbol: u8) -> bool {
        self.token(index) == Some(Token::Symbol(symbol))
    }

    /// Returns the number of tokens.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns whether the call with this parenthesis calls a window function.
    pub(super) fn is_window(&self, index: usize) -> bool {
        self.is_word(self.after_group(index), &["OVER"])
    }

    pub(super) fn has(&self, token: Token<'_>) -> bool {
        self.pieces.iter().any(|piece| piece.token == token)
    }

    /// Returns whether parentheses are open at the end.
    pub(super) fn is_open(&self) -> bool {
        self.groups[1..].iter().any(|group| group.1 == usize::MAX)
    }

    /// Returns the name that a token means, as PostgreSQL reads it.
    pub(super) fn name(&self, index: usize) -> Option<String> {
        match self.token(index)? {
            Token::Word(word) => Some(word.to_ascii_lowercase()),
            Token::Quoted(name) | Token::Escaped(name) => Some(name.replace("\"\"", "\"")),
            _ => None,
        }
    }

    pub(super) fn is_quoted(&self, index: usize) -> bool {
        matches!(self.token(index), Some(Token::Quoted(_)))
    }

    /// Returns the parts of the name that begins here: `schema.table.column`.
    pub(super) fn names(&self, index: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut next = index;
        while let Some(name) = self.name(next).filter(|_| names.len() < 4) {
            names.push(name);
            if !self.is_symbol(next + 1, b'.') {
                break;
            }
            next += 2;
        }
        names
    }

    /// Returns the words of its tokens in upper case, those before `index` last to first, which
    /// stand in the same parentheses.
    pub(super) fn words_before(&self, index: usize) -> impl Iterator<Item = String> {
        let group = self.group(index);
        let before = self.pieces.get(..index).unwrap_or_default();
        let before = before.iter().rev().filter(move |p| p.group == group);
        before.filter_map(|piece| match piece.token {
            Token::Word(word) => Some(word.to_ascii_uppercase()),
            _ => None,
        })
    }

    /// Returns whether a query around this token gives a result this name: `… AS name`.
    pub(super) fn is_output(&self, name: &str, index: usize) -> bool {
        (1..self.pieces.len()).any(|at| {
            self.is_word(at - 1, &["AS"])
                && self.name(at).as_deref() == Some(name)
                && self.encloses(self.group(at), self.group(index))
        })
    }

    /// Returns whether a token means this name.
    pub(super) fn mentions(&self, name: &str) -> bool {
        (0..self.pieces.len()).any(|index| self.name(index).as_deref() == Some(name))
    }

    /// Returns the sources that a name at this token may refer to, the innermost ones first.
    pub(super) fn visible(&self, index: usize) -> Vec<&Source> {
        let own = self.group(index);
        let visible = self.sources.iter();
        let visible = visible.filter(|source| self.encloses(source.group, own));
        let mut visible: Vec<_> = visible.collect();
        // Groups are numbered from the outside to the inside.
        visible.sort_by_key(|source| Reverse(source.group));
        visible.truncate(MAX_VISIBLE);
        visible
    }

    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the names of its WITH queries.
    pub(super) fn queries(&self) -> impl Iterator<Item = &str> {
        self.queries.iter().map(String::as_str)
    }

    /// Returns whether a source begins at this token.
    pub(super) fn is_source(&self, index: usize) -> bool {
        self.sources.iter().any(|source| source.index == index)
    }

    /// Returns the sources that are tables, each with its table.
    pub(super) fn known<'m>(
        &self,
        sources: &[&'m Source],
        metadata: &'m Metadata,
    ) -> Vec<Known<'m>> {
        let known = |source: &&'m Source| Some((*source, self.table(source, metadata)?));
        sources.iter().filter_map(known).collect()
    }

    fn table<'m>(&self, source: &Source, metadata: &'m Metadata) -> Option<Table<'m>> {
        let name = &source.name;
        match &source.schema {
            _ if !source.may_be_table => None,
            Some(schema) => metadata.table(schema, name),
            None if self.queries.contains(name) => None,
            None => {
                let is_named = |table: &Table<'_>| table.name() == name;
                let any = || metadata.tables().find(is_named);
                metadata.table("public", name).or_else(any)
            }
        }
    }

    /// Returns whether parentheses are the same as others, or around them.
    fn encloses(&self, outer: usize, mut inner: usize) -> bool {
        while inner != outer && inner > 0 {
            inner = self.groups[inner].0;
        }
        inner == outer
    }

    fn group(&self, index: usize) -> usize {
        self.pieces.get(index).map_or(0, |piece| piece.group)
    }

    /// Returns the token after the parenthesis that closes the one at `index`.
    fn after_group(&self, index: usize) -> usize {
        self.groups[self.group(index)].1.saturating_add(1)
    }

    /// Notes the name of a WITH query before this AS.
    fn find_query(&mut self, index: usize) {
        let mut next = index + 1;
        while self.is_word(next, &["NOT", "MATERIALIZED"]) {
            next += 1;
        }
        if index == 0 || !self.is_word(index, &["AS"]) || !self.is_symbol(next, b'(') {
            return;
        }
        let mut name = index - 1;
        if self.is_symbol(name, b')') {
            // Behind the names of its columns.
            let group = self.group(name);
            let opening = self.pieces[..name]
                .iter()
                .rposition(|piece| piece.group == group && piece.token == Token::Symbol(b'('));
            name = opening.unwrap_or_default().saturating_sub(1);
        }
        self.queries.extend(self.name(name));
    }

    /// Notes the sources behind this word.
    fn find_sources(&mut self, index: usize) {
        let is_list = self.is_word(index, &["FROM", "USING"]);
        let is_one = self.is_word(index, &["JOIN", "INTO", "UPDATE", "TABLE"]);
        let is_comparison = index > 0 && self.is_word(index - 1, &["DISTINCT"]);
        if !(is_list || is_one) || is_comparison {
            return;
        }
        let mut next = index + 1;
        let is_query = self.is_word(index + 2, QUERIES);
        if self.is_word(index, &["USING"]) && self.is_symbol(next, b'(') && !is_query {
            // The columns of a join.
            return;
        }
        let is_target = self.is_word(index, &["INTO"]);
        while let Some((source, end)) = self.source(next, is_target) {
            self.sources.push(source);
            if !is_list || !self.is_symbol(end, b',') {
                break;
            }
            next = end + 1;
        }
    }

    /// Reads a source, and returns the token behind it. The target of an INSERT may have columns in
    /// parentheses, and is no function.
    fn source(&self, mut index: usize, is_target: bool) -> Option<(Source, usize)> {
        while self.is_word(index, &["ONLY", "LATERAL"]) {
            index += 1;
        }
        let first = index;
        let is_group = self.is_symbol(index, b'(');
        let is_query = self.is_word(index + 1, QUERIES);
        if is_group && !is_query && self.name(index + 1).is_some() {
            // Joins in parentheses; their names are known outside of them.
            index += 1;
        }
        let mut names = self.names(index);
        let mut end = match names.len() {
            0 if !is_group => return None,
            0 => index,
            parts => index + 2 * parts - 1,
        };
        // A call, or a subquery.
        let is_call = self.is_symbol(end, b'(') && !is_target;
        if is_call {
            end = self.after_group(end);
        }
        let (alias, end) = self.alias(end);
        let source = Source {
            index,
            group: if is_group {
                self.groups[self.group(first)].0
            } else {
                self.group(index)
            },
            may_be_table: !(is_call || names.is_empty()),
            name: names.pop().unwrap_or_default(),
            schema: names.pop(),
            alias,
        };
        Some((source, end))
    }

    fn alias(&self, index: usize) -> (Option<String>, usize) {
        let has_as = self.is_word(index, &["AS"]);
        let at = index + usize::from(has_as);
        let is_keyword =
            |name: &str| is_reserved(name) || ["set", "values", "overriding"].contains(&name);
        match self.name(at) {
            Some(name) if self.is_quoted(at) || !is_keyword(&name) => {
                let has_columns = self.is_symbol(at + 1, b'(');
                let end = if has_columns {
                    self.after_group(at + 1)
                } else {
                    at + 1
                };
                (Some(name), end)
            }
            _ => (None, index),
        }
    }
}

// === impl Source ===

impl Source {
    /// Returns the name that stands before its columns.
    pub(super) fn label(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }

    /// Returns one of its columns, as it must be written.
    pub(super) fn column(&self, name: &str) -> String {
        format!("{}.{}", written(self.label()), written(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(text: &str) -> String {
        let scope = Scope::read(text);
        let shown = |source: &Source| {
            let schema = source
                .schema
                .as_deref()
                .map_or(String::new(), |s| format!("{s}."));
            let alias = source
                .alias
                .as_deref()
                .map_or(String::new(), |a| format!(" {a}"));
            let mark = if source.may_be_table { "" } else { "()" };
            format!("{schema}{}{mark}{alias}", source.name)
        };
        let sources: Vec<_> = scope.sources.iter().map(shown).collect();
        sources.join(", ")
    }

    #[test]
    fn the_sources_of_a_statement_have_their_aliases() {
        let cases = [
            ("SELECT 1", ""),
            ("SELECT a FROM Customer", "customer"),
            ("SELECT a FROM \"Customer\" AS c WHERE a", "Customer c"),
            ("SELECT a FROM s.t x, ONLY u ORDER BY 1", "s.t x, u"),
            (
                "SELECT a FROM t JOIN u v USING (id) LEFT JOIN w ON true",
                "t, u v, w",
            ),
            ("SELECT a FROM (SELECT b FROM t) AS x, u", "() x, u, t"),
            ("SELECT a FROM (t JOIN u ON true)", "t, u"),
            ("SELECT a FROM f(1, (2)) AS g(b, c), t", "f() g, t"),
            ("INSERT INTO t (a, b) SELECT a FROM u", "t, u"),
            ("UPDATE t SET a = 1 FROM u", "t, u"),
            ("DELETE FROM t USING u x", "t, u x"),
            ("SELECT a IS DISTINCT FROM b FROM t", "t"),
            ("SELECT 'FROM x' FROM t -- FROM y", "t"),
            ("SELECT a FROM", ""),
            ("SELECT a FROM (", "()"),
            ("SELECT a FROM t, LATERAL (SELECT", "t, ()"),
        ];
        for (text, expected) in cases {
            assert_eq!(sources(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_refers_to_the_sources_around_it() {
        let text = "WITH q (a) AS (SELECT a FROM t) SELECT q.a, (SELECT b FROM u) FROM q, v";
        let scope = Scope::read(text);
        let visible = |part: &str| {
            let index = scope.index_at(text.find(part).expect("a part"));
            let visible = scope.visible(index);
            let labels: Vec<_> = visible.iter().map(|source| source.label()).collect();
            labels.join(" ")
        };
        assert_eq!(visible("b FROM"), "u q v");
        assert_eq!(visible("q.a"), "q v");
        assert_eq!(visible("a FROM t"), "t q v");
        assert_eq!(scope.queries().collect::<Vec<_>>(), ["q"]);
    }

    proptest::proptest! {
        #[test]
        fn every_text_can_be_read(
            words in proptest::collection::vec("[(),.;'\"é]|FROM|AS|JOIN|USING|SELECT|OVER|a", 0..30),
        ) {
            let text = words.join(" ");
            let scope = Scope::read(&text);
            for index in 0..=scope.len() + 1 {
                let _ = (scope.names(index), scope.visible(index), scope.is_output("a", index));
                let _ = (scope.words_before(index).count(), scope.is_window(index));
            }
            let _ = scope.is_open();
        }
    }
}
