import { appendFileSync, closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Marks, type UnchainedEntry } from '../../../src/domains/audit/audit-chain.ts';
import { AuditJournal } from '../../../src/domains/audit/audit-journal.ts';
import { AuditWitness } from '../../../src/domains/audit/audit-witness.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { openTestStorage, silentLog, temporaryFolder } from '../../support/database.ts';

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
const leftIn = (folder: string) => new AuditJournal(folder, silentLog).pending().map(({ id }) => id);

test('changes that began and did not end remain pending, also after the file was rewritten', () => {
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

test('a line that a full disk cut off takes no other line along', () => {
  const folder = temporaryFolder();
  const journal = new AuditJournal(folder, silentLog);
  journal.begin(entry('one'));
  appendFileSync(join(folder, 'audit-pending.jsonl'), '\n{"id":"cut o');
  journal.begin(entry('two'));
  expect(leftIn(folder)).toEqual(['one', 'two']);
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

test('the witness file contains the newest committed entry, and a changed file is reported', async () => {
  const { db } = await openTestStorage();
  const folder = temporaryFolder();
  const file = join(folder, 'audit-witness.json');
  const marks = new Marks(openSealer({ dataDir: folder }));
  const inFolder = () => new AuditWitness(folder, marks, silentLog);
  const first = inFolder();
  expect(await first.problem(db)).toBe(null);
  await first.close();
  expect(existsSync(file)).toBe(false);
  first.committed({ sequence: 1, hash: 'one' });
  first.committed({ sequence: 2, hash: 'two' });
  await first.close();
  expect(inFolder().position).toEqual({ sequence: 2, hash: 'two' });
  expect(await inFolder().problem(db)).toMatchObject({ sequence: 2, reason: expect.stringContaining('emptied') });
  // Those that were removed because of their age are no loss, where this service says so itself.
  await db.auditMark.create({ data: marks.of('start', { sequence: 2, hash: 'two' }) });
  expect(await inFolder().problem(db)).toBe(null);
  await db.auditMark.update({ where: { name: 'start' }, data: { sequence: 3 } });
  expect(await inFolder().problem(db)).toMatchObject({ sequence: 2 });
  const text = readFileSync(file, 'utf8');
  for (const other of [text.replace('"sequence":2', '"sequence":1'), text.slice(0, 20), '']) {
    writeFileSync(file, other);
    expect(await inFolder().problem(db)).toMatchObject({ reason: expect.stringContaining('was changed') });
  }
});
