"""The shapes in the signatures are true: the core runs with each of them checked at run time."""

import subprocess
import sys

# In a process of its own, because the checks are put in while modules are imported.
SCRIPT = """
import torch
from jaxtyping import install_import_hook

MODULES = "functional reference call grid cache attend layout mask score source position transformer"
with install_import_hook([f"headwise.{name}" for name in MODULES.split()], "beartype.beartype"):
    import headwise as hw

    query, key, value = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 7, 8), torch.randn(2, 2, 7, 6)
    for engine in ("auto", "reference", "sdpa", "blockwise"):
        hw.attention(query, key, value, mask=hw.Causal(), engine=engine, return_lse=True)
    masks = (
        hw.Window(3),
        hw.Padding(torch.ones(2, 7, dtype=torch.bool)),
        hw.Documents(torch.zeros(2, 7, dtype=torch.long)),
        torch.ones(5, 7, dtype=torch.bool),
        lambda b, h, i, j: i >= j,
        hw.Causal() | hw.Prefix(torch.tensor([1, 2])),
        ~hw.Dilated(2, 2),
    )
    scores = (hw.Alibi(4), hw.Softcap(3.0), hw.Bias(torch.zeros(5, 7)), hw.T5Bias(4), hw.Sink(4), lambda s, b, h, i, j: s)
    for mask in masks:
        for score in (None, scores):
            for engine in ("auto", "reference"):
                hw.attention(query, key, value, mask=mask, score=score, engine=engine)

    x = torch.randn(2, 5, 12)
    layer = hw.MultiHeadAttention(12, 3, position=hw.Rotary(4), mask=hw.Causal(), kv_heads=1, qk_norm="rms")
    layer.keep_attention, cache = True, hw.KVCache()
    layer(x), layer(x, positions=3), layer(x, positions=torch.arange(5)), layer(x, torch.randn(2, 3, 12))
    layer(x, cache=cache), layer(x, cache=cache), layer.query(torch.randn(12))
    classic = hw.MultiHeadAttention(12, 3, batch_first=False)
    classic(x, x, x, mask=torch.ones(2, 2, 5, dtype=torch.bool))
    model = hw.AutoregressiveTransformer(9, 12, 3, 2)
    model(torch.randint(0, 9, (2, 5)), cache=hw.KVCache())

    from jaxtyping import TypeCheckError
    try:
        hw.attention(query, key, value[:, :, :3])
    except TypeCheckError:
        print("checked")
"""


def test_every_shape_in_a_signature_holds():
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert found.stdout == "checked\n", found.stderr[-2000:]
