"""Which view draws what of the data: filled into `program.display` as this is loaded."""

from __future__ import annotations

from functools import partial
from typing import Any

from jaxnb import views
from jaxnb.program import (
    Diff,
    Gradients,
    Kernel,
    Kernels,
    Ledger,
    Memory,
    Plan,
    Platforms,
    Program,
    Promotion,
    Promotions,
    Ptx,
    RematPolicies,
    Search,
    Shardings,
    TargetPlans,
    Timeline,
    lowers,
)

__all__: list[str] = []

_DRAWN: dict[tuple[type, str], str] = {
    (Diff, "sums"): "render_sums",
    (Diff, "text"): "render_diff",
    (Gradients, "html"): "render_gradients_html",
    (Gradients, "text"): "render_gradients",
    (Kernel, "html"): "render_kernel_html",
    (Kernel, "svg"): "draw_kernel",
    (Kernel, "text"): "render_kernel",
    (Kernels, "html"): "render_kernels_html",
    (Kernels, "text"): "render_kernels",
    (Ledger, "html"): "render_ledger_html",
    (Ledger, "text"): "render_ledger",
    (Memory, "text"): "render_memory",
    (Plan, "html"): "render_plan_html",
    (Plan, "text"): "render_plan",
    (Platforms, "html"): "render_platforms_html",
    (Platforms, "text"): "render_platforms",
    (Program, "axes"): "axes_of",
    (Program, "costs"): "render_costs",
    (Program, "graph"): "render_graph",
    (Program, "html"): "render_html",
    (Program, "text"): "render_program",
    (Promotion, "html"): "render_promotion_html",
    (Promotion, "svg"): "draw_promotion",
    (Promotion, "text"): "render_promotion",
    (Promotions, "html"): "render_promotions_html",
    (Promotions, "text"): "render_promotions",
    (Ptx, "html"): "render_ptx_html",
    (Ptx, "text"): "render_ptx",
    (RematPolicies, "html"): "render_remat_html",
    (RematPolicies, "svg"): "draw_remat",
    (RematPolicies, "text"): "render_remat",
    (Search, "html"): "render_search_html",
    (Search, "svg"): "draw_search",
    (Search, "text"): "render_search",
    (Shardings, "html"): "render_shardings_html",
    (Shardings, "text"): "render_shardings",
    (TargetPlans, "html"): "render_target_plans_html",
    (TargetPlans, "text"): "render_target_plans",
    (Timeline, "html"): "render_timeline_html",
    (Timeline, "svg"): "draw_timeline",
    (Timeline, "text"): "render_timeline",
}
"""By what the door of this room calls it, which loads the module when it is first needed."""


def _draw(name: str, *args: Any, **options: Any) -> Any:
    return getattr(views, name)(*args, **options)


for (kind, form), name in _DRAWN.items():
    lowers(kind, form, partial(_draw, name))
