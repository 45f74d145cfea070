"""PyJWT accepts every access token that the layer accepts."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import jwt

# The tests of the layer have a clock of their own.
CLOCKLESS = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}
TEST = "another_implementation_accepts_every_token_that_this_one_accepts"

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "tokens"
    environment = os.environ | {"ZIGGURAT_ACCEPTED_TOKENS": str(file)}
    words = ["cargo", "test", "--locked", "--quiet", "-p", "ziggurat-layers", "--all-features"]
    subprocess.run([*words, "--lib", TEST], env=environment, check=True, stdout=subprocess.DEVNULL)
    accepted = [json.loads(line) for line in file.read_text().splitlines()]
for given in accepted:
    key = jwt.PyJWK(given["key"], given["algorithm"]).key
    for token in given["tokens"]:
        options = CLOCKLESS | {"require": ["exp", "iss", "aud", "sub"]}
        jwt.decode(
            token,
            key,
            algorithms=[given["algorithm"]],
            audience=given["audience"],
            issuer=given["issuer"],
            options=options,
        )
algorithms = [given["algorithm"] for given in accepted]
assert len(algorithms) == 5, algorithms
