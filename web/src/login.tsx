// SPDX-License-Identifier: Apache-2.0
// Login by a token, through an OpenID provider (code with PKCE), by name and password where the
// server asks LDAP, or by the link that `trainyard ui` shows.
import { useEffect, useState } from "preact/hooks";
import { get, openSession, send } from "./api";
import { t } from "./i18n";
import { Failure, Field, useAction } from "./ui";

interface Ways {
  ldap: boolean;
  oidc?: boolean;
  authorization_endpoint?: string;
  client_id?: string;
  scope?: string;
}

const KEPT = "trainyard.login";

interface Asked {
  state: string;
  nonce: string;
  verifier: string;
}

function urlSafe(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function secret(): string {
  return urlSafe(crypto.getRandomValues(new Uint8Array(32)));
}

function ownAddress(): string {
  return location.origin + location.pathname;
}

/** To the provider's page, which comes back with a code behind the # of this one: no server sees it on its way. */
async function askProvider(ways: Ways): Promise<void> {
  const asked: Asked = { state: secret(), nonce: secret(), verifier: secret() };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(asked.verifier));
  sessionStorage.setItem(KEPT, JSON.stringify(asked));
  const to = new URL(ways.authorization_endpoint!);
  const query = {
    response_type: "code", response_mode: "fragment", client_id: ways.client_id ?? "", redirect_uri: ownAddress(), scope: ways.scope ?? "openid",
    state: asked.state, nonce: asked.nonce, code_challenge: urlSafe(new Uint8Array(digest)), code_challenge_method: "S256",
  };
  for (const [k, v] of Object.entries(query)) to.searchParams.set(k, v);
  location.assign(to.href);
}

/** What the provider's page brought back, if this page sent somebody there. True: it failed. */
export async function useCode(): Promise<boolean> {
  const got = new URLSearchParams(location.hash.slice(1));
  const kept = sessionStorage.getItem(KEPT);
  if (!kept || !got.get("state")) return false;
  sessionStorage.removeItem(KEPT);
  history.replaceState(null, "", "#/jobs");
  dispatchEvent(new HashChangeEvent("hashchange"));
  const asked = JSON.parse(kept) as Asked;
  const code = got.get("code");
  if (!code || got.get("state") !== asked.state) return true;
  try {
    const made = await send<{ token: string }>("POST", "/login", { code, code_verifier: asked.verifier, redirect_uri: ownAddress(), nonce: asked.nonce });
    await openSession({ token: made.token });
    return false;
  } catch {
    return true;
  }
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

export function Login({ linkFailed, codeFailed }: { linkFailed: boolean; codeFailed: boolean }) {
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
        {codeFailed && <p class="failure" role="alert">{t("login.codeFailed")}</p>}
        {linkFailed && <p class="failure" role="alert">{t("login.linkUsed")}</p>}
        <Field label={t("login.token")} hint={t("login.hint")}>
          <input type="password" autocomplete="current-password" required autoFocus value={token}
            onInput={(e) => setToken(e.currentTarget.value)} />
        </Field>
        <button class="primary" disabled={busy}>{t("login.go")}</button>
        <Failure error={error} />
      </form>
      {ways.oidc && ways.authorization_endpoint && (
        <form onSubmit={(e) => { e.preventDefault(); void act(() => askProvider(ways)); }}>
          <h2>{t("login.oidc")}</h2>
          <button disabled={busy}>{t("login.provider", { host: new URL(ways.authorization_endpoint).host })}</button>
        </form>
      )}
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
