import { BrokerLink } from './broker-link.ts';
import type { BrokerLinkOptions } from './link-options.ts';
import { OBSERVER_LIMITS } from './packet-limits.ts';

/** A lease of a connection. The session must not be used after `release`, which is safe to call twice. */
export interface LinkLease {
  readonly session: BrokerLink;
  release(): void;
}

/**
 * A link that is open while it has leases, and `lingerMs` longer.
 *
 * Observers of many messages use it, because a broker drops any message for a connection that reads slowly; commands
 * have a separate connection. The session ends with the connection, so messages may be missed.
 */
export class LeasedLink {
  readonly clientId: string;
  readonly #options: BrokerLinkOptions;
  readonly #lingerMs: number;
  readonly #leases = new Set<LinkLease>();
  #link: BrokerLink | null = null;
  #lingering: NodeJS.Timeout | null = null;

  constructor(options: BrokerLinkOptions & { readonly clientId: string }, { lingerMs = 5_000 } = {}) {
    this.clientId = options.clientId;
    this.#options = options;
    this.#lingerMs = lingerMs;
  }

  get isOpen(): boolean {
    return this.#link !== null;
  }

  /** Returns before the link is connected; see `whenConnected`. Errors: INVALID settings. */
  acquire(): LinkLease {
    if (this.#lingering) clearTimeout(this.#lingering);
    this.#lingering = null;
    // A new link connects immediately; the next attempt of the old one may be ten seconds away.
    if (this.#leases.size === 0 && this.#link !== null && !isUp(this.#link)) void this.close();
    this.#link ??= opened(this.#options);
    const lease: LinkLease = { session: this.#link, release: () => this.#release(lease) };
    this.#leases.add(lease);
    return lease;
  }

  /** Closes the link even if it has leases. A later lease opens it again. */
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
  const link = new BrokerLink({
    limits: OBSERVER_LIMITS,
    ...options,
    sessionExpirySeconds: 0,
    changesClientId: true,
  });
  link.open();
  return link;
}
