import { Readable } from 'node:stream';
import type { Client } from 'aedes';
import { NOWHERE } from '../store/consumed-publish.ts';
import type { ClientRef } from '../store/incoming-store.ts';
import type { Persistence } from '../store/persistence.ts';
import type { ReleaseIntake } from './release-intake.ts';
import type { RetainedReadings } from './retained-readings.ts';

/** Told what was thrown, or by what a promise was rejected that aedes does not look at, and for which client. */
export type OnFault = (client: ClientRef, error: unknown) => void;

/** Methods of aedes-persistence 10 that concern one client, which is their first argument. */
const OF_CLIENT = [
  'addSubscriptions',
  'removeSubscriptions',
  'subscriptionsByClient',
  'cleanSubscriptions',
  'outgoingUpdate',
  'outgoingClearMessageId',
  'incomingStorePacket',
  'incomingGetPacket',
  'incomingDelPacket',
  'putWill',
  'delWill',
] as const satisfies readonly (keyof Persistence)[];

/**
 * The persistence as aedes is given it. aedes goes on with a client's packet in a callback of the promise, and neither catches what that
 * throws nor what `finally` is told, which would end the thread; here `onFault` is told. PUBREL is served by `releases`, and retained
 * messages after a SUBSCRIBE by `retained`.
 */
export function guardPersistence(
  persistence: Persistence,
  { releases, retained, onFault }: { releases: ReleaseIntake; retained: RetainedReadings; onFault: OnFault },
): object {
  const guarded: Record<string, unknown> = Object.create(null);
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(persistence))) {
    const member = persistence[name as keyof Persistence];
    // aedes looks whether `setup` is an async function, which it stays when it is bound.
    if (typeof member === 'function') guarded[name] = member.bind(persistence);
  }
  for (const name of OF_CLIENT) {
    // Each takes the client, and one argument more or none.
    const run = persistence[name].bind(persistence) as (client: ClientRef, argument: never) => Promise<unknown>;
    guarded[name] = (client: ClientRef, argument: never) =>
      new Attributed(client, () => run(client, argument), onFault);
  }
  const { incomingGetPacket, incomingDelPacket } = persistence;
  const takenIn = (client: Client, packet: PacketRef): Promise<object> => {
    if (packet.cmd === 'pubrel') return releases.take(client, packet.messageId);
    // What was not consumed is delivered already. Its id is gone if PUBREL came before PUBREC: aedes would deliver it again.
    if (packet.topic !== NOWHERE) return Promise.resolve(packet);
    return incomingGetPacket.call(persistence, client, packet as never);
  };
  guarded.incomingGetPacket = (client: Client, packet: PacketRef) =>
    new Attributed(client, () => takenIn(client, packet), onFault);
  guarded.incomingDelPacket = (client: Client, packet: PacketRef) =>
    new Attributed(
      client,
      () =>
        packet.cmd === 'pubrel'
          ? releases.commit(client)
          : incomingDelPacket.call(persistence, client, packet as never),
      onFault,
    );
  guarded.createRetainedStreamCombi = (filters: readonly string[]) => retained.read(filters);
  guarded.outgoingStream = (client: ClientRef) => {
    try {
      return persistence.outgoingStream(client);
    } catch (error) {
      onFault(client, error);
      return Readable.from([]);
    }
  };
  return guarded;
}

interface PacketRef {
  readonly cmd: string;
  readonly messageId: number;
  readonly topic?: string;
}

type Settled<Value, Result> = ((value: Value) => Result | PromiseLike<Result>) | null | undefined;

/** A promise whose callbacks may throw: that is reported with the client for which it was made. */
class Attributed<T> implements PromiseLike<T> {
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

  // biome-ignore lint/suspicious/noThenProperty: aedes takes it for a promise.
  then<Done = T, Failed = never>(done?: Settled<T, Done>, failed?: Settled<unknown, Failed>): Promise<Done | Failed> {
    return this.#promise.then(done && this.#guarded(done), failed && this.#guarded(failed));
  }

  /** As where it is resolved: nobody looks at the promise that is returned. */
  finally(done: () => void): Promise<void> {
    const guarded = this.#guarded(done);
    return this.#promise.then(guarded, (error) => {
      this.#onFault(this.#client, error);
      guarded(undefined);
    });
  }

  /** Called for each acknowledgement, so it takes the one value that promises have. */
  #guarded<Value, Result>(callback: (value: Value) => Result): (value: Value) => Result {
    return (value) => {
      try {
        return callback(value);
      } catch (error) {
        this.#onFault(this.#client, error);
        // Nothing follows it.
        return undefined as Result;
      }
    };
  }
}
