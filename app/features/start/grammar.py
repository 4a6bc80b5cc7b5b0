"""The question as people write it in one line, in Korean and in English: names, numbers and units.

No language model: each rule takes the words it knows off the line, names are looked up in what is left, and
what nobody takes is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from unicodedata import normalize

from app.errors import AppError
from app.estimating.naming import finder
from app.estimating.numbers import CURRENCIES, DAYS, LENGTHS, PLAIN, WHOLE, number_in
from app.estimating.regimes import TRANSFORMERS
from app.features.start.finding import FEATURED, NEAR, SIZE, UNITS
from app.features.studies.forms import PRECISIONS
from app.features.workloads.suggestions import SYSTEMS
from app.platform.catalogue import Catalogue
from app.platform.catalogue_model import System
from app.platform.web.choices import COMMON

LONGEST_LINE = 300

TAKEN = "\0"
"""Stands where a rule took words off the line: names do not reach over it."""

AMOUNT = (
    r"(?<![a-z\d.,/])\d(?:[\d.,]*\d)?(?:\s?(?:thousand|million|billion|trillion|bn|bln|mn|mln|tn|trn|[kmbt])(?![a-z가-힣])"
    r"|(?:\s?[천백십]?[만억조]|\s?[천백])(?:\s?\d[\d,]*\s?[천백십]?[만억조])*)?"
)

LENGTH = "|".join(sorted((unit for unit in LENGTHS if unit not in "sya"), key=len, reverse=True))

SAID: Mapping[str, str] = {
    **{"한": "1", "두": "2", "세": "3", "네": "4", "다섯": "5", "여섯": "6", "여덟": "8", "열": "10"},
    **{"one": "1", "two": "2", "three": "3", "four": "4", "six": "6", "eight": "8"},
    **{"하루": "1일", "이틀": "2일", "사흘": "3일", "일주일": "1주", "보름": "15일", "overnight": "12 hours"},
}
"""Numbers and spans that people write in letters."""

IN_LETTERS = re.compile(
    r"(?<![가-힣])(한|두|세|네|다섯|여섯|여덟|열)\s?(?=[장대개달주번회])|(?<![가-힣])(하루|이틀|사흘|일주일|보름)"
    r"|\b(one|two|three|four|six|eight)(?=\s(?:day|week|month|year|node|server|machine))|\b(overnight)\b",
    re.IGNORECASE,
)
GLUED = re.compile(r"(?<![a-z\d])(\d+)[x×*](?=[a-z])", re.IGNORECASE)
"""A count that sticks to what it counts: 8xH100."""

MONEY_WORD = "|".join(
    re.escape(word) for word in sorted((*CURRENCIES, "¥"), key=len, reverse=True) if word != "us$"
)

PARTICLE = r"(?:\s?(?:이내|이하|안에|내에|내로|까지|동안|정도|미만|만에))?(?:으로|로|에|을|를|의|이|은)?"

RUN = r"(?:runs?|times|trainings?|회|번|차례)"

A_YEAR: Mapping[str, int] = {"year": 1, "month": 12, "week": 52}

KINDS = {
    r"qlora": "qlora",
    r"lora|로라": "lora",
    r"continued?(?: pre-?training)?|추가\s?학습": "continue",
    r"fine-?\s?tun(?:e|ing)|finetune|sft|미세\s?조정|파인\s?튜닝": "finetune",
    r"pre-?train(?:ing)?|from scratch|사전\s?학습": "pretrain",
    r"dpo": "dpo",
    r"ppo": "ppo",
    r"grpo": "grpo",
}

SILENT = frozenset(
    re.findall(
        r"\S+",
        """
        a an the and or of on in with for to at by is are be do does did can could should would will we i
        our us me my how long much many what which when who where it take takes need needs cost costs train
        trains training trained run runs model models system systems machine machines hardware node nodes
        server servers cloud buy rent or best cheapest fastest good budget deadline within under up vs
        versus against compare compared comparison tokens parameters using use from 얼마나 걸려 걸릴까
        걸리나 걸리나요 얼마 비용 비용은 며칠 어떤 무슨 어느 시스템 시스템이 장비 학습 훈련 학습하면 학습할
        학습시키려면 비교 대 및 또는 혹은 와 과 로 으로 에서 에 을 를 은 는 이 가 의 예산 예산은 기한 기한은
        모델 모델을 살까 빌릴까 구매 임대 추천 필요 필요한 좋을까 좋나 하려면 할까 파라미터 매개변수 토큰
        이내 이하 안에 까지 클라우드 클라우드로 구축 사기 빌리기 노드 서버 one once smallest least 가장 작은
        최소 최소한 전력 총 시간 시간은 가능 가능할까 몇일 며칠이면 걸리지 only just please chips chip 칩 할
        때 하고 싶어 싶다 해줘 알려줘 임차 대여 구입 임대만 임차만 대여만 구매만 구입만
        imagenet imagenet-1k
        """,
    )
)
"""Words that say nothing the answer needs: it names time, cost, buying and renting anyway."""

BREAKS = re.compile(
    r"[\s]*(?:[,;:?!|()\[\]+&]|\bvs\.?\b|\bversus\b|(?<=\s)대(?=\s)|비교|\0)[\s]*", re.IGNORECASE
)

COUNT = re.compile(r"(\d[\d,]*k?)(?:x|×|대|장|개|노드)?(?:으로|로|에서|에|을|를|의|이|은)?", re.IGNORECASE)

BEHIND = re.compile(
    r"\s*[x×]\s*(\d[\d,]*k?)$|\s+(\d[\d,]*k?)\s*(?:장|개|대|노드|gpus?|chips?|칩|nodes?|machines?|ea)"
    r"(?:으로|로|에서|에|을|를|의|이|은)?$",
    re.IGNORECASE,
)
"""How many of what was named before: H100 x8, H100 8장."""

MACHINES = re.compile(r"(?:^|[\s\d])(?:nodes?|servers?|machines?|노드|서버|대(?:로|에서)?)$", re.IGNORECASE)
"""Words that say that machines are counted, not chips: 48 A100 nodes."""

WORDS_OF_NAME = 6

ON_TOKENS = TRANSFORMERS - {"vit", "swin", "conformer"}
"""Families that train on tokens."""

ENDING = re.compile(r"(?<=[a-z0-9])(?:으로|에서|이랑|랑|와|과|를|을|에|로|은|는|이|가|의)$", re.IGNORECASE)


ORDER = (
    "model.preset",
    "workload.kind",
    "deadline",
    "budget",
    "runs",
    "runs_per_year",
    "busy",
    "years",
    "power",
    "system",
)
"""Fields in the order in which what was understood is shown; the work stands behind the model."""


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """Words of the line with what they were understood as."""

    field: str
    """Field of the first page that they fill."""
    words: str


@dataclass(slots=True)
class Question:
    """What a line asks, as fields of the first page."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    parts: list[QuestionPart] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Words that were not understood."""
    models: list[str] = field(default_factory=list)
    """Models that the name or the size can mean, the one taken first."""

    def fill(self, words: str, **fields: str) -> None:
        """Take a part of the question; what is said twice counts as first said."""
        new = {name.replace("__", "."): text for name, text in fields.items()}
        new = {name: text for name, text in new.items() if name not in self.fields}
        if new:
            self.fields.update({name: [text] for name, text in new.items()})
            self.parts.append(QuestionPart(next(iter(new)), words.strip()))


