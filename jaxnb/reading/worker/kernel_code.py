"""What XLA writes down of the kernels of a GPU as it compiles: read into launches, and what the assembler says of them.

A compiled program of XLA is a sequence of thunks, one for each thing that is launched. Two of the texts that it dumps
say of each which instruction it is of, and what it launches; each kernel has a file of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from jaxnb.program import Launch
from jaxnb.reading.worker.compilers import cuda_folder

__all__ = ["DUMPED", "KernelCode", "read_launches"]

DUMPED = (".ptx", ".thunk_sequence.txt", ".thunk_metadata.txt")
"""How the names of those files end that are read."""

_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_TARGET = re.compile(r"^\.target\s+(\w+)", re.MULTILINE)
_THUNK = re.compile(r"^\s*(?P<number>\d+): (?P<kind>k\w+)\s+\[.*?\]\s*(?P<rest>.*)$")
_KERNEL = re.compile(
    r"(?P<name>[\w$.]+) grid: \[(?P<grid>[\d, ]+)\] threads: \[(?P<threads>[\d, ]+)\]\s+shared_memory: (?P<shared>\d+)"
)
_METADATA = re.compile(r'profile_annotation: "(?P<op>[^"]*)"\s+thunk_id: (?P<number>\d+)')
_SAID = re.compile(
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads|Used (?P<registers>\d+) registers"
    r"|(?P<shared>\d+) bytes smem"
)
# What runs others, which are listed themselves.
_RUNS_OTHERS = frozenset("kWhile kConditional kSequential kCommandBuffer kDynamicSliceFusion kDynamicSlice".split())
_LIBRARIES: Mapping[str, str] = {
    "kGemm": "cuBLAS computes the product: its kernel is a part of that library.",
    "kCublasLtMatmul": "cuBLAS computes the product: its kernel is a part of that library.",
    "kConvolution": "cuDNN computes the convolution: its kernel is a part of that library.",
    "kConvolutionReorder": "cuDNN computes the convolution: its kernel is a part of that library.",
    "kCuDnn": "cuDNN computes it: its kernel is a part of that library.",
    "kFft": "cuFFT computes the transform: its kernel is a part of that library.",
    "kCholesky": "cuSOLVER computes it: its kernel is a part of that library.",
    "kTriangularSolve": "cuBLAS computes it: its kernel is a part of that library.",
    "kCustomCall": "it calls a function of a library, whose kernels are not a part of the program.",
    "kCopy": "the driver copies memory: there is no kernel.",
    "kMemset32BitValue": "the driver fills memory: there is no kernel.",
    "kMemzero": "the driver fills memory: there is no kernel.",
}
_COLLECTIVE = re.compile(
    r"k(AllGather|AllReduce|ReduceScatter|AllToAll|RaggedAllToAll|CollectivePermute|Send|Recv|Nccl)"
)


def read_launches(files: Mapping[str, str]) -> list[Launch]:
    """What a program launches, in its order.

    Args:
      files: the dumped texts by their names.
    """
    texts = {name: text for name, text in files.items() if name.endswith(".ptx")}
    kernels = {entry: text for text in texts.values() for entry in _ENTRY.findall(text)}
    sequence = next((text for name, text in files.items() if name.endswith(DUMPED[1])), "")
    metadata = next((text for name, text in files.items() if name.endswith(DUMPED[2])), "")
    ops = {int(one["number"]): one["op"] for one in _METADATA.finditer(metadata)}
    return [one for line in sequence.splitlines() for one in _launch(line, ops, kernels)]


def _launch(line: str, ops: Mapping[int, str], kernels: Mapping[str, str]) -> Iterator[Launch]:
    found = _THUNK.match(line)
    if found is None or found["kind"] in _RUNS_OTHERS or found["kind"].endswith("Done"):
        return
    op = ops.get(int(found["number"]), "")
    kernel = _KERNEL.search(found["rest"])
    if kernel is not None:
        name = kernel["name"]
        why = "" if name in kernels else "its kernel is a part of XLA, and none of the program's."
        grid, threads = (tuple(map(int, kernel[part].split(","))) for part in ("grid", "threads"))
        yield Launch(op or name, name, kernels.get(name, ""), why, grid, threads, int(kernel["shared"]))
    elif _COLLECTIVE.match(found["kind"]):
        yield Launch(op, why="NCCL sends it: its kernel is a part of that library.")
    elif op:
        kind = found["kind"].removeprefix("k")
        yield Launch(op, why=_LIBRARIES.get(found["kind"], f"XLA runs it as {kind}, which has no kernel of its own."))


class KernelCode:
    """The kernels of a program that was compiled for a GPU which is not there; compiled once more when asked for.

    Args:
      dump: compiles it, and gives the texts that were dumped by the names of their files.
    """

    def __init__(self, dump: Any) -> None:
        self._dump = dump
        self._said: dict[str, str] = {}

    @cached_property
    def _launches(self) -> list[Launch]:
        return read_launches(self._dump())

    def launches(self) -> list[Launch]:
        """Everything that the program launches, with the PTX of kernels."""
        return self._launches

    def assembled(self, launch: Launch) -> Launch:
        """The same with what NVIDIA's assembler says of its kernel; as it was, where there is none."""
        if launch.kernel not in self._said:
            self._said[launch.kernel] = _assemble(launch.ptx)
        said = self._said[launch.kernel]
        if not said:
            return launch
        number = {
            name: int(text)
            for one in _SAID.finditer(said)
            for name, text in one.groupdict().items()
            if text is not None
        }
        return replace(
            launch,
            registers=number.get("registers"),
            spilled=(number["stores"], number["loads"]) if "stores" in number else None,
            shared=(launch.shared or 0) + number.get("shared", 0),
        )


def _assemble(ptx: str) -> str:
    """What the assembler writes of a kernel: the registers and the memory that it takes."""
    target = _TARGET.search(ptx)
    program = os.path.join(cuda_folder(), "bin", "ptxas")
    if target is None or not os.access(program, os.X_OK):
        return ""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        asked = [program, "-v", "--gpu-name", target[1], "-o", os.devnull, file.name]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stderr + done.stdout if done.returncode == 0 else ""
