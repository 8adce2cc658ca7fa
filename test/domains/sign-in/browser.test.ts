import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { CHROMIUM_MISSING, hasChromium, startChromium } from '../../support/chromium.ts';
import { startSignInWorld } from './oidc-world.ts';
import { addRule, checkNow } from './sign-in-steps.ts';

/**
 * A page of a user of the graph: it creates a verifier, redirects the browser to the sign-in, and receives the code.
 * Its body shows its state.
 */
const page = (service: string, projectId: string) => `<!doctype html><meta charset="utf-8"><title>app</title>
<button id="sign-in">Sign in</button><p id="who"></p><p id="role"></p><p id="stream"></p>
<script type="module">
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const show = (id, text) => { document.getElementById(id).textContent = text; };
document.getElementById('sign-in').onclick = async () => {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  sessionStorage.setItem('verifier', verifier);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const query = new URLSearchParams({ returnTo: location.href, challenge: base64url(new Uint8Array(digest)) });
  location.href = '${service}/auth/oidc?' + query;
};
const ask = async (query, variables, token) => {
  const response = await fetch('${service}/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: 'Bearer ' + token }) },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
};
const code = new URLSearchParams(location.hash.slice(1)).get('code');
if (code) {
  history.replaceState(null, '', location.pathname);
  const input = { code, verifier: sessionStorage.getItem('verifier') };
  const complete = 'mutation ($input: CompleteSignInInput!) { completeSignIn(input: $input) { token user { email } } }';
  const { token, user } = (await ask(complete, { input })).data.completeSignIn;
  show('who', user.email);
  const role = '{ project(id: "${projectId}") { viewerRole } }';
  show('role', (await ask(role, {}, token)).data.project.viewerRole);
  const socket = new WebSocket('${service}/graphql'.replace('http', 'ws'), 'graphql-transport-ws');
  const send = (message) => socket.send(JSON.stringify(message));
  socket.onopen = () => send({ type: 'connection_init', payload: { authorization: 'Bearer ' + token } });
  socket.onmessage = ({ data }) => {
    const { type } = JSON.parse(data);
    const query = 'subscription { brokerStatus(projectId: "${projectId}") { kind } }';
    if (type === 'connection_ack') send({ id: '1', type: 'subscribe', payload: { query } });
    if (type === 'next') show('stream', 'open');
  };
  socket.onclose = async ({ code }) => {
    show('role', String((await ask(role, {}, token)).data.project));
    show('stream', String(code));
  };
}
</script>`;

test.skipIf(!hasChromium)(
  hasChromium ? 'a page signs a person in, and what it follows ends with the person’s group' : CHROMIUM_MISSING,
  async () => {
    let html = '';
    const app = createServer((_req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end(html));
    await once(app.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      app.closeAllConnections();
      app.close();
    });
    const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
    const { service, oidc } = await startSignInWorld({ CORS_ORIGINS: origin, SIGN_IN_RETURN_TO: `${origin}/fleet` });
    html = page(service.url, service.projectId);
    await addRule(service, { pattern: 'plant-ops' });

    const tab = await (await startChromium()).newPage();
    await tab.goto(`${origin}/fleet`);
    await tab.click('#sign-in');
    await tab.fill('input[name=login]', 'ada');
    await tab.fill('input[name=password]', 'any');
    await tab.click('button[type=submit]');
    // What the page asks for has to be allowed once.
    await tab.click('button[type=submit]');
    await tab.locator('#stream', { hasText: 'open' }).waitFor();
    expect(new URL(tab.url()).href).toBe(`${origin}/fleet`);
    expect(await tab.textContent('#who')).toBe('ada@example.com');
    expect(await tab.textContent('#role')).toBe('EDITOR');
    // Nothing of the sign-in stays in the browser.
    const cookies = await tab.context().cookies(`${service.url}/auth/oidc/callback`);
    expect(cookies.filter(({ name }) => name.startsWith('brokergraph'))).toEqual([]);

    oidc.people.set('ada', { email: 'ada@example.com', groups: ['staff'] });
    await checkNow(service);
    await tab.locator('#stream', { hasText: '4403' }).waitFor();
    expect(await tab.textContent('#role')).toBe('null');
  },
);
