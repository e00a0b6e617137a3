"""HTML for notebooks: every text is escaped."""

from __future__ import annotations

from html.parser import HTMLParser

from everlearn import notebook

EVIL = "<script>alert('x')</script>&\"\n"


class Reader(HTMLParser):
    """What a browser would see: the tags, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_names_do_no_harm():
    seen = Reader(notebook.table([EVIL], [[EVIL, 1]], EVIL, [EVIL]))
    assert [tag for tag, _ in seen.tags] == ["p", "table", "tr", "th", "br", "tr", "td", "br", "td", "p"]
    assert seen.text.count("<script>") == 4


def test_a_table_has_a_title_and_a_row_of_column_names():
    expected = "<p>shop</p><table><tr><th>agent</th><th>mean</th></tr><tr><td>&lt;b&gt;</td><td>0.5</td></tr></table>"
    assert notebook.table(["agent", "mean"], [["<b>", "0.5"]], "shop") == expected


def test_a_picture_is_described():
    ((tag, attributes),) = Reader(notebook.picture(b"\x89PNG", EVIL)).tags
    assert (tag, attributes["alt"]) == ("img", EVIL)
    assert attributes["src"] == "data:image/png;base64,iVBORw=="
