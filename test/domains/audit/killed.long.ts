import { test } from 'vitest';
import { describeEngines } from '../../support/engines.ts';
import { checkKilledProcesses } from './killed-processes.ts';

describeEngines((engine, postgres) => {
  test.each([1, 2, 3])('killed in the middle of changes, time %i: one entry for each, in one unbroken chain', () =>
    checkKilledProcesses(engine, postgres),
  );
});
