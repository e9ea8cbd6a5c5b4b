"""Models of Hugging Face transformers, with random weights, on headwise and on their own plain implementation."""

import pytest
import torch

import headwise as hw

transformers = pytest.importorskip(
    "transformers", reason="needs the extra 'transformers'; `make test-slow` installs it"
)

from headwise.integrations import transformers as integration  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

SMALL = {
    "vocab_size": 31,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}
GROUPED = SMALL | {"num_key_value_heads": 2, "head_dim": 8}
CONFIGS = {
    "gpt2": lambda: transformers.GPT2Config(vocab_size=31, n_embd=24, n_layer=2, n_head=4, n_positions=64),
    "llama": lambda: transformers.LlamaConfig(**GROUPED),
    "mistral": lambda: transformers.MistralConfig(**GROUPED, sliding_window=4),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL, num_key_value_heads=2),
    "qwen3": lambda: transformers.Qwen3Config(**GROUPED),
    "gemma": lambda: transformers.GemmaConfig(**GROUPED),
    "gemma2": lambda: transformers.Gemma2Config(
        **GROUPED, sliding_window=4, query_pre_attn_scalar=8, attn_logit_softcapping=3.0
    ),
    "gemma3": lambda: transformers.Gemma3TextConfig(**GROUPED, sliding_window=4),
    "neox": lambda: transformers.GPTNeoXConfig(**SMALL),
    "gpt-oss": lambda: transformers.GptOssConfig(
        **GROUPED, num_local_experts=2, num_experts_per_tok=1, sliding_window=4
    ),
}


