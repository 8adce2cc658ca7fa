import { test } from 'vitest';
import { embeddedBroker, mosquittoBroker } from './observed-broker.ts';
import { checkRandomClients } from './random-clients.ts';

const MANY = { count: 2_000, seconds: 60, maxPauseMs: 4_000 } as const;

test('after a minute of 2,000 random clients, all who look at the embedded broker hold the truth', async () => {
  await checkRandomClients(await embeddedBroker(), { ...MANY, mixesExpiry: true });
});

test('after a minute of 2,000 random clients, all who look at plain Mosquitto hold the truth', async () => {
  await checkRandomClients(await mosquittoBroker(), { ...MANY, mixesExpiry: false });
});
