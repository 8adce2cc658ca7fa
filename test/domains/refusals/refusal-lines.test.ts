import { expect, test } from 'vitest';
import { parseRefusalLine } from '../../../src/domains/refusals/refusal-lines.ts';
import { UnidentifiedConnections } from '../../../src/domains/refusals/unidentified-connections.ts';
import { busyMs } from '../../support/busy-time.ts';

const refused = (fields: object) => ({ kind: 'REFUSED', clientId: null, address: null, port: null, ...fields });

test.each([
  ['1795740016: Client <unknown> disconnected, not authorised.', refused({ reason: 'NOT_AUTHORIZED' })],
  ['Client <unknown> disconnected due to protocol error.', refused({ reason: 'PROTOCOL_ERROR' })],
  ['Client <unknown> disconnected: Protocol error.', refused({ reason: 'TLS_FAILED' })],
  ['Client <unknown> has exceeded timeout, disconnecting.', refused({ reason: 'NO_CONNECT' })],
  ['Client dev5 has exceeded timeout, disconnecting.', { kind: 'OTHER' }],
  ['Client <unknown> closed its connection.', { kind: 'CLOSED' }],
  ['Client <unknown> disconnected: Success.', { kind: 'CLOSED' }],
  ['Client raw disconnected due to oversize packet.', refused({ reason: 'PACKET_TOO_LARGE', clientId: 'raw' })],
  ['Client raw disconnected.', { kind: 'OTHER' }],
  [
    'Client connection from 10.0.0.7 denied: max_connections exceeded.',
    refused({ reason: 'TOO_MANY_CONNECTIONS', address: '10.0.0.7' }),
  ],
  [
    'Client connection from 10.0.0.7 failed: error:0A0000F4:SSL routines::unexpected message.',
    refused({ reason: 'TLS_FAILED', address: '10.0.0.7', detail: 'SSL routines::unexpected message.' }),
  ],
  [
    'OpenSSL Error[0]: error:0A0000C7:SSL routines::peer did not return a certificate',
    {
      kind: 'CAUSE',
      reason: 'TLS_CERTIFICATE_MISSING',
      detail: 'SSL routines::peer did not return a certificate',
    },
  ],
  [
    'Invalid protocol version 6 in CONNECT from 127.0.0.1.',
    {
      kind: 'CAUSE',
      reason: 'PROTOCOL_VERSION',
      detail: 'Invalid protocol version 6 in CONNECT from 127.0.0.1.',
    },
  ],
])('a line of Mosquitto 2.0: %s', (line, expected) => {
  expect(parseRefusalLine(line)).toMatchObject(expected);
});

test.each([
  [
    'Client devbad [127.0.0.1:56302] disconnected: not authorised.',
    refused({ reason: 'NOT_AUTHORIZED', clientId: 'devbad', address: '127.0.0.1', port: 56_302 }),
  ],
  ['Client dev5 [127.0.0.1:56272] disconnected: connection closed by client.', { kind: 'OTHER' }],
  [
    'Client from 127.0.0.1:34720 appears to be using TLS to connect to a non-TLS listener.',
    refused({ reason: 'TLS_ON_PLAIN_LISTENER', address: '127.0.0.1', port: 34_720 }),
  ],
  [
    'Protocol error from 127.0.0.1:34732: First packet not CONNECT (47).',
    refused({ reason: 'PROTOCOL_ERROR', address: '127.0.0.1', port: 34_732, detail: 'First packet not CONNECT (47).' }),
  ],
])('a line of Mosquitto 2.1: %s', (line, expected) => {
  expect(parseRefusalLine(line)).toMatchObject(expected);
});

test('hostile lines take no time that grows with the square of their length', () => {
  const before = busyMs();
  for (const part of ['Client ', ' disconnected: ', ' [1:1]', ' (p2, c0, k1', "u'"]) {
    for (const begin of ['Client ', 'New client connected from 1:1 as ', 'Bad client ', 'Invalid QoS in ']) {
      parseRefusalLine(begin + part.repeat(100_000));
      parseRefusalLine((begin + part.repeat(1_000)).slice(0, 1_990));
    }
  }
  expect(busyMs() - before).toBeLessThan(1_000);
});

test('the address of a refused connection is reported only if it is certain', () => {
  const connections = new UnidentifiedConnections();
  connections.opened('10.0.0.1', 1, 1883);
  expect(connections.closed()).toEqual({ address: '10.0.0.1', listenerPort: 1883 });
  expect(connections.closed()).toEqual({});

  connections.opened('10.0.0.1', 1, 1883);
  connections.opened('10.0.0.2', 2, 1883);
  expect(connections.closed()).toEqual({ listenerPort: 1883 });
  // The other one gets a client, so the closed one is known.
  connections.identified('10.0.0.1', 1);
  connections.opened('10.0.0.3', 3, 1883);
  expect(connections.closed()).toEqual({ address: '10.0.0.3', listenerPort: 1883 });
});
