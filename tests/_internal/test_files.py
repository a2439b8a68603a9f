"""A file that cannot be written is told by the name that was given, and by its folder."""

import errno
from pathlib import Path

import pytest

from lexbandit._internal.files import placing
from lexbandit.errors import InvalidInput


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "it"
    with (
        pytest.raises(InvalidInput, match=f"there is no folder {path.parent} to write it into"),
        placing(path),
    ):
        pytest.fail("it was gone into")
    assert not path.parent.exists()


def test_the_name_is_the_one_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = f"^it cannot be written: Permission denied, in the folder {tmp_path}.$"
    with pytest.raises(InvalidInput, match=told), placing(Path("it")) as folder:
        raise PermissionError(errno.EACCES, "Permission denied", str(folder / ".it.7f3a"))


def test_a_full_disk_is_no_matter_of_names(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left"), placing(tmp_path / "it"):
        raise OSError(errno.ENOSPC, "No space left on device")
