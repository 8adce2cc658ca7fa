import { connectAsync } from 'mqtt';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../support/mosquitto.ts';
import { connected, startTestService, type TestService } from '../../support/service.ts';
import { addBroker } from '../messages/message-world.ts';
import { closed, problemsOf, SLOW } from './problem-world.ts';

/** A broker has an entry of its own for so many refusals of one network. */
const OWN_ENTRIES = 100;

const attempt = (url: string, name: string): Promise<unknown> =>
  connectAsync(url, { username: name, clientId: name, password: 'no', reconnectPeriod: 0 }, false).then(
    () => Promise.reject(new Error('accepted')),
    () => undefined,
  );

const rising = (service: TestService) => problemsOf(service, { kinds: ['REFUSALS_RISING'] });

async function addGone(service: TestService): Promise<void> {
  const url = `mqtt://127.0.0.1:${await freePort()}`;
  await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, { name: 'gone', url });
}

test('guesses with a new account each time are a problem within 30 s, and a single refusal after a restart is none', async () => {
  const dataDir = temporaryFolder();
  const options = { embeddedBroker: true, dataDir };
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  const service = await startTestService(options);
  const embedded = await service.storage.db.broker.findFirstOrThrow();
  await connected(service, embedded.id);
  const brokerIds = [embedded.id, await addBroker(service, mosquitto.url, ADMIN)].sort();
  const urls = async (of: TestService) => (await of.storage.db.broker.findMany()).map(({ url }) => url ?? '');

  const startedAt = Date.now();
  const brokers = await urls(service);
  let attempts = 0;
  const timer = setInterval(() => {
    attempts += 1;
    if (attempts === OWN_ENTRIES - 10) clearInterval(timer);
    for (const url of brokers) void attempt(url, `guess-${attempts}`);
  }, 200);
  await expect.poll(async () => (await rising(service)).length, SLOW).toBe(2);
  clearInterval(timer);
  const opened = await rising(service);
  expect(opened.map(({ broker }) => broker.id).sort()).toEqual(brokerIds);
  for (const { openedAt, detail, whatWouldHelp } of opened) {
    expect(Date.parse(openedAt) - startedAt).toBeLessThan(30_000);
    expect(detail).toMatch(/denied attempts in the last 10 s: \d+\. Most often: CONNECT/);
    expect(whatWouldHelp).not.toBe('');
  }
  await service.close();

  const again = await startTestService(options);
  for (const id of brokerIds) await connected(again, id);
  await closed(again, 'REFUSALS_RISING');
  // The lists of refusals count those of before the restart, too.
  for (const url of await urls(again)) await attempt(url, 'guess-1');
  // Each opens no earlier than a problem of the refusals would.
  for (const count of [1, 2]) {
    await addGone(again);
    await expect
      .poll(async () => (await problemsOf(again, { kinds: ['BROKER_UNREACHABLE'] })).length, SLOW)
      .toBe(count);
  }
  expect(await rising(again)).toEqual([]);
});
