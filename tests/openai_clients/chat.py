"""The Python client: models, an answer, a stream, and errors."""

import openai

TEXT = "Wool is washed by hand in cold water."
QUESTION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Good morning."},
    {"role": "user", "content": "How is wool washed?"},
]

client = openai.OpenAI()


def check_annotation(text, annotation):
    assert annotation["type"] == "url_citation", annotation
    cited = annotation["url_citation"]
    assert (cited["title"], cited["url"]) == ("Wool", "https://example.com/wool"), cited
    assert text[cited["start_index"] : cited["end_index"]] == "[1]", (text, cited)


def answer():
    answered = client.chat.completions.create(model="docs", messages=QUESTION, temperature=0.2)
    [choice] = answered.choices
    assert TEXT in choice.message.content, answered
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop"), answered
    assert answered.usage.total_tokens == 0, answered
    [annotation, *_] = choice.message.annotations
    check_annotation(choice.message.content, annotation.to_dict())


def stream():
    text, annotations, usage, reasons = "", [], [], []
    with client.chat.completions.create(
        model="docs", messages=QUESTION, stream=True, stream_options={"include_usage": True}
    ) as chunks:
        for chunk in chunks:
            assert chunk.model == "docs", chunk
            usage.append(chunk.usage)
            for choice in chunk.choices:
                text += choice.delta.content or ""
                annotations += (choice.delta.model_extra or {}).get("annotations", [])
                reasons.append(choice.finish_reason)
    assert TEXT in text, text
    check_annotation(text, annotations[0])
    assert usage[-1].total_tokens == 0 and not any(usage[:-1]), usage
    assert reasons[-1] == "stop" and not any(reasons[:-1]), reasons


def refused(kind, **changed):
    try:
        client.chat.completions.create(**{"model": "docs", "messages": QUESTION} | changed)
    except kind as error:
        return error
    raise AssertionError(f"{changed} is accepted")


assert [model.id for model in client.models.list()] == ["docs"]
assert client.models.retrieve("docs").object == "model"
answer()
stream()
missing = refused(openai.NotFoundError, model="none")
assert (missing.code, missing.param) == ("model_not_found", "model"), missing
tool = {"type": "function", "function": {"name": "now", "parameters": {}}}
assert refused(openai.BadRequestError, tools=[tool]).param == "tools"
assert refused(openai.BadRequestError, n=2).param == "n"
