"""The collections: documents and questions made from packages.

Each question is about one known document. The text of the question is held out of that document.
"""

import collections
import dataclasses
import random
import re

import readers

# Characters of a document.
LEAST_TEXT = 30
LONGEST_TEXT = 6000

# A heading of more sections, such as "Examples", is not a question.
MOST_ANSWERS = 3


@dataclasses.dataclass
class Collection:
    """Documents as (id, title, text), and questions as (text, ids)."""

    name: str
    language: str
    kind: str
    documents: list
    questions: list
    # Documents are files of Markdown, else lines of JSON.
    is_markdown: bool = False
    held_out: bool = False


def chosen(documents, questions, most_documents, most_questions):
    """Chooses questions with a fixed seed, and their documents with others."""
    chance = random.Random(17)
    documents = {name: (name, title, text[:LONGEST_TEXT]) for name, title, text in documents if len(text) >= LEAST_TEXT}
    relevant = collections.defaultdict(set)
    for text, name in questions:
        relevant[text].add(name)
    questions = [
        (text, names)
        for text, names in sorted(relevant.items())
        if len(names) <= MOST_ANSWERS and names <= set(documents)
    ]
    questions = sorted(chance.sample(questions, min(most_questions, len(questions))))
    asked = set().union(*(names for _, names in questions))
    others = sorted(set(documents) - asked)
    kept = asked | set(chance.sample(others, max(0, min(len(others), most_documents - len(asked)))))
    return [documents[name] for name in sorted(kept)], questions


def has_words(text, least=2):
    return len(re.findall(r"\w{2,}", text)) >= least


def sections(pages, least=2):
    """Documents are sections with the title of their page; questions are headings of sections."""
    documents, questions = [], []
    for page, parts in pages:
        title = next((heading for heading, _ in parts if heading), page)
        for at, (heading, text) in enumerate(parts):
            name = f"{page}/{at}"
            documents.append((name, title, text))
            if heading and heading != title and has_words(heading, least):
                questions.append((heading, name))
    return documents, questions


def html_pages(folder, pattern="*.html"):
    for path in sorted(folder.glob(pattern)):
        if not re.match(r"(index|genindex|search|bookindex|biblio|ix|developers-reference)\b", path.name):
            yield path.stem, readers.html_sections(path)


def python_faq(packages):
    sources = packages.debian("python3.11-doc") / "usr/share/doc/python3.11/html/_sources"
    pages = {folder: [] for folder in ("faq", "howto", "tutorial")}
    for folder, found in pages.items():
        for path in sorted((sources / folder).glob("*.txt")):
            parts = readers.rst_sections(path)
            found.append((f"{folder}/{path.name.split('.')[0]}", parts))
    _, questions = sections(pages["faq"], 3)
    documents, _ = sections(sum(pages.values(), []))
    return documents, questions


def python_names(packages):
    """Documents are descriptions of functions with the title of their module; questions are dotted names."""
    sources = packages.debian("python3.11-doc") / "usr/share/doc/python3.11/html/_sources/library"
    documents, questions = [], []
    for path in sorted(sources.glob("*.txt")):
        source = path.read_text(encoding="utf-8")
        module = re.search(r"^\.\. module:: (\S+)", source, re.M)
        title = re.search(r"^(?::mod:)?(\S.*)\n[=*]+$", source, re.M)
        page = path.name.split(".rst")[0]
        prefix = module[1] + "." if module else ""
        entries = re.findall(
            r"^\.\. (?:function|class|method|data|exception|attribute):: (\S+?)(\(.*|)\n((?:\n|[ ]{3,}.*\n)+)",
            source,
            re.M,
        )
        for name, signature, text in entries:
            dotted = name if name.startswith(prefix) else prefix + name
            text = re.sub(r":\w+:`[~!]?(.+?)`|``", r"\1", re.sub(r"^\s+:\w+:.*\n", "", text, flags=re.M))
            document = f"{page}/{name}"
            documents.append(
                (document, title[1].replace("`", "") if title else page, readers.tidy(f"{dotted}{signature}\n\n{text}"))
            )
            questions.append((dotted, document))
    return documents, questions


def html_manual(package, folder, least=2):
    def make(packages):
        return sections(html_pages(packages.debian(package) / folder), least)

    return make


def debian_faq_de(packages):
    pages = []
    for package in ("debian-faq-de", "debian-reference-de", "developers-reference-de"):
        for name, found in html_pages(packages.debian(package) / "usr/share", "**/*.html"):
            pages.append((f"{package}/{name}", found))
    return sections(pages, 3)


