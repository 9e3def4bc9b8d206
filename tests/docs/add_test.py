#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/contributing/*.md say, all of them in one copy of the tree, and builds it.

A page shows code in fenced blocks. A comment in front of a block, which readers do not see, says what becomes of it:

  <!-- write PATH -->                     the block is a new file
  <!-- add to PATH before TEXT -->        its lines go in front of the first line that holds TEXT
  <!-- add to PATH after TEXT -->         or behind it
  <!-- append to PATH -->                 or to the end
  <!-- run -->                            a shell runs it with the new program; the `text` block behind it, if
                                          any, is found in what it prints, but for words with digits

The copy is built without optimisation, in about a minute of processor time. With a directory as argument the copy
stays there, and a second run builds only what has changed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tutorial_test import missing

ROOT = os.environ.get('TY_SOURCE', os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PAGES = os.path.join(ROOT, 'docs/contributing')
BLOCK = re.compile(r'(?:<!-- ([^\n]*?) -->[ ]*\n)?^( *)```(\w+)\n(.*?)^ *```', re.S | re.M)
KINDS = ('backend', 'comm', 'command', 'device', 'feature', 'file-kind', 'front-end', 'lookup', 'metric', 'model', 'op',
         'optimizer', 'reader', 'route', 'tuner')  # each has a page that is run


class Fault(Exception):
    pass


def steps(page):
    """(directive, kind, text) of the blocks of a page; blocks in a list are not indented any more."""
    with open(page, encoding='utf-8') as f:
        text = f.read()
    for found in BLOCK.finditer(text):
        directive, indent, kind, body = found.groups()
        yield directive or '', kind, re.sub(r'(?m)^' + indent, '', body)


def copy_tree(to):
    """The files that git knows, or would; those that did not change keep their time."""
    names = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z', '-co', '--exclude-standard'], check=True,
                           capture_output=True).stdout.decode().split('\0')
    for name in filter(None, names):
        source, target = os.path.join(ROOT, name), os.path.join(to, name)
        if os.path.isfile(source):
            put(target, open(source, 'rb').read(), os.stat(source).st_mode)


def put(path, data, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, 'rb') as f:
            if f.read() == data:
                return
    with open(path, 'wb') as f:
        f.write(data)
    os.chmod(path, mode)


def insert(text, body, where, mark):
    lines = text.split('\n')
    for i, line in enumerate(lines):
        if mark in line:
            at = i + (where == 'after')
            return '\n'.join(lines[:at] + body.rstrip('\n').split('\n') + lines[at:])
    raise Fault(f'no line holds "{mark}"')


def change(directive, body, files, tree):
    """Applies one directive to `files`, a map of paths to new contents."""
    def old(path):
        if path not in files:
            with open(os.path.join(ROOT, path), encoding='utf-8') as f:
                files[path] = f.read()
        return files[path]

    write = re.fullmatch(r'write (\S+)', directive)
    append = re.fullmatch(r'append to (\S+)', directive)
    add = re.fullmatch(r'add to (\S+) (before|after) (.+)', directive)
    if write:
        if os.path.exists(os.path.join(ROOT, write[1])):
            raise Fault(f'{write[1]} exists already')
        files[write[1]] = body
    elif append:
        files[append[1]] = old(append[1]) + body
    elif add:
        files[add[1]] = insert(old(add[1]), body, add[2], add[3])
    else:
        raise Fault(f'what is "{directive}"?')


def apply_pages(pages, tree):
    """Applies all pages; the commands to run afterwards: (page, command, text that it shows)."""
    files, runs = {}, []
    for page in pages:
        last = None
        for directive, kind, body in steps(os.path.join(PAGES, page)):
            try:
                if directive == 'run':
                    last = [page, body, '']
                    runs.append(last)
                elif directive:
                    change(directive, body, files, tree)
                elif kind == 'text' and last:
                    last[2] = body
            except (Fault, OSError) as e:
                raise Fault(f'docs/contributing/{page}: {directive}: {e}') from e
            last = last if directive == 'run' else None
    for path, text in files.items():
        put(os.path.join(tree, path), text.encode())
    return runs, set(files)


def check_format(files, tree):
    """What a page writes or adds to stands as `make lint` wants it, so that a copy of it passes."""
    program = shutil.which('clang-format-14') or shutil.which('clang-format')
    sources = sorted(x for x in files if x.endswith(('.c', '.h')))
    if not program:
        print('# clang-format is not here: the format of the examples is not checked')
        return True
    done = subprocess.run([program, '--dry-run', '--Werror', *sources], cwd=tree, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    print(f'{"not " if done.returncode else ""}ok - the examples are formatted as the program is')
    if done.returncode:
        print('# ' + '\n# '.join(x for x in done.stdout.split('\n') if 'error:' in x))
    return done.returncode == 0


def build(tree):
    out = os.path.join(tree, 'build/add')
    if not os.path.exists(os.path.join(out, 'build.ninja')):
        # without optimisation the compiler's own intrinsics are macros, some of which convert signs
        subprocess.run(['cmake', '-S', tree, '-B', out, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Debug', '-DTY_TESTS=OFF',
                        '-DTY_WERROR=ON', '-DCMAKE_C_FLAGS=-O0 -g0 -Wno-sign-conversion'], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(['cmake', '--build', out, '--target', 'trainyard', '-j', str(os.cpu_count())],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Fault('the copy with all additions does not build:\n' + '\n'.join(
            x for x in done.stdout.split('\n') if re.search(r'error|undefined|FAILED', x))[:4000])
    return os.path.join(out, 'trainyard')


def run(program, page, command, shown, tree):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        os.mkdir(os.path.join(work, 'bin'))
        os.symlink(program, os.path.join(work, 'bin/trainyard'))
        env = dict(os.environ, LC_ALL='C', TRAINYARD_DIR=os.path.join(work, 'jobs'), HOME=work, TREE=tree,
                   PATH=os.path.join(work, 'bin') + ':' + os.environ['PATH'])
        done = subprocess.run(['bash', '-euo', 'pipefail', '-c', command], cwd=work, env=env, text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lost = list(missing(shown, done.stdout)) if shown else []
    good = done.returncode == 0 and not lost
    print(f'{"" if good else "not "}ok - {page}: {command.strip().splitlines()[-1]}')
    if not good:
        print(f'# status {done.returncode}, not shown: {lost}; it printed\n{done.stdout}')
    return good


def main():
    pages = sorted(x for x in os.listdir(PAGES) if x.endswith('.md'))
    tree = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else tempfile.mkdtemp(prefix='trainyard-add.')
    try:
        copy_tree(tree)
        runs, files = apply_pages(pages, tree)
        good = [check_format(files, tree)]
        program = build(tree)
        good += [run(program, *r, tree) for r in runs]
        with_runs = {r[0] for r in runs}
        for kind in KINDS:
            if kind + '.md' not in with_runs:
                print(f'not ok - docs/contributing/{kind}.md: nothing is run')
                good.append(False)
        print(f'1..{len(good)}')
        return 0 if all(good) and good else 1
    except Fault as e:
        print(f'not ok - {e}\n1..1')
        return 1
    finally:
        if len(sys.argv) < 2:
            shutil.rmtree(tree)


if __name__ == '__main__':
    sys.exit(main())
