import { test } from 'vitest';
import { isLong } from '../../../support/suite.ts';
import { checkCutConnections, checkSustained } from './sustained.ts';

test('20,000 messages of QoS 1 leave a stream on Mosquitto once each and in order', () =>
  checkSustained(isLong ? 20_000 : 6_000));

test('messages of QoS 1 all leave a stream whose connections are cut, and come twice around a cut only', () =>
  isLong ? checkCutConnections(12_000, 2) : checkCutConnections(6_000, 1));
