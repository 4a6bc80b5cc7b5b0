"""What customers bring: nothing may be misread in silence."""

from __future__ import annotations

import io
import json
import random
import struct
import time
from collections import Counter
from pathlib import Path

import pytest
from openpyxl import Workbook

from app.errors import AppError
from app.profiles.config import config_profile
from app.profiles.readers.models import read_profile
from app.profiles.readers.prices import amount
from app.profiles.readers.recognition import read_import
from app.profiles.samples import read_sample

HERE = Path(__file__).parent
FIELD = HERE / "field"
CONFIGS = [
    json.loads(line) for line in (HERE / "model-configs.jsonl").read_text(encoding="utf-8").splitlines()
]
LANGUAGE = {"causal", "seq2seq", "masked"}
CLOSE = 0.02
"""Deviation of parameters that counts as right."""


def outcome(row: dict[str, object]) -> str:
    """Return how a configuration is read: right, warned, refused or silently wrong."""
    try:
        profile = config_profile(row["config"])
    except AppError:
        return "refused"
    if abs(profile.parameters / float(str(row["parameters"])) - 1) <= CLOSE:
        return "right"
    return "warned" if profile.doubts else "silent"


def test_no_configuration_of_the_library_is_misread_in_silence() -> None:
    outcomes = {row["type"]: outcome(row) for row in CONFIGS}
    assert [name for name, said in outcomes.items() if said == "silent"] == []
    language = Counter(outcomes[row["type"]] for row in CONFIGS if row["group"] in LANGUAGE)
    assert language["right"] >= 0.93 * language.total()


PUBLISHED = [
    json.loads(line) for line in (HERE / "published-configs.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Configurations of models of 2025, their essential fields, with the parameters their authors state."""


@pytest.mark.parametrize("row", PUBLISHED, ids=[row["name"] for row in PUBLISHED])
def test_a_published_configuration_has_the_parameters_its_authors_state(row: dict[str, object]) -> None:
    profile = config_profile(row["config"])
    assert profile.parameters == pytest.approx(float(str(row["published"])), rel=CLOSE)


def test_a_kind_of_layers_that_no_formula_speaks_of_is_a_doubt() -> None:
    row = next(row for row in PUBLISHED if row["name"] == "LFM2 1.2B")
    layers = ["conv", "full_attention"] * 7
    assert not config_profile(row["config"] | {"layer_types": [*layers, "conv", "conv"]}).doubts
    assert config_profile(row["config"] | {"layer_types": [*layers, "mamba", "conv"]}).doubts


def test_compute_of_language_models_is_that_of_the_library() -> None:
    far = []
    rows = [row for row in CONFIGS if row["group"] in LANGUAGE and "forward_flop" in row]
    for row in rows:
        profile = config_profile(row["config"])
        table = profile.operators(profile.tokens(row["forward_tokens"]))
        if abs(float(table.forward_flop.sum()) / row["forward_flop"] - 1) > 0.05 and not profile.doubts:
            far.append(row["type"])
    assert far == []


@pytest.mark.parametrize(
    ("file", "billions"),
    [
        ("bert_no_type.json", 0.335),
        ("bom.json", 1.715),
        ("comments.json", 1.715),
        ("trailing.json", 1.715),
        ("python_dict.txt", 1.715),
        ("printed_config.txt", 1.715),
        ("norope_1m.json", 1.715),
        ("hidden_act_swiglu.json", 1.715),
        ("geglu_hidden_activation.json", 1.715),
        ("swp_letters.json", 1.715),
        ("infinity.json", 0.095),
        ("megatron_args.json", 8.03),
        ("meta_params.json", 8.03),
        ("mistral_params.json", 7.248),
        ("mpt7b.json", 6.65),
        ("t5_is_gated_act.json", 4.76),
        ("speech2text.json", 0.242),
        ("unet.json", 0.8595),
    ],
)
def test_a_configuration_is_read_as_it_is_meant(file: str, billions: float) -> None:
    profile = read_profile(file, (FIELD / file).read_bytes())
    assert profile.parameters / 1e9 == pytest.approx(billions, rel=0.005)


@pytest.mark.parametrize(
    ("file", "active"),
    [("moe_topk_known.json", 1.718), ("moe_topk_unknown.json", 1.718), ("moe_freq_list.json", 1.139)],
)
def test_experts_per_token_are_read_under_any_of_their_names(file: str, active: float) -> None:
    profile = read_profile(file, (FIELD / file).read_bytes())
    assert profile.active_parameters / 1e9 == pytest.approx(active, rel=0.005)


@pytest.mark.parametrize(
    ("file", "field"),
    [
        ("nas_blocks.json", "config.block_configs"),
        ("nemo_hparams.json", "config.model.padded_vocab_size"),
        ("dit.json", "config._class_name"),
    ],
)
def test_what_is_not_understood_is_refused_by_its_field(file: str, field: str) -> None:
    with pytest.raises(AppError) as refused:
        read_profile(file, (FIELD / file).read_bytes())
    assert [error.field for error in refused.value.errors] == [field]


@pytest.mark.parametrize(
    "file", ["moe_topk_absent.json", "flat_vlm.json", "llm_config.json", "top_hidden_and_text_config.json"]
)
def test_what_is_left_out_is_a_doubt(file: str) -> None:
    assert read_profile(file, (FIELD / file).read_bytes()).doubts


def test_a_field_of_another_kind_than_the_class_takes_is_named() -> None:
    for field, value in (("hidden_size", "wide"), ("num_hidden_layers", 10**12), ("vocab_size", {"a": 1})):
        with pytest.raises(AppError) as refused:
            config_profile({"model_type": "gemma3_text", field: value})
        assert f"config.{field}" in [error.field.removeprefix("model.") for error in refused.value.errors]


def test_a_safetensors_header_is_a_model() -> None:
    layers = {f"model.layers.{number}.mlp.up_proj.weight": [32, 8] for number in range(2)}
    shapes = {"model.embed_tokens.weight": [100, 8], **layers}
    header = {name: {"dtype": "BF16", "shape": shape} for name, shape in shapes.items()}
    text = json.dumps(header).encode()
    profile = read_profile("model.safetensors", struct.pack("<Q", len(text)) + text)
    assert profile.parameters == 100 * 8 + 2 * 32 * 8
    assert profile.doubts


@pytest.mark.parametrize(
    ("file", "samples", "tokens"),
    [
        ("alpaca_rows.jsonl", 10, 300),
        ("prompt_response.jsonl", 10, 210),
        ("array_oneline.json", 10, 300),
        ("array_pretty.json", 2, 300),
    ],
)
def test_all_fields_of_a_row_are_counted(file: str, samples: int, tokens: int) -> None:
    sample = read_sample(file, (FIELD / file).read_bytes())
    assert (sample.samples, sample.mean_tokens) == (samples, tokens)


def test_a_preference_is_two_sequences() -> None:
    rows = b'{"prompt": "aaaa aaaa aaaa", "chosen": "bbbb bbbb", "rejected": "cccc"}\n' * 3
    assert read_sample("pairs.jsonl", rows).samples == 6


@pytest.mark.parametrize("encoding", ["cp949", "utf-16", "utf-8", "utf-8-sig"])
def test_a_table_is_read_in_the_encodings_that_excel_writes(encoding: str) -> None:
    text = "question,answer\n안녕하세요 여러분,반갑습니다\n"
    assert read_sample("rows.csv", text.encode(encoding)).samples == 1


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("₩412,000,000", (412e6, "KRW")),
        ("298.000,50 €", (298000.5, "EUR")),
        ("15,2", (15.2, "")),
        ("1.234", None),
        ("12,34,56", None),
        ("USD 98.32", (98.32, "USD")),
    ],
)
def test_money_is_read_in_one_way_or_not_at_all(text: str, read: tuple[float, str] | None) -> None:
    assert amount(text) == read


