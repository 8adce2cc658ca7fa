import { test } from 'vitest';
import { embeddedBroker, mosquittoBroker } from './observed-broker.ts';
import { checkRandomClients } from './random-clients.ts';

const SOME = { count: 120, seconds: 5, maxPauseMs: 800 } as const;

test('after 120 clients came and went at random, all who look at the embedded broker hold the truth', async () => {
  await checkRandomClients(await embeddedBroker(), { ...SOME, mixesExpiry: true });
});

test('after 120 clients came and went at random, all who look at plain Mosquitto hold the truth', async () => {
  await checkRandomClients(await mosquittoBroker(), { ...SOME, mixesExpiry: false });
});
