"""What `%jaxnb cluster` does."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

from jaxnb import api, clusters
from jaxnb.errors import BadHeader, JaxnbError
from jaxnb.shell.header import CLUSTER_OPTIONS, parse_header
from jaxnb.staging import Session
from jaxnb.units import format_seconds
from jaxnb.views import Head, Table, table_lines

__all__ = ["begin_on_cluster", "cluster_command"]

_MAGIC = "%jaxnb cluster"
_WORDS = ("start", "status", "restart", "attach", "use", "off", "checkpoint", "restore", "stop")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def cluster_command(text: str, session: Session, namespace: dict[str, Any], progress: Callable[[str], None]) -> str:
    """Starts, attaches, shows, heals or ends the cluster of a session.

    Args:
      text: what stands behind `cluster`.
      session: whose cells run there.
      namespace: of the notebook.
      progress: called with what is going on.

    Raises:
      BadHeader: pointing at the word that is wrong.
      JaxnbError: what goes wrong.
    """
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if word not in ("", *_WORDS):
        raise BadHeader(
            f"there is no `cluster {word}`.",
            header=f"{_MAGIC} {text}",
            column=len(_MAGIC) + 1,
            width=len(word),
            fix=f"there are {', '.join(_WORDS)}.",
        )
    if word == "start":
        given = parse_header(rest, CLUSTER_OPTIONS, f"{_MAGIC} start")
        count = given.pop("n", None)
        made = api.cluster(2 if count is None else count, **given, progress=progress)
        return (
            f"{_sentence(made)}\n%%jit --cluster runs a cell there, %jaxnb cluster use all of them; it runs until "
            "%jaxnb cluster stop, also where the kernel is started again"
        )
    if word == "attach":
        name, _, options = rest.partition("--")
        given = parse_header(f"--{options}" if options else "", CLUSTER_OPTIONS, f"{_MAGIC} attach")
        made = api.cluster(attach=name.strip(), profile=given.get("profile", ""), progress=progress)
        there = _on(session)
        bound = there.adopt(namespace)
        more = f"\nbound from there: {', '.join(bound[:12])}{', …' if len(bound) > 12 else ''}" if bound else ""
        return f"{_sentence(made)}{more}"
    if word == "checkpoint":
        return _checkpoint(text, rest, _on(session), progress)
    if word == "restore":
        path, names = _on(session).restore(rest, namespace, progress)
        return f"back to {path}: {', '.join(names) or 'no names'}"
    if rest:
        raise BadHeader(
            f"{word} takes nothing more.", header=f"{_MAGIC} {text}", column=len(f"{_MAGIC} {word} "), width=len(rest)
        )
    if word in ("", "status") and session.elsewhere is None:
        return "\n".join(["there is no cluster: %jaxnb cluster start -n 2 --devices 4", *clusters.listed_clusters()])
    there = _on(session)
    if word in ("", "status"):
        return "\n".join(_status(there.cluster))
    if word == "restart":
        there.cluster.dirty = there.cluster.dirty or "asked for"
        there.cluster.heal(progress)
        lost = there.lose(namespace)
        return f"{_sentence(there.cluster)}; " + (f"lost: {', '.join(lost)}" if lost else "nothing was lost")
    if word in ("use", "off"):
        there.cluster.by_default = word == "use"
        where = "on the cluster; --here runs one in this process" if word == "use" else "here; --cluster runs one there"
        return f"staged cells run {where}"
    there.cluster.stop()
    session.elsewhere = None
    return "the cluster is stopped; what it held is gone"


def _checkpoint(text: str, rest: str, there: clusters.OnCluster, progress: Callable[[str], None]) -> str:
    folder, _, every = rest.partition("--every")
    seconds = None
    if every or "--every" in rest:
        word = every.strip()
        if word[-1:] not in _SECONDS or not word[:-1].isdecimal() or int(word[:-1]) == 0:
            what = "--every wants how long: 30s, 10m, 2h."
            raise BadHeader(what, header=f"{_MAGIC} {text}", column=len(_MAGIC) + 1 + text.index("--every"), width=7)
        seconds = int(word[:-1]) * _SECONDS[word[-1]]
    if not (folder := folder.strip() or there.kept_in):
        raise JaxnbError("checkpoint wants a folder.", fix="%jaxnb cluster checkpoint DIR --every 10m")
    path, left_out = there.checkpoint(folder, seconds, progress)
    more = f"; another behind a cell every {every.strip()}" if seconds else ""
    lacking = f"; it cannot hold {', '.join(left_out)}" if left_out else ""
    return f"written: {path}{more}{lacking}"


def begin_on_cluster(count: int, devices: int | None, profile: str) -> str:
    """Starts a cluster on which all staged cells of this process run, and which ends with it.

    Returns:
      What was started.
    """
    made = api.cluster(count, devices, profile=profile, use=True)
    atexit.register(made.stop)
    return _sentence(made)


def _on(session: Session) -> clusters.OnCluster:
    there: Any = session.elsewhere  # nobody else runs cells elsewhere
    if there is None:
        raise JaxnbError("there is no cluster.", fix="%jaxnb cluster start -n 2 --devices 4")
    return there


def _sentence(cluster: clusters.Cluster) -> str:
    count, devices = len(cluster.members), len(cluster.ranks)
    hosts = sorted({member.host for member in cluster.members})
    where = f"on {hosts[0]}" if len(hosts) == 1 else f"on {len(hosts)} hosts"
    return f"cluster {cluster.name}: {count} processes {where}, {devices} {cluster.platform} devices ({cluster.kind})"


def _status(cluster: clusters.Cluster) -> list[str]:
    there = cluster.client_ids()
    rows = tuple(
        (
            str(member.rank),
            member.host,
            str(member.pid),
            str(cluster.ranks.count(member.rank)),
            "gone" if member.engine not in there else "answers",
            *(map(format_seconds, cluster.times.get(member.rank, (0.0, 0.0)))),
        )
        for member in cluster.members
    )
    heads = (*map(Head, ("process", "host", "pid")), Head("devices", "number"), Head(""))
    if cluster.times:
        heads = (*heads, Head("last cell", "number"), Head("waited", "number"))
    rows = tuple(row[: len(heads)] for row in rows)
    default = "staged cells run there" if cluster.by_default else "cells with --cluster run there"
    more = [f"to be brought together again before the next cell: {cluster.dirty}"] if cluster.dirty else []
    names = ", ".join(sorted(cluster.names)[:20])
    return [
        _sentence(cluster),
        *table_lines(Table(heads, rows)),
        default,
        *([f"names: {names}"] if names else []),
        *more,
    ]
