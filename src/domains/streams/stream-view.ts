import type { StreamEntry } from '../../data-plane/streams/control/stream-wire.ts';
import type { StreamDefinition } from '../../data-plane/streams/model/stream-definition.ts';
import type { StreamOnNode } from '../../data-plane/streams/model/stream-nodes.ts';
import type { StreamReport } from '../../data-plane/streams/model/stream-report.ts';
import { namedNodeId } from '../../gateway/named-node-id.ts';
import type { ControlProvider } from '../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';

/** A report whose fields are `null` if the server of the streams sends no reports. */
type MaybeReport = { readonly [Field in keyof StreamReport]: StreamReport[Field] | null };

const NO_REPORT: MaybeReport = { state: null, problem: null, counters: null, storage: null, replay: null };

export interface StreamView extends StreamDefinition, MaybeReport {
  readonly id: string;
  readonly broker: BrokerRecord;
  readonly provider: ControlProvider;
  readonly replaying: boolean;
  /** `null` unless the nodes of a cluster run their own streams. */
  readonly nodes: readonly StreamOnNodeView[] | null;
}

/** A stream on one node of a cluster. `broker` represents the whole cluster. */
export interface StreamOnNodeView extends Pick<StreamOnNode, 'nodeId' | 'differences'>, MaybeReport {
  readonly sync: StreamOnNode['state'];
  readonly broker: BrokerRecord;
}

export const streamNodeId = ({ id }: Pick<BrokerRecord, 'id'>, name: string): string =>
  namedNodeId({ kind: 'stream', brokerId: id, name });

export const streamView = (
  broker: BrokerRecord,
  provider: ControlProvider,
  { definition, report, replaying, nodes }: StreamEntry,
): StreamView => ({
  ...definition,
  ...(report ?? NO_REPORT),
  id: streamNodeId(broker, definition.name),
  broker,
  provider,
  replaying,
  nodes: nodes?.map((node) => nodeView(broker, node)) ?? null,
});

const nodeView = (broker: BrokerRecord, node: StreamOnNode): StreamOnNodeView => ({
  ...(node.report ?? NO_REPORT),
  broker,
  nodeId: node.nodeId,
  sync: node.state,
  differences: node.differences,
  problem: node.problem ?? node.report?.problem ?? null,
});
