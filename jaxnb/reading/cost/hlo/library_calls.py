"""What calls into NVIDIA's libraries cost, by their targets: products of cuBLAS, convolutions of cuDNN.

On a GPU these are the dearest instructions of most programs, and to XLA's general count they are custom calls, which
cost nothing. Their dimension numbers stand in the configuration that XLA's GPU backend gives them. The first result is
what is computed; the rest is scratch memory of the library, which is not counted as moved.
"""

from __future__ import annotations

from jaxnb.reading.cost.hlo.rules import Rule, Unit, convolution_flops, product_flops
from jaxnb.reading.hlo.module import Computation, Instruction, Shape

__all__ = ["library_rule"]


def library_rule(item: Instruction) -> Rule | None:
    """The rule for a custom call; None if nothing is known of its target."""
    return next((rule for start, rule in _RULES.items() if item.target.startswith(start)), None)


def _shapes(item: Instruction, around: Computation) -> tuple[Shape, Shape, Shape, int]:
    """Of the first two operands and the first result, and the bytes that are moved."""
    left, right, *more = (operand.shape for operand in around.operands(item))
    (result, *_) = item.shape.leaves()
    return left, right, result, sum(shape.nbytes for shape in (left, right, *more, result))


def _product(item: Instruction, around: Computation) -> Unit:
    left, _, result, moved = _shapes(item, around)
    return Unit(product_flops(item, left, result) if item.dot is not None else None, moved)


def _convolution(item: Instruction, around: Computation) -> Unit:
    images, kernel, result, moved = _shapes(item, around)
    return Unit(convolution_flops(item, images, kernel, result), moved)


def _by_images(item: Instruction, around: Computation) -> Unit:
    result, kernel, images, moved = _shapes(item, around)
    return Unit(convolution_flops(item, images, kernel, result), moved)


def _by_kernel(item: Instruction, around: Computation) -> Unit:
    images, result, kernel, moved = _shapes(item, around)
    return Unit(convolution_flops(item, images, kernel, result), moved)


_RULES: dict[str, Rule] = {
    "__cublas$": _product,
    "__cudnn$convForward": _convolution,
    "__cudnn$convBiasActivationForward": _convolution,
    "__cudnn$convBackwardInput": _by_images,
    "__cudnn$convBackwardFilter": _by_kernel,
}
