import { type Fields, isFields } from '../../../protocol/control/fields.ts';
import { STREAM_NODE_STATES, type StreamOnNode } from '../model/stream-nodes.ts';
import { readReport } from './report-wire.ts';

const MAX_NODES = 1_000;
const MAX_TEXT = 1_000;
const MAX_DIFFERENCES = 20;

/** Reads the states of a cluster's stream on its nodes, from a plugin of this service. `null` if not readable. */
export function readStreamNodes(value: unknown): readonly StreamOnNode[] | null {
  if (!Array.isArray(value)) return null;
  return value.slice(0, MAX_NODES).flatMap((one: unknown) => {
    const node = isFields(one) ? readNode(one) : null;
    return node === null ? [] : [node];
  });
}

function readNode({ nodeId, state: told, differences, report, problem }: Fields): StreamOnNode | null {
  const state = STREAM_NODE_STATES.find((known) => known === told);
  if (state === undefined || typeof nodeId !== 'number') return null;
  const names: readonly unknown[] = Array.isArray(differences) ? differences.slice(0, MAX_DIFFERENCES) : [];
  return {
    nodeId,
    state,
    differences: names.filter((name) => typeof name === 'string').map((name) => name.slice(0, MAX_TEXT)),
    report: readReport(report),
    problem: typeof problem === 'string' ? problem.slice(0, MAX_TEXT) : null,
  };
}
