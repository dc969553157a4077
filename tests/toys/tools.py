"""The programs of the folder tools, as modules."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).parents[2] / "tools"


def load_tool(name: str) -> Any:
    """The module of tools/NAME.py; its `main` is not run."""
    if str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))  # as for a program that is started there: tools import each other
    spec = spec_from_file_location(f"tool_{name}", TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
