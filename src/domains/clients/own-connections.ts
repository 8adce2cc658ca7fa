import { ServiceError } from '../../platform/errors.ts';
import type { BrokerRuntime } from '../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';

export class OwnConnections {
  readonly #ids = new Set<string>();
  /** Parts of client ids up to and including the last `-`. */
  readonly #prefixes = new Set<string>();

  constructor(runtimes: Pick<BrokerRuntimes, 'onRuntime'>) {
    runtimes.onRuntime(({ clientIds, clientIdPrefixes }: BrokerRuntime, change) => {
      const method = change === 'OPENED' ? 'add' : 'delete';
      for (const id of clientIds) this.#ids[method](id);
      for (const prefix of clientIdPrefixes) this.#prefixes[method](prefix);
    });
  }

  /** Includes the connections that verify the log (`-probe`), and those of bridges (`-remote`). */
  has(clientId: string): boolean {
    const id = clientId.replace(/-(probe|remote)$/, '');
    return this.#ids.has(id) || this.#prefixes.has(id.slice(0, id.lastIndexOf('-') + 1));
  }
}

export const ownConnection = (clientId: string) =>
  new ServiceError('IN_USE', `"${clientId}" is a connection of this service itself`, { info: { clients: [clientId] } });
