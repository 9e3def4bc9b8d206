# SPDX-License-Identifier: Apache-2.0
"""Checks of tests/it/team.sh against a running server: URL, TOKEN, HOOK in the environment."""
import http.client
import json
import os
import time
import urllib.parse

url = urllib.parse.urlsplit(os.environ["URL"])
hook = os.environ["HOOK"]
admin = os.environ["TOKEN"]


def ask(method, path, body=None, token=admin, want=200):
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    head = {"Authorization": "Bearer " + token}
    raw = None
    if body is not None:
        raw = json.dumps(body).encode()
        head["Content-Type"] = "application/json"
    c.request(method, "/api/v1" + path, raw, head)
    r = c.getresponse()
    data = r.read()
    c.close()
    assert r.status == want, (method, path, r.status, data)
    return json.loads(data) if data else None


def soon(what, test):
    for _ in range(200):
        got = test()
        if got:
            return got
        time.sleep(0.1)
    raise AssertionError(what)


def user(name, projects=()):
    ask("POST", "/users", {"name": name, "role": "submitter", "projects": list(projects)}, want=201)
    return ask("POST", f"/users/{name}/tokens", {}, want=201)["token"]


ann, bob = user("ann", ["ads"]), user("bob")

# Rules: whose they are, what is refused.
state = {"on": "state", "states": ["Succeeded"]}
made = ask("POST", "/rules", {"webhook": hook + "/ok/secret-path", "condition": state}, ann, 201)
assert len(made["secret"]) == 64 and made["target"].endswith("secret-path"), made
rule = made["id"]
shown = ask("GET", "/rules/" + rule, token=ann)
assert "secret" not in shown and shown["condition"] == state, shown
assert "target" not in ask("GET", "/rules/" + rule)  # not even for an admin
ask("GET", "/rules/" + rule, token=bob, want=404)
ask("DELETE", "/rules/" + rule, token=bob, want=404)
assert ask("GET", "/rules", token=bob) == {"rules": []}
for body, code in (
        ({"webhook": "http://169.254.169.254/x", "condition": state}, "E5302"),
        ({"webhook": hook, "mail": "a@b", "condition": state}, "E5301"),
        ({"mail": "a@b\nBcc: c@d", "condition": state}, "E5301"),
        ({"webhook": hook, "condition": {"on": "log", "pattern": "("}}, "E5301"),
        ({"webhook": hook, "condition": {"on": "state", "states": ["Dead"]}}, "E5301")):
    assert ask("POST", "/rules", body, ann, 422)["code"] == code, body
other = dict(state, project="ads")
ask("POST", "/rules", {"webhook": hook, "condition": other}, bob, 403)
ask("POST", "/rules", {"webhook": hook + "/ok/project", "condition": other}, ann, 201)

# A schedule of one's own, run by hand and by the server itself.
job = {"command": "echo ${bizdate}", "project": "ads"}
ask("POST", "/schedules", {"name": "nightly", "cron": "30 2 * * *", "zone": "Asia/Shanghai", "job": job}, ann, 201)
ask("POST", "/schedules/nightly/run", {"planned": "2024-02-29T18:30:00Z"}, bob, 404)
run = ask("POST", "/schedules/nightly/run", {"planned": "2024-02-29T18:30:00Z"}, ann)
again = ask("POST", "/schedules/nightly/run", {"planned": "2024-02-29T18:30:00Z"}, ann)
assert again == {"job": run["job"], "existed": True}, again
soon("its end", lambda: ask("GET", "/jobs/" + run["job"], token=ann)["state"] == "Succeeded")
sent = soon("a message", lambda: [d for d in ask("GET", f"/rules/{rule}/deliveries", token=ann)["deliveries"]
                                  if d["state"] == "sent"])
assert sent[0]["job"] == run["job"] and "is Succeeded" in sent[0]["payload"]["text"], sent
ask("POST", "/schedules", {"name": "often", "cron": "* * * * *", "job": {"command": "true"}, "overlap": "allow"},
    ann, 201)
ask("POST", "/schedules/often/pause", token=ann)
assert ask("GET", "/schedules/often", token=ann)["paused"] is True

# Quotas of a user.
ask("PUT", "/users/bob/quota", {"running": 1}, ann, 403)
quota = ask("PUT", "/users/bob/quota", {"running": 1})
assert quota["user"] == "bob" and quota["running"] == 1 and quota["gpu"] == -1, quota
assert ask("GET", "/projects") == {"projects": []}
first = ask("POST", "/jobs", {"command": "sleep 60"}, bob, 201)["id"]
soon("it runs", lambda: ask("GET", "/jobs/" + first, token=bob)["state"] == "Running")
second = ask("POST", "/jobs", {"command": "true"}, bob, 201)["id"]
why = ask("GET", f"/jobs/{second}/why", token=bob)["why"]
assert "the quota of user 'bob' is 1 running job" in why, why
ask("DELETE", "/users/bob/quota", want=204)
ask("GET", "/users/bob/quota", want=404)
soon("it ran", lambda: ask("GET", "/jobs/" + second, token=bob)["state"] == "Succeeded")
ask("POST", f"/jobs/{first}/stop", {"force": True}, bob)
soon("it ended", lambda: ask("GET", "/jobs/" + first, token=bob)["state"] == "Stopped")
