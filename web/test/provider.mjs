// SPDX-License-Identifier: Apache-2.0
// An OpenID provider that lets everybody in as `ann` and checks PKCE; for the test of the login page.
import { createHash, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const b64 = (v) => Buffer.from(typeof v === "string" ? v : JSON.stringify(v)).toString("base64url");

export async function provider(client) {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const codes = new Map();
  const server = createServer((req, res) => {
    const url = new URL(req.url, issuer);
    const json = (v, status = 200) => res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(v));
    if (url.pathname === "/.well-known/openid-configuration")
      return json({ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks`, response_types_supported: ["code"], subject_types_supported: ["public"], id_token_signing_alg_values_supported: ["RS256"] });
    if (url.pathname === "/jwks") return json({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "RS256" }] });
    if (url.pathname === "/authorize") {
      const q = Object.fromEntries(url.searchParams);
      const code = randomUUID();
      codes.set(code, q);
      return res.writeHead(302, { Location: `${q.redirect_uri}#code=${code}&state=${q.state}` }).end();
    }
    let body = "";
    req.on("data", (c) => (body += c));
    req.on("end", () => {
      const p = new URLSearchParams(body);
      const q = codes.get(p.get("code"));
      codes.delete(p.get("code"));
      if (!q || q.code_challenge !== createHash("sha256").update(p.get("code_verifier") ?? "").digest("base64url") || p.get("redirect_uri") !== q.redirect_uri) return json({ error: "invalid_grant" }, 400);
      const now = Math.floor(Date.now() / 1000);
      const text = `${b64({ alg: "RS256", kid: "k1", typ: "JWT" })}.${b64({ iss: issuer, aud: client, sub: "42", preferred_username: "ann", nonce: q.nonce, iat: now, exp: now + 300 })}`;
      json({ access_token: "x", token_type: "Bearer", id_token: `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey).toString("base64url")}` });
    });
  });
  await new Promise((go) => server.listen(0, "127.0.0.1", go));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  return { issuer, close: () => server.close() };
}
