"""The configuration: what a file, the environment and flags say, and where they are wrong."""

import re
from pathlib import Path
from typing import Any

import pytest

from lexbandit.cli.main import status_of
from lexbandit.cli.serve import sample
from lexbandit.errors import InvalidInput
from lexbandit.service.config.file import SETTINGS, Config, read_config
from lexbandit.service.definition import Definition

HASH = "0" * 64
POINT = """
[points.router]
arms = ["small", "large"]
wait = 60

[[points.router.objectives]]
name = "quality"
tolerance = 0.02

[[points.router.context]]
kind = "number"
name = "tokens"
high = 8000
"""


def read(folder: Path, text: str, environment: Any = None, **flags: Any) -> Config:
    path = folder / "service.toml"
    path.write_text(text)
    return read_config(path, environment or {}, flags)


def test_the_sample_says_what_it_shows() -> None:
    config = read_config(sample(), {})
    router = config.points["router"]
    assert router.arms == ["small", "medium", "large"]
    assert [objective.name for objective in router.objectives] == ["quality", "cost"]
    assert [feature.kind for feature in router.context] == ["number", "category"]
    assert (router.wait, router.explore) == (3600, 0.02)
    assert (config.host, config.port) == ("127.0.0.1", 8080)


def test_flags_count_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    text = f'[service]\nport = 1\nhost = "::1"\nstorage = "sqlite:a.db"\n{POINT}'
    environment = {"LEXBANDIT_PORT": "2", "LEXBANDIT_STORAGE": "sqlite:b.db", "PATH": "x"}
    assert read(tmp_path, text).port == 1
    assert read(tmp_path, text, environment).port == 2
    assert read(tmp_path, text, environment, port=3).port == 3
    assert read(tmp_path, text, environment).host == "::1"
    assert read(tmp_path, text).storage == f"sqlite:{tmp_path / 'a.db'}"  # beside the file
    assert read(tmp_path, text, environment).storage == "sqlite:b.db"  # where one is
    assert read(tmp_path, text, {"LEXBANDIT_PORT": ""}).port == 1


def test_every_setting_can_come_from_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "file.pem"
    file.write_text("")
    given = {
        "storage": "postgresql://me:hush@db/x",
        "host": "0.0.0.0",
        "port": "81",
        "keys": str(file),
        "tls_cert": str(file),
        "tls_key": str(file),
        "behind_tls": "true",
        "rate": "12.5",
        "max_body_bytes": "2048",
        "deadline": "2.5",
        "drain": "0",
        "snapshot_every": "500",
        "poll": "0.5",
        "log_level": "debug",
        "log_format": "json",
        "audit_log": str(file.parent / "audit.log"),
        "retain": "90d",
        "archive": "old",
        "otel": "true",
    }
    assert set(given) == set(SETTINGS)
    environment = {f"LEXBANDIT_{name.upper()}": value for name, value in given.items()}
    config = read(tmp_path, POINT, {**environment, "LEXBANDIT_KEY_WEB": f"read:{HASH}"})
    assert (config.port, config.rate, config.max_body_bytes, config.poll) == (81, 12.5, 2048, 0.5)
    assert (config.storage, config.behind_tls) == (given["storage"], True)
    assert (config.tls_cert, config.log_level, config.snapshot_every) == (file, "debug", 500)
    assert (config.retain, config.archive) == (90 * 86_400.0, Path("old"))
    assert [key.name for key in config.keys] == ["web"]


@pytest.mark.parametrize("retain", ["90", "d", "-1d", "0d", "1.5d", "3w", ""])
def test_a_duration_has_a_number_and_a_unit(tmp_path: Path, retain: str) -> None:
    with pytest.raises(InvalidInput, match=r'retain must be a duration such as "90d"'):
        read(tmp_path, f'[service]\nretain = "{retain}"\n{POINT}', {})


