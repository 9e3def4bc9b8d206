#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token ids against Hugging Face's tokenizers and sentencepiece.

    compare_tokens.py TOKEN_TOOL

Small tokenizers of many kinds are trained on made-up text by the libraries themselves; random texts in
several scripts, with odd blanks, marks and symbols, must get the same ids from TOKEN_TOOL. Further files can
be named in TOKENIZERS (paths with ':' between them; .json or .model)."""
import json, os, random, subprocess, sys, tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

rng = random.Random(7)
WORDS = ['the', 'cat', 'sat', "don't", "we'll", 'Straße', 'naïve', 'e\u0301te\u0301', '中文分词', '連衣裙', '裙子', 'はじめ', 'Привет', 'مرحبا',
         '안녕', '1234', '3.14', '2²', '½', 'Ⅳ', 'ﬁne', 'ＡＢＣ', 'İstanbul', 'ǅ', '😀', '👩‍👩‍👧', '---', '...', '$$', '€5', '_x_', 'a_b', 'foo(bar)', '<s>', '[SEP]',
         'x' * 40, 'ab' * 30]
BLANKS = [' ', ' ', ' ', '  ', '\t', '\n', '\r\n', '\u00a0', '\u3000', '   ', '']


def text():
    out = rng.choice(['', '', ' ', '\n'])
    for _ in range(rng.randint(0, 12)):
        out += rng.choice(WORDS) if rng.random() < 0.8 else ''.join(chr(rng.choice([rng.randint(32, 126), rng.randint(0xa0, 0x24f), rng.randint(0x4e00, 0x4fff), rng.randint(0x300, 0x370)])) for _ in range(3))
        out += rng.choice(BLANKS)
    return out


CORPUS = [text() for _ in range(3000)]
LLAMA = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
P, N = pre_tokenizers, normalizers
BYTES = P.ByteLevel.alphabet()
KINDS = {  # normalizer, pre-tokenizer, settings of the model, of the trainer
    'gpt2': (None, P.ByteLevel(add_prefix_space=False), {}, {'initial_alphabet': BYTES}),
    'gpt2, NFC, prefix': (N.NFC(), P.ByteLevel(add_prefix_space=True), {}, {'initial_alphabet': BYTES}),
    'llama3': (None, P.Sequence([P.Split(Regex(LLAMA), 'isolated'), P.ByteLevel(add_prefix_space=False, use_regex=False)]), {'ignore_merges': True}, {'initial_alphabet': BYTES}),
    'llama2': (N.Sequence([N.Prepend('▁'), N.Replace(' ', '▁')]), None, {'byte_fallback': True, 'unk_token': '<unk>', 'fuse_unk': True},
               {'special_tokens': ['<unk>'] + [f'<0x{i:02X}>' for i in range(256)], 'limit_alphabet': 60}),
    'metaspace': (N.NFKC(), P.Metaspace(), {'unk_token': '[UNK]'}, {'special_tokens': ['[UNK]'], 'limit_alphabet': 80}),
    'metaspace, first': (N.NFD(), P.Metaspace(prepend_scheme='first'), {'unk_token': '[UNK]', 'fuse_unk': True}, {'special_tokens': ['[UNK]'], 'limit_alphabet': 80}),
    'words': (N.Sequence([N.NFKD(), N.StripAccents(), N.Lowercase()]), P.Whitespace(), {}, {}),
    'blanks, digits': (N.Strip(), P.Sequence([P.WhitespaceSplit(), P.Digits(individual_digits=True)]), {'unk_token': '[UNK]'}, {'special_tokens': ['[UNK]'], 'limit_alphabet': 70}),
    'punctuation': (N.Lowercase(), P.Sequence([P.WhitespaceSplit(), P.Punctuation('merged_with_previous'), P.Digits()]), {}, {}),
    'suffix': (N.Sequence([N.NFC(), N.Replace(Regex(r'\s+'), ' '), N.Lowercase()]), P.Split(' ', 'removed'), {'unk_token': '[UNK]', 'end_of_word_suffix': '</w>'},
               {'special_tokens': ['[UNK]'], 'end_of_word_suffix': '</w>'}),
    'contiguous': (None, P.Split(Regex('[a-z]'), 'contiguous'), {}, {}),
    'with next': (None, P.Split(Regex('[ -/]'), 'merged_with_next'), {}, {}),
    'inverted': (None, P.Split(Regex(r'\w+'), 'removed', invert=True), {}, {}),
}
SENTENCEPIECE = {
    'unigram': {'model_type': 'unigram'},
    'unigram, identity': {'model_type': 'unigram', 'normalization_rule_name': 'identity', 'remove_extra_whitespaces': False},
    'unigram, bytes': {'model_type': 'unigram', 'byte_fallback': True, 'character_coverage': 0.98, 'vocab_size': 1300},
    'unigram, symbols': {'model_type': 'unigram', 'user_defined_symbols': ['[SEP]', 'cat', '中文'], 'add_dummy_prefix': False},
    'unigram, suffix': {'model_type': 'unigram', 'treat_whitespace_as_suffix': True},
    'bpe': {'model_type': 'bpe'},
    'bpe, bytes, folded': {'model_type': 'bpe', 'byte_fallback': True, 'character_coverage': 0.98, 'vocab_size': 1300, 'normalization_rule_name': 'nmt_nfkc_cf'},
    'bpe, symbols': {'model_type': 'bpe', 'user_defined_symbols': ['[SEP]', 'cat', '中文'], 'split_digits': True},
}
different = compared = 0


def compare(tool, kind, name, path, rows, encode, equal=lambda a, b: False):
    global different, compared
    texts = [text() for _ in range(1500)]
    p = subprocess.run([tool, kind, path], input='\n'.join(json.dumps(t) for t in texts) + '\n', capture_output=True, text=True)
    lines = p.stdout.splitlines()
    if p.returncode or len(lines) != len(texts) + 1 or int(lines[0]) != rows:
        print(f'DIFFERENT {kind} {name}: {p.stderr.strip()} {lines[:1]} rows, {rows} expected')
        different += 1
        return
    bad = [(t, json.loads(l), encode(t)) for t, l in zip(texts, lines[1:]) if json.loads(l) != encode(t) and not equal(json.loads(l), encode(t))]
    compared += len(texts)
    different += len(bad)
    for t, ours, theirs in bad[:3]:
        print(f'DIFFERENT {kind} {name}: {t!r}: {ours}, {theirs} expected')


def huggingface(tool, dir, name, parts):
    normalizer, pre, model, trainer = parts
    t = Tokenizer(models.BPE(**model))
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=900, show_progress=False, **trainer))
    t.add_special_tokens(['<s>', AddedToken('[SEP]', rstrip=True)])
    t.add_tokens([AddedToken('foo', single_word=True), AddedToken('ABC', normalized=True), 'ab'*3])
    path = os.path.join(dir, 'tokenizer.json')
    t.save(path)
    compare(tool, 'bpe', name, path, t.get_vocab_size(), lambda s: t.encode(s, add_special_tokens=False).ids)


def spm(tool, dir, name, settings):
    path = os.path.join(dir, 'model')
    lines = [line for t in CORPUS for line in t.splitlines() if line.strip()]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=path, minloglevel=2, hard_vocab_limit=False,
                                             **{'vocab_size': 1500, **settings})
    sp = sentencepiece.SentencePieceProcessor(model_file=path + '.model')
    compare(tool, 'sentencepiece', name, path + '.model', sp.get_piece_size(), sp.encode,
            lambda a, b: equally_good(sp, a, b))


def equally_good(sp, a, b):
    """Of two ways to cut 'abababab' with the same pieces in another order, rounding picks one."""
    return sorted(a) == sorted(b)


def main(tool):
    with tempfile.TemporaryDirectory() as dir:
        for name, parts in KINDS.items():
            huggingface(tool, dir, name, parts)
        for name, settings in SENTENCEPIECE.items():
            spm(tool, dir, name, settings)
    for path in filter(None, os.environ.get('TOKENIZERS', '').split(':')):
        if path.endswith('.model'):
            sp = sentencepiece.SentencePieceProcessor(model_file=path)
            compare(tool, 'sentencepiece', path, path, sp.get_piece_size(), sp.encode)
        else:
            t = Tokenizer.from_file(path)
            compare(tool, 'bpe', path, path, t.get_vocab_size(), lambda s: t.encode(s, add_special_tokens=False).ids)
    print(f'{compared} texts compared, {different} different')
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
