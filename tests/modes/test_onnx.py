"""ONNX: a model is exported once, with batch and length left open, and runs at other sizes outside of PyTorch."""

import io
import warnings

import pytest
import torch
from torch.export import Dim

import headwise as hw

for package in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(package, reason="needs the extra `export`: pip install 'headwise[export]'")

OPTIONS = {
    "plain": {},
    "alibi": {"score": hw.Alibi, "position": None},
    "t5": {"score": hw.T5Bias, "position": None},
    "softcap": {"score": hw.Softcap(3.0)},
    "sink": {"score": hw.Sink},
    "grouped": {"kv_heads": 2},
    "window": {"mask": hw.Window(3)},
}


def session_of(model, given, sizes):
    """An onnxruntime session of the model, exported with these sizes left open."""
    import onnxruntime

    with warnings.catch_warnings():
        # The exporter warns of PyTorch's own code.
        warnings.simplefilter("ignore")
        program = torch.onnx.export(model, given, dynamo=True, dynamic_shapes=sizes, verbose=False)
    file = io.BytesIO()
    program.save(file)
    return onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_an_exported_model_gives_the_same_logits_in_onnxruntime_at_two_sizes(options):
    model = hw.AutoregressiveTransformer(11, 16, 4, 2, **OPTIONS[options]).eval()
    sizes = ({0: Dim("batch", min=1, max=64), 1: Dim("length", min=2, max=64)},)
    session = session_of(model, (torch.randint(0, 11, (2, 7)),), sizes)
    (place,) = session.get_inputs()
    for batch, length in ((3, 12), (1, 5)):
        tokens = torch.randint(0, 11, (batch, length))
        (logits,) = session.run(None, {place.name: tokens.numpy()})
        torch.testing.assert_close(torch.from_numpy(logits), model(tokens), atol=1e-5, rtol=1e-4)


@pytest.mark.slow
def test_a_layer_with_padding_is_exported_with_its_mask():
    """The flags of the padding are an input of the exported graph; a wholly padded sequence gives no NaN."""

    class Padded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = hw.MultiHeadAttention(16, 4, position=hw.Rotary(4), mask=hw.Causal())

        def forward(self, x, keep):
            return self.attention(x, mask=hw.Padding(keep))

    layer = Padded().eval()
    batch, length = Dim("batch", min=1, max=64), Dim("length", min=2, max=64)
    keep = torch.ones(2, 7, dtype=torch.bool)
    session = session_of(layer, (torch.randn(2, 7, 16), keep), ({0: batch, 1: length}, {0: batch, 1: length}))
    for batch, length in ((3, 12), (2, 5)):
        x, keep = torch.randn(batch, length, 16), torch.arange(length) >= torch.arange(batch)[:, None] * 2
        keep[-1] = False
        names = [place.name for place in session.get_inputs()]
        (output,) = session.run(None, dict(zip(names, (x.numpy(), keep.numpy()), strict=True)))
        torch.testing.assert_close(torch.from_numpy(output), layer(x, keep), atol=1e-5, rtol=1e-4)
