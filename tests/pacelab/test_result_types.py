"""run.json and host.json are what their types say, and docs/*.schema.json say it to others; agents' lines, too.

python tests/pacelab/test_result_types.py      writes the schemas anew
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from pacelab import Experiment, run
from pacelab.pacer.linux.status import Line
from pacelab.results.types import Host, Run

DOCS = Path(__file__).parents[2] / "docs"
SCHEMAS = {"run.schema.json": Run, "host.schema.json": Host, "agent-status.schema.json": Line}
CASES: dict[str, dict[str, Any]] = {
    "tcp": {"topology": "chain", "scheme": "tcp-gap"},
    "calls": {"topology": "string", "topology_options": {"voice": 2, "tcp": 1}, "scheme": "vagp"},
    "http": {"topology": "access-point", "traffic": "http"},
    "aodv": {"topology": "chain", "routing": "aodv", "scheme": "lred", "batch_pkts": 10, "stop_after_pkts": 50},
    "udp": {"topology": "hidden"},
}


def text_of(shape: Any) -> str:
    return json.dumps(TypeAdapter(shape).json_schema(), indent=1) + "\n"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_a_result_is_what_its_type_says_and_no_more(options: dict[str, Any]) -> None:
    """Checked as JSON; a validated document lacks what no type knows, so that equality shows it."""
    result = run(Experiment(duration_s=1.5, **options))
    for document, shape in ((result.run, Run), (result.host, Host)):
        text = json.dumps(document)
        assert TypeAdapter(shape).dump_python(TypeAdapter(shape).validate_json(text), mode="json") == json.loads(text)


@pytest.mark.parametrize(("name", "shape"), SCHEMAS.items(), ids=SCHEMAS)
def test_the_docs_have_the_schema(name: str, shape: Any) -> None:
    assert (DOCS / name).read_text() == text_of(shape)


if __name__ == "__main__":
    for name, shape in SCHEMAS.items():
        (DOCS / name).write_text(text_of(shape))
