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

/**
 * Ends of clients that are not in the list, because they connected before the log was followed. Mosquitto 2.0 logs the
 * end of a stored session like that of a connection, but only when it reloads its configuration. What may be the end of
 * a connection and may be none is a gap.
 */
export class OtherEnds {
  readonly #onEvent: (event: LedgerEvent) => void;
  readonly #mayHaveOthers: () => boolean;
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

  /** @returns change of the number of unknown connections */
  ended(line: DisconnectedLine, at: number): -1 | 0 {
    const { clientid, ends, isPlaceholder, reason } = line;
    if (ends !== 'ADMITTED' && (isPlaceholder || !this.#mayHaveOthers())) return 0;
    if (ends !== 'ADMITTED' && (ends !== 'SESSION' || reason !== DISCONNECTED || this.#isReloading)) {
      this.#onEvent({ kind: 'GAP', from: at, at, detail: PERHAPS_ENDED });
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
