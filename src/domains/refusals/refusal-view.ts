import { namedNodeId } from '../../gateway/named-node-id.ts';
import type { Refusal } from '../../protocol/apis/refusals/refusal.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';

export interface RefusalView {
  readonly id: string;
  readonly broker: BrokerRecord;
  readonly refusal: Refusal;
}

export const viewOf = (broker: BrokerRecord, refusal: Refusal): RefusalView => ({
  id: refusalNodeId(broker.id, refusal.id),
  broker,
  refusal,
});

export const refusalNodeId = (brokerId: string, name: string): string =>
  namedNodeId({ kind: 'refusal', brokerId, name });