def test_all_kinds_of_features_and_settings_of_the_policy(tmp_path: Path) -> None:
    text = """
[points.a]
arms = ["x", "y"]
policy = "moc-mab"
horizon = 1000
keep = 10
seed = 3
settings = { scale = 0.5 }
objectives = [{ name = "o", goal = "min", range = [0, 5], default = 1 }]
context = [
  { kind = "flag", name = "f" },
  { kind = "cycle", name = "c", period = 7 },
  { kind = "category", name = "k", values = ["a", "b"], outside = "refuse" },
  { kind = "vector", name = "v", length = 2 },
  { kind = "number", name = "n", low = 1, high = 9, scale = "log", missing = "middle" },
]
"""
    point = read(tmp_path, text).points["a"]
    assert (point.policy, point.horizon, point.keep, point.seed) == ("moc-mab", 1000, 10, 3)
    assert point.settings == {"scale": 0.5}
    assert list(point.objectives[0].range) == [0, 5]
    assert [feature.kind for feature in point.context] == [
        "flag", "cycle", "category", "vector", "number"
    ]  # fmt: skip


# What is changed in a good file, and what is said.
WRONG = [
    (("[points.router]", "[service]\nbehind_tls = 1\n[points.router]"), "must be true or false"),
    (("wait = 60", "wiat = 60"), "line 4, points.router.wiat: unknown key 'wiat'; did you"),
    (("wait = 60", "wait = -1"), "line 4, points.router.wait: wait must be"),
    (("wait = 60", "wait = 1e-8"), "points.router.wait: wait must be at least 0.001 seconds, or be "
     "left out to wait for as long as a decision is kept, got 1e-08."),
    (("wait = 60", "keep = 0"), "line 4, points.router.keep: keep must be"),
    (("wait = 60", 'policy = "lex-linucbb"'), "line 4, points.router.policy: unknown policy "
        "'lex-linucbb'; did you mean 'lex-linucb'"),
    (("wait = 60", "policy = 7"), "line 4, points.router.policy: unknown policy 7"),
    (("wait = 60", "settings = { scael = 1 }"), "line 4, points.router.settings.scael: unknown "
        "setting of the policy 'lex-thompson': 'scael'; did you mean 'scale'"),
    (("wait = 60", "settings = { clock = 1 }"), "unknown setting of the policy "
        "'lex-thompson': 'clock'"),
    (("wait = 60", "settings = { scale = -1 }"), "line 4, points.router.settings.scale: scale"),
    *((("wait = 60", f"settings = {{ {key} = 2 }}"), f"line 4, points.router.settings.{key}: "
        f"'{key}' is a key of the point itself")
        for key in ("horizon", "seed", "arms", "objectives", "policy", "wait")),
    (("wait = 60", "settings = { dimension = 2 }"), "'dimension' follows from the context"),
    (("wait = 60", "settings = { tolerance = 0.1 }"), "'tolerance' is a key of each objective"),
    (("wait = 60", "caution = 2.5"), "line 4, points.router.caution: 'caution' is a setting "
        "of the policy 'lex-thompson': write settings = { caution = 2.5 }."),
    (("wait = 60", 'policy = "random"\nthreshold = 2.5'), "unknown key 'threshold'"),
    (("wait = 60", "policy = 7\nthreshold = 2.5"), "unknown key 'threshold'"),
    (("wait = 60", "settings = 1"), "settings must be a table"),
    (("wait = 60", "explore = 2"), "line 4, points.router.explore: explore must be"),
    (("wait = 60", "seed = -1"), "line 4, points.router.seed: seed must be"),
    (("wait = 60", "horizon = 0"), "line 4, points.router.horizon: horizon must be"),
    (('["small", "large"]', '["small", "small"]'), "two arms are called 'small'"),
    (('["small", "large"]', '["small", "a\\u0007"]'), "control characters"),
    (('["small", "large"]', "3"), "arms must be a list"),
    (("tolerance = 0.02", "tolerence = 0.02"), "line 8, points.router.objectives[0].tolerence"),
    (("tolerance = 0.02", "tolerance = -1"), "line 8, points.router.objectives[0].tolerance: tol"),
    (("tolerance = 0.02", "default = 'x'"), "line 8, points.router.objectives[0].default: default "
        "of objective 'quality' must lie in its range from 0 to 1, got 'x'."),
    (("tolerance = 0.02", "default = 2"), "default of objective 'quality' must lie in its range"),
    (('name = "quality"', "goal = 'max'"), "the key 'name' is missing"),
    (('kind = "number"', 'kind = "numbr"'), "did you mean 'number'"),
    (('kind = "number"\n', ""), "the key 'kind' is missing"),
    (("high = 8000", "hihg = 8000"), "line 13, points.router.context[0].hihg"),
    (("high = 8000", "high = -1"), "line 10, points.router.context[0]: low and high"),
    (("[points.router]", "[points.router]\nobjectivs = 1"), "did you mean 'objectives'"),
    (("[[points.router.context]]", "[points.router.context]"), "[[points.router.context]]"),
    (("points.router", "points.'my router'"), "of a-z, A-Z, 0-9, - and _, got 'my router'"),
    (("points.router", "points.'räume'"), "of a-z, A-Z, 0-9, - and _, got 'räume'"),
    (("[points.router]", "[service]\nprot = 1\n[points.router]"), "line 3, service.prot"),
    (("[points.router]", "[service]\nport = 70000\n[points.router]"), "line 3, service.port: port"),
    (("[points.router]", "[service]\nhost = 1\n[points.router]"), "host must be a text"),
    (("[points.router]", "[service]\nkeys = 'no.toml'\n[points.router]"), "there is no file"),
    (("[points.router]", "[service]\nkeys = '.'\n[points.router]"), "line 3, service.keys: keys "
        "must name a file, and"),
    (("[points.router]", "[service]\nstorage = 'sqlite:.'\n[points.router]"), "line 3, "
        "service.storage: storage must name a file, and"),
    (("[points.router]", "[service]\nstorage = 'x.db'\n[points.router]"), "sqlite:FILE"),
    (("[points.router]", "[service]\nlog_level = 'loud'\n[points.router]"), "log_level"),
    (("[points.router]", "[servce]\n[points.router]"), "did you mean 'service'"),
    (("arms =", "arms"), "not valid TOML"),
    (("wait = 60", f"wait = 1{'0' * 4400}"), "a number in it has more than 4,300 digits."),
    (("wait = 60", f"wait = {'[' * 3000}"), "brackets in it are nested too deeply."),
]  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), WRONG, ids=[reason for _, reason in WRONG])
def test_what_is_wrong_is_refused_with_its_place(
    tmp_path: Path, change: tuple[str, str], reason: str
) -> None:
    assert change[0] in POINT
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path, POINT.replace(*change))
    assert reason in str(refused.value)
    assert "service.toml" in str(refused.value)


