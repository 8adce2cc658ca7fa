import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import SqliteDatabase from 'better-sqlite3';
import pg from 'pg';
import { onTestFinished, vi } from 'vitest';

const REQUEST = 'http.server.request.start';

/** Until the test ends, the result reports whether it was called for an HTTP request, not by the process itself. */
export function ofRequests(): () => boolean {
  const request = new AsyncLocalStorage<true>();
  const onRequest = () => request.enterWith(true);
  diagnostics.subscribe(REQUEST, onRequest);
  onTestFinished(() => {
    diagnostics.unsubscribe(REQUEST, onRequest);
  });
  return () => request.getStore() === true;
}

/**
 * Records SQL until the test ends, by default that of HTTP requests. The result returns the statements since its last
 * call.
 */
export function recordStatements(isWanted = ofRequests()): () => string[] {
  let statements: string[] = [];
  const recording = (original: (...args: never[]) => unknown) =>
    function (this: unknown, ...args: unknown[]) {
      const [query] = args as [string | { readonly text: string }];
      if (isWanted()) statements.push(typeof query === 'string' ? query : query.text);
      return Reflect.apply(original, this, args);
    } as never;
  const [prepare, query] = [recording(SqliteDatabase.prototype.prepare), recording(pg.Client.prototype.query)];
  const sqlite = vi.spyOn(SqliteDatabase.prototype, 'prepare').mockImplementation(prepare);
  const postgresql = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(query);
  onTestFinished(() => {
    sqlite.mockRestore();
    postgresql.mockRestore();
  });
  return () => {
    const found = statements;
    statements = [];
    return found;
  };
}