def randomised(model):
    """Every parameter drawn anew, so that no norm is 1 and no bias 0."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * (0.3 if parameter.dim() > 1 else 0.5))
    return model.eval()


def pair(name):
    """The same model twice: on its own plain implementation and on headwise."""
    integration.register()
    models = []
    for implementation in ("eager", "headwise"):
        config = CONFIGS[name]()
        models.append(
            randomised(transformers.AutoModelForCausalLM.from_config(config, attn_implementation=implementation))
        )
    models[1].load_state_dict(models[0].state_dict())
    return models


@pytest.fixture
def tokens():
    return torch.randint(31, (2, 9), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", CONFIGS)
def test_logits_and_gradients_equal_those_of_the_plain_implementation(name, tokens):
    plain, ours = pair(name)
    logits = [model(tokens).logits for model in (plain, ours)]
    torch.testing.assert_close(logits[1], logits[0], atol=2e-5, rtol=2e-4)
    for model, each in zip((plain, ours), logits, strict=True):
        each.square().mean().backward()
        assert model.training is False
    grads = [{key: parameter.grad for key, parameter in model.named_parameters()} for model in (plain, ours)]
    for key, grad in grads[0].items():
        scale = 1e-6 if grad is None else 1e-4 * max(1.0, float(grad.abs().max()))
        assert (grad is None) == (grads[1][key] is None), key
        if grad is not None:
            torch.testing.assert_close(grads[1][key], grad, atol=scale, rtol=1e-3)


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_left_padding_and_a_cache_change_nothing_for_real_tokens(name, tokens):
    plain, ours = pair(name)
    keep = torch.arange(9) >= torch.tensor([[0], [3]])
    positions = (keep.long().cumsum(1) - 1).clamp(min=0)
    whole = plain(tokens, attention_mask=keep.long(), position_ids=positions).logits
    padded = ours(tokens, attention_mask=keep.long(), position_ids=positions).logits
    torch.testing.assert_close(padded[keep], whole[keep], atol=2e-5, rtol=2e-4)
    first = ours(tokens[:, :6], attention_mask=keep[:, :6].long(), position_ids=positions[:, :6], use_cache=True)
    cache, logits = first.past_key_values, [first.logits]
    for index in (6, 7, 8):
        step = ours(
            tokens[:, index : index + 1],
            attention_mask=keep[:, : index + 1].long(),
            position_ids=positions[:, index : index + 1],
            past_key_values=cache,
            use_cache=True,
        )
        logits.append(step.logits)
    torch.testing.assert_close(torch.cat(logits, 1)[keep], whole[keep], atol=2e-5, rtol=2e-4)


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_recorded_maps_are_the_attentions_of_the_plain_implementation(name, tokens):
    """A05: maps on the fast path, exact, one for each head and layer."""
    plain, ours = pair(name)
    attentions = plain(tokens, output_attentions=True).attentions
    unrecorded = ours(tokens).logits
    with hw.record(ours) as tape:
        recorded = ours(tokens).logits
    assert torch.equal(recorded, unrecorded)
    assert len(tape) == len(attentions) == 2
    for records, expected in zip(tape.values(), attentions, strict=True):
        torch.testing.assert_close(
            records[0].weights, expected[..., : records[0].weights.shape[-1]], atol=2e-5, rtol=1e-4
        )


@torch.no_grad()
def test_a_model_is_recorded_before_its_first_call_and_in_generation(tokens):
    _, ours = pair("llama")
    with hw.record(ours, rows=-1, keep="entropy") as tape:
        ours.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=4, do_sample=False, pad_token_id=0)
    assert [len(records) for records in tape.values()] == [4, 4]


@pytest.mark.parametrize("cache", [{}, {"cache_implementation": "static"}], ids=["growing", "static"])
@torch.no_grad()
def test_generation_from_left_padded_prompts_writes_the_same_tokens(cache, tokens):
    keep = (torch.arange(9) >= torch.tensor([[0], [3]])).long()
    arguments = {"attention_mask": keep, "max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    plain, ours = (model.generate(tokens, **arguments, **cache) for model in pair("llama"))
    assert torch.equal(plain, ours)


@torch.no_grad()
def test_a_model_that_is_asked_for_attentions_gives_them(tokens):
    """A05: neither None nor an empty tuple."""
    plain, ours = (model(tokens, output_attentions=True).attentions for model in pair("llama"))
    for one, other in zip(plain, ours, strict=True):
        torch.testing.assert_close(other, one, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_encoders_and_position_biases_are_exact_and_recorded(tokens):
    integration.register()
    configs = {
        "bert": transformers.BertConfig(
            vocab_size=31, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32
        ),
        "t5": transformers.T5Config(vocab_size=31, d_model=24, d_kv=6, num_layers=2, num_heads=4, d_ff=32),
    }
    keep = torch.arange(9) >= torch.tensor([[0], [3]])
    more = {"bert": {}, "t5": {"decoder_input_ids": tokens[:, :4]}}
    for name, config in configs.items():
        model = randomised(transformers.AutoModel.from_config(config, attn_implementation="eager"))
        plain = model(tokens, attention_mask=keep.long(), **more[name]).last_hidden_state
        model.set_attn_implementation("headwise")
        with hw.record(model, keep="entropy") as tape:
            ours = model(tokens, attention_mask=keep.long(), **more[name]).last_hidden_state
        real = keep if name == "bert" else torch.ones(2, 4, dtype=torch.bool)
        torch.testing.assert_close(ours[real], plain[real], atol=2e-5, rtol=2e-4)
        assert len(tape) == {"bert": 2, "t5": 6}[name]


def test_the_submodule_adds_nothing_to_the_state_of_a_model(tokens):
    plain, ours = pair("llama")
    ours(tokens)
    assert set(ours.state_dict()) == set(plain.state_dict())


def test_a_float_mask_of_the_user_hides_and_adds():
    from torch import nn

    bias = torch.randn(1, 1, 3, 3).masked_fill(torch.ones(3, 3).triu(1).bool(), torch.finfo(torch.float32).min)
    query, key, value = (torch.randn(1, 2, 3, 4) for _ in range(3))
    output, weights = integration.attend(nn.Module(), query, key, value, bias, output_attentions=True)
    expected = (query @ key.transpose(2, 3) / 2 + bias).softmax(-1)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(output.transpose(1, 2), expected @ value)


def test_what_headwise_does_not_know_is_refused():
    with pytest.raises(hw.HeadwiseError, match="no head_mask"):
        integration.attend(torch.nn.Module(), *(torch.zeros(1, 1, 2, 2),) * 3, None, head_mask=torch.ones(1))
    with pytest.raises(hw.HeadwiseError, match="must be 'headwise'"):
        integration.register("other")
