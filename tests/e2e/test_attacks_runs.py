"""Attacks on the calls of the page's table of runs (docs/protocols/runs.md)."""

import json
import urllib.parse

import pytest
from sm_server import SmServer
from test_attacks_page import OWN, Page

QUOTE = "x') UNION SELECT secret FROM access_keys --"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("runs")) as server:
        yield Page(server)


@pytest.fixture(scope="module")
def cookie(page):
    return page.enter()


@pytest.mark.parametrize("given", [
    {"columns": ["hp:a"] * 51}, {"columns": "hp:a"}, {"columns": ["request"]}, {"columns": [None]},
    {"columns": ["hp:"]}, {"columns": ["hp:" + "x" * 257]}, {"columns": ["secret"]},
    {"sort": "access_key"}, {"sort": "name; DROP TABLE jobs"}, {"sort": "hp:" + "x" * 257},
    {"sort": 7}, {"descending": 1}, {"limit": 0}, {"limit": 201}, {"limit": -1}, {"limit": 10**30},
    {"after": ""}, {"after": "5b5d"}, {"after": "0" * 5000}, {"after": ["x"]},
    {"filters": [{"column": "hp:a", "is": "exists"}] * 9}, {"filters": {"column": "hp:a"}},
    {"filters": [{"column": "hp:a", "is": "GLOB", "value": "*"}]}, {"filters": [[]]},
    {"filters": [{"column": "hp:a", "is": "=", "value": "x" * 257}]},
    {"filters": [{"column": "hp:a", "is": "=", "value": {}}]},
    {"filters": [{"column": "created", "is": "<", "value": 1e300}]},
])  # fmt: skip
def test_runs_are_asked_for_within_limits_or_refused(page, cookie, given):
    assert page.call("runs", {}).status == 401
    answer = page.call("runs", given, cookie=cookie)
    assert answer.status == 400 and json.loads(answer.text)["message"]
    if "after" not in given and "limit" not in given:
        query = urllib.parse.urlencode({"query": json.dumps(given)})
        answer = page.ask("GET", f"/ui/call/runs-csv?{query}", {"Cookie": cookie, **OWN})
        assert answer.status == 400 and answer.getheader("Content-Disposition") is None


@pytest.mark.parametrize("text", [QUOTE, "%", "_", "\0", "\r\nX: y", "=1+1", "x" * 250])
def test_names_and_values_of_runs_are_texts_and_no_statements(page, cookie, text):
    column = "hp:" + text
    filters = [{"column": column, "is": "missing"},
               {"column": "name", "is": "=", "value": text}]  # fmt: skip
    for kind in ("hp:", "tag:", "last:"):
        given = {"columns": [column], "filters": filters, "sort": kind + text}
        answer = page.call("runs", given, cookie=cookie)
        assert answer.status == 200 and json.loads(answer.text)["runs"] == []
    answer = page.call("run-columns", {"contains": text}, cookie=cookie)
    assert answer.status == 200 and json.loads(answer.text)["hyperparameters"] == []
    query = urllib.parse.urlencode({"query": json.dumps({"columns": [column]})})
    answer = page.ask("GET", f"/ui/call/runs-csv?{query}", {"Cookie": cookie, **OWN})
    assert answer.status == 200 and answer.getheader("X") is None
    assert answer.text.startswith('job,status,created,duration,"hp:')


@pytest.mark.parametrize("given", [
    {}, {"jobs": []}, {"jobs": ["a"] * 51}, {"jobs": "a"}, {"jobs": [7]}, {"jobs": ["x" * 64]},
])  # fmt: skip
def test_at_most_50_runs_are_compared(page, cookie, given):
    assert page.call("compare-runs", {"jobs": ["a"]}).status == 401
    assert page.call("compare-runs", given, cookie=cookie).status == 400
    answer = page.call("compare-runs", {"jobs": [QUOTE[:63]] * 50}, cookie=cookie)
    assert answer.status == 200 and json.loads(answer.text)["runs"] == []
    assert page.call("run-columns", {}).status == 401
    assert page.call("run-columns", {"contains": "x" * 257}, cookie=cookie).status == 400


@pytest.mark.parametrize("query", ["", "?query=", "?query=7", "?query=%5B%5D", "?query=%7B",
                                   "?job=a"])  # fmt: skip
def test_a_file_of_runs_needs_a_query(page, cookie, query):
    assert page.ask("GET", f"/ui/call/runs-csv{query}", OWN).status == 401
    answer = page.ask("GET", f"/ui/call/runs-csv{query}", {"Cookie": cookie, **OWN})
    assert answer.status == 400 and answer.getheader("Content-Disposition") is None
    assert page.ask("POST", f"/ui/call/runs-csv{query}", {"Cookie": cookie, **OWN}).status == 404
