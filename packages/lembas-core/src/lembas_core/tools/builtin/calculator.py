"""A tool that does arithmetic: a tiny language over Python's syntax tree, nothing is evaluated as code."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Mapping
from typing import Any, Final

from lembas_core.tools.values import Tool, ToolResult

__all__ = ("calculate", "calculator_tool")

LONGEST: Final = 500
"""Characters of an expression."""
MOST_BITS: Final = 14_000
"""The size of a whole number: Python prints at most 4,300 digits."""

Number = int | float

PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "expression": {
            "type": "string",
            "description": "For example (3 + 4) * 2 ^ 10 or sqrt(2) / 3.",
        }
    },
    "required": ["expression"],
}


def _quotient(left: Number, right: Number) -> Number:
    return left / right


def _floor(left: Number, right: Number) -> Number:
    return left // right


def _power(base: Number, exponent: Number) -> Number:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(base) > 1 and int(base).bit_length() * exponent > MOST_BITS:
        raise ValueError("the result is too large")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("there is no real result")
    return result


def _round(number: Number, digits: Number = 0) -> Number:
    if abs(digits) > 300:
        raise ValueError("round takes at most 300 digits")
    return round(number, int(digits)) if digits else round(number)


def _factorial(number: Number) -> int:
    if number > 1000:
        raise ValueError("the result is too large")
    return math.factorial(int(number) if number == int(number) else -1)


_OPERATORS: Final[dict[type[ast.AST], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _quotient,
    ast.FloorDiv: _floor,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_CONSTANTS: Final[dict[str, Number]] = {"pi": math.pi, "e": math.e, "tau": math.tau}
_FROM_MATH: Final = (
    *("acos", "asin", "atan", "atan2", "cbrt", "ceil", "cos", "degrees", "exp", "floor", "gcd", "hypot"),
    *("lcm", "log", "log10", "log2", "radians", "sin", "sqrt", "tan", "trunc"),
)
_FUNCTIONS: Final[dict[str, Any]] = {
    "abs": abs,
    "max": max,
    "min": min,
    "round": _round,
    "factorial": _factorial,
    **{name: getattr(math, name) for name in _FROM_MATH},
}
_WRITTEN: Final = str.maketrans({"^": "**", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-"})
"""Signs as people write them: a caret, multiplication sign, middle dot, division sign, minus sign."""


def calculate(expression: str) -> str:
    """The value of an arithmetic expression.

    Raises:
        ValueError: It cannot be computed; the message says why.
    """
    if len(expression) > LONGEST:
        raise ValueError(f"an expression has at most {LONGEST} characters")
    if not expression.isprintable() or any(sign in expression for sign in "\"'\\#"):
        raise ValueError("it is not arithmetic")
    try:
        return _printed(_value(ast.parse(expression.translate(_WRITTEN).strip(), mode="eval").body))
    except ZeroDivisionError:
        raise ValueError("division by zero") from None
    except OverflowError:
        raise ValueError("the result is too large") from None
    except TypeError:
        raise ValueError("a function got the wrong arguments") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError("it is not arithmetic") from None


def _value(node: ast.AST) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            result = number
        case ast.Name(id=name) if name in _CONSTANTS:
            result = _CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            result = _OPERATORS[type(op)](_value(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            result = _OPERATORS[type(op)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            result = _FUNCTIONS[name](*(_value(argument) for argument in args))
        case _:
            raise ValueError(f"{ast.unparse(node)[:80]!r} is not arithmetic")
    if isinstance(result, int) and result.bit_length() > MOST_BITS:
        raise ValueError("the result is too large")
    return result


def _printed(number: Number) -> str:
    if isinstance(number, int):
        return str(number)
    if not math.isfinite(number):
        raise ValueError("the result is not a number")
    # 15 digits are what a double can be trusted with: 0.1 + 0.2 is 0.3.
    return f"{number:.15g}"


async def _run(arguments: Mapping[str, Any]) -> ToolResult:
    expression = arguments.get("expression")
    if not isinstance(expression, str | int | float):
        return ToolResult("`expression` is required, a string.", is_error=True)
    try:
        return ToolResult(calculate(str(expression)))
    except ValueError as error:
        return ToolResult(f"Cannot compute that: {error}.", is_error=True)


def calculator_tool() -> Tool:
    """The tool."""
    return Tool(
        name="calculator",
        description="Compute an arithmetic expression exactly; always use it for sums with large numbers.",
        parameters=PARAMETERS,
        run=_run,
        family="calculator",
        timeout=5.0,
    )
