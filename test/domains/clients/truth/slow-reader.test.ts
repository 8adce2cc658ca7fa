import { test } from 'vitest';
import { checkSlowReaders } from './slow-reader.ts';

test('who stops reading for 5 s under 5,000 changes a second costs no memory, is told of a gap, and holds the truth again', async () => {
  await checkSlowReaders(5);
}, 120_000);