Rule = tuple[str, Callable[[Question, "re.Match[str]"], None]]


def _amount(name: str) -> Callable[[Question, re.Match[str]], None]:
    def take(question: Question, match: re.Match[str]) -> None:
        text = next(part for part in match.groups() if part)
        question.fill(match[0], **{name: f"{number_in(text, PLAIN):,.15g}"})

    return take


def _word(name: str, text: str) -> Callable[[Question, re.Match[str]], None]:
    return lambda question, match: question.fill(match[0], **{name: text})


def _often(question: Question, match: re.Match[str]) -> None:
    """Take a number of runs a year, a month or a week."""
    number = number_in(match["number"] or match["korean"] or "1", PLAIN)
    span = match["span"] or next(
        (
            unit
            for mark, unit in {"월": "month", "달": "month", "주": "week"}.items()
            if mark in (match["every"] or "")
        ),
        "year",
    )
    question.fill(match[0], runs_per_year=f"{number * A_YEAR[span.lower()]:g}")


def _time(question: Question, match: re.Match[str]) -> None:
    """Take a length of time: years of work that is done again and again are its term, else the deadline."""
    days = number_in(match["time"], DAYS)
    if re.search("y|년", match["time"]) and {"runs_per_year", "busy"} & question.fields.keys():
        question.fill(match[0], years=f"{days / 365.25:g}")
    else:
        question.fill(match[0], deadline=f"{days:g}")


