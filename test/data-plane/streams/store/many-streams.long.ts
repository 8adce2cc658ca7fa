import { expect, test } from 'vitest';
import { append, message, openTestStore, readAll, temporaryFolder, texts } from './store.ts';

test('2,000 streams that all store take a bounded number of files at a time', async () => {
  const folder = temporaryFolder();
  const names = Array.from({ length: 2_000 }, (_, index) => `stream-${index}`);
  const store = openTestStore(folder, { maxOpenFiles: 128 });
  for (const round of ['1', '2']) {
    const answers = await Promise.all(names.map((name) => append(store.log(name), [message(round)])));
    expect(answers.flat().every((problem) => problem === null)).toBe(true);
    expect(store.openFiles).toBe(128);
  }
  await store.close();

  const again = openTestStore(folder, { maxOpenFiles: 128 });
  expect(again.ids()).toHaveLength(2_000);
  expect(again.openFiles).toBe(0);
  for (const name of names) expect(texts(readAll(again.log(name)))).toEqual(['1', '2']);
  expect(again.openFiles).toBe(128);
});
