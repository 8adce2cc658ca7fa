import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { UnchainedEntry } from '../../src/audit/audit-chain.ts';
import { AuditJournal } from '../../src/audit/audit-journal.ts';
import { silentLog, temporaryFolder } from '../support/database.ts';

const entry = (id: string, text = ''): UnchainedEntry => ({
  id,
  at: new Date(0),
  actorKind: 'USER',
  actorId: 'usr_1',
  actorName: null,
  actorIssuer: null,
  address: '::1',
  requestId: '',
  via: 'GRAPHQL',
  operation: 'updateProject',
  projectId: null,
  brokerId: null,
  targetKind: null,
  targetId: null,
  before: null,
  after: text,
  result: 'UNKNOWN',
  code: null,
});

/** What a process finds there that comes after one which was killed. */
const leftIn = (folder: string) => new AuditJournal(folder, silentLog).left().map(({ id }) => id);

test('what has begun and not ended is left, also behind a file that began anew', () => {
  const folder = temporaryFolder();
  const journal = new AuditJournal(folder, silentLog);
  journal.begin(entry('one'));
  journal.begin(entry('two'));
  journal.end(['one']);
  expect(leftIn(folder)).toEqual(['two']);

  const other = temporaryFolder();
  const tidied = new AuditJournal(other, silentLog);
  for (let n = 0; n < 4; n += 1) {
    tidied.begin(entry(`large ${n}`, 'x'.repeat(40_000)));
    tidied.end([`large ${n}`]);
  }
  tidied.begin(entry('three'));
  expect(leftIn(other)).toEqual(['three']);
});

test('what begins after the end is written nowhere: the file may have the number of another one', () => {
  const folder = temporaryFolder();
  const journal = new AuditJournal(folder, silentLog);
  journal.begin(entry('one'));
  journal.close();
  journal.close();
  const other = join(folder, 'other');
  const fd = openSync(other, 'w');
  journal.begin(entry('two'));
  journal.end(['one', 'two']);
  closeSync(fd);
  expect(readFileSync(other, 'utf8')).toBe('');
  expect(leftIn(folder)).toEqual(['one']);
});