def test_a_wrong_environment_is_refused(tmp_path: Path) -> None:
    for name, value in (("PROT", "1"), ("PORT", "x"), ("RATE", "0"), ("LOG_LEVEL", "loud")):
        with pytest.raises(InvalidInput, match=f"LEXBANDIT_{name}"):
            read(tmp_path, POINT, {f"LEXBANDIT_{name}": value})
    for name in ("DATABASE_URL", "DB", "FOO", "KEY_", "SERVICE_PROT", "port"):
        with pytest.raises(InvalidInput, match=f"unknown .* variable LEXBANDIT_{name}[;.]"):
            read(tmp_path, POINT, {f"LEXBANDIT_{name}": "sqlite:other.db"})
    with pytest.raises(InvalidInput, match="did you mean LEXBANDIT_PORT"):
        read(tmp_path, POINT, {"LEXBANDIT_PROT": "1"})
    with pytest.raises(InvalidInput, match="both"):
        read(tmp_path, POINT, {"LEXBANDIT_TLS_CERT": __file__})


def test_variables_that_others_set_are_left_alone(tmp_path: Path) -> None:
    others = {
        "LEXBANDIT_DATA": "x",  # of an example
        # Kubernetes, for services called lexbandit and lexbandit-db
        "LEXBANDIT_SERVICE_HOST": "10.0.0.1",
        "LEXBANDIT_SERVICE_PORT": "80",
        "LEXBANDIT_SERVICE_PORT_HTTP": "80",
        "LEXBANDIT_PORT_80_TCP": "tcp://10.0.0.1:80",
        "LEXBANDIT_PORT_80_TCP_ADDR": "10.0.0.1",
        "LEXBANDIT_DB_SERVICE_HOST": "10.0.0.2",
        "LEXBANDIT_DB_PORT": "tcp://10.0.0.2:5432",
        "LEXBANDIT_DB_PORT_5432_TCP_PROTO": "tcp",
    }
    assert read(tmp_path, POINT, others).port == 8080


