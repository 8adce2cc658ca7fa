import type { BrokerMessage, BrokerSession, Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { SysTopics, SysValue } from '../../brokers/sys-topics.ts';
import { parseLogLine } from '../../clients/inspect/log-lines.ts';

/** OWN: it stands in the configuration of this broker. OTHER: in another one's, which connects to this one. UNKNOWN: no log line told yet. */
export type SysBridgeOrigin = 'OWN' | 'OTHER' | 'UNKNOWN';

/** A bridge that a Mosquitto runs itself, as far as the broker tells of it. Never changed; another one takes its place. */
export interface SysBridge {
  readonly remoteClientId: string;
  readonly isConnected: boolean;
  /** Epoch milliseconds of the change that was seen; null: it was so before this service looked. */
  readonly since: number | null;
  readonly origin: SysBridgeOrigin;
  /** In the broker's configuration, and where it leads to, or where it comes from; null: no log line told. */
  readonly name: string | null;
  readonly address: string | null;
}

const STATE = /^\$SYS\/broker\/connection\/(.+)\/state$/s;
const LOG = '$SYS/broker/log/';
/** Mosquitto 2.0 and 2.1, in `notice`; a line may begin with a time. */
const CONNECTING = /(?:^|: )Connecting bridge (?:\(step \d\) )?(\S{1,200}) \((.{1,300}:\d{1,5})\)$/;
const MAX_LINE = 2_000;
/** Further ones are not taken up. */
const MAX_BRIDGES = 200;
/** A bridge that is down is tried again within half a minute, and the log tells. */
const SILENCE_MS = 120_000;

/**
 * The bridges that a Mosquitto runs itself, by `$SYS/broker/connection/<remote client id>/state` (1 or 0, retained), which it tells of
 * its own bridges and of those of other brokers to it. Nothing of them can be changed over MQTT, and no more is told. Which is which,
 * name and address are in log lines, if the broker tells its log and a bridge connects while this service looks: the log is read from
 * the first bridge on. They are free text: good for display only.
 */
export class SysBridges {
  readonly #session: BrokerSession;
  readonly #bridges = new Map<string, SysBridge>();
  /** Addresses by what log lines called a bridge: its name here, or the client id that it came with. */
  readonly #connecting = new Map<string, string>();
  readonly #arrived = new Map<string, string>();
  readonly #listeners = new Set<(remoteClientId: string) => void>();
  readonly #stops: Stop[];
  #isReading = false;
  /** `performance.now()` of the first line of this connection; null: none came. */
  #readSince: number | null = null;
  #closed = false;

  constructor(sys: SysTopics, session: BrokerSession) {
    this.#session = session;
    this.#stops = [
      sys.onValue((value) => this.#told(value)),
      session.onStatus(({ state }) => {
        this.#readSince = null;
        // Other settings: it may be another broker.
        if (state === 'CONNECTING') this.#forget();
      }),
    ];
  }

  all(): SysBridge[] {
    return [...this.#bridges.values()];
  }

  get(remoteClientId: string): SysBridge | null {
    return this.#bridges.get(remoteClientId) ?? null;
  }

  /**
   * A bridge that was removed leaves its last state at the broker. One that is down and that the log has not named for two minutes is
   * taken for such; while the broker is away, nobody knows.
   */
  isLeft({ isConnected, origin }: SysBridge): boolean {
    return (
      !isConnected &&
      origin === 'UNKNOWN' &&
      this.#readSince !== null &&
      performance.now() - this.#readSince > SILENCE_MS
    );
  }

  /** Each bridge that came, changed or is gone. */
  onChange(listener: (remoteClientId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#listeners.clear();
  }

  #told({ topic, text, isRetained }: SysValue): void {
    const id = STATE.exec(topic)?.[1];
    if (id === undefined) return;
    const before = this.#bridges.get(id);
    if (text === '') {
      this.#bridges.delete(id);
      if (before !== undefined) this.#tell(id);
      return;
    }
    if (text !== '0' && text !== '1') return;
    const isConnected = text === '1';
    if (before?.isConnected === isConnected || (before === undefined && this.#bridges.size >= MAX_BRIDGES)) return;
    const since = isRetained ? null : Date.now();
    this.#put(this.#identified({ ...(before ?? unknown(id)), isConnected, since }));
    this.#readLog();
  }

  /** One that is refused is asked for again with the next state. */
  #readLog(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    // The filter that clients are followed by, so that both share one subscription.
    this.#session
      .subscribe(`${LOG}#`, (message) => this.#logged(message))
      .then(
        (stop) => {
          if (this.#closed) stop();
          else this.#stops.push(stop);
        },
        () => {
          this.#isReading = false;
        },
      );
  }

  #logged({ topic, payload }: BrokerMessage): void {
    this.#readSince ??= performance.now();
    if (payload.length > MAX_LINE || !topic.startsWith(`${LOG}N`)) return;
    const line = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
    const [, name, address] = CONNECTING.exec(line) ?? [];
    if (name !== undefined && address !== undefined) this.#note(this.#connecting, name, address);
    else if (line.includes('New bridge connected')) {
      const parsed = parseLogLine('N', line, () => false);
      if (parsed?.kind === 'CONNECTED' && parsed.bridge) {
        this.#note(this.#arrived, parsed.clientid, `${parsed.address}:${parsed.port}`);
      }
    }
  }

  #note(addresses: Map<string, string>, key: string, address: string): void {
    if (addresses.size >= MAX_BRIDGES && !addresses.has(key)) return;
    addresses.set(key, address);
    for (const bridge of [...this.#bridges.values()]) this.#put(this.#identified(bridge));
  }

  /** Without a client id of its own a bridge has that of its host and its name (Mosquitto 2.0 and 2.1). */
  #identified(bridge: SysBridge): SysBridge {
    const { remoteClientId } = bridge;
    for (const [name, address] of this.#connecting) {
      if (remoteClientId === name || remoteClientId.endsWith(`.${name}`)) {
        return { ...bridge, origin: 'OWN', name, address };
      }
    }
    const address = this.#arrived.get(remoteClientId);
    return address === undefined ? bridge : { ...bridge, origin: 'OTHER', address };
  }

  #put(bridge: SysBridge): void {
    const before = this.#bridges.get(bridge.remoteClientId);
    this.#bridges.set(bridge.remoteClientId, bridge);
    if (JSON.stringify(before) !== JSON.stringify(bridge)) this.#tell(bridge.remoteClientId);
  }

  #forget(): void {
    const ids = [...this.#bridges.keys()];
    this.#bridges.clear();
    this.#connecting.clear();
    this.#arrived.clear();
    for (const id of ids) this.#tell(id);
  }

  #tell(remoteClientId: string): void {
    for (const listener of this.#listeners) listener(remoteClientId);
  }
}

const unknown = (remoteClientId: string): SysBridge => ({
  remoteClientId,
  isConnected: false,
  since: null,
  origin: 'UNKNOWN',
  name: null,
  address: null,
});
