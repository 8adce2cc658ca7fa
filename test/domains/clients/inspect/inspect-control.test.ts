import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  parseClientDetail,
  parseClientList,
  parseClientsChanged,
} from '../../../../src/protocol/apis/clients/inspect-parser.ts';

const hostile = fc.oneof(
  fc.anything({ withNullPrototype: true, withDate: true }),
  fc.record({
    clientid: fc.anything(),
    username: fc.anything(),
    subscriptions: fc.anything(),
    will: fc.anything(),
    queues: fc.anything(),
    lastConnect: fc.anything(),
  }),
);

test('any response is parsed into valid fields only', () => {
  fc.assert(
    fc.property(hostile, (data) => {
      const detail = parseClientDetail(data);
      if (detail) {
        expect(typeof detail.clientid).toBe('string');
        expect(typeof detail.username).toBe('string');
        expect(detail.subscriptions?.every((filter) => typeof filter === 'string') ?? true).toBe(true);
        expect(Number.isInteger(detail.lastConnect ?? 0)).toBe(true);
        expect(new Date(detail.lastConnect ?? 0).getTime()).not.toBeNaN();
      }
      const { clients, totalCount } = parseClientList({ clients: [data], totalCount: data });
      expect(totalCount).toBeGreaterThanOrEqual(clients.length);
      const event = parseClientsChanged({ event: 'clientsChanged', sequence: 1, changed: [data], removed: [data] });
      expect(event?.removed.every((id) => typeof id === 'string')).toBe(true);
    }),
  );
});

test('times in seconds and in milliseconds are equal', () => {
  for (const lastConnect of [8_640_000_000_000_001, 1e300, '1e400'])
    expect(parseClientDetail({ clientid: 'a', lastConnect })).not.toHaveProperty('lastConnect');
  expect(parseClientDetail({ clientid: 'a', lastConnect: 1_700_000_000, lastDisconnect: null })).toMatchObject({
    lastConnect: 1_700_000_000_000,
    lastDisconnect: null,
  });
  expect(parseClientDetail({ client: { clientid: 'a', lastConnect: 1_700_000_000_123 } })).toMatchObject({
    lastConnect: 1_700_000_000_123,
  });
});

test('a list of ids is a list of clients without further fields', () => {
  expect(parseClientList({ totalCount: 2, clients: ['a', 'b'] }).clients.map(({ clientid }) => clientid)).toEqual([
    'a',
    'b',
  ]);
});
