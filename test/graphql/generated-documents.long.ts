import { test } from 'vitest';
import { tryGeneratedDocuments } from './generated-documents.ts';

test('both executors give one answer to 3,000 generated documents', () => tryGeneratedDocuments(3_000));
