"""The examples run as they are, stay short, and compute what they say."""

import ast
import math
import runpy
from pathlib import Path

import pytest
import torch

import headwise as hw

FOLDER = Path(__file__).parents[3] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# An example that trains takes its number of steps from the command line.
ARGUMENTS = {"induction_heads": ["2"]}


def load(name):
    return runpy.run_path(str(FOLDER / f"{name}.py"))


def lines_of_code(path):
    """Lines without comments, docstring and blanks."""
    text = path.read_text()
    covered = {line for node in ast.parse(text).body[1:] for line in range(node.lineno, node.end_lineno + 1)}
    lines = [text.splitlines()[line - 1].strip() for line in covered]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def own_rule_holds(space):
    """The page says: each part lowers the loss, and all rates are above 0."""
    ends = [curve[-1][1] for curve in space["losses"].values()]
    assert len(ends) == 3 and ends == sorted(ends, reverse=True)
    rates = [weight for name, weight in space["model"].named_parameters() if name.endswith("rate")]
    assert len(rates) == 2 and all((rate > 0).all() for rate in rates)


# What a page says of the numbers that it shows.
CLAIMS = {"own_rule": own_rule_holds}


@pytest.fixture
def threads():
    """An example may set the number of threads; tests after this one get theirs back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_example_is_short_and_runs(path, capsys, monkeypatch, threads):
    assert lines_of_code(path) <= 60
    monkeypatch.setattr("sys.argv", [str(path), *ARGUMENTS.get(path.stem, [])])
    space = runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
    CLAIMS.get(path.stem, lambda space: None)(space)


def pairs(layer, x, score):
    """Attention with a score worked out pair by pair."""
    query, key, value = (part(x)[0].transpose(0, 1) for part in (layer.query, layer.key, layer.value))
    length, heads = x.shape[1], layer.heads
    scores = torch.stack(
        [
            torch.stack(
                [torch.stack([score(h, query[h, i], key[h, j], i, j) for j in range(length)]) for i in range(length)]
            )
            for h in range(heads)
        ]
    )
    weights = (scores / math.sqrt(layer.head_dim)).softmax(-1)
    return layer.output((weights @ value).transpose(0, 1).flatten(1))[None]


@pytest.mark.parametrize("engine", ["reference", "blockwise"])
def test_transformer_xl_scores_each_pair_as_published(engine):
    layer = load("transformer_xl")["TransformerXLAttention"](16, 2, reach=4).double()
    layer.attend.engine = engine
    torch.nn.init.normal_(layer.content_bias)
    torch.nn.init.normal_(layer.position_bias)
    x = torch.randn(1, 7, 16, dtype=torch.float64)

    def score(h, query, key, i, j):
        distance = max(-4, min(4, i - j))
        encoding = hw.Sinusoidal(16)(torch.zeros(1, 1, 16, dtype=torch.float64), distance)[0, 0]
        position = layer.relative(encoding)[h]
        return (query + layer.content_bias[h, 0]) @ key + (query + layer.position_bias[h, 0]) @ position

    torch.testing.assert_close(layer(x), pairs(layer, x, score))


@pytest.mark.parametrize("engine", ["reference", "blockwise"])
def test_shaw_adds_a_vector_to_each_key(engine):
    layer = load("shaw")["ShawAttention"](16, 2, reach=2).double()
    layer.attend.engine = engine
    x = torch.randn(1, 7, 16, dtype=torch.float64)

    def score(h, query, key, i, j):
        return query @ (key + layer.vectors[max(-2, min(2, j - i)) + 2])

    torch.testing.assert_close(layer(x), pairs(layer, x, score))


@pytest.mark.parametrize(("name", "kind"), [("transformer_xl", "TransformerXLAttention"), ("shaw", "ShawAttention")])
def test_relative_attention_goes_through_a_cache_and_learns(name, kind):
    layer = load(name)[kind](16, 2, reach=4, mask=hw.Causal())
    x, cache = torch.randn(2, 9, 16), hw.KVCache()
    chunks = [layer(part, cache=cache) for part in x.split([4, 1, 4], dim=1)]
    torch.testing.assert_close(torch.cat(chunks, dim=1), layer(x))
    layer(x).square().sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_additive_attention_scores_by_a_network():
    layer = load("additive_attention")["AdditiveAttention"](16, 2).double()
    x = torch.randn(1, 5, 16, dtype=torch.float64)
    wanted = pairs(layer, x, lambda h, query, key, i, j: layer.weight[h] @ torch.tanh(query + key))
    torch.testing.assert_close(layer(x), wanted)


def test_packed_documents_equal_documents_apart():
    pack = load("packed_documents")["pack"]
    model = hw.AutoregressiveTransformer(50, 32, 4, 2).eval()
    documents = [torch.randint(50, (length,)) for length in (5, 1, 8)]
    tokens, mask, positions = pack(documents)
    apart = torch.cat([model(document[None])[0] for document in documents])
    torch.testing.assert_close(model(tokens, mask=mask, positions=positions)[0], apart, atol=1e-5, rtol=0)


def test_prefix_model_reads_the_prompt_both_ways_through_a_cache_too():
    model = load("prefix_language_model")["prefix_model"](50, 3).eval()
    tokens, cache = torch.randint(50, (1, 6)), hw.KVCache()
    whole = model(tokens)
    chunks = [model(part, cache=cache) for part in tokens.split([3, 1, 2], dim=1)]
    torch.testing.assert_close(torch.cat(chunks, dim=1), whole, atol=1e-5, rtol=0)


def test_flex_program_learns_on_a_cpu():
    """A10, A11."""
    assert load("flex_program")["train"](60) == [3, 3, 3, 3]
