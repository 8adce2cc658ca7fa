import { expect, test } from 'vitest';
import {
  BridgePath,
  namesOfLocal,
  namesOfRemote,
  PATH_PROPERTY,
} from '../../../../src/data-plane/bridges/mqtt/bridge-path.ts';

const A = namesOfLocal('a', 'mqtt://127.0.0.1:1');
const B = namesOfLocal('b', 'mqtt://127.0.0.1:2');
const C = namesOfLocal('c', 'mqtt://127.0.0.1:3');

test('a message goes on to brokers where it has not been', () => {
  const [toB, toC] = [new BridgePath(A, namesOfRemote('mqtt://localhost:2')), new BridgePath(B, C)];
  const atB = toB.extend(null);
  expect(atB).toBe(toB.extend(null));
  const atC = toC.extend({ contentType: 'x', ...atB, userProperties: [['own', '1'], ...(atB?.userProperties ?? [])] });
  expect(atC).toEqual({
    contentType: 'x',
    userProperties: [
      ['own', '1'],
      [PATH_PROPERTY, expect.any(String)],
    ],
  });
  expect(new BridgePath(C, A).extend(atC)).toBeNull();
  expect(new BridgePath(C, namesOfRemote('mqtt://127.0.0.1:1')).extend(atC)).toBeNull();
  expect(new BridgePath(C, namesOfRemote('mqtt://127.0.0.1:9')).extend(atC)).not.toBeNull();
});

test('one that comes again where it was is not passed on, whatever it came by', () => {
  const passed = new BridgePath(A, namesOfRemote('mqtt://127.0.0.1:2')).extend(null);
  const elsewhere = namesOfRemote('mqtt://127.0.0.1:9');
  expect(new BridgePath(A, elsewhere).extend(passed)).toBeNull();
  expect(new BridgePath(['x'], ['y']).extend({ userProperties: [[PATH_PROPERTY, 'z.'.repeat(600)]] })).toBeNull();
});

test('paths do not contain addresses', () => {
  const text = JSON.stringify(new BridgePath(A, B).extend(null));
  expect(text).not.toContain('127.0.0.1');
});