def libreoffice(language, other):
    """Documents are pages without their title, which is the question if it is translated."""

    def make(packages):
        folder, others = (
            packages.debian(f"libreoffice-help-{name}") / f"usr/share/libreoffice/help/{name}/text"
            for name in (language, other)
        )
        documents, questions = [], []
        for path in sorted(folder.rglob("*.html")):
            parts = [part for part in readers.html_sections(path) if part[0]]
            if parts:
                name = str(path.relative_to(folder).with_suffix(""))
                rest = "\n\n".join(f"{heading}\n{text}" for heading, text in parts[1:])
                documents.append((name, "", f"{parts[0][1]}\n\n{rest}".strip()))
                is_translated = parts[0][0] not in (others / path.relative_to(folder)).read_text(encoding="utf-8")
                questions += [(parts[0][0], name)] * (is_translated and has_words(parts[0][0]))
        return documents, questions

    return make


def real_files(folder):
    """Returns the manual pages of a folder, each once: other names of a page are links."""
    return sorted(path for path in folder.glob("*.gz") if not path.is_symlink())


def manual_pages(package, folder, numbers="1"):
    """Documents are pages with the title ls(1) and without the description of NAME, which is the question."""

    def make(packages):
        documents, questions = [], []
        for number in numbers:
            for path in real_files(packages.debian(package) / folder / f"man{number}"):
                parts = readers.man_sections(path)
                line = re.split(r"\s+(?:\\-|[-–—]+)+\s+", parts[0][1] if parts else "", maxsplit=1)
                what = " ".join(readers.roff_text(line[1]).split()) if len(line) == 2 else ""
                title = "{}({})".format(*path.name.removesuffix(".gz").rsplit(".", 1))
                text = "\n\n".join(f"{heading}\n\n{readers.roff_text(text)}" for heading, text in parts[1:])
                documents.append((title, title, text if len(text) > 400 else ""))
                questions += [(what, title)] * (has_words(what, 3) or len(what.encode()) > 30)
        return documents, questions

    return make


def error_codes(packages):
    """Documents are the errors of system calls; a question names a call and an error, such as `open EMFILE`."""
    documents, questions = [], []
    for path in real_files(packages.debian("manpages-dev") / "usr/share/man/man2"):
        page = path.name.removesuffix(".2.gz")
        for heading, source in readers.man_sections(path):
            if heading == "ERRORS":
                entries = re.split(r"^\.TP\n(?=\.(?:B|BR) E[A-Z0-9]+)", source, flags=re.M)[1:]
                texts = collections.defaultdict(list)
                for text in map(readers.roff_text, entries):
                    texts[text.split()[0]].append(text)
                for code, found in texts.items():
                    documents.append((f"{page}/{code}", f"{page}(2)", "\n\n".join(found)))
                    questions.append((f"{page} {code}", f"{page}/{code}"))
    return documents, questions


def dictionary(packages):
    """Documents are entries of one dictionary; questions are glosses of the same words in another."""
    folder = packages.debian("dict-gcide") / "usr/share/dictd"
    meanings = readers.glosses(packages.debian("wordnet-base") / "usr/share/wordnet")
    entries = collections.defaultdict(list)
    for word, text in readers.dictd(folder / "gcide.index", folder / "gcide.dict.dz"):
        if re.fullmatch(r"[a-z]+", word) and "WordNet" not in text:
            entries[word].append(readers.tidy(re.sub(r"\[[^]]*\]|\\[^\\]*\\", "", text)))
    documents = [(word, "", "\n\n".join(texts)) for word, texts in entries.items()]
    questions = [(meanings[word], word) for word in entries if has_words(meanings.get(word, ""), 4)]
    return documents, questions


# Packages with nearly the same descriptions.
FAMILIES = re.compile(
    r"(lib|golang|python|ruby|node|r-|fonts|task|ghc|haskell|elpa|php)|.*-(dev|doc|data|dbg|common|plugin\w*)$"
)


def descriptions(language):
    """Documents are long descriptions of packages with the name as title; questions are the short ones."""

    def make(packages):
        documents, questions = [], []
        for name, short, long in packages.descriptions(language):
            if not FAMILIES.match(name):
                documents.append((name, name, long))
                questions += [(short, name)] * has_words(short, 3)
        return documents, questions

    return make


