import type { EventsEnd } from '../../../data-plane/history/client-events/client-events-module.ts';
import type { StoredEventKind } from '../../../data-plane/history/client-events/stored-events.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import { LATE_EVENT_MS } from '../../../protocol/apis/clients/client-events.ts';
import type { Refusal } from '../../../protocol/apis/refusals/refusal.ts';
import type { RefusalList } from '../../refusals/refusal-list.ts';
import type { EventWriter } from './event-writer.ts';
import { withSealedName } from './unknown-names.ts';

interface RefusalEventsOptions {
  /** Id of the broker. */
  readonly broker: string;
  readonly writer: EventWriter;
  readonly sealer: Pick<Sealer, 'seal'>;
}

/** Writes what a broker refuses: one event for each entry of its list and reading, with the number of refusals. */
export class RefusalEvents {
  readonly #options: RefusalEventsOptions;
  readonly #writer: EventWriter;
  #log = '';
  #last = 0;
  /** Refusals until then may have been written by the previous process, in epoch milliseconds. */
  #writtenUntil = 0;
  #counts = new Map<string, number>();

  constructor(options: RefusalEventsOptions) {
    this.#options = options;
    this.#writer = options.writer;
  }

  /** Errors: those of the store. */
  async write({ log, sequence, refusals }: RefusalList): Promise<void> {
    if (log !== this.#log) {
      const end = this.#log === '' ? await this.#writer.end() : null;
      this.#log = log;
      this.#last = 0;
      this.#writtenUntil = end === null ? 0 : writtenUntil(end, log);
      this.#counts = new Map();
    }
    for (const refusal of refusals) {
      if (refusal.sequence > this.#last && refusal.lastAt > this.#writtenUntil) this.#one(refusal);
    }
    this.#last = sequence;
    this.#counts = new Map(refusals.map(({ id, count }) => [id, count]));
  }

  #one(refusal: Refusal): void {
    const { id, clientId, address, listenerPort, detail, firstAt, lastAt: at } = refusal;
    const { broker, sealer } = this.#options;
    const before = this.#counts.get(id);
    // An entry of before the start has refusals that were counted then.
    const count = before === undefined ? (firstAt > this.#writtenUntil ? refusal.count : 1) : refusal.count - before;
    this.#writer.event({
      at,
      // Numbers of connects and disconnects are positive.
      id: -refusal.sequence,
      kind: kindOf(refusal),
      clientId,
      username: refusal.reason === 'UNKNOWN_ACCOUNT' ? null : refusal.username,
      address,
      listenerPort,
      protocol: null,
      reason: null,
      detail,
      refusal: withSealedName(refusal, broker, sealer),
      count,
    });
  }
}

/** Two processes that follow the same broker notice a refusal at different times. */
function writtenUntil({ lastRefusal, refusalEntry }: EventsEnd, log: string): number {
  return refusalEntry === null || refusalEntry.startsWith(`${log}.`) ? lastRefusal : lastRefusal + LATE_EVENT_MS;
}

function kindOf({ kind, reason }: Refusal): StoredEventKind {
  if (kind === 'TAKEOVER') return 'CLIENT_ID_CONFLICT';
  return reason === 'TOO_MANY_SUBSCRIPTIONS' || reason === 'TOO_MANY_RETAINED' ? 'LIMIT_EXCEEDED' : 'REFUSED';
}
