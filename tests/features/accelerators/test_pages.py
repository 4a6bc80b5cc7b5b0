"""Pages of a workspace's accelerators, without JavaScript."""

from __future__ import annotations

from tests.support.application import Reader

SHEET = {
    "name": "Page X1",
    "bf16_tflops": "800",
    "fp8_tflops": "1,600",
    "sparsity": "none",
    "memory_gb": "96",
    "memory_gb_per_s": "4,000",
    "power_w": "600",
    "link": "nvswitch",
    "link_gb_per_s": "450",
    "devices": "8",
    "fabric": "ndr-infiniband",
    "ports": "8",
    "machine_price": "3억 2,000만",
    "currency": "KRW",
    "data_sheet": "https://example.com/x1.pdf",
}


def test_a_form_started_from_a_known_system_is_filled(reader: Reader) -> None:
    page = reader.page("/accelerators?like=dgx-h100")
    filled = {field["name"]: field["value"] for field in page.select("form.sheet input[name]")}
    assert (filled["bf16_tflops"], filled["memory_gb"], filled["link_gb_per_s"]) == ("989", "85.5208", "450")
    assert (filled["devices"], filled["ports"], filled["name"], filled["machine_price"]) == ("8", "8", "", "")
    chosen = {one.find_parent("select")["name"]: one["value"] for one in page.select("option[selected]")}
    assert (chosen["link"], chosen["sparsity"], chosen["like"]) == ("nvswitch", "none", "dgx-h100")
    assert not reader.page("/accelerators?like=ipu-pod64").select('input[name="bf16_tflops"][value="0"]')


def test_what_is_sent_is_added_offered_changed_and_deleted(reader: Reader) -> None:
    answer = reader.submit("/accelerators", SHEET)
    assert answer.status_code == 303, answer.text
    address = str(answer.headers["location"])
    one = reader.data(f"{address}.json")
    assert (one["fp8_tflops"], one["machine_price"]) == (1600, 320_000_000)
    page = reader.page(address)
    assert page.select_one(f'a[href="{SHEET["data_sheet"]}"]') is not None
    assert "stated by the user" in page.select_one("#figures").get_text()
    study = reader.study({"id": one["id"]}, {"id": "dgx-h100"})
    assert "Page X1" in reader.page(study).get_text()
    assert study.rpartition("/")[2] in str(reader.page(address).select_one("#uses-title").parent)
    form = {field["name"]: field["value"] for field in page.select("form.sheet input[name]")}
    form |= {
        one.find_parent("select")["name"]: one["value"] for one in page.select("form.sheet option[selected]")
    }
    saved = reader.submit(address, {**form, "fp8_tflops": "", "power_w": "650"})
    assert saved.status_code == 303, saved.text
    changed = reader.data(f"{address}.json")
    assert (changed["version"], changed["fp8_tflops"], changed["power_w"]) == (2, None, 650)
    assert reader.submit(address, {**form, "power_w": "660"}).status_code == 409
    assert reader.page(f"{address}?version=1").select_one("form.sheet") is None
    assert reader.get(f"{address}/delete").status_code == 200
    assert reader.submit(f"{address}/delete", {}).status_code == 303
    assert "Page X1" not in reader.page("/accelerators").get_text()
    assert "was deleted" in reader.page(address).get_text()
    assert reader.page(study).select('[data-code="accelerator_deleted"]')


def test_peaks_that_look_sparse_are_asked_about_beside_the_field(reader: Reader) -> None:
    doubtful = {**SHEET, "bf16_tflops": "1600", "fp8_tflops": "3200", "sparsity": ""}
    answer = reader.submit("/accelerators", doubtful)
    assert answer.status_code == 400 and 'id="sparsity-error-1"' in answer.text
    assert 'value="Page X1"' in answer.text
    halved = reader.submit("/accelerators", {**doubtful, "sparsity": "structured"})
    figures = {
        one["parameter"]: one["value"] for one in reader.data(f"{halved.headers['location']}.json")["figures"]
    }
    assert figures["peak_bf16_dense"] == 800e12
