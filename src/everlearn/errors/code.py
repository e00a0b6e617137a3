"""Errors about what runs: an agent or a function of the user's that does what it must not, and code as a whole."""

from __future__ import annotations

from everlearn.errors.arguments import EverlearnError


class AgentError(EverlearnError):
    """An agent returned or did something invalid, such as an action that does not exist.

    Parameters
    ----------
    agent:
        the name of the agent
    problem:
        what happened in which function, and what to do about it
    step:
        the step at which it happened, if any
    function:
        the name of the function that did it, such as ``act``, if it is known
    run:
        the number of the run in which it happened; 0 is the first
    value:
        what the function returned, left or used, in short, as in the message
    array:
        the name of the array that is wrong, if one is

    Examples
    --------
    >>> problem = "act returned -1 at step 1; return an index from 0 to 1"
    >>> raise AgentError("mine:agent", problem, step=1, function="act", value="-1")
    Traceback (most recent call last):
    ...
    everlearn.errors.AgentError: agent 'mine:agent': act returned -1 at step 1; return an index from 0 to 1

    """

    def __init__(
        self,
        agent: str,
        problem: str,
        step: int | None = None,
        *,
        function: str | None = None,
        run: int = 0,
        value: str | None = None,
        array: str | None = None,
    ) -> None:
        self.agent, self.problem, self.step = agent, problem, step
        self.function, self.run, self.value, self.array = function, run, value, array
        super().__init__(f"agent {agent!r}: {problem}")


class UserCodeError(EverlearnError):
    """A function of the user's raised an exception, which is the error's ``__cause__``.

    Parameters
    ----------
    message:
        which function raised what, and where, in one line
    frames:
        its traceback, without frames of this package
    function:
        the function and what it belongs to, as in ``agent 'mine': act``
    at:
        the call that raised, as in ``step 12``, if it is known

    Examples
    --------
    >>> raise UserCodeError("the reward of task 'shop' raised KeyError: 'busy' (shop.py, line 12)")
    Traceback (most recent call last):
    ...
    everlearn.errors.UserCodeError: the reward of task 'shop' raised KeyError: 'busy' (shop.py, line 12)

    """

    def __init__(self, message: str, frames: str = "", *, function: str = "", at: str = "") -> None:
        self.frames, self.function, self.at = frames, function, at
        super().__init__(message)


class CompilationError(EverlearnError):
    """A design's functions cannot be compiled; the message says where, and ``agent`` is the name of the design."""

    def __init__(self, message: str, agent: str = "") -> None:
        self.agent = agent
        super().__init__(message)


class TableFull(EverlearnError):  # noqa: N818 - reads as what it is
    """More than ``max_pairs`` pairs of a memory and an aleatoric state were visited."""

    def __init__(self, message: str, max_pairs: int) -> None:
        self.max_pairs = max_pairs
        super().__init__(message)
