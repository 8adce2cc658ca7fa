import { LRUCache } from 'lru-cache';
import { entryLimit } from '../../../platform/limits/entry-limit.ts';
import { LATE_EVENT_MS } from '../../../protocol/apis/clients/client-events.ts';
import {
  type ConnectedLine,
  DISCONNECTED,
  type DisconnectedLine,
  type LogLine,
  TAKEN_OVER,
} from '../../../protocol/mosquitto-log/log-line.ts';
import { ended, type LedgerEvent } from './ledger-events.ts';

export interface OtherEndsOptions {
  /** Called when a client has connected, or its connection has ended or may have ended. Default: not called. */
  readonly onEvent?: (event: LedgerEvent) => void;
  /** Whether the broker may have clients that connected before its log was followed. Default: true. */
  readonly mayHaveOthers?: () => boolean;
}

const PERHAPS_ENDED =
  'A connection from before this service followed the log may have ended: the log line does not say so for certain.';

/** Clients whose last ended connection is remembered. */
const MAX_ENDED = 10_000;

/**
 * Ends of clients that are not in the list, because they connected before the log was followed. Mosquitto 2.0 logs the
 * end of a stored session like that of a connection, but only when it reloads its configuration. What may be the end of
 * a connection and may be none is a gap. Mosquitto 2.1 logs a stored session that is resumed like a takeover, with the
 * port of its last connection, whose end was logged before.
 */
export class OtherEnds {
  readonly #onEvent: (event: LedgerEvent) => void;
  readonly #mayHaveOthers: () => boolean;
  readonly #endedPorts = new LRUCache<string, number>(entryLimit(MAX_ENDED));
  #isReloading = false;
  /** The client whose connection was replaced by the next one that is logged. */
  #replaced: string | null = null;

  constructor({ onEvent = () => undefined, mayHaveOthers = () => true }: OtherEndsOptions) {
    this.#onEvent = onEvent;
    this.#mayHaveOthers = mayHaveOthers;
  }

  lineRead({ kind }: LogLine): void {
    if (kind !== 'DISCONNECTED' && kind !== 'OTHER') this.#isReloading = kind === 'RELOADED';
  }

  /** Call with each client that is removed from the list because its connection has ended. */
  removed({ clientid, port }: Pick<DisconnectedLine, 'clientid' | 'port'>): void {
    if (port !== null) this.#endedPorts.set(clientid, port);
  }

  /** @returns change of the number of unknown connections */
  ended(line: DisconnectedLine, at: number): -1 | 0 {
    const { clientid, ends, isPlaceholder, port, reason } = line;
    if (port !== null && this.#endedPorts.get(clientid) === port) return 0;
    this.removed(line);
    if (ends !== 'ADMITTED' && (isPlaceholder || !this.#mayHaveOthers())) return 0;
    if (ends !== 'ADMITTED' && (ends !== 'SESSION' || reason !== DISCONNECTED || this.#isReloading)) {
      this.#onEvent({ kind: 'GAP', from: at - LATE_EVENT_MS, at, detail: PERHAPS_ENDED });
      return 0;
    }
    if (reason === TAKEN_OVER) this.#replaced = clientid;
    this.#onEvent(ended(line, reason, at));
    // Without certainty, the next count of the broker decides.
    return ends === 'ADMITTED' ? -1 : 0;
  }

  /** Call with each connect line. Returns whether it replaced the connection of a client that is not in the list. */
  wasReplaced({ clientid }: ConnectedLine): boolean {
    const wasReplaced = this.#replaced === clientid;
    this.#replaced = null;
    return wasReplaced;
  }
}
