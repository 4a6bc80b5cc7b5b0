"""Serve a model on each system that is asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.inference import cached_elements_per_token, cost_of_tokens, distinct_experts, prompt_operators
from app.engine.operators.transformer import TransformerShape
from app.engine.records import Floats, GpuSystem
from app.errors import BadInput, Message, fields_at
from app.estimating.context import SizingContext
from app.estimating.costing import Charges, basis_of, power_factors, system_power
from app.estimating.deciding import margin_of
from app.estimating.documents import CheckWarning, Default, Memory, MemoryPart, Part, Text, TraceStep
from app.estimating.hardware import Hardware
from app.estimating.inference import (
    BatchCurve,
    Replica,
    decoder_of,
    model_checks,
    serve,
    serving_checks,
    unfit,
)
from app.estimating.prices import DollarPrices, cost_defaults_of, prices
from app.estimating.ranges import common_normals, quantity
from app.estimating.request import AssumptionsInput
from app.estimating.schema import Quantity
from app.estimating.summaries import system_summary
from app.estimating.version import engine_version
from app.estimating.workload import precision_on, resolve_model
from app.features.inference.model import (
    Inference,
    InferenceRequest,
    ServedModel,
    ServingAnswer,
    ServingFigures,
    ServingPoint,
    ServingSystem,
)
from app.profiles.model import ModelProfile

MILLION = 1e6
POPE = "Pope et al., MLSys 2023; Williams, Waterman, Patterson, CACM 52(4), 2009"

ASSUMED = (
    Message("Every replica always works on a full batch of equal sequences; new prompts join between steps."),
    Message("Prompts and output run on the same accelerators; nothing waits in a queue."),
    Message("Efficiencies are those of the training software usual on the chip."),
    Message("One kernel for each operator; those of a decode step are launched as one recorded graph."),
)


def infer(request: InferenceRequest, context: SizingContext) -> Inference:
    """Compute how each system serves a model; nothing is stored."""
    profile = resolve_model(request.model, context)
    margin = margin_of(request.assumptions)
    shape = decoder_of(profile, request)
    defaults: list[Default] = []
    systems = [
        SystemServing(request, index, system, profile, shape, margin, context).answer(defaults)
        for index, system in enumerate(request.systems)
    ]
    table = prompt_operators(shape, request.prompt)
    cached = request.cache_size * cached_elements_per_token(shape) * shape.layers
    return Inference(
        engine_version=engine_version(context.catalog.version),
        catalog_version=context.catalog.version,
        model=ServedModel(
            id=profile.id,
            name=profile.name,
            parameters=table.parameters,
            active_parameters=table.active_parameters,
            cache_per_token=Quantity.exact(cached, "B"),
            prompt_flop=float(np.sum(table.forward_flop)),
        ),
        request=request,
        systems=systems,
        assumptions=[Text.of(sentence) for sentence in ASSUMED],
        defaults=list({(default.field, default.value): default for default in defaults}.values()),
        warnings=list(model_checks(profile, table, request)),
    )


@dataclass(frozen=True, slots=True)
class SystemServing:
    """One system of an inference request."""

    request: InferenceRequest
    index: int
    """Among the systems of the request."""
    system: ServingSystem
    profile: ModelProfile
    shape: TransformerShape
    margin: float | None
    context: SizingContext

    @property
    def assumptions(self) -> AssumptionsInput:
        own = self.system.assumptions
        return self.request.assumptions if own is None else own

    def answer(self, defaults: list[Default]) -> ServingAnswer:
        """Return the system's answer, appending the defaults it uses to ``defaults``."""
        warnings: list[CheckWarning] = []
        here = f"systems.{self.index}"
        system = self.system
        with fields_at(lambda name: name.replace("system.", f"{here}.", 1)):
            hardware = self.context.hardware.asked(system)
        if not isinstance(hardware.engine, GpuSystem):
            raise BadInput.at(
                f"{here}.id",
                "inference is not computed for IPUs; choose GPUs or similar accelerators, not {system}",
                system=hardware.entry.name,
            )
        with fields_at(lambda name: f"{here}.{name}" if system.assumptions is not None else name):
            context = self.context.at_prices(self.assumptions)
            family = self.profile.family
            dollar_prices = prices(
                hardware, self.assumptions, self.request.currency, context.catalog, warnings, family
            )
        chip = hardware.engine.chip
        table = prompt_operators(self.shape, self.request.prompt)
        precision = precision_on(
            self.request.precision,
            self.profile,
            table,
            chip,
            context.catalog,
            "precision",
            defaults,
            warnings,
        )
        served = serve(self.profile, self.shape, hardware, precision, self.request, self.margin, context)
        serving, replica = (None, served) if isinstance(served, Replica) else (served, served.central.replica)
        if serving is None:
            warnings.append(unfit(replica, self.request))
        else:
            warnings += serving_checks(serving, self.request)
            defaults += serving.defaults
        charges = None
        if dollar_prices is not None:
            charges = Charges(hardware, dollar_prices, self.request.currency)
        return ServingAnswer(
            label=system.label or _label_of(hardware),
            system=system_summary(hardware, context.catalog, family),
            software="" if serving is None else serving.software,
            precision_used=precision.value,
            fits=serving is not None,
            memory=_memory(replica, self.request.batch or 1 if serving is None else serving.batch),
            cache_per_sequence=Quantity.exact(replica.sequence, "B"),
            hourly=charges and quantity(charges.hourly, charges.hourly_samples, self.request.currency),
            cost_basis={}
            if dollar_prices is None
            else basis_of(dollar_prices, self.request.currency, context.catalog),
            serving=serving and self._figures(serving, hardware, charges, dollar_prices, context),
            status="unvalidated",
            warnings=warnings,
            trace=[] if serving is None else list(self._trace(serving, hardware)),
        )

    def _figures(
        self,
        served: BatchCurve,
        hardware: Hardware,
        charges: Charges | None,
        dollar_prices: DollarPrices | None,
        context: SizingContext,
    ) -> ServingFigures:
        replica, index, central = served.central.replica, served.chosen, served.central
        steps = central.token.total
        usual = cost_defaults_of(hardware, self.assumptions, context.catalog).pue.si
        power = system_power(
            hardware,
            usual if dollar_prices is None else dollar_prices.pue,
            context.catalog,
            self.profile.family,
        )
        curve = [_Point(served, position, hardware, charges) for position in range(len(central.batches))]
        chosen = curve[index]
        parts = {name: float(part[index]) for name, part in central.token._asdict().items()}
        both = self.request.tokens / self.request.output
        cost = chosen.cost(MILLION)
        rate, rates = chosen.rate, chosen.rates
        drawn = power.value * power_factors(power, common_normals())
        return ServingFigures(
            tensor=replica.tensor,
            replicas=replica.count,
            idle_accelerators=hardware.devices - replica.count * replica.tensor,
            batch=served.batch,
            largest_batch=replica.largest_batch,
            concurrent=replica.count * served.batch,
            meets_limits=served.meets,
            time_to_first_token=quantity(float(central.prompt.total[0]), served.prompt, "s"),
            decode_step=quantity(float(steps[index]), served.token[index], "s"),
            time_per_output_token=chosen.per_token,
            tokens_per_second=quantity(rate, rates, "tokens/s"),
            tokens_per_second_per_accelerator=chosen.per_accelerator,
            requests_per_second=quantity(rate / self.request.output, rates / self.request.output, "1/s"),
            cost_per_million_output_tokens=cost,
            cost_per_million_tokens=chosen.cost(MILLION / both),
            energy_per_million_output_tokens=quantity(
                power.value * MILLION / rate, drawn * MILLION / rates, "J"
            ),
            breakdown=[Part(part=name, seconds=seconds) for name, seconds in parts.items() if seconds > 0],
            curve=[
                ServingPoint(
                    batch=point.batch,
                    time_per_output_token=point.per_token,
                    tokens_per_second_per_accelerator=point.per_accelerator,
                    cost_per_million_output_tokens=point.cost(MILLION),
                )
                for point in curve
            ],
        )

    def _trace(self, served: BatchCurve, hardware: Hardware) -> list[TraceStep]:
        """Return the formulas of the chosen batch, with what went into them."""
        replica, index = served.central.replica, served.chosen
        chip, batch = replica.generation.system.chip, served.batch
        prompt, step = float(served.central.prompt.total[0]), float(served.central.token.total[index])
        per_token = float(served.central.per_token()[index])
        table = prompt_operators(self.shape, self.request.prompt)
        expected = {}
        if table.experts > 1:
            visited = self.shape.experts_per_token
            expected["experts_read"] = float(distinct_experts(self.shape.experts, visited, batch))

        def traced(name: str, formula: str, value: float, unit: str, **inputs: float | str) -> TraceStep:
            return TraceStep(
                name=name,
                formula=formula,
                inputs=dict(inputs),
                value=value,
                unit=unit,
                reference=POPE,
                source=[],
            )

        return [
            traced(
                "cache_of_sequence",
                "bytes of an element × elements of a token and layer × tokens that each layer sees, summed",
                replica.sequence,
                "B",
                tokens=self.request.tokens,
                bytes_of_element=self.request.cache_size,
            ),
            traced(
                "prompt",
                "sum over operators of max(FLOP / reached rate, bytes / bandwidth) + kernels + all-reduces",
                prompt,
                "s",
                tokens=self.request.prompt,
                prompt_flop=float(np.sum(table.forward_flop)),
                peak=chip.matrix_peak[replica.generation.precision],
                ranks=replica.tensor,
            ),
            traced(
                "decode_step",
                "the same for one token of each sequence: weights once, the cache of every sequence once",
                step,
                "s",
                batch=batch,
                weights=replica.weights,
                cache=batch * replica.sequence,
                bandwidth=chip.memory_bandwidth * chip.achieved_bandwidth,
                ranks=replica.tensor,
                **expected,
            ),
            traced(
                "time_per_output_token",
                "decode step + batch / output tokens × prompt",
                per_token,
                "s",
                batch=batch,
                output_tokens=self.request.output,
                prompt=prompt,
                decode_step=step,
            ),
            traced(
                "tokens_per_second",
                "replicas × batch / time per output token",
                replica.count * batch / per_token,
                "tokens/s",
                replicas=replica.count,
                batch=batch,
                time_per_output_token=per_token,
                accelerators=hardware.devices,
            ),
        ]


