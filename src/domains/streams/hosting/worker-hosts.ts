import { ServiceError } from '../../../platform/errors.ts';
import { IterationBatch, pauseShortIterations } from '../../../platform/scheduling/iteration-batch.ts';
import { reasonOf, type ThreadVoice } from '../../../protocol/hosting/serve-thread.ts';
import { newIntake } from '../../../protocol/mqtt/intake.ts';
import { StreamEngineCore } from '../engine/stream-engine-core.ts';
import { compileQuery } from '../query/compile-query.ts';
import { openSegmentStore } from '../store/segment-store.ts';
import { MqttStreamSession } from './mqtt-stream-session.ts';
import type { EngineMethod, EngineNews, EngineOptions } from './worker-protocol.ts';

interface Host {
  readonly engine: StreamEngineCore;
  close(forGood: boolean): Promise<void>;
}

/** The engines in this thread, each with its connections and its stored messages. One of a broker begins when the one before it has ended. */
export class WorkerHosts {
  readonly #voice: ThreadVoice<EngineNews>;
  readonly #iterationBatch = new IterationBatch(pauseShortIterations());
  readonly #intake = newIntake();
  readonly #hosts = new Map<number, { readonly brokerId: string; readonly host: Promise<Host> }>();
  /** By broker: the ends of earlier engines, while they last. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(voice: ThreadVoice<EngineNews>) {
    this.#voice = voice;
  }

  open(number: number, options: EngineOptions): void {
    const { brokerId } = options;
    const host = this.#begin(number, options, this.#ending.get(brokerId));
    this.#hosts.set(number, { brokerId, host });
    host.catch((error: unknown) => {
      this.#hosts.delete(number);
      // Its calls are refused.
      const reason = error instanceof Error ? error.message : String(error);
      this.#voice.tell({ type: 'failed', engine: number, reason });
    });
  }

  async call(number: number, method: EngineMethod, args: readonly unknown[]): Promise<unknown> {
    const host = await this.#hosts.get(number)?.host;
    if (!host) throw new ServiceError('BROKER_UNREACHABLE', 'The streams of the broker were closed');
    // The service calls what StreamEngine has, as it has it.
    const call = host.engine[method] as (...given: readonly unknown[]) => Promise<unknown>;
    return call.apply(host.engine, [...args]);
  }

  /** Everything appended is on disk when it resolves. */
  async close(number: number, forGood: boolean): Promise<void> {
    const known = this.#hosts.get(number);
    if (!known) return;
    this.#hosts.delete(number);
    const { brokerId, host } = known;
    const ended = host.then(
      ({ close }) => close(forGood),
      () => undefined,
    );
    const ending = ended
      .catch(() => undefined)
      .then(() => {
        if (this.#ending.get(brokerId) === ending) this.#ending.delete(brokerId);
      });
    this.#ending.set(brokerId, ending);
    await ended;
  }

  /** Errors: those of the folder of stored messages. */
  async #begin(number: number, options: EngineOptions, before: Promise<void> | undefined): Promise<Host> {
    await before;
    const { brokerId, folder, maxBytes } = options;
    const { tell, problem } = this.#voice;
    const store = openSegmentStore({
      folder,
      maxBytes,
      onProblem: (streamId, reason) =>
        problem('warn', { brokerId, streamId, reason }, 'stored messages of streams have a problem'),
    });
    const session = new MqttStreamSession({
      ...options.session,
      intake: this.#intake,
      iterationBatch: this.#iterationBatch,
      onFault: (error) => {
        problem('error', { brokerId, reason: reasonOf(error) }, 'a stream failed on a message');
      },
    });
    const engine = new StreamEngineCore({ session, store, compile: compileQuery });
    engine.onChange((id, report) => tell({ type: 'changed', engine: number, id, report }));
    session.open();
    const close = async (forGood: boolean) => {
      await engine.close();
      await session.close({ forGood });
      await store.close();
    };
    return { engine, close };
  }
}
