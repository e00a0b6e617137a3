"""Tokens: which are accepted, what they grant, and which files."""

from __future__ import annotations

import math
import time

import pytest

from everlearn.errors import InputError
from everlearn.service.grants import EVERYTHING, Grant, Scope, parse
from everlearn.service.tokens import Tokens
from tests.refusal import hides, refusal

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"


def written(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_any_line_of_the_file_is_accepted(tmp_path):
    tokens = Tokens.read(written(tmp_path / "tokens", f"{TOKEN}\n\n  {OTHER}  \n"))
    assert tokens.grant(b"Bearer %b" % TOKEN.encode())
    assert tokens.grant(b"bearer  %b " % OTHER.encode())


def test_comments_are_not_tokens(tmp_path):
    comment = "# of the pump in the cellar, until May"
    tokens = Tokens.read(written(tmp_path / "tokens", f"{comment}\n\n{TOKEN}\n  {comment}\n"))
    assert tokens.grant(b"Bearer %b" % TOKEN.encode())
    assert not tokens.grant(b"Bearer " + comment.encode())
    assert not tokens.grant(b"Bearer ")


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xff"],
)
def test_anything_else_is_not(header):
    assert Tokens([TOKEN]).grant(header.encode("latin-1")) is None


def test_no_header_is_no_token():
    assert Tokens([TOKEN]).grant(None) is None


def test_the_hash_of_a_token_differs_from_process_to_process():
    """So nobody can choose tokens whose hashes come close to that of a known one, and measure how close they come."""
    one, other = ({*tokens._grants} for tokens in (Tokens([TOKEN]), Tokens([TOKEN])))
    assert not one & other
    assert {len(digest) for digest in one} == {32}


def test_no_token_is_kept_as_it_is():
    assert TOKEN not in repr(vars(Tokens([TOKEN])))


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (TOKEN, 0o604, "anybody can read it; chmod 600"),
        (TOKEN, 0o602, "anybody can read it"),
        ("\n \n", 0o600, "it has no token; write one per line"),
        ("# a comment of some length\n", 0o600, "it has no token; write one per line"),
        (f"{TOKEN}\n\nshort\n", 0o600, "the token in line 3 is shorter than 16 characters"),
    ],
)
def test_a_file_that_should_not_be_used_is_not(tmp_path, text, mode, message):
    with pytest.raises(InputError, check=refusal("--token-file")):
        Tokens.read(written(tmp_path / "tokens", text, mode))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, check=refusal("--token-file")):
        Tokens.read(tmp_path / "none")


def test_tokens_are_replaced_by_what_the_file_says_later(tmp_path):
    path = written(tmp_path / "tokens", TOKEN)
    tokens = Tokens.read(path)
    written(path, OTHER)
    tokens.reread()
    assert tokens.grant(b"Bearer %b" % OTHER.encode())
    assert not tokens.grant(b"Bearer %b" % TOKEN.encode())
    written(path, "")
    with pytest.raises(InputError):
        tokens.reread()
    assert len(tokens) == 1
    assert tokens.grant(None) is None
    assert tokens.grant(b"Bearer %b" % OTHER.encode())


class TestGrants:
    def test_a_token_alone_grants_everything(self):
        assert Tokens([TOKEN]).grant(b"Bearer " + TOKEN.encode()) == EVERYTHING

    def test_what_is_written_after_it_restricts_it(self):
        tokens = Tokens([f"{TOKEN}  name=pump scope=act\tagents=pump-*,north expires=2999-01-31", OTHER])
        grant = tokens.grant(b"Bearer " + TOKEN.encode())
        assert grant == Grant("pump", Scope.ACT, ("pump-*", "north"), 32474736000.0)
        assert [grant.covers(name) for name in ("pump-9", "north", "pump", "northern", None)] == [1, 1, 0, 0, 1]
        assert tokens.next_expiry == grant.expires

    def test_a_token_may_have_spaces_and_equals_signs_as_before(self):
        for token in ("correct horse battery", "c29tZSB0b2tlbiBvZiBvdXJz==", "a=b=c and so on 16"):
            assert parse(token) == (token, EVERYTHING)

    @pytest.mark.parametrize(
        "text", ["2020-01-01", "2020-01-01T00:00Z", "2020-01-01T05:00:00+05:00", "2020-01-01T00:00"]
    )
    def test_it_expires(self, text):
        token, grant = parse(f"{TOKEN} expires={text}")
        assert (token, grant.expires) == (TOKEN, 1577836800.0)
        tokens = Tokens([f"{TOKEN} expires={text}"])
        assert tokens.grant(b"Bearer " + TOKEN.encode()) is None
        assert tokens.next_expiry == math.inf  # it tells of what is to come

    def test_the_moment_counts(self, monkeypatch):
        tokens = Tokens([f"{TOKEN} expires=2020-01-01"])
        monkeypatch.setattr(time, "time", lambda: 1577836799.9)
        assert tokens.grant(b"Bearer " + TOKEN.encode()) is not None
        monkeypatch.setattr(time, "time", lambda: 1577836800.0)
        assert tokens.grant(b"Bearer " + TOKEN.encode()) is None

    @pytest.mark.parametrize(
        "rest",
        [
            "scop=read",
            "scope=write",
            "scope=",
            "scope=read scope=act",
            "expires=soon",
            "expires=2020-13-01",
            "agents=",
            "agents=A",
            "agents=a*b",
            "agents=a,,b",
            "name=a/b",
            "scope=read act",
            "agents=a, b",
        ],
    )
    def test_a_line_that_cannot_be_read_is_named_and_not_shown(self, tmp_path, rest):
        path = written(tmp_path / "tokens", f"{OTHER}\n{TOKEN} {rest}\n")
        with pytest.raises(InputError, check=refusal("--token-file")) as caught:
            Tokens.read(path)
        assert caught.value.remedy.partition(": ")[0] == "line 2"
        assert hides(TOKEN)(caught.value)

    def test_a_token_cannot_grant_two_things(self, tmp_path):
        assert len(Tokens([TOKEN, TOKEN])) == 1
        with pytest.raises(InputError, check=refusal("--token-file")):
            Tokens([TOKEN, f"{TOKEN} scope=read"])


class TestChanges:
    def test_a_file_that_was_replaced_has_changed(self, tmp_path):
        path = written(tmp_path / "tokens", TOKEN)
        tokens = Tokens.read(path)
        assert not tokens.changed
        written(tmp_path / "new", OTHER).replace(path)
        assert tokens.changed
        tokens.reread()
        assert not tokens.changed
        path.unlink()
        assert tokens.changed
        with pytest.raises(InputError):
            tokens.reread()
        assert not tokens.changed  # it is said once
        assert not tokens.valid
        written(path, TOKEN)
        assert tokens.changed
        tokens.reread()
        assert tokens.valid

    def test_without_a_file_there_is_nothing_to_read(self):
        tokens = Tokens([TOKEN])
        tokens.reread()
        assert (tokens.changed, len(tokens)) == (False, 1)
