#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs docs/tutorial.md: every `sh` block in order, in one shell and one empty directory.

Every line of a `text` block must be recognisable in what the commands before it printed: its words match
where they hold no digit; a row of numbers alone matches to two digits. Port 8500 is replaced by one that is free.
"""
import math
import os
import re
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get('TRAINYARD', os.path.join(ROOT, 'build/dev/trainyard'))
MARK = '-- end of block --'


def blocks(page):
    with open(page, encoding='utf-8') as f:
        return re.findall(r'^```(sh|text)\n(.*?)^```', f.read(), re.S | re.M)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def run(found, directory):
    """What each sh block printed; the status of the shell."""
    port = str(free_port())
    script = 'set -euo pipefail\ntrap "kill \\$(jobs -p) 2>/dev/null || true" EXIT\n'
    for kind, text in found:
        if kind == 'sh':
            script += text.replace(':8500', ':' + port).replace('kill %1', 'kill $!') + f'echo "{MARK}"\n'
    os.mkdir(os.path.join(directory, 'bin'))
    os.symlink(os.path.abspath(PROGRAM), os.path.join(directory, 'bin/trainyard'))
    env = dict(os.environ, PATH=os.path.join(directory, 'bin') + ':' + os.environ['PATH'], LC_ALL='C')
    work = os.path.join(directory, 'work')
    os.mkdir(work)
    done = subprocess.run(['bash', '-c', script], cwd=work, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500)
    return done.returncode, done.stdout.split(MARK + '\n')


def words(line):
    """The words of a line that do not depend on the machine."""
    return [w for w in line.split() if not re.search(r'\d', w)]


def numbers(line):
    """The numbers of a line that holds nothing else; else none."""
    try:
        return [float(w) for w in line.split()]
    except ValueError:
        return []


def are_close(want, have):
    return len(want) == len(have) and all(math.isclose(a, b, rel_tol=0.01) for a, b in zip(want, have))


def missing(shown, printed):
    """Lines of a text block of which no printed line has all words, in order, or about the same numbers."""
    have = [words(line) for line in printed.split('\n')]
    rows = [numbers(line) for line in printed.split('\n')]
    for line in shown.strip('\n').split('\n'):
        want, row = words(line), numbers(line)
        if row and not any(are_close(row, r) for r in rows):
            yield line
        elif want and not any(in_order(want, line_words) for line_words in have):
            yield line


def in_order(want, have):
    rest = iter(have)
    return all(any(word == w for w in rest) for word in want)


def check(page):
    found = blocks(page)
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        status, printed = run(found, directory)
    n = -1
    for kind, text in found:
        n += kind == 'sh'
        if n >= len(printed) - 1:
            break
        for line in missing(text, printed[n]) if kind == 'text' else ():
            print(f'not ok - the page shows "{line}", the program printed\n{printed[n]}')
            bad += 1
    if status:
        print(f'not ok - a command failed with status {status} after\n{printed[-1]}')
        bad += 1
    for what in ('"probs": [0.', '"status"') if not bad and 'tutorial' in page else ():
        if what not in printed[-2]:
            print(f'not ok - the scored request has no {what}: {printed[-2]}')
            bad += 1
    print(f'{"not " if bad else ""}ok - the commands of {os.path.basename(page)} work and print what it shows')
    return bad


if __name__ == '__main__':
    print('1..1')
    sys.exit(1 if check(os.path.join(ROOT, 'docs/tutorial.md')) else 0)