def _budget(question: Question, match: re.Match[str]) -> None:
    """Take a budget without a currency; an amount in 억 is in won."""
    amount = number_in(match["money"], PLAIN)
    won = {"currency": "KRW"} if re.search("[만억조]", match["money"]) else {}
    kind = {"budget_kind": "term"} if match["whole"] else {}
    question.fill(match[0], budget=f"{amount:,.15g}", **won, **kind)


def _within(question: Question, match: re.Match[str]) -> None:
    """Take a span that stands alone as the deadline: within a month; “, a week”."""
    span = (match["span"] or match["alone"]).lower()
    question.fill(match[0], deadline=f"{number_in(f'1 {span}', DAYS):g}")


def _busy(question: Question, match: re.Match[str]) -> None:
    share = next((part for part in match.groups() if part), "100")
    question.fill(match[0], busy=share)


def _power(question: Question, match: re.Match[str]) -> None:
    """Take a limit of the power at the site. [kW]"""
    kilowatts = number_in(match["power"], PLAIN) * (1000 if match["unit"].lower() == "m" else 1)
    question.fill(match[0], power=f"{kilowatts:,.15g}")


BUDGET_KINDS = {
    "purchase": r"to buy|purchase|capex|up front|구매|구입|초기",
    "run": r"per run|a run|each run|회당|1회",
    "term": r"in all|in total|total|tco|총|전체|모두",
}


def _money(question: Question, match: re.Match[str]) -> None:
    """Take a budget with its currency, and what it pays for where that is said."""
    text = match["money"]
    word = re.search(MONEY_WORD, text, re.IGNORECASE)
    assert word is not None, "the rule asks for a currency"
    currency = CURRENCIES.get(word[0].lower(), "JPY")  # ¥ alone: yuan are said.
    amount = number_in((text[: word.start()] + text[word.end() :]).replace("us", ""), PLAIN)
    around = f"{match['before'] or ''} {match['after'] or ''}".lower()
    kind = next((kind for kind, said in BUDGET_KINDS.items() if re.search(said, around)), "")
    question.fill(
        match[0],
        budget=f"{amount:,.15g}",
        currency=currency,
        **({"budget_kind": kind} if kind else {}),
    )


KIND_WORDS = "|".join(BUDGET_KINDS.values())

