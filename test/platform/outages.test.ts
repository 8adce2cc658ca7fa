import { expect, test } from 'vitest';
import { Outages } from '../../src/platform/outages.ts';

function startOutages(steadyMs?: number) {
  const lines: unknown[] = [];
  const line = (level: string) => (fields: object, text: string) => void lines.push([level, text, fields]);
  const log = { info: line('info'), warn: line('warn') };
  return { lines, outages: new Outages({ what: 'a pump', log, ...(steadyMs === undefined ? {} : { steadyMs }) }) };
}

const SINCE = Date.UTC(2026, 0, 2, 3, 4, 5);
const since = '2026-01-02T03:04:05.000Z';

test('an outage is one warning with its reason, and one line with its duration when it has ended', async () => {
  const { lines, outages } = startOutages(0);
  outages.up('1', { name: 'one' });
  outages.down('1', { name: 'one', error: 'dry' }, SINCE);
  outages.down('1', { name: 'one', error: 'still dry' });
  outages.down('2', { name: 'two' }, SINCE);
  const began = [
    ['warn', 'a pump is down', { name: 'one', error: 'dry', since }],
    ['warn', 'a pump is down', { name: 'two', since }],
  ];
  expect(lines).toEqual(began);
  outages.up('1', { name: 'one' });
  await expect
    .poll(() => lines)
    .toEqual([...began, ['info', 'a pump is back', { name: 'one', since, seconds: expect.any(Number) }]]);
  outages.down('1', {});
  expect(lines).toHaveLength(4);
});

test('what comes and goes is one outage, which counts how often; what is removed is forgotten', async () => {
  const { lines, outages } = startOutages(20);
  for (let i = 0; i < 100; i += 1) {
    outages.down('1', { name: 'one' }, SINCE);
    outages.up('1', { name: 'one' });
  }
  outages.down('2', { name: 'two' });
  outages.up('2', { name: 'two' });
  outages.forget('2');
  await expect.poll(() => lines).toHaveLength(3);
  expect(lines.at(-1)).toEqual(['info', 'a pump is back', expect.objectContaining({ since, interruptions: 100 })]);
});
