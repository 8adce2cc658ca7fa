import { networkOf } from '../../../platform/limits/network.ts';
import { type Denial, MAX_REFUSALS, type Refusal, type Refused } from './refusal.ts';

/** Maximum number of separate entries of one network and kind. Further ones are merged into an entry without names. */
const MAX_OF_NETWORK = 100;
/** Longer texts are truncated, in UTF-16 code units. */
const MAX_NAME = 256;
const MAX_TEXT = 512;
/** Entries that are dropped together when there are more than MAX_REFUSALS. */
const DROPPED_AT_ONCE = 100;
/** Interval in which changes are coalesced into one notification. */
const COALESCE_MS = 250;

interface Entry {
  readonly refusal: { -readonly [Key in keyof Refusal]: Refusal[Key] };
  readonly key: string;
  /** Whose limit the entry counts for; `null` for a merged entry. */
  readonly source: string | null;
  /** `version` of the evaluated denial. */
  version: number;
}

/** Evaluates which rule denies. Repeated refusals evaluate it again only if `version` has changed. */
interface DenialSource {
  /** Changes with the access control. */
  readonly version: number;
  evaluate(): Denial;
}

interface RefusalPage {
  /** Only entries that changed after this number. Default: 0. */
  readonly after?: number;
  /** Only entries whose last change is before this number. Default: all. */
  readonly before?: number;
  readonly count: number;
}

/**
 * The refusals of one broker since its start. Equal ones are merged and counted. Clients choose the texts and the rate,
 * so memory and work are limited: MAX_REFUSALS entries, of which one network can have MAX_OF_NETWORK of each kind.
 */
export class RefusalLog {
  /** Identifies this run: numbers of another one are not valid here. */
  readonly id = crypto.randomUUID();
  readonly since = Date.now();
  /** Number of the last refusal. */
  sequence = 0;
  /** Number of entries that were dropped because there were too many. */
  dropped = 0;
  readonly #onChange: () => void;
  /** The entry that changed last is the last one. */
  readonly #entries = new Map<string, Entry>();
  readonly #bySource = new Map<string, number>();
  #created = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#entries.size;
  }

  add(refused: Refused, denial?: DenialSource): void {
    const now = Date.now();
    const entry = this.#entryOf(truncated(refused), now);
    const { refusal, key, source } = entry;
    this.sequence += 1;
    refusal.sequence = this.sequence;
    refusal.count += 1;
    refusal.lastAt = now;
    refusal.listenerPort = refused.listenerPort;
    refusal.reasonCode = refused.reasonCode;
    if (refused.kind === 'TAKEOVER' && source !== null) {
      const { username, address, listenerPort, takenOverBy } = truncated(refused);
      Object.assign(refusal, { username, address, listenerPort, takenOverBy });
    }
    if (source !== null) refusal.detail = truncate(refused.detail, MAX_TEXT);
    if (denial && source !== null && entry.version !== denial.version) {
      refusal.denial = denial.evaluate();
      entry.version = denial.version;
    }
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > MAX_REFUSALS) this.#dropOldest();
    this.#timer ??= setTimeout(this.#changed, COALESCE_MS).unref();
  }

  /** Newest first. */
  list({ after = 0, before = Number.POSITIVE_INFINITY, count }: RefusalPage): Refusal[] {
    const found: Refusal[] = [];
    for (const { refusal } of [...this.#entries.values()].reverse()) {
      if (refusal.sequence <= after || found.length >= count) break;
      if (refusal.sequence < before) found.push({ ...refusal });
    }
    return found;
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  readonly #changed = (): void => {
    this.#timer = null;
    this.#onChange();
  };

  #entryOf(refused: Refused, now: number): Entry {
    const { kind, reason, clientId, username, address, topic, detail } = refused;
    // The same fight has both rivals in turn. A WebSocket request is known by its path and subprotocols only.
    const about = kind === 'TAKEOVER' ? [] : [username, address, topic, reason === 'WEBSOCKET_REQUEST' && detail];
    const key = JSON.stringify([kind, reason, clientId, ...about]);
    const known = this.#entries.get(key);
    if (known) return known;
    const network = networkOf(address ?? '');
    const source = `${kind} ${network}`;
    const count = this.#bySource.get(source) ?? 0;
    if (count < MAX_OF_NETWORK) {
      this.#bySource.set(source, count + 1);
      return this.#newEntry(refused, key, source, now);
    }
    const mergedKey = `${kind} ${reason} ${network}`;
    const merged = this.#entries.get(mergedKey);
    if (merged) return merged;
    const nameless = { ...refused, clientId: null, username: null, topic: null, detail: null, takenOverBy: null };
    return this.#newEntry(nameless, mergedKey, null, now);
  }

  #newEntry(refused: Refused, key: string, source: string | null, firstAt: number): Entry {
    this.#created += 1;
    const refusal = {
      kind: refused.kind,
      reason: refused.reason,
      clientId: refused.clientId,
      username: refused.username,
      address: refused.address,
      listenerPort: refused.listenerPort,
      topic: refused.topic,
      reasonCode: refused.reasonCode,
      detail: refused.detail,
      takenOverBy: refused.takenOverBy ?? null,
      id: `${this.id}.${this.#created}`,
      sequence: 0,
      firstAt,
      lastAt: firstAt,
      count: 0,
      isMerged: source === null,
      denial: null,
    };
    return { refusal, key, source, version: -1 };
  }

  /** Several at once, because the oldest entry of a map is found behind all deleted ones. */
  #dropOldest(): void {
    let left = DROPPED_AT_ONCE;
    for (const { key, source } of this.#entries.values()) {
      this.#entries.delete(key);
      this.dropped += 1;
      if (source !== null) this.#leaveSource(source);
      left -= 1;
      if (left === 0) return;
    }
  }

  #leaveSource(source: string): void {
    const left = (this.#bySource.get(source) ?? 1) - 1;
    if (left > 0) this.#bySource.set(source, left);
    else this.#bySource.delete(source);
  }
}

/** Without spreads, which cost more than everything else during a flood. */
const truncated = (refused: Refused): Refused => ({
  kind: refused.kind,
  reason: refused.reason,
  clientId: truncate(refused.clientId, MAX_NAME),
  username: truncate(refused.username, MAX_NAME),
  address: truncate(refused.address, MAX_NAME),
  listenerPort: refused.listenerPort,
  topic: truncate(refused.topic, MAX_TEXT),
  reasonCode: refused.reasonCode,
  detail: truncate(refused.detail, MAX_TEXT),
  takenOverBy: refused.takenOverBy
    ? {
        username: truncate(refused.takenOverBy.username, MAX_NAME),
        address: truncate(refused.takenOverBy.address, MAX_NAME),
      }
    : null,
});

/** Without half of a surrogate pair, which has no form in UTF-8. */
export function truncate(text: string | null, length: number): string | null {
  if (text === null) return null;
  return (text.length > length ? `${text.slice(0, length - 1)}…` : text).toWellFormed();
}