RULES: Sequence[Rule] = (
    (rf"({AMOUNT})\s*(?:tokens?|toks?\b|토큰){PARTICLE}", _amount("workload.tokens")),
    (
        rf"({AMOUNT})\s*(?:(?:samples?|images?|sequences)(?![a-z])|샘플|이미지){PARTICLE}",
        _amount("workload.samples"),
    ),
    (rf"({AMOUNT})\s*(?:epochs?|에포크|에폭)", _amount("workload.epochs")),
    (
        rf"(?:seq(?:uence)?(?:[ _-]?len(?:gth)?)?|context(?: length)?|시퀀스|문맥)(?:\s?길이)?\s*({AMOUNT})"
        rf"|({AMOUNT})\s*(?:context|sequence length|문맥)",
        _amount("workload.seq_len"),
    ),
    (rf"(?:global\s+)?(?:batch(?:\s*size)?|배치(?:\s?크기)?)\s*({AMOUNT})", _amount("workload.global_batch")),
    (rf"(?P<power>{AMOUNT})\s*(?P<unit>[km])w\b{PARTICLE}", _power),
    *(
        (rf"(?<![a-z])(?:{said})(?![a-z])", _word("workload.kind", kind))
        for said, kind in KINDS.items()
    ),
    *((rf"\b{name}\b", _word("workload.precision", name)) for name in PRECISIONS),
    (
        r"always busy|busy all (?:the time|year)|(?:utili[sz]ation|busy|가동률)\s*(\d[\d.]*)\s*%"
        r"|(\d[\d.]*)\s*%\s*(?:busy|가동)|항상\s?가동|상시(?:\s?가동)?",
        _busy,
    ),
    (
        r"(?<![a-z])(?:within|in|under)\s*(?:an?|one)\s*(?P<span>year|month|week)(?![a-z])"
        r"|(?:(?<=[,;])|^)\s*an?\s*(?P<alone>year|month|week)(?=\s*(?:[,;?]|$))",
        _within,
    ),
    (
        rf"(?P<number>{AMOUNT})?\s*{RUN}?\s*(?:an?|per|/|every|each)\s*(?P<span>year|month|week)"
        rf"|(?P<every>연간|매년|연|1?년에|월|매월|매달|한\s?달에|주|매주)\s?(?P<korean>\d[\d,.]*)\s?(?:회|번)",
        _often,
    ),
    (r"\bonce\b|one[- ]off|한\s?번(?:만)?|1\s?(?:회|번)(?:만)?", _word("runs", "1")),
    (rf"({AMOUNT})\s*(?:runs?\b|회|번)", _amount("runs")),
    (
        rf"(?P<before>(?:(?:총\s?)?(?:budget|예산)|under|{KIND_WORDS})\s?(?:of|은|:)?\s?)?"
        rf"(?P<money>(?:us)?(?:[$₩€¥]|\b(?:krw|usd|eur|jpy|cny)\b)\s?{AMOUNT}"
        rf"|{AMOUNT}\s?(?:{MONEY_WORD})(?![a-z]|\s?\d))"
        rf"{PARTICLE}(?P<after>\s?(?:{KIND_WORDS}))?",
        _money,
    ),
    (rf"(?P<whole>총\s?)?(?:budget|예산)\s?(?:of|은|:)?\s?(?P<money>{AMOUNT}){PARTICLE}", _budget),
    (
        rf"(?:within|in|under|by|for|deadline|기한)?\s?(?<![a-z\d.,])(?P<time>\d[\d.,]*\s?(?:{LENGTH})(?![a-z\d]))"
        rf"(?:\s?(?:deadline))?{PARTICLE}",
        _time,
    ),
)  # fmt: skip
"""What a number means by the words beside it; the first rule that knows them takes them."""

RENTING = re.compile(r"\brent|\bcloud\b|임대|임차|빌[려리릴]|클라우드", re.IGNORECASE)
BUYING = re.compile(r"\bbuy|\bpurchas|\bown\b|구매|구입|사기|살까|구축", re.IGNORECASE)
"""Words of a question that ask about renting, and about buying."""
REFUSED = re.compile(
    r"(?<!or )(?:\b(?:not?|without)\s+(?:to\s+)?(?:rent\w*|cloud|buy\w*|purchas\w*))"
    r"|(?:임대|임차|대여|클라우드|구매|구입)(?:는|은|를|을)?\s?(?:안\s?함|안|제외|말고|없이)",
    re.IGNORECASE,
)
"""Words that rule one of them out."""


def acquisitions_in(line: str) -> tuple[bool, bool]:
    """Tell whether a line leaves renting open, and buying.

    >>> acquisitions_in("7B, 60 days, rent only"), acquisitions_in("buy or rent?"), acquisitions_in("7B")
    ((True, False), (True, True), (True, True))
    """
    refused = REFUSED.findall(line)
    asked = REFUSED.sub("", line)
    rent, own = bool(RENTING.search(asked)), bool(BUYING.search(asked))
    if refused and not rent and not own:
        return not any(map(RENTING.search, refused)), not any(map(BUYING.search, refused))
    return rent or not own, own or not rent