def test_a_former_name_of_a_setting_is_taken_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    former = read(tmp_path, f"{POINT}[points.router.settings]\nexploration = 0.5\n")
    assert "service.toml: in [points.router.settings]: exploration of lex-thompson" in caplog.text
    now = read(tmp_path, f"{POINT}[points.router.settings]\ndraw_width = 0.5\n")
    router = now.points["router"]
    assert former.points["router"] == router
    logged = {**router.plain(), "settings": {"exploration": 0.5}}
    again = Definition.from_plain("router", router.arms, logged)
    assert again.fingerprint == router.fingerprint
    assert caplog.text.count("is called draw_width now") == 1
    both = "exploration = 0.5\ndraw_width = 0.5"
    with pytest.raises(InvalidInput, match=r"line \d+, .*settings: .*one of the two"):
        read(tmp_path, f"{POINT}[points.router.settings]\n{both}\n")


def test_points_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"line 1, points: must be tables, as \[points.NAME\]"):
        read(tmp_path, "points = [1]")


def test_a_key_in_the_file_and_one_in_the_environment_have_two_names(tmp_path: Path) -> None:
    entry = f'[[keys]]\nname = "web"\nroles = ["read"]\nsha256 = "{HASH}"\n'
    (tmp_path / "keys.toml").write_text(entry)
    text = f'[service]\nkeys = "keys.toml"\n{POINT}'
    assert len(read(tmp_path, text, {"LEXBANDIT_KEY_OTHER": f"read:{HASH}"}).keys) == 2
    with pytest.raises(InvalidInput, match="two API keys are called 'web'"):
        read(tmp_path, text, {"LEXBANDIT_KEY_WEB": f"read:{HASH}"})


def test_a_session_secret_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    for secret in ("hush", "x" * 31):
        with pytest.raises(InvalidInput) as refused:
            read(tmp_path, POINT, {"LEXBANDIT_SESSION_SECRET": secret})
        said = str(refused.value)
        assert "LEXBANDIT_SESSION_SECRET must be a random text of 32 characters" in said
        assert f"it has {len(secret)}:" in said
        assert secret not in said
    good = "x" * 32
    assert read(tmp_path, POINT, {"LEXBANDIT_SESSION_SECRET": good}).session_secret == good
    assert read(tmp_path, POINT, {"LEXBANDIT_SESSION_SECRET": ""}).session_secret is None


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot read"):
        read_config(tmp_path / "none.toml", {})
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_config(tmp_path / "bad.toml", {})
    with pytest.raises(InvalidInput, match="no decision point"):
        read(tmp_path, "")


