"""Tokens: which are accepted, and which files."""

from __future__ import annotations

import hmac

import pytest

from everlearn.errors import InputError
from everlearn.service import tokens as module
from everlearn.service.tokens import Tokens
from tests.refusal import refusal

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"


def written(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_any_line_of_the_file_is_accepted(tmp_path):
    tokens = Tokens.read(written(tmp_path / "tokens", f"{TOKEN}\n\n  {OTHER}  \n"))
    assert tokens.accept(f"Bearer {TOKEN}")
    assert tokens.accept(f"bearer  {OTHER} ")


def test_comments_are_not_tokens(tmp_path):
    comment = "# of the pump in the cellar, until May"
    tokens = Tokens.read(written(tmp_path / "tokens", f"{comment}\n\n{TOKEN}\n  {comment}\n"))
    assert tokens.accept(f"Bearer {TOKEN}")
    assert not tokens.accept(f"Bearer {comment}")
    assert not tokens.accept("Bearer ")


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xff"],
)
def test_anything_else_is_not(header):
    assert not Tokens([TOKEN]).accept(header)


def test_every_token_is_compared_in_constant_time(monkeypatch):
    compared, really = [], hmac.compare_digest

    def compare(one, other):
        compared.append((len(one), len(other)))
        return really(one, other)

    monkeypatch.setattr(module.hmac, "compare_digest", compare)
    assert Tokens([TOKEN, OTHER, OTHER[::-1]]).accept(f"Bearer {TOKEN}")
    assert compared == [(32, 32)] * 3


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
    assert tokens.accept(f"Bearer {OTHER}")
    assert not tokens.accept(f"Bearer {TOKEN}")
    written(path, "")
    with pytest.raises(InputError):
        tokens.reread()
    assert tokens.accept(f"Bearer {OTHER}")
