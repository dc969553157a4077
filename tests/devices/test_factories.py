"""Every tensor factory in the code that computes names its device, also on paths that no test runs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import hammingbox

SOURCE = Path(hammingbox.__file__).parent
HOST_ONLY = ("cli", "data", "experiments", "files", "report", "reproduction", "running", "store", "studies", "text")
"""Rooms that keep records in main memory and compute nothing with a victim's tensors."""
FACTORIES = (
    "arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm",
    "scalar_tensor", "tensor", "zeros",
)  # fmt: skip
CONSTRUCTORS = ("__init__", "__post_init__")
"""What they make is moved with its module."""


def nameless(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls of ``torch.<factory>`` without ``device=``, outside constructors."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name in CONSTRUCTORS:
            continue
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and (node.func.value.id, node.func.attr in FACTORIES) == ("torch", True)
            and all(keyword.arg != "device" for keyword in node.keywords)
        ):
            yield node
        yield from nameless(node)


def test_a_nameless_factory_is_found() -> None:
    code = "torch.zeros(3)\ntorch.zeros(3, device=x.device)\ndef f():\n    return [torch.arange(2)]"
    assert [call.lineno for call in nameless(ast.parse(code))] == [1, 4]
    assert not list(nameless(ast.parse("class A:\n    def __init__(self):\n        self.a = torch.zeros(3)")))


def test_factories_name_their_device() -> None:
    files = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0].split(".")[0] not in HOST_ONLY]
    assert len(files) > 50
    found = [
        f"{path.relative_to(SOURCE)}:{call.lineno} {ast.unparse(call)}"
        for path in files
        for call in nameless(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "expected device=..., got\n" + "\n".join(found)
