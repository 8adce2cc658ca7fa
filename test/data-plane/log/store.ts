import { onTestFinished } from 'vitest';
import type { NewMessage, StoredMessage } from '../../../src/data-plane/log/log-message.ts';
import type { LogStore } from '../../../src/data-plane/log/log-store.ts';
import type { MessageLog } from '../../../src/data-plane/log/message-log.ts';
import { type SqliteLogsOptions, sqliteLogs } from '../../../src/data-plane/log/sqlite/sqlite-logs.ts';

export const ALWAYS = { from: null, to: null };
export const MEGABYTE = 1_048_576;

type TestStore = LogStore & { readonly problems: string[] };

/** Closed after the test. */
export function openTestStore(folder: string, options: Partial<SqliteLogsOptions> = {}): TestStore {
  const problems: string[] = [];
  const store = sqliteLogs({
    folder,
    maxBytes: 1_024 * MEGABYTE,
    onProblem: (_streamId, reason) => problems.push(reason),
    ...options,
  });
  onTestFinished(() => store.close());
  return Object.assign(store, { problems });
}

/** Resolves with what each was answered. */
export function append(log: MessageLog, messages: readonly NewMessage[]): Promise<(string | null)[]> {
  return Promise.all(messages.map((message) => new Promise<string | null>((done) => log.append(message, done))));
}

export const message = (text: string, bytes = 0): NewMessage => ({
  topic: `t/${text}`,
  payload: text.padEnd(bytes, '.'),
  qos: 1,
});

export function readAll(log: MessageLog, reverse = false, limit = 1_000): StoredMessage[] {
  const all: StoredMessage[] = [];
  for (;;) {
    // An SQLite file responds at once.
    const page = log.read({
      ...ALWAYS,
      after: all.at(-1)?.id ?? null,
      reverse,
      limit,
      maxBytes: MEGABYTE,
    }) as StoredMessage[];
    if (page.length === 0) return all;
    all.push(...page);
  }
}

export const texts = (messages: readonly StoredMessage[]): string[] =>
  messages.map(({ payload }) => payload.toString().replace(/\.+$/, ''));
