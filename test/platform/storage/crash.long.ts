import { test } from 'vitest';
import { describeEngines } from '../../support/engines.ts';
import { checkKilledWriters } from './killed-writer.ts';

describeEngines((engine, postgres) => {
  test('a process killed at any of 30 moments has lost nothing that it was told is stored', () =>
    checkKilledWriters(engine, postgres, 30));
});
