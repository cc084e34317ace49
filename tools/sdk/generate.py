"""The sync face of the SDK, made from the async one by its syntax: same names, same words, no ``await``.

Every public method of an ``Async…`` class gets a method that runs it on the thread of ``sdk.runner``. Used by
``tools.sdk`` and by the test that what is committed is current.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "src" / "moorage" / "sdk"
BLOCKING = SDK / "blocking"
MODULES = ("handle", "commands", "pty", "watching", "filesystem", "listing", "sandbox")
RENAMED = {
    "AsyncHandler": "Handler",
    "AsyncData": "Data",
    "AsyncIterator": "Iterator",
}
INNER = {"AsyncCommandHandle.take", "AsyncWatchHandle.begun"}
"""Public to other modules of the SDK only."""
ENTERED = {"__aenter__": "__enter__", "__aexit__": "__exit__"}
HEADER = '''"""``sdk.{name}`` without ``await``, made of it by ``python -m tools.sdk``, never by hand."""

from __future__ import annotations
'''
Function = ast.FunctionDef | ast.AsyncFunctionDef


def renewed() -> dict[Path, str]:
    """Every generated file, by its path."""
    trees = {name: ast.parse((SDK / f"{name}.py").read_text()) for name in MODULES}
    homes = {made.name: name for name, tree in trees.items() for made in classes(tree)}
    texts = {name: tidied(Module(name, tree, homes).text(), name) for name, tree in trees.items()}
    return {BLOCKING / f"{name}.py": text for name, text in texts.items()}


def classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Async"):
            yield node


def tidied(text: str, name: str) -> str:
    """As our formatter leaves it."""
    for words in (("check", "--select", "I", "--fix-only"), ("format",)):
        command = [
            str(Path(sys.executable).parent / "ruff"),
            *words,
            "--quiet",
            "--stdin-filename",
            str(BLOCKING / f"{name}.py"),
            "-",
        ]
        text = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return text


class Renaming(ast.NodeTransformer):
    """Async names in an annotation, by their sync ones; notes what it saw."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.seen: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self.names:
            self.seen.add(node.id)
        return ast.Name(self.names.get(node.id, node.id))


