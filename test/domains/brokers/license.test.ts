import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { getLicenseInformation, licensePlugin, NO_END, parseLicense } from '../../../src/protocol/apis/license.ts';
import { BrokerControls } from '../../../src/protocol/control/broker-controls.ts';
import { connectedLink } from '../../support/link.ts';
import { ADMIN, startMosquitto } from '../../support/mosquitto.ts';

test('plain Mosquitto has an open-source licence with the available APIs', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const link = await connectedLink({ url: broker.url, ...ADMIN });
  const controls = new BrokerControls(link, { timeoutMs: 30_000, silenceMs: 100, plugins: [licensePlugin] });
  onTestFinished(() => controls.close());
  expect(await getLicenseInformation(controls)).toEqual({
    plan: 'open-source',
    edition: 'mosquitto',
    issuedBy: '',
    issuedTo: '',
    validSince: 0,
    validUntil: NO_END,
    features: ['dynamic-security'],
  });
});

test('a commercial licence is read with features as objects and times in any form', () => {
  const data = {
    edition: 'pro',
    issuedBy: 'Cedalo GmbH',
    issuedTo: 'ACME',
    validSince: 1_700_000_000,
    validUntil: '2030-01-01T00:00:00.000Z',
    features: [{ name: 'mosquitto-clients', count: 1000 }, 'streams', 7, null],
  };
  expect(parseLicense(data)).toEqual({
    plan: 'pro',
    edition: 'pro',
    issuedBy: 'Cedalo GmbH',
    issuedTo: 'ACME',
    validSince: 1_700_000_000_000,
    validUntil: 1_893_456_000_000,
    features: ['mosquitto-clients', 'streams'],
  });
});

test('any response is read as a licence with valid dates', () => {
  fc.assert(
    fc.property(fc.anything(), (data) => {
      const { validSince, validUntil, features } = parseLicense(data);
      expect(() => new Date(validSince).toISOString()).not.toThrow();
      expect(() => new Date(validUntil).toISOString()).not.toThrow();
      expect(features.every((name) => typeof name === 'string')).toBe(true);
    }),
  );
});
