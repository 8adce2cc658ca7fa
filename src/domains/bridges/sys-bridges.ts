import { Listeners } from '../../platform/listeners.ts';
import { LOG_TOPIC } from '../../protocol/mosquitto-log/log-reader.ts';
import { readLine } from '../../protocol/mosquitto-log/read-line.ts';
import type { BrokerMessage, BrokerSession, Stop } from '../../protocol/mqtt/broker-session.ts';
import type { SysTopics, SysValue } from '../brokers/sys-topics.ts';

/**
 * OWN: from the configuration of this broker. OTHER: from that of another broker, which connects to this one. UNKNOWN:
 * no log line has named it.
 */
export type SysBridgeOrigin = 'OWN' | 'OTHER' | 'UNKNOWN';

/** A bridge that Mosquitto runs, as far as the broker reports it. Immutable: each change creates another one. */
export interface SysBridge {
  readonly remoteClientId: string;
  readonly isConnected: boolean;
  /** Epoch milliseconds of an observed change; `null` if the state was the same when this service connected. */
  readonly since: number | null;
  readonly origin: SysBridgeOrigin;
  /** The name in the broker's configuration, and the other address; `null` if no log line had it. */
  readonly name: string | null;
  readonly address: string | null;
}

const STATE = /^\$SYS\/broker\/connection\/(.+)\/state$/s;
/** Other lines need not be read. */
const ABOUT_BRIDGES = /Connecting bridge|New bridge connected/;
const MAX_BRIDGES = 200;
/** Mosquitto retries a bridge within half a minute, and logs each attempt. */
const SILENCE_MS = 120_000;

/**
 * The bridges that Mosquitto runs itself, by `$SYS/broker/connection/<remote client id>/state` (1 or 0, retained). The
 * broker publishes it for its own bridges and for those of other brokers to it. Nothing can be changed over MQTT. The
 * origin, name and address come from log lines, if the broker publishes its log and the bridge connects while this
 * service is connected. The log is subscribed after the first bridge appears. Log lines are free text: use them for
 * display only.
 */
export class SysBridges {
  readonly #session: BrokerSession;
  readonly #bridges = new Map<string, SysBridge>();
  /** Addresses by the name in the log line: the bridge's name here, or the client id that it connected with. */
  readonly #connecting = new Map<string, string>();
  readonly #arrived = new Map<string, string>();
  readonly #listeners = new Listeners<[remoteClientId: string]>();
  readonly #stops: Stop[];
  #isReading = false;
  /** `performance.now()` of the first log line of this connection; `null` before. */
  #readSince: number | null = null;
  #closed = false;

  constructor(sys: SysTopics, session: BrokerSession) {
    this.#session = session;
    this.#stops = [
      sys.onValue((value) => this.#received(value)),
      sys.onBurst(() => {
        if (this.#bridges.size > 0) this.#readLog();
      }),
      session.onStatus(() => {
        this.#readSince = null;
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
   * A removed bridge leaves its last state at the broker. A disconnected bridge that the log has not named for two
   * minutes counts as removed. While the broker is not connected, no bridge does.
   */
  isLeft({ isConnected, origin }: SysBridge): boolean {
    return (
      !isConnected &&
      origin === 'UNKNOWN' &&
      this.#readSince !== null &&
      performance.now() - this.#readSince > SILENCE_MS
    );
  }

  readonly onChange = this.#listeners.add;

  close(): void {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#listeners.clear();
  }

  #received({ topic, text, isRetained }: SysValue): void {
    const id = STATE.exec(topic)?.[1];
    if (id === undefined) return;
    const before = this.#bridges.get(id);
    if (text === '') {
      this.#bridges.delete(id);
      if (before !== undefined) this.#listeners.notify(id);
      return;
    }
    if (text !== '0' && text !== '1') return;
    const isConnected = text === '1';
    if (before?.isConnected === isConnected || (before === undefined && this.#bridges.size >= MAX_BRIDGES)) return;
    const since = isRetained ? null : Date.now();
    this.#put(this.#identified({ ...(before ?? unknown(id)), isConnected, since }));
    this.#readLog();
  }

  /** A refused subscription is retried with the next values below $SYS, usually after ten seconds. */
  #readLog(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    // The client registry subscribes to the same filter, so both share one subscription.
    this.#session
      .subscribe(`${LOG_TOPIC}#`, (message) => this.#logged(message))
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
    if (topic !== `${LOG_TOPIC}N`) return;
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
    if (!ABOUT_BRIDGES.test(text)) return;
    const line = readLine('N', text, null, () => false);
    if (line.kind === 'BRIDGE') this.#note(this.#connecting, line.name, line.address);
    else if (line.kind === 'CONNECTED' && line.bridge) {
      this.#note(this.#arrived, line.clientid, `${line.address}:${line.port}`);
    }
  }

  #note(addresses: Map<string, string>, key: string, address: string): void {
    if (addresses.size >= MAX_BRIDGES && !addresses.has(key)) return;
    addresses.set(key, address);
    for (const bridge of [...this.#bridges.values()]) this.#put(this.#identified(bridge));
  }

  /** The default client id of a bridge consists of its host and its name (Mosquitto 2.0 and 2.1). */
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
    if (JSON.stringify(before) !== JSON.stringify(bridge)) this.#listeners.notify(bridge.remoteClientId);
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