class _Point:
    """One batch size with its rates and cost, central and as samples."""

    def __init__(self, served: BatchCurve, index: int, hardware: Hardware, charges: Charges | None) -> None:
        self.batch = served.central.batches[index]
        seconds, drawn = float(served.central.per_token()[index]), served.per_token[index]
        sequences = served.central.replica.count * self.batch
        self.rate, self.rates = sequences / seconds, sequences / drawn
        self.per_token = quantity(seconds, drawn, "s")
        devices = hardware.devices
        self.per_accelerator = quantity(self.rate / devices, self.rates / devices, "tokens/s")
        self._charges = charges

    def cost(self, tokens: float) -> Quantity | None:
        """Return the cost of a number of output tokens; None without a price."""
        charges = self._charges
        if charges is None:
            return None
        sampled: Floats = cost_of_tokens(charges.hourly_samples, self.rates, tokens)
        return quantity(float(cost_of_tokens(charges.hourly, self.rate, tokens)), sampled, charges.currency)


def _label_of(hardware: Hardware) -> str:
    name = hardware.entry.name
    return name if hardware.count == 1 else f"{hardware.count} × {name}"


def _memory(replica: Replica, batch: int) -> Memory:
    """Return the memory of one accelerator with the caches of a batch."""
    parts = {
        "weights": replica.weights,
        "cache": batch * replica.sequence,
        "activations": replica.working,
        "framework": replica.framework,
    }
    return Memory(
        per_device=Quantity.exact(sum(parts.values()), "B"),
        capacity=Quantity.exact(replica.generation.system.chip.memory_capacity, "B"),
        usable=Quantity.exact(replica.usable, "B"),
        parts=[MemoryPart(part=name, value=value) for name, value in parts.items()],
        streaming=None,
        streaming_capacity=None,
    )
