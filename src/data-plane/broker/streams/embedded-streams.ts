import { join } from 'node:path';
import { openSqliteLogs } from '../../log/sqlite/sqlite-logs.ts';
import { STREAM_API } from '../../streams/control/stream-control.ts';
import { StreamPlugin } from '../../streams/control/stream-plugin.ts';
import type { StoredStream, StreamDefinitions } from '../../streams/definition/stream-definitions.ts';
import { StreamEngineCore } from '../../streams/engine/stream-engine-core.ts';
import { DEFAULT_DEFINITION, type StreamDefinition } from '../../streams/model/stream-definition.ts';
import { compileQuery } from '../../streams/query/compile-query.ts';
import type { ControlServer } from '../control/control-server.ts';
import type { BrokerCore } from '../core/broker-core.ts';
import type { Journal } from '../store/journal.ts';
import { EmbeddedStreamSession } from './embedded-stream-session.ts';

interface EmbeddedStreamsOptions {
  readonly folder: string;
  readonly maxBytes: number;
  readonly journal: Journal;
  readonly core: BrokerCore;
  readonly control: ControlServer;
  readonly onProblem: (problem: string, error: unknown) => void;
}

/** Registers `stream-processing`. Resolves when all streams run, with a function that ends them after the clients. */
export async function startStreams(options: EmbeddedStreamsOptions): Promise<() => Promise<void>> {
  const { folder, maxBytes, journal, core, control, onProblem } = options;
  const store = await openSqliteLogs({
    folder: join(folder, 'streams'),
    maxBytes,
    onProblem: (streamId, reason) => onProblem(`stored messages of streams: ${reason}`, streamId ?? 'all streams'),
  });
  const session = new EmbeddedStreamSession(core);
  const engine = new StreamEngineCore({ session, store, compile: compileQuery });
  const plugin = new StreamPlugin({
    definitions: definitionsIn(journal),
    engine,
    emit: (event) => control.emit(STREAM_API, event),
    onFault: (error) => onProblem('a stream could not be run', error),
  });
  control.register(plugin);
  await plugin.started;
  return async () => {
    await engine.close();
    session.close();
    await store.close();
  };
}

/** The stream definitions in the journal. There are no other writers, so `onChange` never fires. */
function definitionsIn(journal: Journal): StreamDefinitions {
  const definitions = new Map<string, StoredStream>();
  type Row = { id: string; about: string };
  for (const { id, about } of journal.rows<Row>('SELECT id, about FROM stream ORDER BY position')) {
    // Possibly written by an earlier version without some fields.
    const definition = { ...DEFAULT_DEFINITION, ...(JSON.parse(about) as StreamDefinition) };
    definitions.set(id, { id, definition });
  }
  return {
    all: () => [...definitions.values()],
    byName: (name) => [...definitions.values()].find(({ definition }) => definition.name === name) ?? null,
    save: async (stored) => {
      journal.requireDisk();
      const { id, definition } = stored;
      definitions.set(id, stored);
      const sql = 'INSERT INTO stream (id, about) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET about = excluded.about';
      journal.add(sql, id, JSON.stringify(definition));
      await journal.commit();
    },
    remove: async (id) => {
      journal.requireDisk();
      if (!definitions.delete(id)) return;
      journal.add('DELETE FROM stream WHERE id = ?', id);
      await journal.commit();
    },
    onChange: () => () => {},
  };
}
