import type { BrokerClient } from '../clients/broker-client.ts';
import { writeResponse } from '../packets/responses.ts';
import { NOWHERE } from '../store/aedes-packets.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { ClientRef } from '../store/incoming-store.ts';
import type { Persistence } from '../store/persistence.ts';

type OnFault = (client: ClientRef, error: unknown) => void;

interface GuardOptions {
  readonly store: BrokerStore;
  readonly onFault: OnFault;
}

/** Methods of aedes-persistence 10 that concern one client, which is their first argument. */
const CLIENT_METHODS = [
  'subscriptionsByClient',
  'cleanSubscriptions',
  'outgoingUpdate',
  'outgoingClearMessageId',
  'incomingStorePacket',
  'putWill',
  'delWill',
] as const satisfies readonly (keyof Persistence)[];

interface PacketRef {
  readonly cmd: string;
  readonly messageId: number;
  readonly topic?: string;
}

/** Returns the persistence for aedes, which does not handle exceptions in callbacks nor rejections before `finally`. */
export function guardPersistence(persistence: Persistence, { store, onFault }: GuardOptions): object {
  const guarded: Record<string, unknown> = Object.create(null);
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(persistence))) {
    const member = persistence[name as keyof Persistence];
    // aedes requires `setup` to be an async function, which a bound one still is.
    if (typeof member === 'function') guarded[name] = member.bind(persistence);
  }
  const guard = <Packet>(name: keyof Persistence | 'incomingDelPacket', run: Run<Packet>) => {
    guarded[name] = (client: BrokerClient, packet: Packet) =>
      new GuardedPromise(client, () => run(client, packet), onFault);
  };
  for (const name of CLIENT_METHODS) guard(name, persistence[name].bind(persistence) as Run<never>);
  guard('incomingGetPacket', (client, packet: PacketRef) => {
    if (packet.cmd === 'pubrel') return release(store, client, packet.messageId);
    // A publish that was not consumed is delivered already. If PUBREL overtook PUBREC, its id is released and aedes
    // would deliver it again.
    return packet.topic === NOWHERE ? persistence.incomingGetPacket(client, packet as never) : Promise.resolve(packet);
  });
  // A packet id that stays on disk after PUBCOMP would discard the next publish with the same id.
  guard('incomingDelPacket', async (client) => client.clean === false && store.written());
  return guarded;
}

type Run<Packet> = (client: BrokerClient, packet: Packet) => Promise<unknown>;

/** Reason code of PUBCOMP (MQTT 5, 3.7.2.1). */
const PACKET_IDENTIFIER_NOT_FOUND = 0x92;

/**
 * Releases a packet id on PUBREL immediately: aedes deletes it later, and a second PUBREL would find it. Rejects if it
 * does not exist: aedes sends PUBCOMP. For MQTT 5 this function does, and never settles.
 */
function release(store: BrokerStore, client: BrokerClient, messageId: number): Promise<object> {
  if (store.incoming.release(client, messageId)) return Promise.resolve({});
  if (client.version !== 5) return Promise.reject(new Error('no such packet'));
  const respond = () => {
    if (!client.closed) writeResponse(client, { cmd: 'pubcomp', messageId, reasonCode: PACKET_IDENTIFIER_NOT_FOUND });
  };
  // The PUBCOMP of a PUBREL that is being committed is sent first. A broken journal shuts the broker down.
  store.written().then(
    () => setImmediate(respond),
    () => {},
  );
  return new Promise(() => {});
}

type Settled<Value, Result> = ((value: Value) => Result | PromiseLike<Result>) | null | undefined;

/** A promise for one client. Exceptions of its callbacks are reported as faults of the client. */
class GuardedPromise<T> implements PromiseLike<T> {
  readonly #client: ClientRef;
  readonly #promise: Promise<T>;
  readonly #onFault: OnFault;

  constructor(client: ClientRef, run: () => Promise<T>, onFault: OnFault) {
    this.#client = client;
    this.#onFault = onFault;
    try {
      this.#promise = run();
    } catch (error) {
      this.#promise = Promise.reject(error);
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: aedes uses this object as a promise.
  then<Done = T, Failed = never>(done?: Settled<T, Done>, failed?: Settled<unknown, Failed>): Promise<Done | Failed> {
    return this.#promise.then(done && this.#guarded(done), failed && this.#guarded(failed));
  }

  /** Resolves also if the promise rejects, because aedes ignores the promise that `finally` returns. */
  finally(done: () => void): Promise<void> {
    const guarded = this.#guarded(done);
    return this.#promise.then(guarded, (error) => {
      this.#onFault(this.#client, error);
      guarded(undefined);
    });
  }

  /** Called for each acknowledgement, so it has no rest parameters. */
  #guarded<Value, Result>(callback: (value: Value) => Result): (value: Value) => Result {
    return (value) => {
      try {
        return callback(value);
      } catch (error) {
        this.#onFault(this.#client, error);
        return undefined as Result;
      }
    };
  }
}
