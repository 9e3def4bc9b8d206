// SPDX-License-Identifier: Apache-2.0
// Login by a token, by name and password where the server asks LDAP, or by the link that
// `trainyard ui` shows.
import { useEffect, useState } from "preact/hooks";
import { get, openSession, send } from "./api";
import { t } from "./i18n";
import { Failure, Field, useAction } from "./ui";

interface Ways {
  ldap: boolean;
}

/** Uses up the link in the address, if there is one. True: it failed. */
export async function useLink(): Promise<boolean> {
  const found = /^#link=(tl_[0-9a-f]{64})$/.exec(location.hash);
  if (!found) return false;
  history.replaceState(null, "", "#/jobs"); // it shall not stay in the history
  dispatchEvent(new HashChangeEvent("hashchange"));
  try {
    await openSession({ link: found[1]! });
    return false;
  } catch {
    return true;
  }
}

export function Login({ linkFailed }: { linkFailed: boolean }) {
  const [token, setToken] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [ways, setWays] = useState<Ways>({ ldap: false });
  const { error, busy, act } = useAction();
  useEffect(() => {
    void get<Ways>("/login").then(setWays, () => undefined);
  }, []);
  const byToken = (e: Event) => {
    e.preventDefault();
    void act(() => openSession({ token: token.trim() }));
  };
  const byName = (e: Event) => {
    e.preventDefault();
    void act(async () => {
      const made = await send<{ token: string }>("POST", "/login", { name, password });
      await openSession({ token: made.token });
    });
  };
  return (
    <main class="login">
      <form onSubmit={byToken}>
        <h1>{t("app.name")}</h1>
        {linkFailed && <p class="failure" role="alert">{t("login.linkUsed")}</p>}
        <Field label={t("login.token")} hint={t("login.hint")}>
          <input type="password" autocomplete="current-password" required autoFocus value={token}
            onInput={(e) => setToken(e.currentTarget.value)} />
        </Field>
        <button class="primary" disabled={busy}>{t("login.go")}</button>
        <Failure error={error} />
      </form>
      {ways.ldap && (
        <form onSubmit={byName}>
          <h2>{t("login.ldap")}</h2>
          <Field label={t("login.name")}>
            <input autocomplete="username" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
          </Field>
          <Field label={t("login.password")}>
            <input type="password" autocomplete="current-password" required value={password}
              onInput={(e) => setPassword(e.currentTarget.value)} />
          </Field>
          <button disabled={busy}>{t("login.go")}</button>
        </form>
      )}
    </main>
  );
}