class Module:
    """One module of the async SDK. ``homes``: the module of each class that has a face."""

    def __init__(self, name: str, tree: ast.Module, homes: dict[str, str]) -> None:
        self.name, self.tree, self.homes = name, tree, homes
        self.names = RENAMED | {made: made.removeprefix("Async") for made in homes}

    def text(self) -> str:
        made = list(classes(self.tree))
        body = "\n\n".join(self.made_class(node) for node in made)
        faces = "\n".join(f"FACES[{node.name}] = {self.names[node.name]}" for node in made)
        return (
            HEADER.format(name=self.name) + self.imports(body + faces) + "\n" + body + "\n\n" + faces + "\n"
        )

    def imports(self, body: str) -> str:
        """What the text uses, from where the async module has it."""
        used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
        used |= set(re.findall(r"[A-Za-z]\w*", " ".join(quoted(body))))
        origins = {"cast": "typing", "Any": "typing"} | dict.fromkeys(
            ("run", "call", "face", "threaded", "needed", "fed", "FACES"), "moorage.sdk.runner"
        )
        origins |= {
            "Handler": "moorage.sdk.values",
            "Data": "moorage.sdk.values",
            "Iterator": "collections.abc",
        }
        origins |= {made: f"moorage.sdk.{home}" for made, home in self.homes.items()}
        origins |= {
            self.names[made]: f"moorage.sdk.blocking.{home}"
            for made, home in self.homes.items()
            if home != self.name
        }
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                origins |= {alias.name: node.module for alias in node.names if alias.name not in origins}
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                origins.setdefault(node.targets[0].id, f"moorage.sdk.{self.name}")
        return "\n".join(f"from {origins[name]} import {name}" for name in sorted(used & set(origins)))

    def made_class(self, node: ast.ClassDef) -> str:
        sync = self.names[node.name]
        lines = [f"class {sync}:", *documented(node, 1), ""]
        lines += [f"    def __init__(self, of: {node.name}) -> None:", "        self._async = of", ""]
        either = {
            word.id
            for part in node.body
            if is_either(part)
            for word in ast.walk(part)
            if isinstance(word, ast.Name)
        }
        overloaded = {
            part.name for part in node.body if isinstance(part, Function) and "overload" in decorators(part)
        }
        for part in node.body:
            if isinstance(part, ast.If) or is_either(part):
                lines += [f"    {line}" for line in ast.unparse(part).splitlines()]
            elif isinstance(part, Function) and self.is_wanted(node, part, either):
                lines += self.method(node.name, part, part.name in overloaded)
            else:
                continue
            lines.append("")
        return "\n".join(lines)

    def is_wanted(self, owner: ast.ClassDef, method: Function, either: set[str]) -> bool:
        if f"{owner.name}.{method.name}" in INNER:
            return False
        return not method.name.startswith("_") or method.name in ENTERED or method.name in either

    def method(self, owner: str, method: Function, overloaded: bool) -> list[str]:
        marks = decorators(method)
        renaming = Renaming(self.names)
        arguments, returned = renamed(method.args, renaming), renamed(method.returns, renaming)
        name = ENTERED.get(method.name, method.name)
        lines = [f"    @{mark}" for mark in marks if mark != "classmethod"]
        if "classmethod" in marks:
            lines.append("    @staticmethod")
            arguments = arguments.removeprefix("cls, ")
        lines.append(f"    def {name}({arguments}) -> {returned}:" + (" ..." if "overload" in marks else ""))
        if "overload" in marks:
            return lines
        return [*lines, *documented(method, 2), f"        {self.body(owner, method, returned, overloaded)}"]

    def body(self, owner: str, method: Function, returned: str, overloaded: bool) -> str:
        if method.name == "__aenter__":
            return "return self"
        marks = decorators(method)
        target = owner if {"staticmethod", "classmethod"} & set(marks) else "self._async"
        if overloaded:
            target = f'cast("Any", {target})'
        call = f"{target}.{method.name}" + ("" if "property" in marks else f"({', '.join(passed(method))})")
        if isinstance(method, ast.AsyncFunctionDef):
            call = f"run({call})"
        elif "property" not in marks:
            call = f"call(lambda: {call})"
        if returned == "None":
            return call
        original = ast.unparse(method.returns) if method.returns else ""
        return f"return {call}" if original == returned else f'return cast("{returned}", face({call}))'


def is_either(part: ast.stmt) -> bool:
    return (
        isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and ast.unparse(part.value.func) == "Either"
    )


def quoted(body: str) -> Iterator[str]:
    """The types that are only named, in quotes."""
    for node in ast.walk(ast.parse(body)):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "cast"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def decorators(method: Function) -> list[str]:
    return [ast.unparse(mark) for mark in method.decorator_list]


def renamed(node: ast.AST | None, renaming: Renaming) -> str:
    copy = ast.parse(
        f"def f({ast.unparse(node)}): ..."
        if isinstance(node, ast.arguments)
        else ast.unparse(node or ast.Constant(None))
    )
    renaming.visit(copy)
    return ast.unparse(copy.body[0].args) if isinstance(copy.body[0], ast.FunctionDef) else ast.unparse(copy)


def passed(method: Function) -> Iterator[str]:
    """The arguments of the call, each as the async SDK takes it."""
    for arg in (*method.args.args, *method.args.kwonlyargs):
        if arg.arg in ("self", "cls"):
            continue
        annotation = ast.unparse(arg.annotation) if arg.annotation else ""
        value = arg.arg
        if "AsyncHandler" in annotation:
            value = f"threaded({value})" if annotation.endswith("None") else f"needed({value})"
        elif annotation == "AsyncData":
            value = f"fed({value})"
        yield f"{arg.arg}={value}" if arg in method.args.kwonlyargs else value


def documented(node: ast.ClassDef | Function, depth: int) -> list[str]:
    text = ast.get_docstring(node, clean=False)
    return [] if text is None else [f'{"    " * depth}"""{text}"""']
