import { ServiceError } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import type { ControlCommand, ControlEvent } from '../../../protocol/control/envelope.ts';
import { asRefusal } from '../../../protocol/control/issue-refusals.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { pageOf, requiredText, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { StoredStream, StreamDefinitions } from '../definition/stream-definitions.ts';
import { DEFAULT_DEFINITION, type StreamDefinition } from '../model/stream-definition.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import { isReplaying, type ReplayProgress } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';
import type { StoredReplays } from '../replay/stored-replays.ts';
import { reportObject } from './report-wire.ts';
import { checkedDefinition, checkedReplay } from './stream-checks.ts';
import { MAX_STREAMS, STREAM_API, STREAM_CHANGED } from './stream-control.ts';
import { boundsOf, givenFields, replayOf, STREAM_LICENSE, streamObject } from './stream-wire.ts';

/** Until replays that could not be continued are tried again. */
const RETRY_MS = 5_000;

interface StreamPluginOptions {
  readonly definitions: StreamDefinitions;
  readonly engine: StreamEngine;
  /** Default: replays end with the engine. */
  readonly replays?: StoredReplays;
  readonly emit: (event: ControlEvent) => void;
  /**
   * Maximum time that a command waits for the source subscription while the engine is not connected yet, in
   * milliseconds from the start of the command. Messages published after the response then reach the stream.
   * Default: 0.
   */
  readonly settleMs?: number;
  /** Called when the engine failed in work that no command requested, which is a bug. */
  readonly onFault?: (error: unknown) => void;
}

/**
 * Implements `stream-processing` next to a remote broker and in the embedded broker, with persisted definitions and an
 * engine that runs them. Field names are matched in any case. Persisted streams run from the start, without a command.
 *
 * Commands that change something are processed in order: each is checked and persisted before the next one starts. The
 * engine then applies the change while the next command is processed; the response is sent when that is done. Changes
 * of other processes are applied when they are noticed. At the start, replays of stored jobs are continued.
 *
 * Refusals: `Stream not found`, `Stream already exists`, `Invalid <path>: <reason>`, `Persistence not configured for
 * this stream`, `A replay of this stream is running`, `Too many streams…`, and the errors of the engine.
 */
export class StreamPlugin implements ControlPlugin {
  readonly api = STREAM_API;
  /** Resolves when the engine runs the definitions that existed at creation. */
  readonly started: Promise<void>;
  readonly #options: StreamPluginOptions;
  readonly #running = new Map<string, StreamDefinition>();
  readonly #stops: readonly Stop[];
  readonly #changes = new ConcurrencyLimit({ maxRunning: 1 });
  #retry: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: StreamPluginOptions) {
    this.#options = options;
    const { definitions, engine } = options;
    this.#stops = [
      definitions.onChange(() => this.#follow()),
      engine.onChange((id, report) => this.#changedStream(id, report)),
    ];
    this.#follow();
    this.#continueReplays();
    this.started = this.#changed();
  }

