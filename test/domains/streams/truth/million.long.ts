import { test } from 'vitest';
import { checkCutConnections, checkSustained } from './sustained.ts';

test('a million messages of QoS 1 leave a stream on Mosquitto once each and in order, and memory stays flat', () =>
  checkSustained(1_000_000));

test('a million messages of QoS 1 all leave a stream whose connections are cut, and come twice around a cut only', () =>
  checkCutConnections(1_000_000, 40));
