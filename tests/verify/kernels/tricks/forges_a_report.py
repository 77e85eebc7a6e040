"""Writes a report that claims a traced program which is not one, and ends before its own is written."""

import json
import os

REPORT = {
    "stage": "done",
    "error": None,
    "programs": {"v6e": "program-0"},
    "check": "program-0",
    "outputs": [["float32", [512, 256]]],
    "structure": "(*)",
    "seconds": {},
}
with open("report.json", "w") as stream:
    json.dump(REPORT, stream)
PICKLE = ["object", "os:system", {"command": "touch /tmp/ragctx-forged"}]
EQUATION = {"p": "os:system", "in": [], "params": {"x": PICKLE}, "out": [], "effects": []}
JAXPR = {"constvars": [], "invars": [], "debug": None, "eqns": [EQUATION], "outvars": [], "effects": []}
with open("program-0.json", "w") as stream:
    json.dump({"jaxpr": JAXPR, "consts": []}, stream)
with open("program-0.bin", "w") as stream:
    stream.write("")
os._exit(0)