PARAMETERS = re.compile(
    rf"({AMOUNT})\s*(?:parameters?|params?|파라미터|매개변수)(?:\s?(?:모델|짜리))?(?:을|를)?", re.IGNORECASE
)


def understand(line: str, shelf: Catalogue) -> Question:
    """Return what a line asks.

    Parameters
    ----------
    line
        As it was typed, such as “7B, 2T tokens, 60 days, ₩5bn” or “라마 3.1 8B LoRA 5천만 토큰”.
    shelf
        Models and systems that it can name.
    """
    question = Question()
    rest = REFUSED.sub(TAKEN, f" {normalize('NFKC', line[:LONGEST_LINE])} ")
    rest = IN_LETTERS.sub(lambda match: SAID[match[0].strip().lower()], GLUED.sub(r"\1 × ", rest))
    rest = PARAMETERS.sub(lambda match: f" {_size(match[1])} ", rest)
    for pattern, take in RULES:
        rest = _taken(rest, pattern, question, take)
    rest = re.sub(r"(?<![\d.])(\d[\d.]*)\s(b|m)(?![a-z])", r"\1\2", rest, flags=re.IGNORECASE)
    names = _Names(question, shelf, acquisitions_in(line))
    for piece in BREAKS.split(rest):
        names.read(piece.split())
    names.settle()
    if "workload.epochs" in question.fields and "workload.samples" in question.fields:
        question.fields["workload.dataset_samples"] = question.fields.pop("workload.samples")
    return question


def _taken(
    rest: str, pattern: str, question: Question, take: Callable[[Question, re.Match[str]], None]
) -> str:
    def one(match: re.Match[str]) -> str:
        try:
            take(question, match)
        except AppError:  # Written in a way that numbers are not: it stays, and is said.
            return match[0]
        return TAKEN

    return re.sub(pattern, one, rest, flags=re.IGNORECASE)


def _size(text: str) -> str:
    """Return a number of parameters as names of models say it."""
    try:
        number = number_in(text, PLAIN)
    except AppError:
        return text
    unit = "b" if number >= 1e9 else "m"
    return f"{number / UNITS[unit]:g}{unit}"


