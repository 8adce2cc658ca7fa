import { test } from 'vitest';
import { embeddedBroker, mosquittoBroker } from './observed-broker.ts';
import { checkRandomClients } from './random-clients.ts';

const SOME = { count: 120, seconds: 5, maxPauseMs: 800 } as const;

test('after 120 clients connect and disconnect at random, all watchers of the embedded broker have the true list', async () => {
  await checkRandomClients(await embeddedBroker(), { ...SOME, mixesExpiry: true });
});

test('after 120 clients connect and disconnect at random, all watchers of plain Mosquitto have the true list', async () => {
  await checkRandomClients(await mosquittoBroker(), { ...SOME, mixesExpiry: false });
});
