import { expect, test } from 'vitest';
import type { MessageProperties } from '../../../../src/data-plane/bridges/model/bridge-message.ts';
import {
  BridgePath,
  namesOfLocal,
  namesOfRemote,
  PATH_PROPERTY,
} from '../../../../src/data-plane/bridges/mqtt/bridge-path.ts';

const A = namesOfLocal('a', 'mqtt://127.0.0.1:1');
const B = namesOfLocal('b', 'mqtt://127.0.0.1:2');
const C = namesOfLocal('c', 'mqtt://127.0.0.1:3');

function extended(path: BridgePath, properties: MessageProperties | null): MessageProperties {
  const found = path.extend(properties);
  if (typeof found === 'string') throw new Error(found);
  return found;
}

test('a message goes on to brokers where it has not been', () => {
  const [toB, toC] = [new BridgePath(A, namesOfRemote('mqtt://localhost:2')), new BridgePath(B, C)];
  const atB = extended(toB, null);
  expect(atB).toBe(toB.extend(null));
  const userProperties = [['own', '1'], ...(atB.userProperties ?? [])] as const;
  const atC = extended(toC, { contentType: 'x', ...atB, userProperties });
  expect(atC).toEqual({
    contentType: 'x',
    userProperties: [
      ['own', '1'],
      [PATH_PROPERTY, expect.any(String)],
    ],
  });
  expect(new BridgePath(C, A).extend(atC)).toBe('PASSED');
  expect(new BridgePath(C, namesOfRemote('mqtt://127.0.0.1:1')).extend(atC)).toBe('PASSED');
  expect(new BridgePath(C, namesOfRemote('mqtt://127.0.0.1:9')).extend(atC)).not.toBe('PASSED');
});

test('one that comes again where it was is not passed on, whatever it came by', () => {
  const passed = extended(new BridgePath(A, namesOfRemote('mqtt://127.0.0.1:2')), null);
  const elsewhere = namesOfRemote('mqtt://127.0.0.1:9');
  expect(new BridgePath(A, elsewhere).extend(passed)).toBe('PASSED');
  expect(new BridgePath(['x'], ['y']).extend({ userProperties: [[PATH_PROPERTY, 'z.'.repeat(600)]] })).toBe('TOO_LONG');
});

test('paths do not contain addresses', () => {
  const text = JSON.stringify(new BridgePath(A, B).extend(null));
  expect(text).not.toContain('127.0.0.1');
});
