import { setImmediate as immediate } from 'node:timers/promises';
import { type ClientRef, keyOf } from '../../protocol/apis/clients/client-key.ts';
import { getQueues, MAX_QUEUE_IDS } from '../../protocol/apis/clients/inspect-control.ts';
import type { ClientQueues } from '../../protocol/apis/clients/inspect-data.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';

type Ask = <T>(request: (caller: ControlCaller) => Promise<T>) => Promise<T>;

/**
 * Reads the current queues of the clients in one list. Queues change with every message, so events do not contain them.
 * Clients that are read in the same turn of the event loop, such as those of a page, share one request per
 * MAX_QUEUE_IDS.
 */
export class QueueReader {
  readonly #ask: Ask;
  #collected = new Map<string, ClientRef>();
  #next: Promise<ReadonlyMap<string, ClientQueues>> | null = null;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** `null` if the client no longer exists, or `mayAsk` returns false. Errors: those of an unreachable broker. */
  async read(client: ClientRef, mayAsk: () => Promise<boolean>): Promise<ClientQueues | null> {
    const key = keyOf(client);
    this.#collected.set(key, client);
    this.#next ??= this.#read(mayAsk);
    return (await this.#next).get(key) ?? null;
  }

  async #read(mayAsk: () => Promise<boolean>): Promise<ReadonlyMap<string, ClientQueues>> {
    const may = mayAsk();
    // By then all reads of this turn are collected.
    await immediate();
    const isAllowed = await may;
    const clients = [...this.#collected];
    this.#collected = new Map();
    this.#next = null;
    const found = new Map<string, ClientQueues>();
    for (let start = 0; isAllowed && start < clients.length; start += MAX_QUEUE_IDS) {
      const chunk = clients.slice(start, start + MAX_QUEUE_IDS);
      const refs = chunk.map(([, ref]) => ref);
      const queues = await this.#ask((caller) => getQueues(caller, refs));
      for (const [index, [key]] of chunk.entries()) {
        const entry = queues[index];
        if (entry) found.set(key, entry);
      }
    }
    return found;
  }
}
