# SPDX-License-Identifier: Apache-2.0
"""compare.py PROGRAM - runs memory_table and compares with the bar."""
import json
import os
import platform
import subprocess
import sys

BAR = 1.1
rows, short = [], False
print(f"{'case':22} {'needed':>10} {'resident':>10} {'ratio':>6} {'bar':>5}")
for n, dim in ((10_000_000, 16), (2_000_000, 64)):
    r = json.loads(subprocess.run([sys.argv[1], str(n), str(dim)], check=True, capture_output=True).stdout)
    ratio = r['resident'] / r['needed']
    short |= ratio > BAR
    rows.append({'rows': n, 'dim': dim, **r, 'ratio': ratio, 'bar': BAR, 'ok': ratio <= BAR})
    print(f"{f'{n // 1_000_000} M x {dim}, adagrad':22} {r['needed'] / 1e6:8.0f}MB {r['resident'] / 1e6:8.0f}MB "
          f"{ratio:6.3f} {BAR:5} {'ok' if ratio <= BAR else 'short'}")
os.makedirs('bench/results', exist_ok=True)
with open('bench/results/memory.json', 'w') as f:
    json.dump({'machine': platform.processor() or platform.machine(), 'rows': rows}, f, indent=1)
    f.write('\n')
sys.exit(1 if short else 0)
