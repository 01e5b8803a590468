"""Every public name says what it is: a class, function or method without a docstring is found here.

A method may leave it out where a protocol, an abstract class or `Recipe` documents the method of that name: what an
implementation does beyond it belongs into its class. Names that begin with an underscore, and what is defined inside
functions, are nobody else's business.
"""

import ast
from collections.abc import Iterator

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def documented_for_all(trees: list[ast.Module]) -> set[str]:
    """Methods that protocols, abstract classes and `Recipe` describe for everyone who implements them."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    faces = [
        node
        for node in classes
        if node.name == "Recipe"
        or any(isinstance(base, ast.Name) and base.id in ("Protocol", "ABC") for base in node.bases)
    ]
    methods = [part for node in faces for part in node.body if isinstance(part, ast.FunctionDef)]
    return {method.name for method in methods if ast.get_docstring(method)}


def silent(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """Public names of a module without a docstring."""
    if not ast.get_docstring(tree):
        yield "the module"
    yield from within(tree.body, "", known)


def within(body: list[ast.stmt], prefix: str, known: set[str]) -> Iterator[str]:
    for node in body:
        if not isinstance(node, DEFINITIONS) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and not (prefix and node.name in known):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from within(node.body, f"{prefix}{node.name}.", known)


def test_every_public_name_has_a_docstring(source):
    trees = {str(file.relative_to(source)): ast.parse(file.read_text("utf-8")) for file in source.rglob("*.py")}
    assert len(trees) > 100
    known = documented_for_all(list(trees.values()))
    assert {"query", "event", "announce"} <= known
    found = {file: list(silent(tree, known)) for file, tree in trees.items()}
    assert not {file: names for file, names in found.items() if names}


def test_names_without_one_are_found():
    text = '''
class Method:
    def announce(self): ...
    def price(self): ...
    def _inner(self): ...
def ask():
    """Documented."""
    def unseen(): ...
'''
    assert list(silent(ast.parse(text), {"announce"})) == ["the module", "Method", "Method.price"]
