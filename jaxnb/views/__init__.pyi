from .axes_diagram import (
    AxesDiagram as AxesDiagram,
    axes_of as axes_of,
)
from .axis_flow import (
    axis_flow_of as axis_flow_of,
    read_axis_flow as read_axis_flow,
)
from .collectives import (
    render_ledger as render_ledger,
)
from .collectives_html import (
    render_ledger_html as render_ledger_html,
)
from .cost_report import (
    render_costs as render_costs,
)
from .diagram import (
    Diagram as Diagram,
)
from .differences import (
    render_diff as render_diff,
    render_sums as render_sums,
)
from .differentiation import (
    render_gradients as render_gradients,
    render_gradients_html as render_gradients_html,
)
from .drawings import (
    encode_drawn as encode_drawn,
)
from .escape import (
    Html as Html,
    element as element,
    joined as joined,
    visible as visible,
)
from .graph import (
    render_graph as render_graph,
)
from .html import (
    render_html as render_html,
)
from .interactive import (
    has_script as has_script,
    render_interactive as render_interactive,
    script_hashes as script_hashes,
    scripts_for as scripts_for,
)
from .kernels import (
    render_kernel as render_kernel,
    render_kernel_html as render_kernel_html,
    render_kernels as render_kernels,
    render_kernels_html as render_kernels_html,
)
from .kernels_svg import draw_kernel as draw_kernel
from .line import (
    line_element as line_element,
)
from .memory_curve import (
    encode_curves as encode_curves,
    thinned as thinned,
)
from .memory_text import (
    render_memory as render_memory,
)
from .placement_html import (
    render_placed as render_placed,
)
from .placement_svg import (
    draw_mesh as draw_mesh,
    draw_placement as draw_placement,
)
from .placement_text import (
    render_mesh as render_mesh,
    render_placement as render_placement,
    render_tree as render_tree,
)
from .plans import (
    kernel_windows_text as kernel_windows_text,
    render_plan as render_plan,
    render_search as render_search,
    render_target_plans as render_target_plans,
    render_target_plans_html as render_target_plans_html,
)
from .plans_html import (
    draw_search as draw_search,
    render_plan_html as render_plan_html,
    render_search_html as render_search_html,
    render_timeline_html as render_timeline_html,
)
from .platforms import (
    render_platforms as render_platforms,
    render_platforms_html as render_platforms_html,
)
from .promotion import (
    draw_promotion as draw_promotion,
    render_promotion as render_promotion,
    render_promotion_html as render_promotion_html,
    render_promotions as render_promotions,
    render_promotions_html as render_promotions_html,
)
from .ptx import (
    render_ptx as render_ptx,
    render_ptx_html as render_ptx_html,
)
from .rematerialisation import (
    draw_remat as draw_remat,
    render_remat as render_remat,
    render_remat_html as render_remat_html,
)
from .sharding_report import (
    render_shardings as render_shardings,
)
from .sharding_report_html import (
    render_shardings_html as render_shardings_html,
)
from .style import (
    style_element as style_element,
)
from .table import (
    Cell as Cell,
    Head as Head,
    Table as Table,
    table_element as table_element,
    table_lines as table_lines,
)
from .text import (
    detail_lines as detail_lines,
    render_findings as render_findings,
    render_program as render_program,
)
from .timeline import render_timeline as render_timeline
from .timeline_svg import draw_timeline as draw_timeline
from .trees import (
    encode_trees as encode_trees,
    standing_in as standing_in,
)
from .width import clipped as clipped, printable as printable, text_width as text_width
