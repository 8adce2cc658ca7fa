import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { NewMessage, StoredMessage } from '../../../../src/data-plane/streams/store/message-store.ts';
import type { SegmentLog } from '../../../../src/data-plane/streams/store/segment-log.ts';
import { SegmentStore, type SegmentStoreOptions } from '../../../../src/data-plane/streams/store/segment-store.ts';

export const ALWAYS = { from: null, to: null };
export const MEGABYTE = 1_048_576;

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-streams-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface TestStore extends SegmentStore {
  readonly problems: string[];
}

/** Closed after the test. */
export function openTestStore(folder: string, options: Partial<SegmentStoreOptions> = {}): TestStore {
  const problems: string[] = [];
  const store = new SegmentStore({
    folder,
    maxBytes: 1_024 * MEGABYTE,
    onProblem: (_streamId, reason) => problems.push(reason),
    ...options,
  });
  onTestFinished(() => store.close());
  return Object.assign(store, { problems });
}

/** Resolves with what each was answered. */
export function append(log: SegmentLog, messages: readonly NewMessage[]): Promise<(string | null)[]> {
  return Promise.all(messages.map((message) => new Promise<string | null>((done) => log.append(message, done))));
}

export const message = (text: string, bytes = 0): NewMessage => ({
  topic: `t/${text}`,
  payload: text.padEnd(bytes, '.'),
  qos: 1,
});

export function readAll(log: SegmentLog, reverse = false, limit = 1_000): StoredMessage[] {
  const all: StoredMessage[] = [];
  for (;;) {
    const page = log.read({ ...ALWAYS, after: all.at(-1)?.id ?? null, reverse, limit, maxBytes: MEGABYTE });
    if (page.length === 0) return all;
    all.push(...page);
  }
}

export const texts = (messages: readonly StoredMessage[]): string[] =>
  messages.map(({ payload }) => payload.toString().replace(/\.+$/, ''));

/** Segments of one stream, in order. */
export const segmentFiles = (folder: string, streamId: string): string[] =>
  readdirSync(join(folder, streamId))
    .filter((name) => name.endsWith('.sqlite'))
    .sort();
