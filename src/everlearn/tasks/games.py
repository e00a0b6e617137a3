"""Games against a player whose strategy is fixed: a card may be hidden, and the agent may forget what was played."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.protocol import Label
from everlearn.tasks.portrait import Letters, Portrait
from everlearn.tasks.task import Task

ROCK, PAPER, SCISSORS = "rock", "paper", "scissors"
BEATS = {ROCK: SCISSORS, PAPER: ROCK, SCISSORS: PAPER}

JACK, QUEEN, KING = "jack", "queen", "king"
RANK = {JACK: 0, QUEEN: 1, KING: 2}
PASS, BET = "pass", "bet"

PLAYED = "Veness, Ng, Hutter, Uther and Silver (2011), Section 7.1"


def biased_rps() -> Task:
    """Play rock, paper, scissors against an opponent who repeats rock after winning with it, else plays at random.

    A win earns 1 and a loss costs 1.  The agent observes what the other played, and keeps it as its aleatoric state.
    Whether the other has just won with rock also depends on what the agent played: a window that keeps actions tells.

    Examples
    --------
    >>> import everlearn as el
    >>> theory = el.Theory("biased-rps", {"aleatoric": "window:1+actions"})
    >>> round(theory.optimal_average_reward, 9), round(theory.best_aleatoric.average_reward, 9)
    (0.25, 0.25)

    """

    def rho(repeats: int, action: str) -> Iterator[tuple[str, float, int]]:
        for played in (ROCK,) if repeats else BEATS:
            yield played, 1.0 if repeats else 1 / 3, int(played == ROCK and action == SCISSORS)

    def reward(_aleatoric_state: Label, action: str, observation: str) -> float:
        return float(BEATS[action] == observation) - float(BEATS[observation] == action)

    return Task(
        tuple(BEATS),
        tuple(BEATS),
        last_observation(),
        Reward(reward, -1.0, 1.0),
        Model(tuple(BEATS), tuple(BEATS), 0, rho),
        name="biased-rps",
        summary="play rock, paper, scissors against a player who repeats rock after winning with it",
        portrait=Portrait("The other player repeats rock after winning with it. Will the agent notice?"),
        source=f"Farias et al. (2010); {PLAYED}",
        references={"optimum": 0.25},
    )


def kuhn_poker(*, bluff: float = 1 / 3) -> Task:
    """Play Kuhn's poker as the second player, against a player whose card is hidden and who cannot be exploited.

    Each player puts one chip into the pot and gets one of three cards.  The first player passes or bets a chip; who
    then passes after a bet loses the pot, and otherwise the higher card wins it.  After two passes the cards are shown;
    after a pass and a bet of the agent, the first player passes or bets too.  The agent acts once a round and earns the
    chips that it wins.  The first player plays one of the optimal strategies of the game, so that the most that can be
    earned is 1/18 a round.

    An observation is what the last round earned, the card of the next one, and what the first player does with it.

    Parameters
    ----------
    bluff:
        the probability that the first player bets with a jack, from 0 to 1/3, which names the optimal strategy

    Examples
    --------
    >>> import everlearn as el
    >>> theory = el.Theory("kuhn-poker")
    >>> round(18 * theory.best_aleatoric.average_reward, 6)
    1.0

    """
    parameters = dict(locals())
    require(0 <= bluff <= 1 / 3, "bluff", bluff, "give a probability from 0 to 1/3")
    bets = {JACK: float(bluff), QUEEN: 0.0, KING: 3 * float(bluff)}
    calls = {JACK: 0.0, QUEEN: 1 / 3 + float(bluff), KING: 1.0}
    deals = [
        (mine, theirs, played, chance / 6)
        for mine, theirs in permutations(RANK, 2)
        for played, chance in ((BET, bets[theirs]), (PASS, 1 - bets[theirs]))
        if chance > 0
    ]

    def rho(deal: Any, action: str) -> Iterator[tuple[Label, float, Label]]:
        for won, chance in _settled(deal, action, calls):
            for mine, theirs, played, share in deals:
                yield (won, mine, played), chance * share, (mine, theirs, played)

    def reward(_aleatoric_state: Label, _action: str, observation: tuple[int, str, str]) -> float:
        return float(observation[0])

    def update(_aleatoric_state: Label, _action: str, observation: tuple[int, str, str]) -> Label:
        return observation[1:]

    first: Any = {(mine, theirs, played): chance for mine, theirs, played, chance in deals}
    hands = tuple(dict.fromkeys((mine, played) for mine, _, played, _ in deals))
    observations = tuple((won, *hand) for won in (-2, -1, 1, 2) for hand in hands)
    return Task(
        (PASS, BET),
        observations,
        AleatoricState("start", update, ("start", *hands)),
        Reward(reward, -2.0, 2.0),
        Model((PASS, BET), observations, first, rho, hidden=True),
        name="kuhn-poker",
        summary="play Kuhn's poker as the second player, against a player who cannot be exploited",
        portrait=Portrait("A bet may win more or lose more, and the other player gives nothing away."),
        source=f"Kuhn (1950); {PLAYED}",
        parameters=parameters,
    )


def _settled(deal: tuple[str, str, str], action: str, calls: dict[str, float]) -> Iterator[tuple[int, float]]:
    """Yield what the agent can win in a round, with probabilities."""
    mine, theirs, played = deal
    higher = 1 if RANK[mine] > RANK[theirs] else -1
    if played == BET:
        yield (2 * higher, 1.0) if action == BET else (-1, 1.0)
    elif action == PASS:
        yield higher, 1.0
    else:
        yield 2 * higher, calls[theirs]
        yield 1, 1 - calls[theirs]


EMPTY = "." * 9
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
ENDS = {"won": 2.0, "drawn": 1.0, "lost": -2.0, "illegal": -3.0}


def tic_tac_toe() -> Task:
    """Play tic-tac-toe, moving first, against a player who moves at random.

    A win earns 2, a draw 1, a loss -2, and a mark on a taken square -3; each of them begins the next game.  The board
    is seen, nothing is hidden, and the aleatoric state is the board: x is the agent's mark.

    Examples
    --------
    >>> game = tic_tac_toe()
    >>> game.model.outcomes("xx.oo....", 2)
    (Outcome(observation='won', probability=1.0, memory='.........'),)

    """
    boards = _boards()
    observations = (*boards, *ENDS)
    return Task(
        tuple(range(9)),
        observations,
        AleatoricState(EMPTY, _board_after, boards),
        Reward(lambda _s, _a, observation: ENDS.get(observation, 0.0), -3.0, 2.0),
        Model(tuple(range(9)), observations, EMPTY, _play),
        name="tic-tac-toe",
        summary="play tic-tac-toe, moving first, against a player who moves at random",
        portrait=Portrait("Every move closes a way and opens another.", drawing=Letters(3)),
        source=PLAYED,
    )


def _board_after(_board: str, _square: int, observation: str) -> str:
    return EMPTY if observation in ENDS else observation


def _play(board: str, square: int) -> Iterator[tuple[str, float, str]]:
    """Yield every board that can follow a move of the agent, or the end of the game."""
    if board[square] != ".":
        yield "illegal", 1.0, EMPTY
        return
    board = _marked(board, square, "x")
    free = [place for place, mark in enumerate(board) if mark == "."]
    if _has_line(board, "x") or not free:
        yield "won" if _has_line(board, "x") else "drawn", 1.0, EMPTY
        return
    answers = [_marked(board, place, "o") for place in free]
    lost = sum(_has_line(answer, "o") for answer in answers)
    if lost:
        yield "lost", lost / len(free), EMPTY
    for answer in answers:
        if not _has_line(answer, "o"):
            yield answer, 1 / len(free), answer


def _marked(board: str, square: int, mark: str) -> str:
    return board[:square] + mark + board[square + 1 :]


def _has_line(board: str, mark: str) -> bool:
    return any(all(board[square] == mark for square in line) for line in LINES)


def _boards() -> tuple[str, ...]:
    """Return every board that the agent can meet."""
    queue = {EMPTY: None}
    boards = [EMPTY]
    for board in boards:
        for square in range(9):
            for _, _, following in _play(board, square):
                if following not in queue:
                    queue[following] = None
                    boards.append(following)
    return tuple(boards)
