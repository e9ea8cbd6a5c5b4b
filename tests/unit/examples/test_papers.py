"""The recipes of papers run, draw, and build models of exactly the published sizes."""

import ast
import runpy
from pathlib import Path

import pytest
import torch

import headwise as hw

FOLDER = Path(__file__).parents[3] / "examples/papers"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# Weights of the published models, as the checkpoints that their authors released hold them; of the original transformer only a rounded
# number is known, and it is no checkpoint.
PUBLISHED = {
    "gpt2": 124_439_808,
    "llama": 6_738_415_616,
    "mistral": 7_241_732_096,
    "gemma2": 2_614_341_888,
    "t5": 60_506_624,
    "bloom": 176_247_271_424,
    "vision_transformer": 86_567_656,
}


@pytest.fixture(scope="module")
def shown():
    """What each recipe printed, and what it left behind; each runs once."""
    return {}


def run(name, shown, capsys):
    if name not in shown:
        space = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        shown[name] = (space, capsys.readouterr().out)
    return shown[name]


@pytest.mark.parametrize("name", [path.stem for path in SCRIPTS])
def test_recipe_runs_and_says_something(name, shown, capsys):
    assert run(name, shown, capsys)[1].strip()


@pytest.mark.parametrize("name", PUBLISHED)
def test_recipe_has_as_many_weights_as_the_published_model(name, shown, capsys):
    assert run(name, shown, capsys)[1].startswith(f"{PUBLISHED[name]:,} weights\n")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_recipe_is_short_and_draws_a_mask_or_a_map(path):
    tree = ast.parse(path.read_text())
    lines = {line for node in tree.body[1:] for line in range(node.lineno, node.end_lineno + 1)}
    text = path.read_text().splitlines()
    code = [text[line - 1] for line in lines if text[line - 1].strip() and not text[line - 1].strip().startswith("#")]
    assert len(code) <= 45
    last = [node for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    names = {ast.unparse(node.value.func).rpartition(".")[2] for node in last}
    assert names & {"table", "squares", "curves"}
    assert "run: true" in path.read_text()


def test_silent_heads_are_plain_attention_and_heads_that_talk_are_not(shown, capsys):
    space, _ = run("talking_heads", shown, capsys)
    query, key, value = (torch.randn(2, 4, 6, 8) for _ in range(3))
    silent = torch.eye(4)
    output, _ = space["talking_heads"](query, key, value, silent, silent)
    torch.testing.assert_close(output, hw.attention(query, key, value))
    talk, reply = torch.randn(4, 4), torch.randn(4, 4)
    output, _ = space["talking_heads"](query, key, value, talk, reply)
    scores = torch.einsum("bhid,bhjd,hg->bgij", query, key, talk) / 8**0.5
    torch.testing.assert_close(output, torch.einsum("bhij,hg,bgjd->bgid", scores.softmax(-1), reply, value))


@pytest.mark.parametrize("engine", ["reference", "sdpa", "blockwise"])
def test_differential_attention_is_the_difference_of_two_maps(engine, shown, capsys):
    space, _ = run("differential", shown, capsys)
    query, key, value = torch.randn(2, 3, 7, 16), torch.randn(2, 3, 7, 16), torch.randn(2, 3, 7, 8)
    hidden = torch.ones(7, 7).tril() == 0
    first, second = (
        ((query[..., part] @ key[..., part].mT) / 8**0.5).masked_fill(hidden, -torch.inf).softmax(-1)
        for part in (slice(0, 8), slice(8, 16))
    )
    output = space["differential"](query, key, value, 0.3, mask=hw.Causal(), engine=engine)
    torch.testing.assert_close(output, (first - 0.3 * second) @ value)


def test_differential_attention_puts_more_weight_on_the_needle(shown, capsys):
    assert "plain 0.11, differential 0.52" in run("differential", shown, capsys)[1]


def test_windows_reach_further_through_layers(shown, capsys):
    lines = run("mistral", shown, capsys)[1].splitlines()
    assert lines[1:] == ["layers: 1 tokens: 4", "layers: 2 tokens: 7", "layers: 4 tokens: 13"]


def test_t5_scores_are_not_divided(shown, capsys):
    torch.manual_seed(0)
    space, _ = run("t5", shown, capsys)
    model = space["T5"](vocab=20, d_model=16, heads=2, layers=1, width=32).eval()
    layer = model.encoder.layers[0].attention
    x = torch.randn(1, 5, 16)
    query, key, value = (part(x).transpose(1, 2) for part in (layer.query, layer.key, layer.value))
    # The factor at the start is the root of the features, so a plain dot product of unscaled queries gives the same.
    scores = (query / layer.head_dim**0.5) @ key.mT
    distance = torch.arange(5)[:, None] - torch.arange(5)[None]
    (bias,) = layer.score.parts
    weights = (scores + bias.table[bias.bucket(distance)].permute(2, 0, 1)).softmax(-1)
    torch.testing.assert_close(layer(x), layer.output((weights @ value).transpose(1, 2).flatten(2)))
    assert model(torch.randint(20, (1, 6)), torch.randint(20, (1, 4))).shape == (1, 4, 20)


def test_gemma_caps_its_logits(shown, capsys):
    space, _ = run("gemma2", shown, capsys)
    model = space["Gemma2"](vocab=20, d_model=16, heads=2, layers=2, width=32, kv_heads=1, head_dim=8, window=3)
    with torch.no_grad():
        model.embedding.weight.mul_(1e4)
        assert model(torch.randint(20, (1, 6))).abs().max() <= 30