  execute(command: ControlCommand): unknown {
    if (this.#closed) throw new ControlRefusal('Streams are not served any more', { code: 'BROKER_UNREACHABLE' });
    return runCommandOf(
      {
        createstream: (c) => this.#untilPut(() => this.#create(c)),
        modifystream: (c) => this.#untilPut(() => this.#modify(c, givenFields(c))),
        enablestream: (c) => this.#untilPut(() => this.#modify(c, { active: true })),
        disablestream: (c) => this.#untilPut(() => this.#modify(c, { active: false })),
        deletestream: (c) => this.#changes.run(() => this.#delete(c)),
        getstream: (c) => this.#get(c),
        liststreams: (c) => this.#list(c),
        getstreammessagecount: (c) => this.#count(c),
        clearstreammessages: (c) => this.#changes.run(() => this.#clear(c)),
        replaystream: (c) => this.#changes.run(() => this.#replay(c)),
        stopstreamreplay: (c) => this.#changes.run(() => this.#stopReplay(c)),
        getlicense: () => STREAM_LICENSE,
      },
      command,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#retry) clearTimeout(this.#retry);
    for (const stop of this.#stops) stop();
    await this.#changed();
  }

  /** Called before the engine is closed, which need not wait: stores where another process is to continue replays. */
  async suspendReplays(): Promise<void> {
    const { engine, replays } = this.#options;
    if (replays === undefined) return;
    // If the engine has failed, its last reports are stored.
    const suspended = await engine.suspendReplays().catch(() => new Map<string, ReplayProgress>());
    for (const [id, replay] of suspended) replays.report(id, replay);
    await replays.close();
  }

  async #create(command: ControlCommand): Promise<BeingPut> {
    const { definitions } = this.#options;
    const name = requiredText(command, 'streamname');
    const given = { ...DEFAULT_DEFINITION, sourceTopic: undefined, ...givenFields(command), name };
    const definition = checkedDefinition(given, this.#definitions());
    if (definitions.byName(name) !== null) throw new ControlRefusal('Stream already exists');
    if (definitions.all().length >= MAX_STREAMS) {
      throw new ControlRefusal(`Too many streams: a broker has at most ${MAX_STREAMS}`, { code: 'TOO_LARGE' });
    }
    return this.#save({ id: newId('stream'), definition });
  }

  async #modify(command: ControlCommand, changes: ReturnType<typeof givenFields>): Promise<BeingPut> {
    const { id, definition } = this.#find(command);
    return this.#save({ id, definition: checkedDefinition({ ...definition, ...changes }, this.#definitions()) });
  }

  /** Removes the engine's stream first: a definition can be deleted again, orphaned messages cannot. */
  async #delete(command: ControlCommand): Promise<void> {
    const { definitions, engine } = this.#options;
    const stream = this.#find(command);
    await asRefusal(engine.remove(stream.id));
    this.#running.delete(stream.id);
    await asRefusal(definitions.remove(stream.id)).catch(async (error: unknown) => {
      await this.#put(stream);
      throw error;
    });
  }

  async #save(stream: StoredStream): Promise<BeingPut> {
    const { definitions } = this.#options;
    await asRefusal(definitions.save(stream));
    const { id } = stream;
    return { id, done: asRefusal(this.#put(definitions.byName(stream.definition.name) ?? stream)) };
  }

  async #get(command: ControlCommand): Promise<object> {
    await this.#changed();
    const found = this.#find(command);
    const [stream] = await this.#reported([found]);
    return { stream };
  }

  async #list(command: ControlCommand): Promise<object> {
    await this.#changed();
    const { verbose, count, offset } = pageOf(command);
    const all = this.#options.definitions.all();
    const page = all.slice(offset, offset + count);
    const streams = verbose ? await this.#reported(page) : page.map(({ definition }) => definition.name);
    return { totalCount: all.length, streams };
  }

  async #count(command: ControlCommand): Promise<object> {
    await this.#changed();
    const { id, definition } = this.#find(command);
    return { streamname: definition.name, count: await this.#stored(id, definition) };
  }

  async #clear(command: ControlCommand): Promise<void> {
    const { id, definition } = this.#find(command);
    const bounds = boundsOf(command);
    await this.#stored(id, definition);
    await asRefusal(this.#options.engine.clear(id, bounds));
  }

  async #replay(command: ControlCommand): Promise<void> {
    const { id, definition } = this.#find(command);
    const request = checkedReplay(replayOf(command), definition, this.#definitions());
    await this.#stored(id, definition);
    const { engine, replays } = this.#options;
    const job = replays && (await asRefusal(replays.begin({ id, definition }, request)));
    const started = engine.startReplay(id, request, job).catch(async (error: unknown) => {
      await replays?.discard(id);
      throw error;
    });
    const replay = await asRefusal(started);
    replays?.report(id, replay);
  }

