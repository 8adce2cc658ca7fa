import { cpSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteLogs } from '../../../src/data-plane/log/sqlite/sqlite-logs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { formerMessages, writeFormerSegments } from './former-files.ts';
import { append, MEGABYTE, message, readAll, texts } from './store.ts';

async function openLogs(folder: string) {
  const problems: string[] = [];
  const onProblem = (_name: string | null, reason: string) => problems.push(reason);
  const store = await openSqliteLogs({ folder, maxBytes: 1_024 * MEGABYTE, onProblem });
  onTestFinished(() => store.close());
  return { store, problems };
}

test('messages of an earlier version are carried over with their ids, also after a kill, and their files deleted', async () => {
  const folder = temporaryFolder();
  const messages = formerMessages(2_500);
  const write = () => writeFormerSegments(folder, 'a', [messages.slice(0, 1_200), messages.slice(1_200)]);
  write();
  writeFormerSegments(folder, `~${Buffer.from('a/../b').toString('hex')}`, [formerMessages(3, 'b')]);
  cpSync(join(folder, 'a'), join(folder, 'c-1.removed'), { recursive: true });

  const first = await openLogs(folder);
  expect(first.store.ids().toSorted()).toEqual(['a', 'a/../b']);
  expect(readdirSync(folder).filter((name) => !name.startsWith('messages.sqlite'))).toEqual([]);
  expect(first.store.log('a').ttl).toBe(3_600);
  expect(readAll(first.store.log('a')).map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
  await append(first.store.log('a'), [message('new')]);
  await first.store.close();

  // What a process that was killed before it deleted the files leaves behind.
  write();
  const { store, problems } = await openLogs(folder);
  expect(texts(readAll(store.log('a')))).toEqual([...messages.map(({ text }) => text), 'new']);
  expect(store.log('a').storage().messages).toBe(2_501);
  expect(texts(readAll(store.log('a/../b')))).toEqual(['b0', 'b1', 'b2']);
  expect(problems).toEqual([]);
});

test('of the files of an earlier version a damaged one is set aside, and the others are carried over', async () => {
  const folder = temporaryFolder();
  const messages = formerMessages(300);
  writeFormerSegments(folder, 'a', [messages.slice(0, 100), messages.slice(100, 200), messages.slice(200)]);
  const damaged = join(folder, 'a', `${messages[100]?.id}.sqlite`);
  writeFileSync(damaged, 'garbage '.repeat(10_000));

  const { store, problems } = await openLogs(folder);

  expect(texts(readAll(store.log('a')))).toEqual(
    [...messages.slice(0, 100), ...messages.slice(200)].map(({ text }) => text),
  );
  expect(problems).toEqual([expect.stringContaining(`${damaged} is damaged and was set aside`)]);
  expect([existsSync(damaged), existsSync(`${damaged}.damaged`)]).toEqual([false, true]);
});
