import type { ClientListener, ClientProtocol } from '../../../protocol/apis/clients/inspect-data.ts';
import { type ListenerEntry, listListeners } from '../../../protocol/control/listeners.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';

/** A listener as clients use it. Absent fields are unknown. */
export interface KnownListener extends ClientListener {
  readonly protocol?: ClientProtocol;
}

/** The listeners of a broker by port. A port that several listeners use has only the values that all of them share. */
export type ListenersByPort = ReadonlyMap<number, KnownListener>;

const PROTOCOLS: Readonly<Record<NonNullable<ListenerEntry['protocol']>, ClientProtocol | undefined>> = {
  MQTT: 'MQTT',
  WEBSOCKET: 'MQTT-WS',
  HTTP_API: undefined,
};

function listenersByPort(entries: readonly ListenerEntry[]): ListenersByPort {
  const byPort = new Map<number, KnownListener>();
  for (const { port, bindAddress, protocol: reported, tls } of entries) {
    const protocol = reported === null ? undefined : PROTOCOLS[reported];
    const other = byPort.get(port);
    const [isSameProtocol, isSameTls] = [other?.protocol === protocol, other?.tls === tls];
    byPort.set(port, {
      port,
      ...(other === undefined && bindAddress !== null && { bind_address: bindAddress }),
      ...((other === undefined || isSameProtocol) && protocol !== undefined && { protocol }),
      ...((other === undefined || isSameTls) && { tls }),
    });
  }
  return byPort;
}

/** Interval in which listeners are read again while the broker does not report them. */
const RETRY_MS = 30_000;

/**
 * Reads the listeners of a broker by `listListeners`, which Mosquitto 2.1 has, and this service for the Mosquittos that
 * it runs. The result is empty while they are unknown.
 */
export class ClientListeners {
  readonly #caller: ControlCaller | undefined;
  readonly #onRead: (listeners: ListenersByPort) => void;
  #isKnown = false;
  #readAt: number | null = null;

  constructor(caller: ControlCaller | undefined, onRead: (listeners: ListenersByPort) => void) {
    this.#caller = caller;
    this.#onRead = onRead;
  }

  /** Call on each connection, because the broker may have restarted with other listeners. Never rejects. */
  async read(): Promise<void> {
    if (this.#caller === undefined) return;
    const now = Date.now();
    this.#readAt = now;
    // A broker without the API, or without permission to use it, reports no listeners.
    const entries = await listListeners(this.#caller).catch(() => null);
    if (this.#readAt !== now) return;
    this.#isKnown = entries !== null;
    this.#onRead(listenersByPort(entries ?? []));
  }

  /** Call when clients are listed. */
  retry(): void {
    if (!this.#isKnown && this.#readAt !== null && Date.now() - this.#readAt >= RETRY_MS) void this.read();
  }
}
