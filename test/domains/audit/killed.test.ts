import { describe } from 'vitest';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { together } from '../../support/together.ts';
import { checkKilledProcesses, checkLostProcesses } from './killed-processes.ts';

const postgres = usePostgres();

// The same with one process on SQLite is among what takes longer.
describe.skipIf(!postgres.available)(`on PostgreSQL ${postgres.available ? '' : `(${UNAVAILABLE})`}`, () => {
  together({
    'processes that are killed in the middle of changes leave each change one entry, in one unbroken chain': () =>
      checkKilledProcesses('postgresql', postgres),
    'what a process had begun that never returns is recorded by another one': () => checkLostProcesses(postgres),
  });
});
