"""Record the digests anew: `python -m golden.record [POLICY ...]` in the folder tests.

Do so only for a change of decisions that is meant, and say in the changelog which. Without names
every policy of the registry and the study are recorded.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from golden.runs import FOLDER, POOLED, digests_of, file_of, recorded, study_digests
from lexbandit.policies import REGISTRY

NOTES = {
    "policies.json": "Digests of decisions. No change of the code may change them.",
    "pooled.json": "Digests of the rules on the pooled linear model, which may change on purpose.",
    "study.json": "Digests of a small study's numbers.",
}


def write(file: Path, digests: dict[str, Any]) -> None:
    """Write a file of digests with its note."""
    ordered = {"note": NOTES[file.name], **dict(sorted(digests.items()))}
    file.write_text(json.dumps(ordered, indent=2) + "\n")


def main(names: list[str]) -> None:
    """Record the digests of the named policies, or of all and the study."""
    files: dict[Path, dict[str, Any]] = {}
    for name in names or REGISTRY.names():
        file = file_of(name)
        kept = recorded(file) if names and file.exists() else {}
        files.setdefault(file, kept)[name] = digests_of(name)
    if not names:
        with tempfile.TemporaryDirectory() as folder:
            files[FOLDER / "study.json"] = study_digests(Path(folder))
    for file, digests in files.items():
        write(file, digests)


if __name__ == "__main__":
    unknown = set(POOLED) - set(REGISTRY.names())
    assert not unknown, f"no policies: {unknown}"
    main(sys.argv[1:])
