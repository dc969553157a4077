"""Opens a model file in another process first: a damaged file ends the process in some libraries, with no exception.

A file that was opened well once is not tried again; the cache remembers the hash of its content.
"""

import subprocess
import sys
from contextlib import suppress

from hammingbox.data.fetch import cache_folder
from hammingbox.errors import FileError
from hammingbox.files import sha256, shown, write_bytes

_SECONDS = 600
"""The library alone takes a minute to import on a busy machine. Some readers loop forever at a damaged file."""

_SCRIPTS = {
    "xgboost": """
import numpy, xgboost
model = xgboost.Booster()
model.load_model(bytearray(content))
model.inplace_predict(numpy.zeros((2, model.num_features()), dtype=numpy.float32))
""",
    "lightgbm": """
import lightgbm, numpy
model = lightgbm.Booster(model_str=content.decode())
model.predict(numpy.zeros((2, model.num_feature())))
""",
    "catboost": """
import catboost
catboost.CatBoost().load_model(blob=content)
""",
}


def check_opens(library: str, content: bytes, source: object) -> None:
    """Checks that a library can open a file and lives.

    Args:
        library: "xgboost", "lightgbm" or "catboost".
        content: of the file.
        source: the file, for messages.

    Raises:
        FileError: the process that opened it failed, died or hung.
    """
    passed = cache_folder() / "opened" / f"{library}-{sha256(content)[:32]}"
    if passed.exists():
        return
    script = f"import sys\ncontent = sys.stdin.buffer.read()\n{_SCRIPTS[library]}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], input=content, capture_output=True, timeout=_SECONDS, check=False
        )
        reason = "" if done.returncode == 0 else _reason(done)
    except subprocess.TimeoutExpired:
        reason = f"it was not read within {_SECONDS} s"
    if reason:
        raise FileError(
            f"expected a whole {library} model in {shown(source)}, got a damaged one ({reason}). Save it again."
        )
    with suppress(FileError):  # if the cache cannot be written, the next call tries the file again
        write_bytes(passed, b"")


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    if done.returncode < 0:
        return f"the reader died of signal {-done.returncode}"
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if "Error" in line]
    return (lines[-1] if lines else f"the reader failed with {done.returncode}")[:200]
