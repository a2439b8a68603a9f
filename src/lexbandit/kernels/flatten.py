"""Put the bodies of functions in place of their calls, before numba sees them.

numba compiles a function together with all that it calls, and its caller with all of that again, so
each level of calls takes as long as those below it. Its own inliner (`inline="always"`) makes one
function of many, but takes longer than compiling it. Doing the same with the source takes
milliseconds.
"""

import ast
import functools
import textwrap
from collections.abc import Callable, Collection
from pathlib import Path
from types import FunctionType
from typing import Any


def flatten(function: FunctionType, parts: Collection[FunctionType]) -> FunctionType:
    """Return `function` with the bodies of `parts` in place of the statements that call them.

    These are `part(...)`, `x = part(...)` and `return part(...)`, with arguments by position. A
    part returns at its end only. Without such a call, or without its source, the function itself is
    returned.
    """
    names = (function.__globals__.get(name) for name in function.__code__.co_names)
    if not any(getattr(found, "py_func", found) in parts for found in names if callable(found)):
        return function
    try:
        tree = _definition(function)
    except OSError:
        return function
    inliner = _Inliner(function, parts)
    inliner.visit(tree)
    if inliner.used == 0:
        return function
    tree.decorator_list, tree.returns = [], None
    for argument in tree.args.args:
        argument.annotation = None
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    module = ast.fix_missing_locations(ast.Module([tree], []))
    made: dict[str, Any] = {**inliner.names}
    exec(compile(module, function.__code__.co_filename, "exec"), made)
    flat: FunctionType = made[tree.name]
    flat.__name__, flat.__qualname__ = function.__name__, function.__qualname__
    flat.__doc__, flat.__module__ = function.__doc__, function.__module__
    return flat


@functools.cache
def _sources(file: str) -> dict[int, str]:
    """Return the source of every function of a file, by its first line and by that of its def."""
    text = Path(file).read_text(encoding="utf-8")
    lines, found = text.splitlines(keepends=True), {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            source = "".join(lines[node.lineno - 1 : node.end_lineno])
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[first] = found[node.lineno] = textwrap.dedent(source)
    return found


def _definition(function: FunctionType) -> ast.FunctionDef:
    code = function.__code__
    found = ast.parse(_sources(code.co_filename)[code.co_firstlineno]).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


class _Inliner(ast.NodeTransformer):
    """Replaces statements that call parts; `names` are the globals of the outcome."""

    def __init__(self, function: FunctionType, parts: Collection[FunctionType]) -> None:
        self.names = dict(function.__globals__)
        self.parts = parts
        self.used = 0

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self._inlined(node, node.value, lambda _: [])

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._inlined(node, node.value, lambda value: [ast.Assign(node.targets, value)])

    def visit_Return(self, node: ast.Return) -> Any:
        return self._inlined(node, node.value, lambda value: [ast.Return(value)])

    def _inlined(
        self, node: ast.stmt, call: Any, ending: Callable[[ast.expr], list[ast.stmt]]
    ) -> Any:
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            return node
        called = self.names.get(call.func.id)
        part: Any = getattr(called, "py_func", called)
        if part not in self.parts:
            return node
        self.used += 1
        definition = _definition(part)
        statements = definition.body[1:] if ast.get_docstring(definition) else definition.body
        renamed, body = self._renamed(part, definition, call)
        for statement in statements:
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Return) and inner is not statements[-1]:
                    raise ValueError(f"{part.__name__} returns before its end: it is no part.")
            if isinstance(statement, ast.Return) and statement.value:
                body += ending(renamed.visit(statement.value))
            else:
                body.append(renamed.visit(statement))
        place = {"lineno": node.lineno, "end_lineno": node.lineno}
        place |= {"col_offset": 0, "end_col_offset": 0}
        for statement in body:
            for inner in ast.walk(statement):
                inner.__dict__.update(place)
        return [new for statement in body for new in _listed(self.visit(statement))]

    def _renamed(
        self, part: FunctionType, definition: ast.FunctionDef, call: ast.Call
    ) -> tuple["_Renamer", list[ast.stmt]]:
        """Return what renames the names of a part, and the statements that set its parameters.

        A parameter that the part does not assign to is the argument itself, if that is a name or a
        constant. Globals of another module that mean something else here get another name.
        """
        prefix = f"{part.__name__}_{self.used}_"
        names = [node for node in ast.walk(definition) if isinstance(node, ast.Name)]
        assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        new: dict[str, ast.expr] = {name: ast.Name(prefix + name) for name in assigned}
        before: list[ast.stmt] = []
        for parameter, argument in zip(definition.args.args, call.args, strict=True):
            if parameter.arg not in assigned and isinstance(argument, ast.Name | ast.Constant):
                new[parameter.arg] = argument
            else:
                new[parameter.arg] = ast.Name(prefix + parameter.arg)
                target = ast.Name(prefix + parameter.arg, ast.Store())
                before.append(ast.Assign([target], argument))
        for name in {node.id for node in names} - new.keys() & part.__globals__.keys():
            value = part.__globals__[name]
            if self.names.setdefault(name, value) is not value:
                new[name] = ast.Name(prefix + name)
                self.names[prefix + name] = value
        return _Renamer(new), before


class _Renamer(ast.NodeTransformer):
    def __init__(self, new: dict[str, ast.expr]) -> None:
        self.new = new

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self.new.get(node.id, node)
        return ast.Name(found.id, node.ctx) if isinstance(found, ast.Name) else found


def _listed(found: Any) -> list[ast.stmt]:
    return found if isinstance(found, list) else [found]
