import { namedNodeId } from '../../gateway/named-node-id.ts';
import type { ControlProvider } from '../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { StreamEntry } from './control/stream-wire.ts';

/** A stream of a broker as callers see it. */
export interface StreamView extends StreamEntry {
  /** Id in the graph, which depends on the name only. */
  readonly id: string;
  readonly broker: BrokerRecord;
  /** The server of the broker's streams. */
  readonly provider: ControlProvider;
}

export const streamNodeId = ({ id }: BrokerRecord, name: string): string =>
  namedNodeId({ kind: 'stream', brokerId: id, name });

export const streamView = (broker: BrokerRecord, provider: ControlProvider, entry: StreamEntry): StreamView => ({
  ...entry,
  id: streamNodeId(broker, entry.definition.name),
  broker,
  provider,
});
