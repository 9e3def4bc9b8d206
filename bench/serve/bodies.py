# SPDX-License-Identifier: Apache-2.0
"""bodies.py EXPORT ROWS.jsonl ITEMS OUT ROWS-OUT.jsonl - requests of one user and ITEMS candidates each, made from
rows of the data, and a script that has wrk post them in turn; the first request as rows, for the peer."""
import json
import sys

EXPORT, ROWS, ITEMS, OUT, FLAT = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
REQUESTS = 50


def sides():
    """column -> 'user' or 'item', by the side that the config's features name."""
    with open(f'{EXPORT}/fg.json', encoding='utf-8') as f:
        fg = json.load(f)
    out = {}
    for feature in fg['features']:
        members = feature.get('features', [feature])
        for m in members:
            side, _, column = m['expression'].partition(':')
            if 'sequence_name' in feature:
                column = f"{feature['sequence_name']}__{column}"
            out[column] = 'user' if side in ('user', 'context') or 'sequence_name' in feature else 'item'
    return out


def main():
    side = sides()
    with open(ROWS, encoding='utf-8') as f:
        rows = [json.loads(x) for x in f]
    bodies = []
    user, items = rows[0], [rows[k * 7 % len(rows)] for k in range(ITEMS)]
    with open(FLAT, 'w', encoding='utf-8') as f:
        for r in items:
            f.write(json.dumps({k: user[k] if side.get(k) == 'user' else v for k, v in r.items()}) + '\n')
    for i in range(REQUESTS):
        user = rows[i * 37 % len(rows)]
        items = [rows[(i * 101 + k * 7) % len(rows)] for k in range(ITEMS)]
        bodies.append(json.dumps({
            'user': {k: v for k, v in user.items() if side.get(k) == 'user'},
            'items': [{k: v for k, v in r.items() if side.get(k) == 'item'} for r in items],
            'outputs': [o for o in ('probs', 'probs_ctr') if has_output(o)]}))
    with open(OUT, 'w', encoding='utf-8') as f:
        f.write('local bodies = {\n')
        for b in bodies:
            f.write(f'[==[{b}]==],\n')
        f.write('}\nlocal at = 0\nfunction request()\n  at = at % #bodies + 1\n'
                '  return wrk.format("POST", "/score", nil, bodies[at])\nend\n'
                'function done(summary, latency)\n'
                '  local e = summary.errors\n'
                '  print(string.format("RESULT %d %d %f %f %f %d", summary.requests, summary.duration,\n'
                '    latency:percentile(50), latency:percentile(99), latency.mean,\n'
                '    e.connect + e.read + e.write + e.status + e.timeout))\nend\n')
    print(len(bodies[0]))


def has_output(name):
    with open(f'{EXPORT}/manifest.json', encoding='utf-8') as f:
        return any(o['name'] == name for o in json.load(f)['onnx']['outputs'])


main()
