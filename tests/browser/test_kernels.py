"""Kernels of Pallas in the inspector: their grids and windows, where the call is chosen and all on a tab."""

from __future__ import annotations

import pytest
from pages import HOSTILE
from sample_kernels import product


def choose(page, text: str = "pallas_call") -> None:
    page.locator("[data-pane=jaxpr] .row", has_text=text).click()


def tips(page, grid: str) -> list[str]:
    """What the tiles of a grid are, by its title."""
    found = page.locator(f".details .blocks[aria-label^='{grid}'] title")
    return found.evaluate_all("all => all.map(one => one.textContent)")


def test_a_call_that_is_chosen_is_drawn(show):
    page = show(product())
    choose(page)
    kernel = page.locator(".details .kernel")
    kernel.wait_for()
    assert kernel.locator(".what").all_text_contents() == [
        "grid 2×4", "in matmul.x", "in matmul.w", "out matmul.y"
    ]  # fmt: skip
    assert "grid 2 × 4, 8 steps · parallel, arbitrary · for TPUs" in kernel.inner_text()
    assert "matmul.y: 65,536 elements (50%) are never written." in kernel.inner_text()
    assert len(tips(page, "grid")) == 8 and tips(page, "in matmul.w")[1].endswith("first, 2 times")
    lost = kernel.locator(".lost")
    assert lost.count() == 8 and lost.first.evaluate("one => getComputedStyle(one).stroke") == "rgb(209, 36, 47)"
    assert kernel.locator("tbody tr").count() == 4
    size = kernel.locator("rect").first.evaluate("one => [one.getBBox().width, one.getBBox().height]")
    assert size == pytest.approx([32, 25])
    choose(page, "tanh")
    assert page.locator(".details .kernel").count() == 0


def test_a_line_that_is_chosen_is_drawn(show):
    page = show(product())
    page.locator("[data-pane=source] .row").first.click()
    page.locator(".details .kernel").wait_for()


def test_all_kernels_on_a_tab(show):
    page = show(product())
    tab = page.locator("[data-tab=mesh]")
    assert tab.inner_text() == "kernels"
    tab.click()
    page.locator(".picture .kernel .mark").click()
    assert page.locator("[data-pane=jaxpr] .row.pin").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_it_stays_within_its_place(show, width, scheme):
    page = show(product(), width=width, scheme=scheme)
    choose(page)
    page.locator(".details .kernel").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_names_are_text(show):
    page = show(product(HOSTILE))
    choose(page)
    page.locator(".details .kernel").wait_for()
    assert page.evaluate("window.hit") is None and page.locator(".details img, .details script").count() == 0
