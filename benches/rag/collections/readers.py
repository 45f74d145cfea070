"""Readers of the formats of manuals: HTML, manual pages, reStructuredText, and the files of dictd and WordNet."""

import gzip
import html.parser
import re
import string

BLOCKS = set("p div li dt dd tr pre br table ul ol dl section h1 h2 h3 h4 h5 h6".split())
HEADINGS = set("h1 h2 h3 h4 h5 h6".split())
VOID = set("br hr img input meta link col area base embed source wbr".split())
LEFT_OUT = set("script style nav header footer aside button head".split())
LEFT_OUT_CLASSES = re.compile(
    r"\b(navheader|navfooter|toc|list-of-\w+|sphinxsidebar|related\w*|headerlink|footer|howtoget|indexterm)\b"
)
NUMBER = re.compile(r"^(?:(?:Chapter|Kapitel|Appendix|Anhang|Luku)\s+)?(?:\d+|[A-Z])(?:\.\d+)*\.?\s+(?=\S)")


class Sections(html.parser.HTMLParser):
    """The headings of a page, each with the text up to the next one."""

    def __init__(self):
        super().__init__()
        self.sections = [["", ""]]
        self.left_out = self.in_heading = None
        self.depth = 0

    def handle_starttag(self, tag, attributes):
        if self.left_out:
            self.depth += tag == self.left_out
            return
        kind = dict(attributes).get("class") or ""
        if tag not in VOID and (tag in LEFT_OUT or LEFT_OUT_CLASSES.search(kind)):
            self.left_out, self.depth = tag, 1
        elif tag in HEADINGS:
            self.in_heading = tag
            self.sections.append(["", ""])
        elif tag in BLOCKS and not self.in_heading:
            self.sections[-1][1] += "\n" if tag in ("br", "tr", "li", "div") else "\n\n"

    def handle_endtag(self, tag):
        if self.left_out:
            self.depth -= tag == self.left_out
            if not self.depth:
                self.left_out = None
        elif tag == self.in_heading:
            self.in_heading = None
        elif tag in ("td", "th", "dt"):
            self.sections[-1][1] += " "

    def handle_data(self, text):
        if not self.left_out:
            self.sections[-1][0 if self.in_heading else 1] += text


def tidy(text):
    text = re.sub(r"[ \t\u00a0]+", " ", text)
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", re.sub(r" ?\n ?", "\n", text)).strip()


def html_sections(path):
    """Returns (heading, text) of a page in HTML, without the numbers of headings."""
    parser = Sections()
    parser.feed(path.read_text(encoding="utf-8", errors="replace"))
    sections = ((" ".join(heading.split()), tidy(text)) for heading, text in parser.sections)
    return [(NUMBER.sub("", heading), text) for heading, text in sections]


ESCAPES = {
    "(aq": "'",
    "(dq": '"',
    "-": "-",
    "e": "\\",
    "(bu": "*",
    "(em": "-",
    "(en": "-",
    "(co": "(c)",
    "(lq": '"',
    "(rq": '"',
}


def plain_roff(line):
    """Returns a line of a manual page without requests and escapes."""
    line = re.sub(r'\\".*', "", line)
    if re.match(r"[.'](?:\\|ds|de|if|ie|el|nr|so|TH|in|ad|hy|ta|sp|ne|tr|ft|ig|TS|TE|nf|fi|EX|EE|na|nh|ll)", line):
        return ""
    line = re.sub(r"^[.'](?:TP|PP|P|LP|HP|RS|RE|br|IP|PD)\b *\"?(\\\(bu|\d+|)\"? *\d*$", "\n", line)
    line = re.sub(r"^[.'][A-Za-z]{1,3}\b ?", "", line)
    line = re.sub(r"\\f(?:\[\w*\]|\(\w\w|.)|\\s[-+]?\d+|\\[&%,/|^:]|\\m\[\w*\]", "", line)
    line = re.sub(r"\\\[(\w+)\]", lambda match: ESCAPES.get("(" + match[1], ""), line)
    line = re.sub(r"\\(\(..|.)", lambda match: ESCAPES.get(match[1], match[1] if len(match[1]) == 1 else ""), line)
    return "" if line in (".", "'") else line.replace('"', "")


def man_sections(path):
    """Returns (heading, lines) of a manual page; the lines are roff."""
    source = gzip.open(path).read().decode("utf-8", errors="replace")
    parts = re.split(r"^\.\s*SH +(.+)\n", source, flags=re.M)
    return list(zip((plain_roff(heading) for heading in parts[1::2]), parts[2::2]))


def roff_text(source):
    return tidy("\n".join(map(plain_roff, source.split("\n"))))


def rst_sections(path):
    """Returns (heading, text) of a source in reStructuredText."""
    source = re.sub(
        r"^\.\. (?:_.*:|index::.*|contents::.*|only::.*)\n", "", path.read_text(encoding="utf-8"), flags=re.M
    )
    parts = re.split(r"^(\S.*)\n(?:=+|-+|~+|\^+|\*+|\.\.+)\n", source, flags=re.M)
    parts[0] = re.sub(r"^[=*#-]+\n", "", parts[0], flags=re.M)
    clean = (re.sub(r":\w+:`(.+?)`|``", r"\1", re.sub(r"^[*=#]+$", "", text, flags=re.M)) for text in parts)
    clean = list(clean)
    return [("", tidy(clean[0]))] + [(heading, tidy(text)) for heading, text in zip(clean[1::2], clean[2::2])]


def dictd(index, texts):
    """Returns (headword, entry) of a dictionary for dictd."""
    digits = {
        digit: at for at, digit in enumerate(string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/")
    }

    def number(text):
        value = 0
        for digit in text:
            value = value * 64 + digits[digit]
        return value

    data = gzip.open(texts).read()
    for line in index.read_text(encoding="utf-8").splitlines():
        word, start, length = line.split("\t")[:3]
        start = number(start)
        yield word, data[start : start + number(length)].decode("utf-8", errors="replace")


def glosses(folder):
    """Returns the gloss of each word of WordNet that has one meaning."""
    found = {}
    for part in ("noun", "verb", "adj"):
        for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if not line.startswith(" "):
                fields, gloss = line.split(" | ")
                words = fields.split()
                for word in words[4 : 4 + 2 * int(words[3], 16) : 2]:
                    found.setdefault(word, []).append(re.sub(r'; ".*', "", gloss).strip())
    return {word: meanings[0] for word, meanings in found.items() if len(meanings) == 1}


def front_matter(source):
    """Returns the members of the front matter of a Markdown file, and the rest of it."""
    match = re.match(r"---\n(.*?)\n---\n", source, re.S)
    if not match:
        return {}, source
    members = (line.split(": ", 1) for line in match[1].splitlines() if re.match(r"\w+: \S", line))
    return {name: value.strip("'\" ") for name, value in members}, source[match.end() :]
