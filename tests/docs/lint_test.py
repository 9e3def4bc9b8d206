#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each lint finds the example that it exists for, and says so; a good one passes."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LICENCE = '/* SPDX-License-Identifier: Apache-2.0 */\n'

HOUSE = '''# Architecture

## The house

```text
  | [cmd]             |
  | [train] | [job]   |
  | [data]  | [store] |
  | [base]            |
```

| room | holds |
|---|---|
| `base` | strings |
| `data` | files |
| `train` | the loop, `train/loop.c:train_once` |
| `store` | records |
| `job` | jobs |
| `cmd` | commands |

## Next
'''
LAYERS = 'base\ndata\ntrain\nstore\njob\ncmd\n! data train | store job\n'
LOOP = LICENCE + 'int train_once(int a)\n{\n    return a;\n}\n'


class Lint(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.root = self.dir.name

    def tearDown(self):
        self.dir.cleanup()

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)

    def house(self, page=HOUSE, layers=LAYERS):
        self.write('docs/architecture.md', page)
        self.write('src/layers.txt', layers)
        for room in ('base', 'data', 'train', 'store', 'job', 'cmd'):
            os.makedirs(os.path.join(self.root, 'src', room), exist_ok=True)
        self.write('src/train/loop.c', LOOP)

    def lint(self, tool, check):
        done = subprocess.run([os.path.join(ROOT, 'tools', tool), self.root, check],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def finds(self, tool, check, what):
        status, said = self.lint(tool, check)
        self.assertEqual(status, 1, said)
        self.assertIn(what, said)

    def passes(self, tool, check):
        status, said = self.lint(tool, check)
        self.assertEqual(status, 0, said)


class Pages(Lint):
    def test_a_row_that_stands_twice_in_a_table_is_found(self):
        self.write('a.md', '| x | y |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 1 | 2 |\n')
        self.finds('check-docs', 'tables', 'a.md:5: this row stands already in line 3')

    def test_the_same_row_in_two_tables_is_fine(self):
        self.write('a.md', '| x | y |\n|---|---|\n| 1 | 2 |\n\ntext\n\n| x | y |\n|---|---|\n| 1 | 2 |\n')
        self.passes('check-docs', 'tables')

    def test_a_second_row_for_one_library_is_found(self):
        self.write('docs/dependencies.md', '| library | for |\n|---|---|\n| z | a |\n| z | b |\n')
        self.finds('check-docs', 'tables', 'docs/dependencies.md:4: a row for z stands already in line 3')

    def test_a_link_to_a_missing_page_is_found(self):
        self.write('a.md', 'see [b](docs/b.md)\n')
        self.finds('check-docs', 'links', 'a.md:1: link to docs/b.md, which does not exist')

    def test_a_link_to_a_missing_heading_is_found(self):
        self.write('a.md', 'see [b](docs/b.md#no-such)\n')
        self.write('docs/b.md', '# Such a thing\n')
        self.finds('check-docs', 'links', 'a.md:1: link to #no-such, which docs/b.md does not have')

    def test_links_to_pages_headings_and_the_web_are_fine(self):
        self.write('a.md', '[b](docs/b.md#such-a-thing), [c](#here), [d](https://example.com/x)\n\n## Here\n')
        self.write('docs/b.md', '# `Such` a thing\n')
        self.passes('check-docs', 'links')

    def test_text_in_code_is_no_link(self):
        self.write('a.md', '`x[1](2)`\n\n```c\nx[1](y);\n```\n')
        self.passes('check-docs', 'links')

    def test_a_readme_of_91_lines_is_too_long(self):
        self.write('README.md', 'x\n' * 90)
        self.passes('check-docs', 'length')
        self.write('README.md', 'x\n' * 91)
        self.finds('check-docs', 'length', 'README.md:91: 91 lines, at most 90 are allowed')

    def test_a_phrase_that_the_field_does_not_use_is_found_across_lines(self):
        self.write('src/nn/a.h', '/* All weights get their first\n * values here. */\n')
        self.finds('check-docs', 'words', 'src/nn/a.h:1: "first values": the field says "initial values"')

    def test_figures_that_differ_from_the_results_are_found(self):
        self.write('bench/results/serve.json', '{"rows": [{"case": "din", "items": 200, "requests_per_s": 2.4,'
                   ' "p50_ms": 1, "p99_ms": 2, "cpu_ms": 3}]}')
        self.write('docs/performance.md', '<!-- figures serve -->\n| stale |\n<!-- end -->\n')
        self.finds('check-docs', 'figures', 'differs from bench/results; to mend it: tools/figures')
        subprocess.run([os.path.join(ROOT, 'tools/figures'), self.root], check=True)
        self.passes('check-docs', 'figures')
        with open(os.path.join(self.root, 'docs/performance.md'), encoding='utf-8') as f:
            self.assertIn('| din | 200 | 2 | 1.0 ms | 2.0 ms | 3.00 ms |', f.read())


class House(Lint):
    def test_a_house_that_agrees_passes(self):
        self.house()
        self.passes('check-docs', 'rooms')
        self.passes('check-docs', 'walks')

    def test_a_room_without_a_floor_is_found(self):
        self.house()
        os.mkdir(os.path.join(self.root, 'src/attic'))
        self.finds('check-docs', 'rooms', 'room attic is missing in src/layers.txt')
        self.finds('check-docs', 'rooms', 'room attic is missing in the drawing')

    def test_a_floor_without_a_room_is_found_unless_the_page_says_so(self):
        self.house(layers=LAYERS.replace('cmd\n', 'web\ncmd\n'), page=HOUSE.replace('| [cmd] ', '| [cmd] |\n| [web]'))
        self.finds('check-docs', 'rooms', 'room web is missing in src/')
        self.finds('check-docs', 'rooms', 'no table row about the room web')
        self.write('docs/architecture.md', HOUSE.replace('| [cmd] ', '| [cmd] |\n| [web]').replace(
            '| `cmd`', '| `web` | not there yet: a console |\n| `cmd`'))
        self.passes('check-docs', 'rooms')

    def test_a_drawing_that_turns_floors_around_is_found(self):
        self.house(page=HOUSE.replace('[train]', '[DATA]').replace('[data] ', '[train]').replace('[DATA]', '[data]'))
        self.finds('check-docs', 'rooms', 'the drawing has data above train, src/layers.txt does not')

    def test_a_function_on_a_walk_that_does_not_exist_is_found(self):
        self.house(page=HOUSE.replace('train_once', 'train_twice'))
        self.finds('check-docs', 'walks', 'docs/architecture.md:16: train/loop.c:train_twice: '
                   'train/loop.c defines no function train_twice')

    def test_a_file_on_a_walk_that_does_not_exist_is_found(self):
        self.house(page=HOUSE.replace('train/loop.c', 'train/look.c'))
        self.finds('check-docs', 'walks', 'train/look.c:train_once: no file src/train/look.c')


    def test_an_implementation_that_the_table_of_interfaces_lacks_is_found(self):
        self.house(page=HOUSE + '| **comm**: collectives | `self` | `tests/a.c` |\n')
        self.write('src/comm/comms.def', '#define COMM(name)\nCOMM(self)\n')
        self.write('tests/a.c', '')
        self.passes('check-docs', 'interfaces')
        self.write('src/comm/comms.def', 'COMM_PLUGIN(mpi, "x")\nCOMM(self)\n')
        self.finds('check-docs', 'interfaces', 'comm: src/comm/comms.def has mpi, this row has not')
        os.remove(os.path.join(self.root, 'tests/a.c'))
        self.finds('check-docs', 'interfaces', 'comm: there is no tests/a.c')


class Source(Lint):
    def test_a_long_file_without_an_opening_is_found(self):
        self.write('src/base/a.c', LICENCE + '#include <stdio.h>\n' + 'int a;\n' * 149)
        self.finds('check-source', 'openings', 'src/base/a.c:2: 151 lines, but 0 of comment at the top: a file of more than 150 lines '
                   'opens with at least 2 that say what it does and how')

    def test_one_line_is_no_opening(self):
        self.write('src/base/a.c', LICENCE + '/* Strings. */\n' + 'int a;\n' * 150)
        self.finds('check-source', 'openings', 'but 1 of comment at the top')

    def test_two_lines_are_an_opening_and_short_files_need_none(self):
        self.write('src/base/a.c', LICENCE + '/* Strings:\n * kept in one block each. */\n' + 'int a;\n' * 150)
        self.write('src/base/b.c', LICENCE + 'int b;\n')
        self.passes('check-source', 'openings')

    def test_a_static_function_named_run_is_found(self):
        self.write('src/layers.txt', LAYERS)
        self.write('src/base/a.c', 'static int\nrun(int a)\n{\n    return a;\n}\n')
        self.finds('check-source', 'names', 'src/base/a.c:3: static function run(): name what it runs or builds')

    def test_public_names_begin_with_a_word_of_their_room(self):
        self.house()
        self.write('src/prefixes.txt', 'train: loop\ndata: loop row\n')
        self.write('src/train/a.h', 'struct loop_state {\n    int n;\n};\nstruct row_state {\n    int n;\n};\n')
        self.write('src/store/b.c', 'static int free_of_it(void)\n{\n    return 1;\n}\nint fold_all(void)\n{\n    return 1;\n}\n')
        for said in ('src/prefixes.txt:2: loop_ belongs to train already',
                     'src/train/a.h:4: struct row_state is public in train, but its first word belongs to data (src/prefixes.txt)',
                     'src/store/b.c:6: fold_all() is public in store, but its first word belongs to no room (src/prefixes.txt)'):
            self.finds('check-source', 'names', said)
        self.write('src/prefixes.txt', 'train: loop row\nstore: fold\nstore: fold\n')
        self.finds('check-source', 'names', 'src/prefixes.txt:3: store has two lines')
        self.write('src/prefixes.txt', 'train: loop row\nstore: fold\n')
        self.passes('check-source', 'names')
        self.write('src/job/a.h', 'typedef void lane_fn(int n);\nextern const int row_kinds[];\n')
        self.finds('check-source', 'names', 'src/job/a.h:1: typedef lane_fn is public in job')
        self.finds('check-source', 'names', 'src/job/a.h:2: extern row_kinds is public in job')

    def test_a_struct_in_two_headers_is_found(self):
        self.write('src/a/x.h', 'struct table {\n    int n;\n};\n')
        self.write('src/b/y.h', 'struct table {\n    int m;\n};\n')
        self.finds('check-source', 'structs', 'src/b/y.h:1: struct table is also defined in src/a/x.h')

    def test_a_constant_of_two_headers_is_found(self):
        self.write('src/a/x.h', 'enum { KEEP_ALL, KEEP_NONE };\n')
        self.write('src/b/y.h', '\nenum keep {\n    KEEP_ALL = 3, /* KEEP_NONE */\n};\n')
        self.finds('check-source', 'structs', 'src/b/y.h:2: KEEP_ALL is also defined in src/a/x.h')
        self.write('src/b/y.h', 'enum keep { B_ALL };\n')
        self.passes('check-source', 'structs')

    def test_long_functions_are_found_when_they_are_more_than_one_in_a_hundred(self):
        short = ''.join(f'int f{i}(void)\n{{\n    return 1;\n}}\n' for i in range(200))
        long = 'int g(void)\n{\n' + '    a();\n' * 38 + '}\n'
        self.write('src/base/a.c', short + long)
        self.passes('check-source', 'lengths')
        self.write('src/base/a.c', short + long + long.replace('g(', 'h(') + long.replace('g(', 'i('))
        self.finds('check-source', 'lengths', 'the 99th percentile of function lengths is 40')


    def test_a_path_into_the_tree_of_a_job_is_found(self):
        self.write('src/backend/a.c', 'static void look(struct sup *s)\n{\n    fs_read(fs_join(s->ml, "usercode/a"), 1);\n}\n')
        self.write('src/train/a.c', 'static void look(struct sup *s)\n{\n    fs_read(fs_join(s->ml, "usercode/a"), 1);\n}\n')
        self.finds('check-source', 'trees', 'src/backend/a.c:2: look() names a place where a job can write and calls fs_read()')
        self.write('src/tree-paths.txt', 'backend/a.c look\n')
        self.finds('check-source', 'trees', 'src/backend/a.c:2: look() names')
        self.write('src/tree-paths.txt', 'backend/a.c look  it is ours\n')
        self.passes('check-source', 'trees')

    def test_a_place_of_the_server_and_a_descriptor_are_fine(self):
        self.write('src/job/a.c', 'static void look(int at)\n{\n    fs_read(fs_join(dir, "outputs.json"), 1);\n}\n'
                   'static int see(const char *root)\n{\n    return job_tree_open(root, "ml/output/a", false, 0);\n}\n')
        self.passes('check-source', 'trees')


class Examples(Lint):
    HEADER = ('/* SPDX-License-Identifier: Apache-2.0 */\n/* base/box.h - boxes.\n *\n'
              '%s *\n * Never empty. */\n#include "base/err.h"\nstruct box { int n; };\n'
              'int box_open(struct box *b, int n, struct err *err);\nvoid box_close(struct box *b);\n')

    def header(self, *lines):
        self.write('src/base/err.h', '#pragma once\nstruct err { int code; };\n')
        self.write('src/base/box.h', self.HEADER % ''.join(f' *     {line}\n' if line else ' *\n' for line in lines))

    def test_an_example_that_compiles_passes(self):
        self.header('struct box b = {0};', 'int rc = box_open(&b, 3, err);', '...', 'box_close(&b);')
        self.passes('check-source', 'examples')

    def test_a_stale_argument_in_an_example_is_found(self):
        self.header('struct box b = {0};', 'int rc = box_open(&b, err);')
        self.finds('check-source', 'examples', 'src/base/box.h:2: the example at the top does not compile: '
                   'passing argument 2 of')

    def test_an_undeclared_name_in_an_example_is_found(self):
        self.header('box_close(&b);')
        self.finds('check-source', 'examples', 'undeclared')

    def test_a_list_of_calls_is_compared_with_the_declarations(self):
        self.header('box_open(b, 3, err)   once', 'box_close(b)   at the end')
        self.passes('check-source', 'examples')
        self.header('box_open(b, err)   once')
        self.finds('check-source', 'examples', 'example: box_open() takes 3 arguments, not 2')
        self.header('box_shut(b)   at the end')
        self.finds('check-source', 'examples', 'example: box_shut() is not declared in this header')

    def test_a_drawing_is_no_example(self):
        self.header('lid', '  |', 'box; with a lid')
        self.passes('check-source', 'examples')


class Fields(Lint):
    DEF = 'src/text/pipeline/root.def'

    HEADER = """#ifndef SCHEMA_MEMBER
#define SCHEMA_MEMBER
#endif
#define MSG(n, ...) struct pc_##n {
#define END(n) };
#define OPT(t, n, ...) int n SCHEMA_MEMBER;
#define SUB(m, n, ...) struct pc_##m *n SCHEMA_MEMBER;
#define ONE(o, m, n, ...) struct pc_##m *n SCHEMA_MEMBER;
#include "text/pipeline/root.def"
"""

    def schema(self, line, code='0'):
        reader = LICENCE + '#include "text/pipeline/pipeline.h"\nint a(struct pc_EasyRecConfig *x, struct pc_Deep *d);\n' \
            'int a(struct pc_EasyRecConfig *x, struct pc_Deep *d)\n{\n    return %s;\n}\n'
        self.write('src/text/pipeline/pipeline.h', LICENCE + self.HEADER)
        self.write('src/model/models.def', 'MODEL(deepfm)\n')
        self.write('src/text/pipeline/check_root.c', reader % 'x->checked')
        self.write('src/train/loop.c', reader % f'x->used && x->used->deepfm && d->width + ({code})')
        self.write(self.DEF, f'MSG(EasyRecConfig, "a file")\nSUB(ModelConfig, used, "")\n{line}\nEND(EasyRecConfig)\n'
                   'MSG(ModelConfig, "a model")\nONE(model, Deep, deepfm, "")\nONE(model, Other, other, "")\nEND(ModelConfig)\n'
                   'MSG(Deep, "built")\nOPT(U32, width, "0", "")\nEND(Deep)\n'
                   'MSG(Other, "not built")\nOPT(U32, never, "0", "")\nEND(Other)\n')

    def test_a_field_that_no_code_reads_is_found(self):
        self.schema('OPT(U32, seen, "0", "")')
        self.finds('check-source', 'fields', f'{self.DEF}:3: EasyRecConfig.seen is read by no code')
        self.schema('OPT(U32, seen, "0", "")', 'x->seen')
        self.passes('check-source', 'fields')

    def test_a_field_of_the_same_name_in_another_message_is_no_reader(self):
        self.schema('OPT(U32, width, "0", "")')
        self.finds('check-source', 'fields', f'{self.DEF}:3: EasyRecConfig.width is read by no code')

    def test_a_check_alone_is_no_reader(self):
        self.schema('OPT(U32, checked, "0", "")')
        self.finds('check-source', 'fields', 'EasyRecConfig.checked is read by no code')

    def test_fields_that_are_read_or_marked_pass_and_so_do_those_of_models_that_are_not_built(self):
        self.schema('OPT(U32, none, "0", "", .flags = FIELD_IGNORED, .note = "because")')
        self.passes('check-source', 'fields')

    def test_every_field_of_this_tree_is_read_or_marked(self):
        done = subprocess.run([os.path.join(ROOT, 'tools', 'check-source'), ROOT, 'fields'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


class Runner(Lint):
    def test_an_unknown_check_is_refused_by_name(self):
        status, said = self.lint('check-docs', 'spelling')
        self.assertEqual(status, 1)
        self.assertIn('check-docs: no check "spelling"; there are: tables links', said)


if __name__ == '__main__':
    sys.exit(0 if unittest.main(exit=False, verbosity=1).result.wasSuccessful() else 1)
