import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { LogStore } from '../../../../src/data-plane/log/log-store.ts';
import type { MessageLog } from '../../../../src/data-plane/log/message-log.ts';
import { type SqliteLogsOptions, sqliteLogs } from '../../../../src/data-plane/log/sqlite/sqlite-logs.ts';
import {
  StreamEngineCore,
  type StreamEngineOptions,
} from '../../../../src/data-plane/streams/engine/stream-engine-core.ts';
import {
  DEFAULT_DEFINITION,
  type StreamDefinition,
} from '../../../../src/data-plane/streams/model/stream-definition.ts';
import type { StreamReport } from '../../../../src/data-plane/streams/model/stream-report.ts';
import type { StreamSession } from '../../../../src/data-plane/streams/model/stream-session.ts';
import { compileQuery } from '../../../../src/data-plane/streams/query/compile-query.ts';

/** An empty store on disk, gone when the test ends. */
export function openStore(options: Partial<SqliteLogsOptions> = {}): LogStore {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-engine-'));
  const store = sqliteLogs({ folder, maxBytes: 1024 ** 3, onProblem: () => undefined, ...options });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

export function startEngine(
  session: StreamSession,
  options: Partial<Omit<StreamEngineOptions, 'session'>> = {},
): StreamEngineCore {
  const { store = openStore(), ...rest } = options;
  const engine = new StreamEngineCore({ session, store, compile: compileQuery, ...rest });
  onTestFinished(() => engine.close());
  return engine;
}

export const definition = (fields: Partial<StreamDefinition> & { readonly sourceTopic: string }): StreamDefinition => ({
  ...DEFAULT_DEFINITION,
  name: 'stream',
  ...fields,
});

export async function reportOf(engine: StreamEngineCore, id = 'a'): Promise<StreamReport> {
  const report = (await engine.report([id])).get(id);
  if (report === undefined) throw new Error(`no stream ${id}`);
  return report;
}

/** The first report that matches: the current one, or a later one. */
export async function reported(
  engine: StreamEngineCore,
  is: (report: StreamReport) => boolean,
  id = 'a',
): Promise<StreamReport> {
  const told = new Promise<StreamReport>((resolve) => {
    const stop = engine.onChange((changed, report) => {
      if (changed !== id || !is(report)) return;
      stop();
      resolve(report);
    });
  });
  const now = (await engine.report([id])).get(id);
  return now !== undefined && is(now) ? now : told;
}

/** Appends, and waits until it is on disk. */
export function stored(log: MessageLog, payload: string, qos: 0 | 1 | 2 = 1): Promise<void> {
  return new Promise((resolve, reject) => {
    log.append({ topic: 'recorded', payload, qos }, (problem) => {
      if (problem === null) resolve();
      else reject(new Error(problem));
    });
  });
}