  async #stopReplay(command: ControlCommand): Promise<void> {
    const { id } = this.#find(command);
    const { engine, replays } = this.#options;
    const isStopped = await asRefusal(engine.stopReplay(id));
    if (!isStopped) await replays?.stop(id);
  }

  #continueReplays(): void {
    const { engine, replays, onFault } = this.#options;
    if (replays === undefined) return;
    this.#changes
      .run(async () => {
        if (this.#closed) return;
        const unfinished = await replays.unfinished((id) => this.#running.has(id));
        const started = unfinished.map(({ streamId, request, job }) =>
          replays.continueWith(streamId, engine.startReplay(streamId, request, job)),
        );
        await Promise.all(started);
      })
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError)) onFault?.(error);
        if (!this.#closed) this.#retry = setTimeout(() => this.#continueReplays(), RETRY_MS).unref();
      });
  }

  #find(command: ControlCommand): StoredStream {
    const stream = this.#options.definitions.byName(requiredText(command, 'streamname'));
    if (stream === null) throw new ControlRefusal('Stream not found');
    return stream;
  }

  #definitions(): StreamDefinition[] {
    return this.#options.definitions.all().map(({ definition }) => definition);
  }

  async #stored(id: string, { persist }: StreamDefinition): Promise<number> {
    const reports = await asRefusal(this.#options.engine.report([id]));
    const messages = reports.get(id)?.storage.messages ?? 0;
    if (!persist && messages === 0) throw new ControlRefusal('Persistence not configured for this stream');
    return messages;
  }

  /** Returns the list without reports if the engine is not available. */
  async #reported(page: readonly StoredStream[]): Promise<object[]> {
    const ids = page.map(({ id }) => id);
    const reports: ReadonlyMap<string, StreamReport> = await this.#options.engine
      .report(ids)
      .catch((error: unknown) => {
        if (error instanceof ServiceError) return new Map();
        throw error;
      });
    return page.map(({ id, definition }) => {
      const report = reports.get(id) ?? null;
      return streamObject({ definition, replaying: isReplaying(report?.replay ?? null), report });
    });
  }

  #changedStream(id: string, report: StreamReport): void {
    this.#options.replays?.report(id, report.replay);
    const streamname = this.#running.get(id)?.name;
    if (streamname !== undefined) {
      this.#options.emit({ type: 'event', event: STREAM_CHANGED, streamname, report: reportObject(report) });
    }
  }

  async #put({ id, definition }: StoredStream): Promise<void> {
    if (this.#running.get(id) === definition) return;
    this.#running.set(id, definition);
    await this.#options.engine.put(id, definition);
  }

  /** Gives the persisted definitions to the engine, and removes the streams that are no longer persisted. */
  #follow(): void {
    this.#changes
      .run(async () => {
        const { definitions, engine } = this.#options;
        const stored = definitions.all();
        const ids = new Set(stored.map(({ id }) => id));
        const gone = [...this.#running.keys()].filter((id) => !ids.has(id));
        for (const id of gone) this.#running.delete(id);
        await Promise.all([...gone.map((id) => engine.remove(id)), ...stored.map((one) => this.#put(one))]);
      })
      .catch((error: unknown) => {
        // A closed engine runs nothing, and is replaced by another one.
        if (!(error instanceof ServiceError)) this.#options.onFault?.(error);
      });
  }

  async #untilPut(change: () => Promise<BeingPut>): Promise<void> {
    const { engine, settleMs = 0 } = this.#options;
    const until = Date.now() + settleMs;
    const { id, done } = await this.#changes.run(change);
    await done;
    const leftMs = until - Date.now();
    if (leftMs > 0) await engine.settled(id, leftMs).catch(ignoreServiceError);
  }

  #changed(): Promise<void> {
    return this.#changes.run(async () => undefined);
  }
}

interface BeingPut {
  readonly id: string;
  readonly done: Promise<void>;
}

/** Ignores errors of a closed engine: the change is persisted, and the stream's report has the error. */
function ignoreServiceError(error: unknown): void {
  if (!(error instanceof ServiceError)) throw error;
}
