import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtimes.ts';
import { type BridgeEvent, BridgeFeed, type StatusSource } from './bridge-feed.ts';

/** Creates the source of a bridge's status for the current runtime of the broker. */
type SourceOf = (runtime: BrokerRuntime) => StatusSource;

interface Followed {
  readonly feed: BridgeFeed;
  readonly sourceOf: SourceOf;
}

/**
 * The live status of the bridges of one broker. Outlives the connections and settings of the broker: `attach` continues
 * with the new runtime, `detach` retains the last status.
 */
export class BrokerBridgeFeeds {
  readonly #onFault: (error: unknown) => void;
  readonly #followed = new Map<string, Followed>();
  #runtime: BrokerRuntime | null = null;
  #stopStatus: Stop | null = null;

  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  attach(runtime: BrokerRuntime): void {
    this.detach();
    this.#runtime = runtime;
    this.#stopStatus = runtime.link.onStatus(({ state }) => {
      for (const { feed } of this.#followed.values()) feed.connectionIs(state === 'CONNECTED');
    });
    for (const followed of this.#followed.values()) this.#connect(followed, runtime);
  }

  detach(): void {
    this.#stopStatus?.();
    this.#stopStatus = null;
    this.#runtime = null;
    for (const { feed } of this.#followed.values()) feed.detach();
  }

  watch(bridgeId: string, sourceOf: SourceOf, options: SubscriberOptions): Promise<LiveSource<BridgeEvent>> {
    let followed = this.#followed.get(bridgeId);
    if (followed === undefined) {
      const feed = new BridgeFeed({ onIdle: () => this.#end(bridgeId), onFault: this.#onFault });
      followed = { feed, sourceOf };
      this.#followed.set(bridgeId, followed);
      if (this.#runtime !== null) this.#connect(followed, this.#runtime);
    }
    return followed.feed.watch(options);
  }

  close(): void {
    this.detach();
    for (const bridgeId of [...this.#followed.keys()]) this.#end(bridgeId);
  }

  #connect({ feed, sourceOf }: Followed, runtime: BrokerRuntime): void {
    feed.attach(sourceOf(runtime));
    feed.connectionIs(runtime.link.status.state === 'CONNECTED');
  }

  #end(bridgeId: string): void {
    this.#followed.get(bridgeId)?.feed.close();
    this.#followed.delete(bridgeId);
  }
}
