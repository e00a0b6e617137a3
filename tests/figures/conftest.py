"""Figures are drawn without a screen, and put away after each test."""

import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def put_away():
    from matplotlib import pyplot as plt

    yield
    plt.close("all")
