import { test } from 'vitest';
import { describeEngines } from '../../support/engines.ts';
import { checkKilledWriters } from './killed-writer.ts';

describeEngines((engine, postgres) => {
  test('a process that is killed at any of 30 times loses no acknowledged write', () =>
    checkKilledWriters(engine, postgres, 30));
});
