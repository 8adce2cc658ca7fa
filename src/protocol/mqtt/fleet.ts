import { ServiceError } from '../../platform/errors.ts';
import { BrokerLink, type BrokerLinkOptions } from './broker-link.ts';
import type { LinkStatus, Stop } from './broker-session.ts';

export type FleetListener = (id: string, status: LinkStatus) => void;

/**
 * The links of this process, one per broker id. A link is opened when it is added (`eager`) or when it is first used (`lazy`), and
 * stays open until it is closed. The caller bounds their number (LinkShares).
 */
export class Fleet {
  readonly #known = new Map<string, BrokerLinkOptions>();
  readonly #links = new Map<string, BrokerLink>();
  readonly #listeners = new Set<FleetListener>();

  get openCount(): number {
    return this.#links.size;
  }

  /** Makes a broker known, and opens its link now if `eager`. A known id is an error of the caller. */
  add(options: BrokerLinkOptions, opening: 'EAGER' | 'LAZY' = 'EAGER'): void {
    if (this.#known.has(options.id)) throw new Error(`There is a link "${options.id}" already`);
    this.#known.set(options.id, options);
    if (opening === 'LAZY') return;
    try {
      this.#open(options);
    } catch (error) {
      this.#known.delete(options.id);
      throw error;
    }
  }

  /** The broker's link, opened if need be. Errors: NOT_FOUND, INVALID settings. */
  get(id: string): BrokerLink {
    const link = this.#links.get(id);
    if (link) return link;
    const options = this.#known.get(id);
    if (!options) throw new ServiceError('NOT_FOUND', `There is no broker link "${id}"`);
    return this.#open(options);
  }

  /** The broker's link if it is open. */
  find(id: string): BrokerLink | null {
    return this.#links.get(id) ?? null;
  }

  /** New settings: an open link connects anew and keeps its listeners and subscriptions. Errors: INVALID, then nothing changes. */
  replace(id: string, options: BrokerLinkOptions): void {
    if (!this.#known.has(id)) throw new ServiceError('NOT_FOUND', `There is no broker link "${id}"`);
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

  /** Each change of status of any link. */
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
