import { test } from 'vitest';
import { tryGeneratedDocuments } from './generated-documents.ts';

test('both executors return the same result for 1,000 generated documents', () => tryGeneratedDocuments(1_000));
