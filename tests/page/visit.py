"""Uses the page of ziggurat-rag like a user. `visit.py BROWSER DEMO`"""

import re
import signal
import subprocess
import sys

from playwright.sync_api import expect, sync_playwright

NASTY = "<img src=x onerror=\"document.title='taken over'\"> wool?"


class Demo:
    """The running demo."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program, "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        welcome = ""
        for line in self.process.stdout:
            welcome += line
            if "Ctrl-C" in line:
                break
        found = re.search(r"Questions (http://\S+)", welcome)
        assert found, f"it said: {welcome}"
        self.address = found[1]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=60) == 0


def ask(page, question):
    page.get_by_role("textbox", name="Question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    turn = page.locator("article").first
    expect(turn.get_by_role("heading")).to_have_text(question)
    return turn


def it_answers_as_a_stream(page):
    with page.expect_response("**/v1/pipelines/handbook") as response:
        turn = ask(page, "How do I wash wool?")
    assert response.value.headers["content-type"] == "text/event-stream"
    expect(turn.locator(".answer")).to_contain_text("ool")
    expect(turn.locator(".answer")).to_have_attribute("aria-busy", "false")


def it_shows_sources_in_their_order(page):
    page.get_by_role("checkbox", name="Show sources").check()
    turn = ask(page, "How do I wash wool?")
    sources = turn.locator("ol > li")
    expect(sources.first).to_contain_text(re.compile(r"1\. .*ool"))
    expect(turn).not_to_contain_text("score")
    sources.first.locator("summary").click()
    expect(sources.first.locator(".text")).to_be_visible()
    page.get_by_role("checkbox", name="Show sources").uncheck()


def it_shows_what_is_written_and_runs_none_of_it(page):
    turn = ask(page, NASTY)
    expect(turn.locator(".answer")).to_have_attribute("aria-busy", "false")
    assert page.locator("article img").count() == 0
    assert page.title() != "taken over"


def it_tells_whether_providers_are_there(page):
    page.get_by_role("button", name="Check providers").click()
    expect(page.locator("#health")).to_contain_text("Providers: healthy.")


def it_starts_over(page):
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("article")).to_have_count(0)


def it_fits_a_telephone(page):
    page.set_viewport_size({"width": 360, "height": 640})
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, f"{width} pixels wide"


def it_says_so_when_the_server_is_gone(page, demo):
    demo.stop()
    turn = ask(page, "Is anybody there?")
    expect(turn.get_by_role("alert")).to_contain_text("could not be reached")


def main(browser, program):
    demo = Demo(program)
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=browser, args=["--no-sandbox"]
            )
            page = chromium.new_page()
            complaints, requests = [], []
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda request: requests.append(request.url))
            page.on(
                "console",
                lambda said: complaints.append(said.text)
                if said.type in ("error", "warning")
                else None,
            )
            page.goto(demo.address)
            expect(page.get_by_label("Pipeline")).to_have_value("handbook")
            for check in (
                it_answers_as_a_stream,
                it_shows_sources_in_their_order,
                it_shows_what_is_written_and_runs_none_of_it,
                it_tells_whether_providers_are_there,
                it_starts_over,
                it_fits_a_telephone,
            ):
                check(page)
                print(f"ok: {check.__name__}")
            assert not complaints, complaints
            elsewhere = [url for url in requests if not url.startswith(demo.address)]
            assert not elsewhere, elsewhere
            check = it_says_so_when_the_server_is_gone
            check(page, demo)
            print(f"ok: {check.__name__}")
            chromium.close()
    finally:
        demo.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