def short_answers(packages):
    folder = packages.python("chatterbot-corpus") / "chatterbot_corpus/data/english"
    documents, questions = [], []
    for subject in ("tech_support", "coding", "trivia", "ai", "science", "literature", "money"):
        source = (folder / f"{subject}.yml").read_text(encoding="utf-8")
        for at, entry in enumerate(re.split(r"^ *- - ", source, flags=re.M)[1:]):
            question, *answers = re.split(r"^ *- ", entry, maxsplit=1, flags=re.M)
            question, answer = (readers.tidy(text.strip(" |\n'\"")) for text in (question, *(answers or [""])))
            documents.append((f"{subject}/{at}", "", answer if has_words(answer, 5) else ""))
            questions.append((" ".join(question.split()), f"{subject}/{at}"))
    return documents, questions


def markdown(package, folder, by_section=False):
    """Documents are files of Markdown that begin with a heading.

    A file is a page, and the question its description in the front matter; or a file is a section below
    the title of the page, and the question is its heading, every second time behind the title of the page.
    """

    def make(packages):
        folder_of_pages = packages.npm(package) / folder
        documents, questions = [], []
        for path in sorted(folder_of_pages.rglob("*.md*")):
            members, text = readers.front_matter(path.read_text(encoding="utf-8"))
            # Comments, components, and the title in the text.
            text = re.sub(r"\{/\*.*?\*/\}", "", text, flags=re.S)
            text = re.sub(r"\A\s*# .*\n|^ *</?[A-Z]\w*[^<\n]*>$", "", text, flags=re.M)
            title = members.get("title", path.stem)
            page = str(path.relative_to(folder_of_pages).with_suffix("")).replace("/", ".")
            if not by_section:
                documents.append((f"documents/{page}.md", title, f"# {title}\n\n{text.strip()}\n"))
                questions += [(members["description"], f"documents/{page}.md")] * ("description" in members)
                continue
            parts = re.split(r"^## (.+)\n", text, flags=re.M)
            for at, (heading, text) in enumerate(zip([title] + parts[1::2], parts[::2])):
                name = f"documents/{page}.{at}.md"
                documents.append((name, title, f"# {title}\n\n{text.strip()}\n"))
                asked = f"{title}: {heading}" if at % 2 else heading
                questions += [(asked.replace("`", ""), name)] * (at > 0 and has_words(heading))
        return documents, questions

    return make


DOCS = "usr/share/doc"
MAN = "usr/share/man"

MANUAL = "manual, heading → section"
PAGES = "manual pages, NAME → page"
HELP = "help, title → page"
PACKAGES = "short → long description"

# Name, language, kind, function, most documents, most questions. Those that were held out are last.
ALL = [
    ("python-faq", "english", "FAQ, one title for many sections", python_faq, 2000, 300),
    ("python-names", "english", "dotted names → descriptions", python_names, 2500, 300),
    ("error-codes", "english", "technical names, one title for many", error_codes, 2000, 300),
    ("postgresql", "english", MANUAL, html_manual("postgresql-doc-15", f"{DOCS}/postgresql-doc-15/html"), 2200, 300),
    ("markdown-sections", "english", "Markdown, heading → section", markdown("ai", "package/docs", True), 2000, 300),
    ("dictionary", "english", "gloss → entry of another dictionary", dictionary, 4000, 300),
    ("short-answers", "english", "question → answer", short_answers, 2000, 300),
    ("packages-en", "english", PACKAGES, descriptions("en"), 3000, 300),
    ("debian-faq-de", "german", "FAQ and manuals, heading → section", debian_faq_de, 2000, 250),
    ("gimp-de", "german", MANUAL, html_manual("gimp-help-de", "usr/share/gimp/2.0/help/de"), 900, 250),
    ("man-de", "german", PAGES, manual_pages("manpages-de", f"{MAN}/de", "158"), 250, 200),
    ("man-fr", "french", PAGES, manual_pages("manpages-fr", f"{MAN}/fr", "158"), 250, 200),
    ("man-ja", "simple", PAGES, manual_pages("manpages-ja", f"{MAN}/ja", "158"), 250, 200),
    ("libreoffice-fi", "finnish", HELP, libreoffice("fi", "sv"), 800, 250),
    ("libreoffice-sv", "swedish", HELP, libreoffice("sv", "fi"), 800, 250),
    ("markdown-pages", "english", "Markdown, summary → page", markdown("next", "package/dist/docs"), 2000, 300),
    ("packages-de", "german", PACKAGES, descriptions("de"), 2000, 300),
]
HELD_OUT = ("markdown-pages", "packages-de")


def make(name, packages):
    """Makes a collection."""
    name, language, kind, function, most_documents, most_questions = next(entry for entry in ALL if entry[0] == name)
    documents, questions = chosen(*function(packages), most_documents, most_questions)
    is_markdown = name.startswith("markdown")
    return Collection(name, language, kind, documents, questions, is_markdown, name in HELD_OUT)
