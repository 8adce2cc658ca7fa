import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { problemKinds } from '../../../src/domains/problems/model/problem-kinds.ts';

test('a test with real parts opens a problem of each kind', () => {
  const folder = new URL('.', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
  const texts = files.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
  const opened = new Set([...texts.matchAll(/openedAfter\(service, '(\w+)'/g)].map(([, kind]) => kind));
  expect(problemKinds.filter((kind) => !opened.has(kind))).toEqual([]);
});
