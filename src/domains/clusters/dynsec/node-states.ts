import type { ServiceError } from '../../../platform/errors.ts';
import type { NodeDifference, NodeSyncState } from '../model/cluster.ts';

interface NodeState {
  readonly state: NodeSyncState;
  readonly since: number;
  readonly differences: readonly NodeDifference[];
  readonly error: ServiceError | null;
}

const UNKNOWN = { state: 'UNKNOWN', differences: [], error: null } as const;

export class NodeStates {
  readonly #onChange: () => void;
  readonly #states = new Map<number, NodeState>();
  readonly #since = Date.now();

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  of(nodeId: number): NodeState {
    return this.#states.get(nodeId) ?? { ...UNKNOWN, since: this.#since };
  }

  set(
    nodeId: number,
    { state, differences = [], error = null }: Pick<NodeState, 'state'> & Partial<Omit<NodeState, 'since'>>,
  ): void {
    const before = this.of(nodeId);
    const since = before.state === state ? before.since : Date.now();
    this.#states.set(nodeId, { state, since, differences, error });
    const isSame =
      before.state === state && before.error?.message === error?.message && sameNames(before.differences, differences);
    if (!isSame) this.#onChange();
  }

  delete(nodeId: number): void {
    this.#states.delete(nodeId);
  }
}

const sameNames = (one: readonly NodeDifference[], other: readonly NodeDifference[]): boolean =>
  one.length === other.length &&
  one.every(({ kind, name }, index) => kind === other[index]?.kind && name === other[index]?.name);
