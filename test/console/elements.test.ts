import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { WebSocket } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { embeddedBroker } from '../domains/clients/truth/observed-broker.ts';
import { dialMqtt } from '../domains/clients/truth/raw-client.ts';
import { CHROMIUM_MISSING, hasChromium, openPage } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import type { TestService } from '../support/service.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/elements/index.mjs', import.meta.url));
const CREATE = `mutation ($input: CreateTokenInput!) { createToken(input: $input) { token { id } secret } }`;

async function createToken({ graphql, projectId }: TestService, brokerId: string) {
  const input = { projectId, name: 'plant page', role: 'VIEWER', brokerIds: [brokerId] };
  const { data } = await graphql(CREATE, { input });
  return { id: data.createToken.token.id as string, secret: data.createToken.secret as string };
}

/** Opens the page of the example, which is at another origin, and may log and request nothing unexpected. */
async function openExample(service: TestService, brokerId: string, token: string, port: number) {
  const child = spawn(process.execPath, [EXAMPLE], {
    env: {
      ...process.env,
      BROKERGRAPH_URL: service.url,
      TOKEN: token,
      PROJECT_ID: service.projectId,
      BROKER_ID: brokerId,
      PORT: String(port),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const [line] = await once(child.stdout, 'data');
  const { url } = JSON.parse(String(line));
  const page = await openPage('en-GB');
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 401|favicon|ERR_INTERNET_DISCONNECTED/.test(message.text())) {
      faults.push(message.text());
    }
  });
  page.on('request', (request) => {
    if (![url, service.url].some((known) => request.url().startsWith(known))) faults.push(request.url());
  });
  onTestFinished(() => expect(faults).toEqual([]));
  const sockets: WebSocket[] = [];
  page.on('websocket', (socket) => sockets.push(socket));
  await page.goto(url);
  return { page, sockets, url: url as string };
}

/** What elements must leave as it is. */
const PAGE_STATE = `({
  address: location.href,
  title: document.title,
  stored: localStorage.length + sessionStorage.length + document.cookie.length,
  styles: document.adoptedStyleSheets.length + document.styleSheets.length,
  hasOwnHistory: String(history.pushState).includes('native code'),
})`;

describe.skipIf(!hasChromium)(hasChromium ? 'elements in the page of another origin' : CHROMIUM_MISSING, () => {
  test('are live, leave the page as it is, link to the console, and end their connection', async () => {
    const port = await freePort();
    const { service, brokerId, port: mqttPort } = await embeddedBroker({ CORS_ORIGINS: `http://127.0.0.1:${port}` });
    const { id: tokenId, secret } = await createToken(service, brokerId);
    const { page, sockets, url } = await openExample(service, brokerId, secret, port);
    const [clients, events, problems, chart, explain] = [
      ...['clients', 'events', 'problems', 'chart', 'explain'].map((name) => page.locator(`brokergraph-${name}`)),
    ] as const;

    await problems?.getByText('Nothing is wrong').waitFor();
    await chart?.getByRole('slider', { name: 'Clients' }).waitFor();
    await explain?.getByText('No client pump-1 is connected').waitFor();
    const account = { username: 'operator', password: 'a password' };
    const pump = await dialMqtt({
      ...{ port: mqttPort, clientId: 'pump-1', account, protocolVersion: 5, clean: true },
      ...{ expirySeconds: 0, keepalive: 600 },
    });
    await clients?.getByRole('row').filter({ hasText: 'pump-1' }).filter({ hasText: 'connected' }).waitFor();
    await events?.getByRole('row').filter({ hasText: 'pump-1' }).waitFor();
    await pump.disconnect();
    await events?.getByRole('row').filter({ hasText: 'by the client, with DISCONNECT' }).waitFor();

    // Filters are those of the element only.
    await clients?.getByLabel('Client id or account').fill('no such client');
    const [opened] = await Promise.all([
      page.waitForEvent('popup'),
      events?.getByRole('link', { name: 'pump-1' }).first().click(),
    ]);
    expect(opened.url()).toBe(`${service.url}/?#/brokers/${brokerId}/clients/pump-1`);
    // On a busy machine it may have been opened again.
    const open = () => sockets.filter((socket) => !socket.isClosed());
    expect(open()).toHaveLength(1);
    const untouched = { address: url, title: 'Plant 4', stored: 0, styles: 0, hasOwnHistory: true };
    expect(await page.evaluate(PAGE_STATE)).toEqual(untouched);

    await page.evaluate(`document.querySelector('brokergraph-problems').lang = 'fr'`);
    await problems?.getByText('Tout va bien').waitFor();
    await page.evaluate(`document.querySelector('brokergraph-problems').lang = 'en'`);

    // An element that is removed takes no other along; the last one closes the connection.
    await page.evaluate(`document.querySelector('brokergraph-explain').remove()`);
    expect(open()).toHaveLength(1);
    await page.evaluate(`globalThis.removed = [...document.body.children]; document.body.replaceChildren()`);
    await expect.poll(open).toEqual([]);
    await page.evaluate('document.body.append(...removed)');
    await clients?.getByRole('grid').waitFor();

    await page.context().setOffline(true);
    await chart?.getByText('does not respond').waitFor();
    await page.context().setOffline(false);
    await chart?.getByText('does not respond').waitFor({ state: 'detached' });

    await service.graphql('mutation ($id: ID!) { revokeToken(input: { tokenId: $id }) { revokedTokenId } }', {
      id: tokenId,
    });
    await problems?.getByText('does not accept the token').waitFor();
    expect(await page.getByText('does not accept the token').count()).toBe(4);

    // Addresses that a browser cannot connect to would be errors of the page.
    for (const address of ['javascript:alert(1)', 'data:text/html,x', `${service.url}?a#b`, 'http://a:b@127.0.0.1/']) {
      await page.evaluate(
        `document.querySelector('brokergraph-chart').setAttribute('service', ${JSON.stringify(address)})`,
      );
      await chart?.getByText(`“${address}” is not the address of a service.`).waitFor();
    }
  });
});
