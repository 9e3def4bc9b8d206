# SPDX-License-Identifier: Apache-2.0
"""What the checkers of this directory share: files of a tree, C text, a list of faults."""
import os
import re
import sys

LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
SKIPPED = ('build', '.git', '__pycache__', 'corpus', 'golden', 'data-files', 'fixtures')


class Faults:
    """Prints `file:line: what` for each fault and counts them."""

    def __init__(self, root):
        self.root, self.n = root, 0

    def add(self, path, line, what):
        print(f'{os.path.relpath(path, self.root)}:{line}: {what}')
        self.n += 1


def read(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read()


def files(top, *ends):
    """Paths below `top` that end so, sorted; build outputs and inputs of tests are left out."""
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(x for x in folders if x not in SKIPPED)
        for name in sorted(names):
            if name.endswith(ends):
                yield os.path.join(folder, name)


def code(text):
    """C text with comments and literals blanked out; lines keep their numbers."""
    return LITERAL.sub(lambda m: '\n' * m.group(0).count('\n') or ' ', text)


def functions(text):
    """(name, first line, lines, head) of each function that is defined in C text."""
    lines, i = code(text).split('\n'), 0
    while i < len(lines):
        line = lines[i].rstrip()
        opens = line == '{' or (line[:1].isalpha() and line.endswith('{') and '(' in line
                                and '=' not in line)
        if not opens:
            i += 1
            continue
        start = i
        while (line == '{' and start > 0 and lines[start - 1][:1] != '#'
               and lines[start - 1].strip()[-1:] not in ('', ';', '}')):
            start -= 1
        head = ' '.join(lines[start:i + 1])
        depth, end = 0, i
        while end < len(lines):
            depth += lines[end].count('{') - lines[end].count('}')
            if depth <= 0 and '}' in lines[end]:
                break
            end += 1
        found = re.search(r'(\w+)\s*\(', head)
        if found:
            yield found.group(1), i + 1, end - i + 1, head
        i = end + 1


def floors(root):
    """src/layers.txt: a list of floors, lowest first, each a list of rooms."""
    out = []
    for line in read(os.path.join(root, 'src/layers.txt')).split('\n'):
        words = line.split('#')[0].split()
        if words and words[0] != '!':
            out.append([w for w in words if w != '='])
    return out


def main(name, checks):
    """NAME [ROOT [CHECK...]]: runs the checks, all unless some are named."""
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else '.')
    wanted = sys.argv[2:] or list(checks)
    for check in wanted:
        if check not in checks:
            sys.exit(f'{name}: no check "{check}"; there are: {" ".join(checks)}')
    faults = Faults(root)
    for check in wanted:
        checks[check](root, faults)
    print(f'{name}: {" ".join(wanted)}: {faults.n} faults')
    sys.exit(1 if faults.n else 0)
