"""Opens a model file in another process first: a damaged file ends the process in some libraries, with no exception.

That process has limits of processor time and memory, because some readers loop forever or ask for terabytes. It also
walks through trees and asks the model about rows: a damaged model may be read well and die when it is asked. A file
that was opened well once is not tried again; the cache remembers the hash of its content.
"""

import os
import subprocess
import sys
from contextlib import suppress

from hammingbox.data.fetch import cache_folder
from hammingbox.errors import FileError
from hammingbox.files import sha256, shown, write_bytes

_SECONDS = 600
"""On the clock: the library alone takes a minute to import on a busy machine."""
_PART = 10 * 2**20
_SECONDS_PER_PART, _BYTES, _BYTES_PER_BYTE = 4, 512 * 2**20, 20
"""Processor time for each 10 MiB of a file, and memory, both without what the import of the library takes."""

_KILL = 9
"""The signal with which the system ends what goes beyond its limits."""

LIMITS = """
def limit(seconds, size):
    try:
        import resource
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + size, mapped + size))
        used = resource.getrusage(resource.RUSAGE_SELF)
        last = int(used.ru_utime + used.ru_stime) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (last, last))
    except (ImportError, OSError, ValueError):
        pass  # other systems have the limit on the clock only
"""
"""Defines `limit`, which a script calls after its imports."""

SCRIPTS = {
    "xgboost": """
import json, numpy, xgboost
limit(seconds, size)
model = xgboost.Booster()
model.load_model(bytearray(content))
count = model.num_features()
model.inplace_predict(numpy.zeros((2, count), dtype=numpy.float32))
booster = json.loads(model.save_raw("json"))["learner"]["gradient_booster"]
for tree in (booster.get("model") or booster.get("gbtree", {}).get("model", {})).get("trees", []):
    left, right, column = tree["left_children"], tree["right_children"], tree["split_indices"]
    seen, waiting = set(), [0]
    while waiting:
        node = waiting.pop()
        if not 0 <= node < len(left) or node in seen:
            raise ValueError("a tree that is none")
        seen.add(node)
        if left[node] != -1:
            if not 0 <= column[node] < count:
                raise ValueError("a tree with columns that the model does not have")
            waiting += left[node], right[node]
""",
    "lightgbm": """
import lightgbm, numpy
limit(seconds, size)
model = lightgbm.Booster(model_str=content.decode())
model.predict(numpy.zeros((2, model.num_feature())))
""",
    "catboost": """
import catboost
limit(seconds, size)
model = catboost.CatBoost()
model.load_model(blob=content)
texts = set(model.get_cat_feature_indices()) | set(model.get_text_feature_indices())
row = ["0" if place in texts else 0.0 for place in range(len(model.feature_names_))]
try:
    model.predict([row, row])
except catboost.CatBoostError:
    pass  # about the row: it may need embeddings
""",
    "onnx": """
import numpy, onnxruntime
limit(seconds, size)
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
types = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(int64)": "int64", "tensor(int32)": "int32",
         "tensor(bool)": "bool", "tensor(string)": "object"}
try:
    given = {}
    for part in session.get_inputs():
        shape = [2, *(min(n, 10000) if isinstance(n, int) else 1 for n in (part.shape or [2])[1:])]
        given[part.name] = numpy.zeros(shape, types[part.type])
        if types[part.type] == "object":
            given[part.name][:] = "0"
    session.run(None, given)
except Exception:
    pass  # about the row: it need not fit
""",
    "skops": """
import numpy, sklearn.tree
from skops import io
limit(seconds, size)
model = io.loads(content, trusted=io.get_untrusted_types(data=content))

def check(left, right, column, columns):
    inner = left != -1
    children = numpy.concatenate([left[inner], right[inner]])
    used = column[inner]
    if (children < 1).any() or (children >= len(left)).any() or len(numpy.unique(children)) < len(children):
        raise ValueError("a tree that is none")
    if (used < 0).any() or (used >= columns).any():
        raise ValueError("a tree with columns that the model does not have")

known, waiting = set(), [model]
while waiting:
    part = waiting.pop()
    if id(part) in known or isinstance(part, (str, bytes, int, float, type(None))):
        continue
    known.add(id(part))
    if isinstance(part, numpy.ndarray):
        waiting += part.ravel().tolist() if part.dtype == object else []
    elif isinstance(part, dict):
        waiting += part.values()
    elif isinstance(part, (list, tuple, set)):
        waiting += part
    elif type(part).__name__ == "Tree":
        if part.node_count > part.capacity:
            raise ValueError("a tree without its nodes")
        check(part.children_left, part.children_right, part.feature, part.n_features)
    elif type(part).__name__ == "TreePredictor":
        nodes = part.nodes
        left = numpy.where(nodes["is_leaf"], -1, nodes["left"].astype(numpy.int64))
        check(left, nodes["right"].astype(numpy.int64), nodes["feature_idx"].astype(numpy.int64), 2**31)
        waiting.append(vars(part))
    elif hasattr(part, "__dict__"):
        waiting.append(vars(part))
try:
    draw = numpy.random.default_rng(0)
    columns = int(getattr(model, "n_features_in_", 1))
    for table in (numpy.zeros((2, columns)), draw.normal(size=(64, columns)) * 100):
        (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(table)
except Exception:
    pass  # about the row: it may need names or texts
""",
}
"""What is done with a file, by library; `content`, `seconds` and `size` are given."""


def check_opens(library: str, content: bytes, source: object) -> None:
    """Checks that a library can open a file and lives.

    Args:
        library: one of `SCRIPTS`.
        content: of the file.
        source: the file, for messages.

    Raises:
        FileError: the process that opened it failed, died or hung.
    """
    passed = cache_folder() / "opened" / f"{library}-2-{sha256(content)[:32]}"
    if passed.exists():
        return
    reason = tried(library, content)
    if reason:
        raise FileError(
            f"expected a whole {library} model in {shown(source)}, got a damaged one ({reason}). Save it again."
        )
    with suppress(FileError):  # if the cache cannot be written, the next call tries the file again
        write_bytes(passed, b"")


def limits_of(content: bytes) -> tuple[int, int]:
    """Seconds of processor time and bytes of memory that a reader may take for a file."""
    return _SECONDS_PER_PART * (1 + len(content) // _PART), _BYTES + _BYTES_PER_BYTE * len(content)


def tried(library: str, content: bytes) -> str:
    """Why a library cannot open a file; empty if it can."""
    seconds, size = limits_of(content)
    script = (
        f"import sys\nseconds, size = {seconds}, {size}\n{LIMITS}\n"
        f"content = sys.stdin.buffer.read()\n{SCRIPTS[library]}"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], input=content, capture_output=True, timeout=_SECONDS, check=False,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it was not read within {_SECONDS} s"
    return "" if done.returncode == 0 else _reason(done)


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    if done.returncode < 0:
        return reason_of_signal(-done.returncode)
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if "Error" in line]
    return (lines[-1] if lines else f"the reader failed with {done.returncode}")[:200]


def reason_of_signal(number: int) -> str:
    """Why a process that a signal ended did not open a file."""
    if number == _KILL:
        return "the reader was killed, as above its limits of processor time and memory; try again first"
    return f"the reader died of signal {number}"
