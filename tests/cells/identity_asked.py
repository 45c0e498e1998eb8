"""Cells that ask for the id of an array, or of what holds one: it is that of the object of the plain cell."""

from .case import Case

NODE = """\
class Node:
    def __init__(self, v, *kids):
        self.v, self.kids = v, kids
"""

CASES = [
    Case(
        "ida-seen-before",
        setup="seen = set()\nps = [x, x + 1]",
        cell="""\
for p in ps:
    seen.add(id(p))
y = jnp.sin(x)
n, there = len(seen), id(x) in seen
seen.clear()""",
        change="x = x + 1",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "ida-each-once",
        setup="""\
def once(arrays):
    seen, found = set(), []
    for a in arrays:
        if id(a) not in seen:
            seen.add(id(a))
            found.append(a * 2)
    return found
ps = [x, x + 1, x]""",
        cell="u = once(ps)\nn = len(u)",
        change=("ps[1] = ps[1] + 1", "ps[1] = x"),
        reused=(True, False),
        rule=5,
    ),
    Case(
        "ida-visited",
        setup=NODE
        + """\
leaf = Node(x)
root = Node(x * 2, leaf, Node(x * 3, leaf))
def total(n, seen):
    if id(n) in seen:
        return 0.0
    seen.add(id(n))
    return n.v.sum() + sum(total(k, seen) for k in n.kids)""",
        cell="t = total(root, set())",
        change=("leaf.v = x * 2", "root = Node(x, leaf)"),
        reused=(True, False),
        rule=5,
    ),
    Case(
        "ida-map",
        setup="ps = [x, x + 1]",
        cell="ids = list(map(id, ps))\ny = x * 2\nwhere = ids.index(id(x))\ndel ids",
        change="ps.reverse()",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "ida-tuple",
        setup="ps = (x, x + 1)\nknown = [ps]",
        cell="y = jnp.sin(ps[0])\nsame = id(known[0]) == id(ps)",
        change="known = [tuple([*ps])]",
        reused=False,
        rule=5,
    ),
    Case(
        "ida-of-results",
        cell="""\
y = jnp.asarray(x)
z = jnp.sin(x)
same = id(y) == id(x), id(z) == id(x), id(z) == id(z)""",
        rule=5,
    ),
    Case("ida-of-a-number", setup="lr = 0.1", cell="y = x * lr\nsame = id(lr) == id(lr)", reused2=None, rule=5),
    Case(
        "ida-own-function-of-that-name",
        setup="def id(a):\n    return a * 2",
        cell="y = id(x)",
        rule=5,
    ),
]