def test_check_tells_and_sets_the_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEXBANDIT_KEYS", raising=False)
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(POINT)
    bad.write_text(POINT.replace("wait", "wiat"))
    assert status_of(["serve", str(good), "--check", "--no-auth"]) == 0
    assert "good.toml is fine: 1 decision point (router)" in capsys.readouterr().out
    assert not (tmp_path / "decisions.db").exists()
    assert status_of(["serve", str(bad), "--check", "--no-auth"]) == 1
    assert "bad.toml, line 4, points.router.wiat" in capsys.readouterr().err
    assert status_of(["serve", str(good), "--check"]) == 0
    assert "no keys yet: it starts with --no-auth only" in capsys.readouterr().out
    assert status_of(["serve", str(good), "--check", "--host", "0.0.0.0"]) == 1
    assert "there are no API keys" in capsys.readouterr().err
    assert status_of(["serve", str(good)]) == 1
    assert "there are no API keys" in capsys.readouterr().err
    assert status_of(["serve", str(good), "--check", "--no-auth", "--host", "0.0.0.0"]) == 1
    assert "--no-auth is for this machine only" in capsys.readouterr().err
    monkeypatch.setenv("LEXBANDIT_KEY_WEB", f"decide:{HASH}")
    assert status_of(["serve", str(good), "--check", "--host", "0.0.0.0"]) == 0


def test_check_warns_of_a_point_with_one_arm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may begin so: arms are added while it runs."""
    path = tmp_path / "one.toml"
    path.write_text(re.sub("arms = .*", 'arms = ["small"]', POINT))
    assert status_of(["serve", str(path), "--check", "--no-auth"]) == 0
    told = capsys.readouterr()
    assert "one.toml is fine" in told.out
    assert "router has one arm, 'small': there is nothing to choose until" in told.err


def test_check_refuses_a_policy_that_cannot_decide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "service.toml"
    path.write_text(POINT.replace("wait = 60", 'policy = "oracle"'))
    told = "error: points.router cannot decide: the oracle can select only if"
    assert status_of(["serve", str(path), "--check"]) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "decisions.db").exists()


@pytest.mark.parametrize("name", ["", "a\nb"])
def test_a_key_has_a_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["key", name, "--role", "read"]) == 1
    told = capsys.readouterr()
    assert told.err == f"error: the name of a key is a text, got {name!r}.\n"
    assert told.out == ""


def test_a_file_of_keys_with_a_number_that_cannot_be_read_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys, config = tmp_path / "keys.toml", tmp_path / "service.toml"
    keys.write_text(f"[[keys]]\nrate = 1{'0' * 4400}\n")
    config.write_text(f'[service]\nkeys = "keys.toml"\n{POINT}')
    before = keys.read_bytes()
    for line in (["key", "web", "--role", "read", "--to", str(keys)], ["serve", str(config)]):
        assert status_of(line) == 1
        told = capsys.readouterr().err
        assert told == f"error: {keys}: a number in it has more than 4,300 digits.\n"
    assert keys.read_bytes() == before


def test_check_looks_into_the_storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, storage = tmp_path / "good.toml", tmp_path / "decisions.db"
    good.write_text(POINT)
    storage.write_text("this is no database, and long enough to be seen as none" * 100)
    assert status_of(["serve", str(good), "--check"]) == 1
    assert "decisions.db" in capsys.readouterr().err
    storage.write_bytes(b"")  # as good as none
    assert status_of(["serve", str(good), "--check"]) == 0
    assert [one.name for one in tmp_path.iterdir() if "lock" in one.name] == []


def test_the_sample_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["serve", "--sample"]) == 0
    mine = tmp_path / "mine.toml"
    mine.write_text(capsys.readouterr().out)
    assert read_config(mine, {}).points
    assert status_of(["serve"]) == 2
    assert "--sample" in capsys.readouterr().err


def test_a_setting_that_a_policy_does_not_use_is_taken_as_a_chooser_takes_it(
    tmp_path: Path,
) -> None:
    place = tmp_path / "service.toml"
    place.write_text(POINT.replace("wait = 60", 'policy = "linucb"\nsettings = { beta = 0.5 }'))
    assert read_config(place, {}).points["router"].settings == {"beta": 0.5}
