import { expect, test } from 'vitest';
import { DEFAULT_TOPIC_SETTINGS } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { readStoredSettings } from '../../../../src/domains/topic-tree/hosting/topic-settings-cache.ts';

test('stored settings are read as written, and settings unknown to an older version have defaults', () => {
  const settings = {
    ttlSeconds: 90,
    filters: ['plant/#', '$SYS/#'],
    excludedFilters: ['plant/+/noise'],
    publishLimit: 7,
    subscribeLimit: 8,
    payloadLimit: 0,
    isAlwaysOn: true,
  };
  expect(readStoredSettings(JSON.stringify(settings))).toEqual({ settings, isWhole: true });
  const older = readStoredSettings('{"ttlSeconds":90}');
  expect(older).toEqual({ settings: { ...DEFAULT_TOPIC_SETTINGS, ttlSeconds: 90 }, isWhole: true });
  // Fields of a newer version.
  expect(readStoredSettings('{"ttlSeconds":90,"depth":[3]}')).toEqual(older);
});

test('damaged settings become defaults, and a text that is no object becomes all defaults', () => {
  const damaged = { ttlSeconds: 'soon', filters: ['a/#/b'], publishLimit: 10, payloadLimit: -1, isAlwaysOn: 1 };
  expect(readStoredSettings(JSON.stringify(damaged))).toEqual({
    settings: { ...DEFAULT_TOPIC_SETTINGS, publishLimit: 10 },
    isWhole: false,
  });
  for (const text of ['', '{"ttlSeconds":', 'null', '[]', '7', '"text"']) {
    expect(readStoredSettings(text)).toEqual({ settings: DEFAULT_TOPIC_SETTINGS, isWhole: false });
  }
});
