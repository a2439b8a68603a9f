"""What people would write by hand: FastAPI, the same chooser, an INSERT and a COMMIT per request.

    python benchmarks/by_hand.py PORT FILE CORE

It needs FastAPI (pip install fastapi uvicorn uvloop httptools) and lexbandit's core.
"""

# mypy: ignore-errors
# FastAPI is no dependency of ours.

import json
import os
import sqlite3
import sys
import threading

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

import lexbandit as lb

app = FastAPI()
lock = threading.Lock()
connection = sqlite3.connect(sys.argv[2], isolation_level=None, check_same_thread=False)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA synchronous = FULL")
connection.execute(
    "CREATE TABLE IF NOT EXISTS decisions (id TEXT PRIMARY KEY, arm TEXT, propensity REAL, "
    "context TEXT)"
)
chooser = lb.Chooser(
    objectives=[
        lb.Objective("quality", range=(0, 1), tolerance=0.02, default=0.0),
        lb.Objective("cost", goal="min", range=(0, 0.05)),
    ],
    arms=["small", "medium", "large"],
    context=[lb.Number("tokens", 0, 8000), lb.Category("task", ["code", "maths", "chat"])],
    explore=0.02,
    wait=3600,
)


class Question(BaseModel):
    context: dict[str, float | str | bool]
    allowed: list[str] | None = None


class Answer(BaseModel):
    id: str
    arm: str
    propensity: float


@app.post("/v1/router/decisions")
def decide(question: Question) -> Answer:
    choice = chooser.choose(question.context, question.allowed)
    with lock:
        connection.execute("BEGIN")
        connection.execute(
            "INSERT INTO decisions VALUES (?, ?, ?, ?)",
            (choice.id, choice.arm, choice.propensity, json.dumps(question.context)),
        )
        connection.execute("COMMIT")
    return Answer(id=choice.id, arm=choice.arm, propensity=choice.propensity)


@app.get("/ready")
def ready() -> dict[str, str]:
    return {"state": "ready"}


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[3])})
    chooser.choose({"tokens": 1, "task": "code"})  # compiles
    uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="warning")
