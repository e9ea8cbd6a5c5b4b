"""Imports: names resolve, nothing heavy is loaded early, rooms import the core and never the reverse."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import headwise as hw

SOURCE = Path(hw.__file__).parent
# What is built on the core: attention and models know nothing of it.
ROOMS = {"bench", "train", "generation", "recording", "commands", "cli", "__main__"}


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield path, ".".join(("headwise", *(part for part in parts if part != "__init__")))


def imported(path):
    """Names of the modules that this file imports anywhere in it, inside functions too; for types only does not count."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} imports relatively"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "headwise" and parts[1] in ROOMS else None


def test_rooms_import_the_core_and_the_core_no_room():
    """Law 5. The package itself names rooms, and loads them on use."""
    wrong = [
        f"{name} imports {target}"
        for path, name in modules()
        if room(name) is None and name != "headwise"
        for target in imported(path)
        if room(target)
    ]
    assert not wrong


def test_generation_and_recording_know_nothing_of_training():
    wrong = [
        f"{name} imports {target}"
        for path, name in modules()
        if room(name) in ("generation", "recording") and not name.endswith(".cli")
        for target in imported(path)
        if room(target) not in (None, room(name))
    ]
    assert not wrong


def test_importing_the_package_loads_no_torch():
    script = (
        "import sys, headwise; print(sorted({'torch', 'numpy', 'jaxtyping'} & set(sys.modules)), headwise.__version__)"
    )
    found = run(script)
    assert found.stdout == f"[] {hw.__version__}\n", found.stderr


@pytest.mark.parametrize("order", [("attention", "record"), ("record", "attention")], ids=" then ".join)
def test_lazy_names_stay_functions_in_each_order_of_import(order):
    """Used twice each: a module of the same name must not take the place of the function after the first use."""
    script = f"""
import headwise as hw, torch
for name in {order!r} * 2:
    if name == "attention":
        q = torch.zeros(1, 1, 2, 2)
        assert hw.attention(q, q, q).shape == (1, 1, 2, 2)
    else:
        layer = hw.MultiHeadAttention(4, 2)
        with hw.record(layer) as tape:
            layer(torch.zeros(1, 2, 4))
        assert len(tape[""]) == 1
print("done")
"""
    found = run(script)
    assert found.stdout == "done\n", found.stderr


def test_no_module_bears_the_name_of_a_public_function():
    names = {name.split(".")[1] for _, name in modules() if "." in name}
    functions = {name for name in hw.__all__ if name.islower() and not name.startswith("_")}
    assert not names & functions


def test_public_names_are_few_and_resolve():
    assert len(hw.__all__) <= 45
    assert len(set(hw.__all__)) == len(hw.__all__)
    for name in hw.__all__:
        assert getattr(hw, name) is getattr(hw, name)
    assert dir(hw) == sorted(hw.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'headwise' has no attribute 'atention'"):
        hw.atention  # noqa: B018


@pytest.mark.parametrize("name", [name for _, name in modules()])
def test_every_module_has_a_note_with_title_and_summary(name):
    module = importlib.import_module(name)
    if not Path(module.__file__).read_text().strip() or module.__file__.endswith("__init__.py"):
        return
    if name.endswith("version"):
        return
    head = module.__doc__.strip().splitlines()
    assert head[0] == "---", name
    assert head[1].startswith("title: "), name
    assert head[2].startswith("summary: "), name


def test_type_checkers_see_the_names_that_are_loaded_on_use():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {alias.asname for node in block.body for alias in node.names}
    assert told == set(hw.__all__) - {"__version__"}
