import { ServiceError } from '../../platform/errors.ts';
import { BrokerLink, type BrokerLinkOptions } from './broker-link.ts';
import type { LinkStatus, Stop } from './broker-session.ts';

type FleetListener = (id: string, status: LinkStatus) => void;

/** The links of this process, one per broker id. A link opens when it is added (EAGER) or first used (LAZY). */
export class Fleet {
  readonly #known = new Map<string, BrokerLinkOptions>();
  readonly #links = new Map<string, BrokerLink>();
  readonly #listeners = new Set<FleetListener>();

  get openCount(): number {
    return this.#links.size;
  }

  add(options: BrokerLinkOptions, opening: 'EAGER' | 'LAZY' = 'EAGER'): void {
    if (this.#known.has(options.id)) throw new Error(`Broker link "${options.id}" exists already`);
    this.#known.set(options.id, options);
    if (opening === 'LAZY') return;
    try {
      this.#open(options);
    } catch (error) {
      this.#known.delete(options.id);
      throw error;
    }
  }

  /** Returns the link, and opens it if necessary. Errors: NOT_FOUND, INVALID settings. */
  get(id: string): BrokerLink {
    const link = this.#links.get(id);
    if (link) return link;
    const options = this.#known.get(id);
    if (!options) throw new ServiceError('NOT_FOUND', `Broker link "${id}" does not exist`);
    return this.#open(options);
  }

  find(id: string): BrokerLink | null {
    return this.#links.get(id) ?? null;
  }

  /** Changes the settings; an open link reconnects. Errors: INVALID; then nothing changes. */
  replace(id: string, options: BrokerLinkOptions): void {
    if (!this.#known.has(id)) throw new ServiceError('NOT_FOUND', `Broker link "${id}" does not exist`);
    this.#links.get(id)?.reconfigure(options);
    this.#known.set(id, options);
  }

  async close(id: string): Promise<void> {
    this.#known.delete(id);
    const link = this.#links.get(id);
    this.#links.delete(id);
    await link?.close();
  }

  async closeAll(): Promise<void> {
    const links = [...this.#links.values()];
    this.#known.clear();
    this.#links.clear();
    await Promise.all(links.map((link) => link.close()));
    this.#listeners.clear();
  }

  onStatus(listener: FleetListener): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #open(options: BrokerLinkOptions): BrokerLink {
    const link = new BrokerLink(options);
    link.onStatus((status) => {
      for (const listener of this.#listeners) listener(options.id, status);
    });
    link.open();
    this.#links.set(options.id, link);
    return link;
  }
}