def quote() -> bytes:
    book, stream = Workbook(), io.BytesIO()
    sheet = book.active
    assert sheet is not None
    for row in (
        ("2026-11-02", None, None),
        ("Item", "Quantity", "Unit price (KRW)"),
        ("GPU server", 4, 412_000_000),
    ):
        sheet.append(row)
    book.save(stream)
    return stream.getvalue()


AZURE = {
    "Items": [{"currencyCode": "USD", "retailPrice": 98.3, "armSkuName": "ND96", "unitOfMeasure": "1 Hour"}]
}
AWS = {"publicationDate": "2026-10-01T00:00:00Z",
       "products": {"S": {"attributes": {"instanceType": "p5.48xlarge"}}},
       "terms": {"OnDemand": {"S": {"S.T": {"priceDimensions": {"S.T.D": {
           "unit": "Hrs", "pricePerUnit": {"USD": "98.32"}}}}}}}}  # fmt: skip
GCP = {"skus": [{"description": "A3 core", "pricingInfo": [{"pricingExpression": {
    "usageUnit": "h",
    "tieredRates": [{"unitPrice": {"currencyCode": "USD", "units": "2", "nanos": 5e8}}]}}]}]}  # fmt: skip
INFRACOST = {"currency": "USD", "totalMonthlyCost": "1", "projects": [{"breakdown": {"resources": [
    {"name": "aws_instance.gpu",
     "costComponents": [{"name": "Instance", "unit": "hours", "price": "98.32"}]}]}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "kind", "price", "currency"),
    [
        (quote(), "quote", 412e6, "KRW"),
        (json.dumps(AZURE).encode(), "azure-retail-prices", 98.3, "USD"),
        (json.dumps(AWS).encode(), "aws-price-list", 98.32, "USD"),
        (json.dumps(GCP).encode(), "gcp-skus", 2.5, "USD"),
        (json.dumps(INFRACOST).encode(), "infracost", 98.32, "USD"),
        ('품목,수량,단가\n서버,4,"\\412,000,000"\n'.encode("cp949"), "quote", 412e6, "KRW"),
    ],
)
def test_prices_are_recognised(content: bytes, kind: str, price: float, currency: str) -> None:
    found = read_import("prices", content)
    assert found.prices is not None
    assert (found.kind, found.prices.lines[0].price, found.prices.lines[0].currency) == (
        kind,
        price,
        currency,
    )


def test_arguments_of_a_training_program_fill_its_plan() -> None:
    arguments = json.loads((FIELD / "megatron_args.json").read_text(encoding="utf-8"))
    arguments |= {"tensor_model_parallel_size": 8, "pipeline_model_parallel_size": 2,
                  "global_batch_size": 512, "micro_batch_size": 1, "train_iters": 1000,
                  "bf16": True}  # fmt: skip
    found = read_import("args.json", json.dumps(arguments).encode())
    assert found.plan == {"tensor": 8, "pipeline": 2, "micro_batch": 1}
    assert found.workload == {"seq_len": 8192, "global_batch": 512, "samples": 512_000, "precision": "bf16"}


def mutated(chance: random.Random, content: bytes) -> bytes:
    """Return a file with bytes changed, cut, doubled or replaced by unlikely numbers."""
    data = bytearray(content[:20_000])
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data) or 1)
        match chance.randrange(6):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[at : at + chance.randint(1, 40)]
            case 2:
                data[at:at] = data[at : at + 60]
            case 3:
                data[at:at] = chance.choice(
                    (b"1e308", b"-1", b"0", b"null", b"[]", b"{}", b"9" * 30, b"true")
                )
            case 4:
                data = data[: at + 1]
            case _:
                digits = [place for place, byte in enumerate(data) if 48 <= byte < 58]
                if digits:
                    data[chance.choice(digits)] = chance.randrange(48, 58)
    return bytes(data)


