import { test } from 'vitest';
import { checkSlowReaders } from './slow-reader.ts';

test('a watcher that stops reading for 5 s under 5,000 changes a second costs no memory, receives a GAP, and then has the true list', async () => {
  await checkSlowReaders(5);
});
