"""Uploads as files, and their end, through the API."""

from __future__ import annotations

import json

import pytest
from fastapi import FastAPI

from app.platform.web.examples import CONFIG, STUDY
from app.platform.workbench import LOCAL_WORKSPACE
from tests.web.api.conftest import Ask

TABLE = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"


def uploaded(ask: Ask, name: str = "layers.csv", content: bytes = TABLE) -> str:
    response = ask("POST", "/api/v1/profiles", files={"file": (name, content)})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


@pytest.mark.parametrize("name", ["layers.csv", "모델 “표”.csv", 'a"; filename=evil.html', "../../up.csv"])
def test_the_file_comes_back_as_it_went(ask: Ask, name: str) -> None:
    identifier = uploaded(ask, name)
    response = ask("GET", f"/api/v1/profiles/{identifier}/file")
    assert response.content == TABLE
    assert response.headers["content-type"] == "application/octet-stream"
    disposition = response.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=UTF-8''") and disposition.isascii()
    assert not set(disposition.partition("''")[2]) & set("\"/;\\ '")


def test_a_list_says_how_much_is_kept(ask: Ask) -> None:
    identifier = uploaded(ask)
    described = ask("POST", "/api/v1/profiles", json={"config": CONFIG}).json()["id"]
    items = ask("GET", "/api/v1/profiles?limit=200").json()["items"]
    sizes = {one["id"]: one["size"] for one in items}
    assert sizes[identifier] == len(TABLE) and sizes[described] is None
    assert ask("GET", f"/api/v1/profiles/{described}/file").status_code == 404


def test_models_and_samples_are_deleted(ask: Ask, application: FastAPI) -> None:
    model = f"/api/v1/profiles/{uploaded(ask, content=TABLE + b'z,gemm,1,1,1,1' + bytes([10]))}"
    made = ask("POST", "/api/v1/workloads", files={"file": ("s.csv", b"length\n7\n9\n")}).json()
    files = application.state.workbench.files
    before = len(list(files.each()))
    for address in (model, f"/api/v1/workloads/{made['id']}"):
        assert ask("DELETE", address).status_code == 204
        assert ask("GET", address).status_code == 404
        assert ask("DELETE", address).status_code == 404
    assert len(list(files.each())) == before - 1
    assert all(one.workspace_id == LOCAL_WORKSPACE for one in files.each())


def test_a_study_is_deleted_once_it_is_archived(ask: Ask) -> None:
    profile = uploaded(ask)
    base = {**STUDY["base"], "model": {"profile_id": profile}, "workload": {"samples": 1e6}}
    base["workload"]["global_batch"] = 256
    body = {**STUDY, "base": base, "options": STUDY["options"][:1]}
    made = ask("POST", "/api/v1/studies", json=body)
    assert made.status_code == 201, json.dumps(made.json())
    address = f"/api/v1/studies/{made.json()['id']}"
    refused = ask("DELETE", f"/api/v1/profiles/{profile}")
    assert refused.status_code == 409 and STUDY["name"] in refused.json()["detail"]
    assert ask("DELETE", address).status_code == 409
    assert ask("POST", f"{address}/archive").status_code == 200
    assert ask("DELETE", address).status_code == 204
    assert ask("GET", address).status_code == 404
    assert ask("GET", f"/api/v1/profiles/{profile}").status_code == 404


def test_the_server_says_whether_it_is_ready(ask: Ask) -> None:
    assert ask("GET", "/readyz").json()["status"] == "ok"
