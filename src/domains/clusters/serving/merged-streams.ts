import { getStream, listStreams } from '../../../data-plane/streams/control/stream-control.ts';
import type { StreamEntry } from '../../../data-plane/streams/control/stream-wire.ts';
import { nullOn } from '../../../platform/errors.ts';
import { type CallNode, type ClusterNodes, failureText, type NodeEntry, type NodeFailure } from './cluster-nodes.ts';
import { mergedStream, type NodeWithoutStream } from './stream-merge.ts';
import type { NodeValue } from './topic-merge.ts';

export interface FoundStream {
  readonly name: string;
  readonly present: readonly { readonly node: NodeEntry; readonly value: StreamEntry }[];
  readonly absent: readonly NodeEntry[];
  readonly failures: readonly NodeFailure[];
  readonly unsupported: readonly NodeFailure[];
}

interface ListedByNodes {
  readonly streams: readonly StreamEntry[];
  readonly problem: string | null;
}

/** How long a list is cached for the next page: all pages of a list come from one read of all nodes. */
const NEXT_PAGE_MS = 1_000;

/** Merges the streams of all nodes. Errors of all methods: that of the first node if all nodes fail. */
export class MergedStreams {
  readonly #options: { readonly nodes: ClusterNodes; readonly call: CallNode };
  #last: { readonly listed: ListedByNodes; readonly timer: NodeJS.Timeout } | null = null;

  constructor(options: { readonly nodes: ClusterNodes; readonly call: CallNode }) {
    this.#options = options;
  }

  async list({ isContinued }: { readonly isContinued: boolean }): Promise<ListedByNodes> {
    const listed = (isContinued ? this.#last?.listed : null) ?? (await this.#read());
    this.invalidate();
    this.#last = { listed, timer: setTimeout(() => this.invalidate(), NEXT_PAGE_MS).unref() };
    return listed;
  }

  invalidate(): void {
    clearTimeout(this.#last?.timer);
    this.#last = null;
  }

  async find(name: string): Promise<FoundStream> {
    const { nodes, call } = this.#options;
    const { results, failures } = await nodes.callAll((node) =>
      call(node, (controls) => getStream(controls, name)).catch(nullOn('NOT_FOUND')),
    );
    return {
      name,
      present: results.flatMap(({ node, value }) => (value === null ? [] : [{ node, value }])),
      absent: results.flatMap(({ node, value }) => (value === null ? [node] : [])),
      failures: failures.filter((failure) => !isUnsupported(failure)),
      unsupported: failures.filter(isUnsupported),
    };
  }

  merged({ present, absent, failures, unsupported }: FoundStream): StreamEntry {
    const entries = present.map(({ node: { nodeId }, value }) => ({ nodeId, value }));
    return mergedStream(entries, [...absent.map(missingOn), ...[...failures, ...unsupported].map(failedOn)]);
  }

  async #read(): Promise<ListedByNodes> {
    const { nodes, call } = this.#options;
    const { results, failures } = await nodes.callAll((node) =>
      call(node, async (controls) => (await listStreams(controls)).items),
    );
    const byName = new Map<string, NodeValue<StreamEntry>[]>();
    for (const { nodeId, value: entries } of results) {
      for (const value of entries) {
        const { name } = value.definition;
        const known = byName.get(name) ?? [];
        byName.set(name, known);
        // A broker may list a stream twice.
        if (known.at(-1)?.nodeId !== nodeId) known.push({ nodeId, value });
      }
    }
    const lacking = failures.map(failedOn);
    const streams = Array.from(byName.values(), (entries) => {
      const there = new Set(entries.map(({ nodeId }) => nodeId));
      const absent = results.filter(({ node }) => !there.has(node.nodeId)).map(({ node }) => missingOn(node));
      return mergedStream(entries, [...absent, ...lacking]);
    });
    return { streams, problem: failureText(failures) };
  }
}

const missingOn = ({ nodeId }: NodeEntry): NodeWithoutStream => ({ nodeId, isUnknown: false, problem: null });

const isUnsupported = ({ error: { code } }: NodeFailure): boolean => code === 'NOT_SUPPORTED_BY_BROKER';

const failedOn = (failure: NodeFailure): NodeWithoutStream => ({
  nodeId: failure.node.nodeId,
  isUnknown: !isUnsupported(failure),
  problem: failure.error.message,
});
