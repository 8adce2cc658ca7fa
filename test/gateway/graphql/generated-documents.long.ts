import { test } from 'vitest';
import { tryGeneratedDocuments } from './generated-documents.ts';

test('both executors give one answer to 1,000 generated documents', () => tryGeneratedDocuments(1_000));
