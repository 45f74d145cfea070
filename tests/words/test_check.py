"""Tests of check.py: `python3 -m unittest discover tests/words`"""
import unittest

from check import check_rust, people, wordy
from subjects import problem


def found(source, is_test=False):
    """The lines and rules of the findings."""
    return [(finding.line, finding.rule) for finding in check_rust(source, is_test)]


class DocComments(unittest.TestCase):
    def test_a_question_word_may_not_start_a_doc_comment(self):
        for word in ("What", "Whether", "How", "Whose", "As", "If", "**Why**"):
            self.assertEqual(found(f"/// {word} it does.\nfn f() {{}}"), [(1, 1)], word)
            self.assertEqual(found(f"//! {word} it does.\n"), [(1, 1)], word)

    def test_other_words_and_later_lines_and_plain_comments_may(self):
        for source in (
            "/// Returns whether it works.\nfn f() {}",
            "/// Asks the service,\n/// which answers.\nfn f() {}",
            "/// Whatsit.\nfn f() {}",
            "// What follows is plain.\nfn f() {}",
            "//// What a ruler.\n",
        ):
            self.assertEqual(found(source), [], source)

    def test_each_block_is_checked(self):
        source = "//! Does it.\n\n/// Why.\nstruct A {\n    /// Where.\n    b: u8,\n}\n"
        self.assertEqual(found(source), [(3, 1), (5, 1)])


class People(unittest.TestCase):
    def test_words_are_found_in_comments_names_and_production_strings(self):
        self.assertEqual(found("// a\n// Nobody waits.\n"), [(2, 2)])
        self.assertEqual(found("/* so\nwhoever */"), [(2, 2)])
        self.assertEqual(found("fn nobody_may() {}"), [(1, 2)])
        self.assertEqual(found("struct AnybodysX;\n"), [])
        self.assertEqual(found("struct IsNobodyElse;\n"), [(1, 2)])
        self.assertEqual(found('f("one\n   somebody")'), [(2, 2)])
        self.assertEqual(found('f(r#"ask "anyone""#)'), [(1, 2)])

    def test_strings_of_tests_are_free(self):
        source = '#[cfg(test)]\nmod tests {\n    const A: &str = "nobody else";\n}\n'
        self.assertEqual(found(source), [])
        self.assertEqual(found('const A: &str = "nobody else";', is_test=True), [])

    def test_the_unix_account_is_no_person(self):
        self.assertEqual(found('/// Runs as `nobody`.\nconst A: &str = "nobody";'), [])

    def test_the_key_of_a_configuration_is_no_person(self):
        source = '/// Reads `everyone`.\nfn f() { g("everyone"); h("{for: {everyone: true}}") }'
        self.assertEqual(found(source), [])
        self.assertEqual(found('f("as everyone: true")'), [(1, 2)])

    def test_strings_and_lifetimes_do_not_hide_comments(self):
        source = "fn f<'a>(c: char) { g('\"', '\\'', b'\"', \"//\") } // nobody\n"
        self.assertEqual(found(source), [(1, 2)])

    def test_every_line_of_a_manual_is_checked(self):
        self.assertEqual([f.line for f in people("# A\n\nIf someone calls\n", 1)], [3])


class WordyPatterns(unittest.TestCase):
    def lines(self, path, source):
        return [line for _, line in wordy(path, source)]

    def test_a_pattern_is_found_in_comments_also_over_two_lines(self):
        self.assertEqual(self.lines("a.rs", "// The rows and those\n    // of others.\n"), [1])
        self.assertEqual(self.lines("a.rs", "/// A user whose name is new. There are none.\n"), [1, 1])
        self.assertEqual(self.lines("a.rs", 'let a = "what is whose";\n'), [])

    def test_blocks_of_code_in_manuals_are_free(self):
        self.assertEqual(self.lines("a.md", "A\n\n```\nwhat is this\n```\n\nWhat has\nchanged\n"), [7])


class References(unittest.TestCase):
    def test_a_number_needs_a_document(self):
        for text in ("see section 13", "Document 6, B1", "details 4.1", "rulings 1 to 4"):
            self.assertEqual(found(f"// {text}\n"), [(1, 6)], text)
        self.assertEqual(found("// so, in section\n// 13 of it\n"), [(1, 6)])

    def test_a_named_document_suffices(self):
        for text in (
            "RFC 6750, section 3",
            "RFCs 7230 and 7231, section 3",
            "docs/security.md, section 3",
            "section 5.1 of JSON-RPC 2.0",
            "RFC 9110,\n// section 15.5.9",
            "four sections",
        ):
            self.assertEqual(found(f"// {text}\n"), [], text)


class Subjects(unittest.TestCase):
    def test_a_subject_begins_with_a_verb_and_is_short(self):
        for subject in ("Add a layer", "Speed up the driver", "Fix " + "a" * 68):
            self.assertIsNone(problem(subject), subject)
        for subject in ("Added a layer", "Speed of the driver", "Addition", "Fix " + "a" * 69):
            self.assertIsNotNone(problem(subject), subject)


if __name__ == "__main__":
    unittest.main()
