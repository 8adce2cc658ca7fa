import { ServiceError } from '../../../platform/errors.ts';
import { reasonOf, type ThreadVoice, type ThreadWork } from '../../../protocol/hosting/serve-thread.ts';
import { newIntake } from '../../../protocol/mqtt/intake.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import { QueueStorage } from '../queue/queue-storage.ts';
import type { BridgeOptions } from './bridge-options.ts';
import type { BridgeNews, BridgeOrder, BridgePlace, BridgeQuestion } from './bridge-protocol.ts';
import { StatusPace } from './status-pace.ts';

/** Makes a bridge of the kind that the options name. */
export type StartBridge = (options: BridgeOptions) => Promise<Bridge>;

interface Host {
  readonly bridge: Bridge;
  close(forGood: boolean): Promise<void>;
}

interface Known {
  /** Broker and kind. */
  readonly key: string;
  readonly host: Promise<Host>;
  /** One configuration after the other, and then the end; never rejects. */
  tail: Promise<unknown>;
}

/** Milliseconds that an end may take: a session is given up within a timeout of its broker, a batch under way within less. */
const CLOSE_MS = 15_000;

/** The bridges in this thread. One of a broker and kind begins when the one before it has ended, or has had its time to. */
export class BridgeHosts implements ThreadWork<BridgeOrder, BridgeQuestion> {
  readonly #voice: ThreadVoice<BridgeNews>;
  readonly #start: StartBridge;
  readonly #closeMs: number;
  readonly #intake = newIntake();
  #storage: QueueStorage | null = null;
  readonly #hosts = new Map<number, Known>();
  /** By broker and kind: the ends of earlier ones, while they last. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(voice: ThreadVoice<BridgeNews>, start: StartBridge, closeMs = CLOSE_MS) {
    this.#voice = voice;
    this.#start = start;
    this.#closeMs = closeMs;
  }

  order({ bridge, place }: BridgeOrder): void {
    const key = `${place.brokerId}/${place.bridgeId}`;
    const host = this.#begin(bridge, place, this.#ending.get(key));
    // Whoever applies something to it is told.
    const tail = host.catch(() => undefined);
    this.#hosts.set(bridge, { key, host, tail });
  }

  ask(question: BridgeQuestion): Promise<unknown> {
    const { type, bridge } = question;
    return type === 'apply' ? this.#apply(bridge, question.config) : this.#close(bridge, question.forGood);
  }

  /** Errors: why it cannot run. */
  async #apply(number: number, config: unknown): Promise<readonly BridgeConnectionStatus[]> {
    const known = this.#hosts.get(number);
    if (!known) throw new ServiceError('BROKER_UNREACHABLE', 'The bridge was closed');
    const applied = known.tail.then(async () => {
      const { bridge } = await known.host;
      await bridge.apply(config);
      return bridge.status();
    });
    known.tail = applied.catch(() => undefined);
    try {
      return await applied;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      this.#voice.problem('error', { bridge: known.key, reason: reasonOf(error) }, 'a bridge cannot run');
      throw new ServiceError('INTERNAL_ERROR', error instanceof Error ? error.message : String(error));
    }
  }

  async #close(number: number, forGood: boolean): Promise<void> {
    const known = this.#hosts.get(number);
    if (!known) return;
    this.#hosts.delete(number);
    const { key, host, tail } = known;
    const closed = tail
      .then(() => host)
      .then(
        ({ close }) => close(forGood),
        () => undefined,
      );
    const ended = this.#inTime(closed, key);
    const ending = ended
      .catch(() => undefined)
      .then(() => {
        if (this.#ending.get(key) === ending) this.#ending.delete(key);
      });
    this.#ending.set(key, ending);
    await ended;
  }

  /** What hangs, its last configuration too, delays neither the end of the service nor the next one for ever. */
  #inTime(closed: Promise<void>, key: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#voice.problem('error', { bridge: key }, 'a bridge did not end in time');
        resolve();
      }, this.#closeMs);
      closed.finally(() => clearTimeout(timer)).then(resolve, reject);
    });
  }

  async #begin(number: number, place: BridgePlace, before: Promise<void> | undefined): Promise<Host> {
    await before;
    const { brokerId, bridgeId, rules } = place;
    // The same for all of the process.
    this.#storage ??= new QueueStorage(rules.storageMaxBytes ?? Number.POSITIVE_INFINITY);
    const { tell, problem } = this.#voice;
    const bridge = await this.#start({
      ...place,
      local: { ...place.local, intake: this.#intake },
      storage: this.#storage.of(brokerId),
      onFault: (error) => problem('error', { brokerId, bridgeId, reason: reasonOf(error) }, 'a bridge failed'),
    });
    const pace = new StatusPace(
      () => bridge.status(),
      (status) => tell({ bridge: number, status }),
    );
    const stop = bridge.onStatus(() => pace.changed());
    const close = async (forGood: boolean) => {
      stop();
      pace.close();
      await bridge.close({ forGood });
    };
    return { bridge, close };
  }
}
