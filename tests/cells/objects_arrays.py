"""NumPy arrays of objects: they hold arrays as a list does, in one memory for all their views (rules 4 and 6)."""

from .case import Case

GRID = "h = np.empty((2, 2), object)\nh.fill(0)\nh[0, 0] = x"

CASES = [
    Case(
        "oar-item-then-host",
        setup="h = np.array([x, x + 1, 0], dtype=object)",
        cell="""\
h[0] = h[0] + 1
n = float(h[0][0])
v = h[0]
same = v is h[0]""",
        change=("h[0] = x", "h[2] = x", "h = h.copy()"),
        reused=(True, False, True),
        reason="h[2] 0 → float32[3]",
        rule=4,
    ),
    Case(
        "oar-filled-one-by-one",
        setup="h = np.array([None, None], object)\ni = 0",
        cell="""\
h[i % 2] = jnp.sin(x + i)
i += 1
peak = float(h[(i - 1) % 2].max())
n = sum(v is not None for v in h)""",
        change="h[:] = None",
        reused=None,
        reused2=None,
        rule=4,
    ),
    Case(
        "oar-grid",
        setup=GRID,
        cell="""\
y = h[0, 0] + 1
h[1, 1] = y
s = (h[0] + h[1]).sum()""",
        change=("h[0, 0] = w[0]", "h = h.T", "h = h.copy()"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "oar-view",
        setup=GRID + "\nrow = h[0]",
        cell="""\
row[0] = row[0] * 2
y = h[0, 0] + 1
same = row[0] is h[0, 0]""",
        change=("row[0] = x", "row = row.copy()", "row = h[:, 0]"),
        reused=(True, False, False),
        rule=6,
    ),
    Case(
        "oar-without-dimensions",
        setup="h = np.empty((), object)\nh[()] = x",
        cell="""\
h.fill(h[()] * 2)
y = h.item()
same = y is h[()]""",
        change="h.fill(w)",
        reused=False,
        rule=6,
    ),
    Case(
        "oar-numbers-and-numpy",
        setup="h = np.array([1.5, None, 'a'], object)\nh[1] = np.arange(3.0)",
        cell="""\
y = x * h[0]
z = h[1] * 2
h[0] = h[0] * 2""",
        change=("h[0] = 1.0", "h[1] = np.ones(3)", "h[2] = 'b'"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "oar-containers-inside",
        setup="h = np.array([{'a': x}, [x, 1]], object)",
        cell="""\
h[0]['a'] = h[0]['a'] + 1
h[1][0] = h[0]['a']""",
        change=("h[0]['a'] = x", "h[1] = [w, 1]"),
        reused=(True, False),
        rule=6,
    ),
    Case(
        "oar-read-only",
        setup="h = np.array([None, 1], object)\nh[0] = x\nh.flags.writeable = False",
        cell="y = h[0] + h[1]",
        change="h = h.copy()\nh[0] = w[0]",
        reused=False,
        rule=4,
    ),
    Case(
        "oar-made-by-the-cell",
        cell="""\
h = np.empty((2, 2), object, order='F')
h[0, 0] = x * 2
h[1, 1] = jnp.sum(x)
g = h[0]""",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "oar-holds-itself",
        setup="h = np.array([None, 1], object)\nh[0] = h",
        cell="h[1] = x + 1\nsame = h[0] is h",
        probes=("h[0][1]",),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "oar-other-shape-in-place",
        setup="h = np.empty(4, object)\nh[0] = x",
        cell="""\
h.resize((2, 2) if h.ndim == 1 else (4,), refcheck=False)
y = x + 1
n = h.shape""",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "oar-structured",
        setup="h = np.empty(1, [('a', object), ('b', float)])\nh['a'][0] = x",
        cell="y = h['a'][0] * 2\nh['a'][0] = y",
        change="h['a'][0] = w",
        reused=None,
        reused2=None,
        rule=4,
    ),
    Case(
        "oar-undone",
        setup=GRID,
        cell="h[0, 1] = x * 2\nh[0, 0] = x * 3\nraise ValueError('no')",
        raises="ValueError",
        probes=("h[0, 0]", "h[0, 1]"),
        reused=None,
        reused2=None,
        rule=8,
    ),
]
