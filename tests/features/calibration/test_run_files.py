"""Measured runs of CSV files: headers as people write them, and faults with line and column."""

from __future__ import annotations

import pytest

from app.errors import AppError
from app.features.calibration.model import MOST_RUNS, CalibrationRequest
from app.features.calibration.run_files import MAX_BYTES, MEASURED, read_runs
from app.platform.web.examples import CALIBRATION


def test_columns_are_read_as_people_name_them() -> None:
    text = """\ufeffSamples/s,System,Nodes,Global Batch,Comment
"1,440",dgx-a100-640gb,2,512,"measured, three hours"

# a remark
720,,1,256,
"""
    first, second = read_runs(text.encode())
    assert first.samples_per_s == 1440 and first.workload.global_batch == 512
    assert first.note == "measured, three hours"
    assert not isinstance(first.system, str) and first.system is not None
    assert (first.system.id, first.system.count) == ("dgx-a100-640gb", 2)
    assert not isinstance(second.system, str) and second.system is not None
    assert (second.system.id, second.system.count, second.note) == (None, 1, None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("step_time_s\n0.71\n", 0.71),
        ("Step time (s);batch\n0.71;8\n", 0.71),
        ("step time [ms]\tbatch\n710\t8\n", 0.71),
        ("ms/step,measured by\n710,Kim\n", 0.71),
    ],
)
def test_step_times_come_in_seconds_and_milliseconds(text: str, seconds: float) -> None:
    (run,) = read_runs(text.encode())
    assert run.seconds(batch=8, tokens=1, devices=8) == pytest.approx(seconds)


def test_the_runs_are_those_a_calibration_takes() -> None:
    runs = read_runs(b"samples_per_s,count,batch\n1440,1,512\n2800,2,1024\n")
    asked = CalibrationRequest.model_validate({"estimate": CALIBRATION["estimate"], "runs": runs})
    assert len(asked.runs) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", {"names": ", ".join(MEASURED)}),
        (b"speed\n1\n", {"names": ", ".join(MEASURED)}),
        (b"samples_per_s\n", {}),
        (b"samples_per_sec,samples/s\n1,2\n", {"names": "samples_per_s"}),
        (b"samples_per_s,batch\n1440,512\nfast,512\n", {"line": 3, "column": "samples_per_s"}),
        (b"samples_per_s,Batch size\n1440,many\n", {"line": 2, "column": "Batch size"}),
        (b"samples_per_s\n-5\n", {"line": 2, "column": "samples_per_s"}),
        (b"samples_per_s,step_time_s\n1440,0.7\n", {"line": 2, "column": "step_time_s"}),
        (b"samples_per_s,note\n,x\n", {"line": 2, "column": "samples_per_s"}),
        (b"step_time_ms\nslow\n", {"line": 2, "column": "step_time_ms"}),
        (b"samples_per_s,batch\n1440\n", {"line": 2, "found": 1}),
        (b'samples_per_s\n"1440\n', {}),
        (b"samples_per_s\n\xff\n", {}),
        (b"samples_per_s\n" + b"1\n" * (MOST_RUNS + 1), {"most": MOST_RUNS}),
        (b"x" * (MAX_BYTES + 1), {}),
        (b"samples_per_s,precision\n1440,int3\n", {"line": 2, "column": "precision"}),
    ],
)
def test_what_is_wrong_is_told_with_line_and_column(text: bytes, told: dict[str, object]) -> None:
    with pytest.raises(AppError) as refused:
        read_runs(text)
    assert told.items() <= refused.value.message.values.items()
    assert {one.field for one in refused.value.errors} == {"runs_file"}


def test_many_faults_are_told_at_once() -> None:
    with pytest.raises(AppError) as refused:
        read_runs(b"samples_per_s,count\nfast,1\n1440,few\n")
    assert [str(one.message)[:6] for one in refused.value.errors] == ["line 2", "line 3"]


@pytest.mark.parametrize(
    "text",
    [
        "gpus,batch,step_time\n1024,64,15.2\n",
        "batch,throughput\n64,51.2\n",
        "batch,step_time,장비수\n64,1,8\n",
    ],
)
def test_a_column_that_would_change_the_run_is_not_passed_over(text: str) -> None:
    with pytest.raises(AppError):
        read_runs(text.encode())