class _Names:
    """Models and systems named in what the rules left, with their counts."""

    def __init__(self, question: Question, shelf: Catalogue, acquisitions: tuple[bool, bool]) -> None:
        self.question, self.shelf, self.acquisitions = question, shelf, acquisitions
        self.found: list[tuple[str, list[str]]] = []
        """Words and models of each model named."""
        self.sizes: list[str] = []

    def read(self, words: Sequence[str]) -> None:
        """Take names off words that stand together, the longest first."""
        left: list[str] = []
        place, count = 0, ""
        while place < len(words):
            taken = self._name(words, place, count)
            if taken:
                left = left[:-1] if count and left and left[-1] == words[place - 1] else left
                place, count = place + taken, ""
                continue
            number = COUNT.fullmatch(words[place])
            if words[place].lower() in {"x", "×"} and count:
                left = left[:-1]
                left.append(words[place])
            elif number:
                count = number[1]
                left.append(words[place])
            else:
                count = ""
                left.append(words[place])
            place += 1
        unknown = [word for word in left if _plain(word) not in SILENT]
        if unknown:
            self.question.unknown.append(" ".join(unknown))

    def _name(self, words: Sequence[str], place: int, count: str) -> int:
        """Take the name that begins at a place; return how many words it has, none without one."""
        if COUNT.fullmatch(words[place]):
            return 0
        for length in range(min(WORDS_OF_NAME, len(words) - place), 0, -1):
            chosen = [ENDING.sub("", word) for word in words[place : place + length]]
            text = " ".join(chosen)
            behind = BEHIND.search(text)
            if _plain(chosen[0]) in SILENT or (_plain(chosen[-1]) in SILENT and not behind):
                continue
            # A letter left of a longer name, such as the X of a model that is not known, names nothing.
            if len(text) > 1 and (systems := finder("system").find(BEHIND.sub("", text))):
                number = count or (behind and (behind[1] or behind[2])) or ""
                after = " ".join(words[place : place + length + 1])
                self._system(text, systems, number, machines=MACHINES.search(after) is not None)
                return length
            if SIZE.fullmatch(text.lower()):
                self.sizes.append(text.lower())
                return length
            if models := finder("model preset").find(text):
                self.found.append((text, models))
                return length
        return 0

    def _system(self, text: str, systems: Sequence[str], count: str, *, machines: bool) -> None:
        documents, chips = self.shelf.systems.documents, self.shelf.chips.documents
        known = [documents[name] for name in systems if name in documents]
        if not known:
            return
        system, chips_asked = min(known, key=self._preference), 0
        number = int(number_in(count, WHOLE)) if count else 0
        words = set(finder("system").aliases.words_of(BEHIND.sub("", text))) - {
            "nvidia",
            "graphcore",
            "gpu",
            "gpus",
        }
        chip = set(finder("system").aliases.words_of(chips[system.chip].name))
        if number and not machines and text not in documents and words <= chip:
            # “64 H100” counts chips; machines have several.
            chips_asked, number = number, ceil(number / system.devices)
        fields = self.question.fields
        if chips_asked % system.devices:
            fields.setdefault(f"accelerators.{system.id}", [str(chips_asked)])
        if system.id not in fields.setdefault("system", []):
            fields["system"].append(system.id)
            if number:
                fields[f"count.{system.id}"] = [str(number)]
            self.question.parts.append(
                QuestionPart("system", f"{count} × {BEHIND.sub('', text)}" if count else text)
            )

    def _preference(self, system: System) -> tuple[bool, bool, bool, bool, int]:
        """Order systems of one name: as asked, those suggested, the common ones, owned before rented."""
        rented, common = system.acquisition == "rent", list(COMMON)
        rent, own = self.acquisitions
        return (
            not (rent if rented else own),
            system.id not in SYSTEMS,
            system.id not in COMMON,
            rented,
            common.index(system.id) if system.id in COMMON else 0,
        )

    def settle(self) -> None:
        """Choose the model by name and size; a size that follows a model is the work."""
        named = list(self.found[0][1]) if self.found else []
        said = self.found[0][0] if self.found else ""
        for words, _ in self.found[1:]:
            self.question.unknown.append(words)
        documents = self.shelf.models.documents
        for size in self.sizes:
            known = SIZE.fullmatch(size)
            assert known is not None, "only sizes are kept"
            number = float(known[1]) * UNITS[known[2]]
            away = {name: abs(model.parameters.value - number) for name, model in documents.items()}
            near = [name for name in named or documents if away[name] <= NEAR * number]
            if "workload.tokens" in self.question.fields:
                near = [name for name in near if documents[name].family in ON_TOKENS]
            if len(named) != 1 and near:
                named, said = near, f"{said} {size.upper()}".strip()
                if not self.found:
                    named.sort(
                        key=lambda name: (name not in FEATURED, documents[name].family != "llama", away[name])
                    )
            elif named and known[2] == "t" and "workload.tokens" not in self.question.fields:
                self.question.fill(size, **{"workload.tokens": f"{number:,.15g}"})
            else:
                self.question.unknown.append(size)
        if named:
            if len(named) > 1 and self.found and not self.sizes:
                named = sorted(named, key=lambda name: name not in FEATURED)
            self.question.models = named
            self.question.fields["model.preset"] = [named[0]]
            self.question.parts.append(QuestionPart("model.preset", said))
        self.question.parts.sort(key=lambda part: ORDER.index(part.field) if part.field in ORDER else 1)


def _plain(word: str) -> str:
    return word.strip(".,:;?!'\"“”‘’·-").casefold()
