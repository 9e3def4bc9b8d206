# SPDX-License-Identifier: Apache-2.0
"""The text of one definition and of all that it uses in this folder: what a kept result depends on."""
import ast
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def _names(node):
    """What a statement at the top of a module defines, and from which module of ours an import takes it."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return {node.name: None}
    if isinstance(node, ast.Assign):
        return {t.id: None for t in node.targets if isinstance(t, ast.Name)}
    if isinstance(node, ast.ImportFrom) and os.path.exists(f'{HERE}/{node.module}.py'):
        return {a.asname or a.name: (node.module, a.name) for a in node.names}
    return {}


def closure(wanted, skip=()):
    """The texts of (module, name) pairs and of what they use, each once; modules in skip are left out."""
    found, todo, trees = {}, list(wanted), {}
    while todo:
        module, name = todo.pop()
        if (module, name) in found or module in skip:
            continue
        found[module, name] = ''
        if module not in trees:
            with open(f'{HERE}/{module}.py') as f:
                text = f.read()
            trees[module] = text, ast.parse(text).body
        text, body = trees[module]
        for node in body:
            defined = _names(node)
            if name not in defined:
                continue
            if defined[name]:
                todo.append(defined[name])
                continue
            found[module, name] += ast.get_source_segment(text, node)
            todo += [(module, n.id) for n in ast.walk(node) if isinstance(n, ast.Name)]
    return ''.join(text for _, text in sorted(found.items()))
