"""A signature is over every file of a folder and nothing else; what `certificate sign` makes of it is in tests/evidence."""

import json

import pytest

from understudy import signing
from understudy.errors import UsageError


@pytest.fixture
def signed(tmp_path):
    model = tmp_path / "model"
    (model / "deep").mkdir(parents=True)
    (model / "weights").write_text("w")
    (model / "deep" / "ledger").write_text("l")
    signing.make_keys(tmp_path / "key")
    signing.sign(model, tmp_path / "key")
    return model, tmp_path / "key.pub"


def test_the_statement_has_every_file_by_its_place(signed):
    model, key = signed
    assert signing.check(model, key) == (True, "was made with this key, for exactly these files")
    assert sorted(json.loads(signing.statement(model))["files"]) == ["deep/ledger", "weights"]
    assert signing.path_of(model) == signing.path_of(f"{model}/") == model.parent / "model.sig.json"


@pytest.mark.parametrize("change", ["changed", "added", "removed", "moved"])
def test_any_other_files_are_noticed(signed, change):
    model, key = signed
    if change == "removed":
        (model / "deep" / "ledger").unlink()
    elif change == "moved":
        (model / "deep" / "ledger").rename(model / "ledger")
    else:
        (model / "deep" / ("ledger" if change == "changed" else "more")).write_text("m")
    assert signing.check(model, key) == (False, "is for other files than those in the folder")


def test_what_is_no_plain_file_is_neither_signed_nor_passed_over(signed, tmp_path):
    model, key = signed
    (tmp_path / "elsewhere").write_text("w")
    (model / "link").symlink_to(tmp_path / "elsewhere")
    for refused in (lambda: signing.sign(model, tmp_path / "key"), lambda: signing.check(model, key)):
        with pytest.raises(UsageError, match="not a plain file"):
            refused()


def test_a_signature_that_is_missing_or_of_another_key_does_not_hold(signed, tmp_path):
    model, key = signed
    signing.make_keys(tmp_path / "other")
    assert signing.check(model, tmp_path / "other.pub") == (False, "was not made with this key, or was altered")
    kept = signing.path_of(model).rename(tmp_path / "kept.json")
    ok, why = signing.check(model, key)
    assert not ok and "there is no signature" in why
    assert signing.check(model, key, kept)[0]
    with pytest.raises(UsageError, match="not a model folder"):
        signing.sign(tmp_path / "nowhere", tmp_path / "key")
    with pytest.raises(UsageError):
        signing.check(model, tmp_path / "key", kept)  # the private key in the place of the public one
