"""A server with browser sign-in, and a browser without a window that speaks HTTP with it."""

import json
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager
from html.parser import HTMLParser
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlencode, urljoin

from processes import PATIENCE, listening

PERSON = {"name": "ann@shop.example", "password": "correct horse battery"}


@contextmanager
def sign_in_server(program, place, folder, oauth=None, more=None):
    """Starts the program with one writable database, and a person with an account.

    Takes settings of the sign-in and more of an environment. Returns the public address.
    """
    folder.mkdir(exist_ok=True)
    auth = {"user_file": str(folder / "users.yaml"), "oauth": {"enabled": True, **(oauth or {})}}
    command = [program, "-config", configured(place, folder, auth, "127.0.0.1:0")]
    environment = {"HOME": str(folder), **(more or {})}
    user = ["-username", PERSON["name"], "-password", PERSON["password"], "-user-note", ""]
    added = [*command, "-add-user", *user]
    subprocess.run(added, env=environment, check=True, capture_output=True, timeout=PATIENCE)
    with listening(command, environment, folder / "tools.log") as (address, _):
        yield address.replace("127.0.0.1", "localhost")


def configured(place, folder, auth, address):
    """Writes the configuration of a tool server with one writable database; returns the file."""
    shop = {
        "name": "shop",
        "host": place["PGHOST"],
        "port": int(place["PGPORT"]),
        "user": place["PGUSER"],
        "password": place["PGPASSWORD"],
        "database": place["PGDATABASE"],
        "allow_writes": True,
    }
    http = {"enabled": True, "address": address, "auth": auth}
    file = folder / "tools.yaml"
    # JSON is YAML.
    file.write_text(json.dumps({"databases": [shop], "http": http, "data_dir": str(folder)}))
    file.chmod(0o600)
    return file


class Answer:
    """An answer of a server, and the forms on it if it is a page."""

    def __init__(self, address, status, headers, body):
        self.address, self.status, self.headers, self.body = address, status, headers, body

    def __repr__(self):
        return f"{self.status} {self.address}\n{self.headers}{self.body}"

    def json(self):
        return json.loads(self.body)

    def page(self):
        page = Page()
        page.feed(self.body)
        return page

    def goal(self):
        """The address that a browser goes to by itself."""
        return self.headers["Location"] or self.page().refresh


class Page(HTMLParser):
    """The forms of a page, with the fields that a browser sends, and where the page goes."""

    def __init__(self):
        super().__init__()
        self.forms = []
        self.refresh = None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "form":
            self.forms.append({"action": attrs["action"], "fields": {}})
        elif tag == "meta" and attrs.get("http-equiv") == "refresh":
            self.refresh = attrs["content"].partition("url=")[2]
        elif tag == "input" and (attrs.get("type") != "checkbox" or "checked" in attrs):
            self.forms[-1]["fields"][attrs["name"]] = attrs.get("value", "")


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_):
        return None


class Browser:
    """A browser that keeps cookies, and sends the forms of pages as a person fills them in."""

    person = PERSON

    def __init__(self):
        policy = DefaultCookiePolicy(secure_protocols=["https"])
        self.cookies = urllib.request.HTTPCookieProcessor(CookieJar(policy))
        self.opener = urllib.request.build_opener(Stay, self.cookies)

    def send(self, address, body=None, headers=None, method=None):
        request = urllib.request.Request(address, body, headers or {}, method=method)
        try:
            answer = self.opener.open(request, timeout=PATIENCE)
        except urllib.error.HTTPError as refused:
            answer = refused
        with answer:
            return Answer(address, answer.status, answer.headers, answer.read().decode())

    def submit(self, answer, path, **fields):
        """Sends the form of a page that goes to a path."""
        forms = [form for form in answer.page().forms if form["action"].endswith(path)]
        assert len(forms) == 1, (path, answer)
        action = urljoin(answer.address, forms[0]["action"])
        body = urlencode(forms[0]["fields"] | fields).encode()
        return self.send(action, body)

    def allow(self, address, **fields):
        """Goes to an address, signs in if a person must, and allows the client what it asks for.

        Returns the address that the browser ends at.
        """
        page = self.send(address)
        if "/oauth/login" in page.body:
            page = self.submit(page, "/oauth/login", **self.person)
        page = self.submit(page, "/oauth/consent", decision="allow", **fields)
        assert page.status == 200 and page.goal(), page
        return page.goal()
