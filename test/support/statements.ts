import SqliteDatabase from 'better-sqlite3';
import pg from 'pg';
import { onTestFinished, vi } from 'vitest';

/** Records the SQL of this process until the test ends. The result returns the statements since its last call. */
export function recordStatements(): () => string[] {
  const sqlite = vi.spyOn(SqliteDatabase.prototype, 'prepare');
  const postgresql = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => {
    sqlite.mockRestore();
    postgresql.mockRestore();
  });
  return () => {
    const calls: unknown[] = [...sqlite.mock.calls, ...postgresql.mock.calls].map(([query]) => query);
    sqlite.mockClear();
    postgresql.mockClear();
    return calls.map((query) => (typeof query === 'string' ? query : (query as { readonly text: string }).text));
  };
}
