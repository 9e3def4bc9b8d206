// SPDX-License-Identifier: Apache-2.0
// oidc_provider.mjs PORT SECRET - an OpenID provider (the certified package oidc-provider) on
// 127.0.0.1 with two clients: `yard`, public, and `safe`, which has a secret. Whoever types a name
// and any password is logged in as that name; the subject is the name behind "sub-", unless the
// name has a '+': then what stands before it is the name and all of it the subject.
import Provider from 'oidc-provider';

const [port, secret] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const client = {
  grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
  response_types: ['code'],
  redirect_uris: ['http://127.0.0.1/callback'],
  application_type: 'native',
};
const provider = new Provider(issuer, {
  clients: [
    { ...client, client_id: 'yard', token_endpoint_auth_method: 'none' },
    { ...client, client_id: 'safe', client_secret: secret, token_endpoint_auth_method: 'client_secret_post' },
  ],
  claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email', 'email_verified'] },
  features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ['test'] },
  findAccount: (ctx, id) => ({
    accountId: id,
    claims: () => ({
      sub: `sub-${id}`,
      preferred_username: id.split('+')[0],
      email: `${id.split('+')[0]}@example.com`,
      email_verified: !id.includes('+'),
    }),
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log(`listening on ${issuer}`));