SEEDS = [path.read_bytes() for path in sorted(FIELD.iterdir())] + [
    quote(), *(json.dumps(document).encode() for document in (AZURE, AWS, GCP, INFRACOST)),
    *(json.dumps(row["config"]).encode() for row in CONFIGS[::6]),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_refused_with_words(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(150):
        content = mutated(chance, chance.choice(SEEDS))
        started = time.monotonic()
        try:
            found = read_import("file", content)
            if found.profile is not None:
                assert found.profile.parameters >= 0
        except AppError as error:
            assert str(error)
        assert time.monotonic() - started < 5.0


@pytest.mark.parametrize(
    ("table", "price", "count", "currency", "discount", "date"),
    [
        ("품목,수량,단가\nDGX B200,3,6.1억\n", 6.1e8, 3, "KRW", None, ""),
        ("품목,수량,단가\nDGX H100,2,\"4억 1,200만원\"\n", 4.12e8, 2, "KRW", None, ""),
        ("(단위: 천원)\n품목,수량,단가,할인(%),금액\n서버,1,620000,5,589000\n", 6.2e8, 1, "KRW", 0.05, ""),
        ("품목,추천 단가,수량\n서버,12000000,4\n", 1.2e7, 4, "", None, ""),
        ("Item,Qty,Price,Discount,Total\nServer,2,USD 100,USD 5,USD 195\n", 100, 2, "USD", 0.025, ""),
        ("Product,Price,Valid until\nH100,USD 250,\"May 31, 2026\"\n", 250, None, "USD", None, "2026-05-31"),
        ("名称,数量,单价\nGPU,4,\"¥1,150,000\"\n", 1.15e6, 4, "", None, ""),
    ],
)  # fmt: skip
def test_prices_of_tables_are_read_as_they_are_meant(
    table: str, price: float, count: float | None, currency: str, discount: float | None, date: str
) -> None:
    found = read_import("quote.csv", table.encode())
    assert found.prices is not None
    (line,) = found.prices.lines
    assert (line.price, line.count, line.currency, line.date) == (price, count, currency, date)
    assert line.discount == (None if discount is None else pytest.approx(discount))


def test_a_line_whose_total_is_another_is_named() -> None:
    table = b"Item,Qty,Unit price,Total\nA,2,USD 100,USD 200\nB,2,USD 100,USD 2400\n"
    found = read_import("quote.csv", table)
    assert found.prices is not None and len(found.prices.lines) == 1
    assert found.not_understood == ("3: B",)


def test_cells_keep_the_currency_they_are_shown_with() -> None:
    book = Workbook()
    assert book.active is not None
    book.active.append(["Item", "Units", "Price", "Discount"])
    book.active.append(["HGX H200", 3, 287654.125, 0.12])
    book.active["C2"].number_format = "[$\N{EURO SIGN}-407] #,##0.00"
    book.active["D2"].number_format = "0%"
    file = io.BytesIO()
    book.save(file)
    found = read_import("quote.xlsx", file.getvalue())
    assert found.prices is not None
    (line,) = found.prices.lines
    assert (line.price, line.currency, line.discount) == (287654.125, "EUR", 0.12)


def test_state_spaces_are_multiplied_for_every_head_as_in_the_library() -> None:
    # Counted by torch.utils.flop_counter on the meta device, transformers 5.24.0, 128 tokens.
    for kind, flop in (("mamba2", 2105757663232), ("falcon_h1", 2204510584832)):
        profile = config_profile({"model_type": kind})
        table = profile.operators(profile.tokens(128))
        assert float(table.forward_flop.sum()) == pytest.approx(flop, rel=0.01)
