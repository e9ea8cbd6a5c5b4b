"""The benchmark: what it measures is what the rules say, and every row carries its error."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from headwise.bench.layers import make_layers
from headwise.bench.measure import Row, peak_memory, ratios, relative_error
from headwise.bench.report import apart, bars, curves, table
from headwise.bench.rules import Shape, contenders, make_rules
from headwise.cli import main

SMALL = Shape(1, 2, 48, 8)


@pytest.mark.parametrize("rule", make_rules(SMALL))
def test_all_contenders_of_a_rule_compute_the_same(rule: str) -> None:
    arguments = make_rules(SMALL)[rule]
    operands = SMALL.operands(torch.float32)
    outputs = {name: run(*operands) for name, run in contenders(SMALL, arguments).items()}
    assert {"blockwise", "reference"} <= set(outputs)
    for output in outputs.values():
        torch.testing.assert_close(output, outputs["reference"], rtol=1e-4, atol=1e-5)


def test_all_layers_have_the_shape_of_their_input() -> None:
    x = torch.randn(2, 12, 16)
    for layer in make_layers(2, 12, 16, 4).values():
        assert layer(x).shape == x.shape


def test_the_einsum_layer_is_the_layer_of_pytorch() -> None:
    layers = make_layers(2, 12, 16, 4)
    ours, theirs = layers["einsum layer"].layer, layers["nn.MultiheadAttention"].layer.layer
    weights = torch.cat([linear.weight for linear in (ours.query, ours.key, ours.value)])
    biases = torch.cat([linear.bias for linear in (ours.query, ours.key, ours.value)])
    theirs.load_state_dict(
        {
            "in_proj_weight": weights,
            "in_proj_bias": biases,
            "out_proj.weight": ours.output.weight,
            "out_proj.bias": ours.output.bias,
        }
    )
    x = torch.randn(2, 12, 16)
    torch.testing.assert_close(layers["einsum layer"](x), layers["nn.MultiheadAttention"](x), rtol=1e-4, atol=1e-5)


def test_a_ratio_is_taken_within_its_round() -> None:
    count = {"base": 0, "run": 0}

    def tick(name: str) -> None:
        count[name] += 1

    found = ratios(lambda: tick("base"), {"run": lambda: tick("run")}, 5, "wall")
    assert count == {"base": 6, "run": 6} and found["run"][0] > 0


def test_peak_memory_counts_what_lives_at_once() -> None:
    number = 2**18
    assert 8 * number <= peak_memory(lambda: torch.zeros(number) + torch.zeros(number)[:1]) < 20 * number


def test_error_is_relative_to_the_largest_number() -> None:
    assert relative_error(torch.tensor([1.0, 4.5]), torch.tensor([1.0, 4.0], dtype=torch.float64)) == 0.125


def test_reports_are_well_formed() -> None:
    rows = [Row("a & b", "sdpa", 0.5, 0.6, 1.0, 10, 20, 1e-7), Row("a & b", "reference", 8.0, 6.0, 9.0, 10, 20, None)]
    assert table(rows).count("\n") == 3
    points = [{"rule": "causal", "tokens": n, "ms": n / 7, "bytes": 4 * n} for n in (64, 128)]
    for drawing in (bars(rows), curves(points, "ms", "time"), curves(points, "bytes", "memory")):
        root = ElementTree.fromstring(drawing)
        assert root.tag.endswith("svg")
        # Whatever has a colour by class has one in the dark theme too, and nothing is painted white.
        dark = drawing.partition("prefers-color-scheme:dark")[2]
        assert all(f".{each.get('class')}{{" in dark for each in root.iter() if each.get("class"))
        assert "white" not in drawing


def test_names_of_curves_do_not_lie_on_each_other() -> None:
    assert apart([50.0, 20.0, 22.0, 21.0]) == [62.0, 20.0, 48.0, 34.0]


def test_the_command_writes_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        "--tokens",
        "32",
        "--head-dim",
        "8",
        "--rounds",
        "1",
        "--no-layers",
        "--no-peers",
        "--rules",
        "causal",
        "alibi",
        "--scaling",
        "16",
        "32",
    ]
    threads = torch.get_num_threads()
    assert main(["bench", *flags, "--out", str(tmp_path), "--json"]) == 0
    assert torch.get_num_threads() == threads
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert document == json.loads((tmp_path / "bench.json").read_text())
    assert {row["rule"] for row in document["rows"]} == {"causal", "alibi"}
    assert all(row["error"] < 1e-5 for row in document["rows"])
    assert {path.name for path in tmp_path.iterdir()} == {"bench.json", "bench.svg", "time.svg", "memory.svg"}


def test_an_unknown_rule_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--rules", "fast"]) == 2
    assert "`rules` must be among causal, window 256" in capsys.readouterr().err
