import { BrokerLink, type BrokerLinkOptions } from './broker-link.ts';
import type { BrokerSession } from './broker-session.ts';
import { OBSERVER_LIMITS } from './packet-limits.ts';

/** A share in a connection. It may not be used after `release`, which is safe to call twice. */
export interface LinkLease {
  readonly session: BrokerSession;
  release(): void;
}

/**
 * A link that is up while somebody has a lease: CLOSED -> OPEN with the first one -> CLOSED `lingerMs` after the last.
 *
 * For observers of what may be much: a broker drops messages for a connection that reads slowly whatever they are about, so
 * what carries commands has a connection of its own. The session is clean and ends with its connection: what is missed is missed.
 * The client id stays the same however often the link is opened. Its packets are bounded by OBSERVER_LIMITS.
 */
export class LeasedLink {
  readonly clientId: string;
  readonly #options: BrokerLinkOptions;
  readonly #lingerMs: number;
  readonly #leases = new Set<LinkLease>();
  #link: BrokerLink | null = null;
  #lingering: NodeJS.Timeout | null = null;

  /** `lingerMs`: default 5000. */
  constructor(options: BrokerLinkOptions & { readonly clientId: string }, { lingerMs = 5_000 } = {}) {
    this.clientId = options.clientId;
    this.#options = { ...options, sessionExpirySeconds: 0, limits: OBSERVER_LIMITS };
    this.#lingerMs = lingerMs;
  }

  get isOpen(): boolean {
    return this.#link !== null;
  }

  /** Does not wait for the connection: see `whenConnected`. Errors: INVALID settings. */
  acquire(): LinkLease {
    if (this.#lingering) clearTimeout(this.#lingering);
    this.#lingering = null;
    // Nobody waits for it, and its next attempt may be a minute away.
    if (this.#leases.size === 0 && this.#link !== null && !isUp(this.#link)) void this.close();
    this.#link ??= opened(this.#options);
    const lease: LinkLease = { session: this.#link, release: () => this.#release(lease) };
    this.#leases.add(lease);
    return lease;
  }

  /** At once, whoever has a lease; a later lease opens it anew. */
  async close(): Promise<void> {
    if (this.#lingering) clearTimeout(this.#lingering);
    this.#lingering = null;
    this.#leases.clear();
    const link = this.#link;
    this.#link = null;
    await link?.close();
  }

  #release(lease: LinkLease): void {
    if (!this.#leases.delete(lease) || this.#leases.size > 0) return;
    this.#lingering = setTimeout(() => void this.close(), this.#lingerMs).unref();
  }
}

const isUp = ({ status }: BrokerLink) => status.state === 'CONNECTED' || status.state === 'CONNECTING';

function opened(options: BrokerLinkOptions): BrokerLink {
  const link = new BrokerLink(options);
  link.open();
  return link;
}
