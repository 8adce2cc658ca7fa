import { ServiceError } from '../../../platform/errors.ts';
import { getStream, listStreams } from '../../streams/control/stream-control.ts';
import type { StreamEntry } from '../../streams/control/stream-wire.ts';
import { mergedStream, type NodeWithout } from './merging-streams.ts';
import type { OfNode } from './merging-topics.ts';
import { type AskNode, type NodeFailure, type ServingNode, type ServingNodes, wordsOf } from './serving-nodes.ts';

/** A stream of a cluster by its name, as it was found. */
export interface FoundStream {
  readonly name: string;
  /** By number. */
  readonly present: readonly { readonly node: ServingNode; readonly told: StreamEntry }[];
  readonly absent: readonly ServingNode[];
  /** Of nodes that could not be asked. */
  readonly failures: readonly NodeFailure[];
  /** Of nodes that run no streams, which is why they do not have it. */
  readonly unable: readonly NodeFailure[];
}

export interface ListedByNodes {
  /** In the order of the first node, then those that only later ones have. */
  readonly streams: readonly StreamEntry[];
  /** Which nodes could not be asked, and why; null: all were. */
  readonly problem: string | null;
}

/** Milliseconds from one page to the next: a list is read of all nodes whole, and its pages are of one reading. */
const NEXT_PAGE_MS = 1_000;

/** The streams of all nodes of a cluster. Errors of all: of the first node, where none can be asked. */
export class MergedStreams {
  readonly #nodes: ServingNodes;
  readonly #ask: AskNode;
  #last: { readonly listed: ListedByNodes; readonly timer: NodeJS.Timeout } | null = null;

  constructor({ nodes, ask }: { readonly nodes: ServingNodes; readonly ask: AskNode }) {
    this.#nodes = nodes;
    this.#ask = ask;
  }

  /** `isContinued`: a later page of what was read just now, if that is still at hand. */
  async all({ isContinued }: { readonly isContinued: boolean }): Promise<ListedByNodes> {
    const listed = (isContinued ? this.#last?.listed : null) ?? (await this.#read());
    this.forget();
    this.#last = { listed, timer: setTimeout(() => this.forget(), NEXT_PAGE_MS).unref() };
    return listed;
  }

  /** Something was changed: the next list is read. */
  forget(): void {
    clearTimeout(this.#last?.timer);
    this.#last = null;
  }

  async find(name: string): Promise<FoundStream> {
    const { answers, failures } = await this.#nodes.each((node) =>
      this.#ask(node, (controls) => getStream(controls, name)).catch(notThere),
    );
    return {
      name,
      present: answers.flatMap(({ node, answer }) => (answer === null ? [] : [{ node, told: answer }])),
      absent: answers.flatMap(({ node, answer }) => (answer === null ? [node] : [])),
      failures: failures.filter((failure) => !isUnable(failure)),
      unable: failures.filter(isUnable),
    };
  }

  merged({ present, absent, failures, unable }: FoundStream): StreamEntry {
    const entries = present.map(({ node: { nodeId }, told }) => ({ nodeId, told }));
    return mergedStream(entries, [...absent.map(without), ...[...failures, ...unable].map(unasked)]);
  }

  async #read(): Promise<ListedByNodes> {
    const { answers, failures } = await this.#nodes.each((node) =>
      this.#ask(node, async (controls) => (await listStreams(controls)).items),
    );
    const byName = new Map<string, OfNode<StreamEntry>[]>();
    for (const { node, answer } of answers) {
      for (const told of answer) {
        const { name } = told.definition;
        const known = byName.get(name) ?? [];
        byName.set(name, known);
        // A broker may list one twice.
        if (known.at(-1)?.nodeId !== node.nodeId) known.push({ nodeId: node.nodeId, told });
      }
    }
    const lacking = failures.map(unasked);
    const streams = Array.from(byName.values(), (entries) => {
      const there = new Set(entries.map(({ nodeId }) => nodeId));
      const absent = answers.filter(({ node }) => !there.has(node.nodeId)).map(({ node }) => without(node));
      return mergedStream(entries, [...absent, ...lacking]);
    });
    return { streams, problem: wordsOf(failures) };
  }
}

const without = ({ nodeId }: ServingNode): NodeWithout => ({ nodeId, isUnknown: false, problem: null });

const isUnable = ({ error: { code } }: NodeFailure): boolean => code === 'NOT_SUPPORTED_BY_BROKER';

const unasked = (failure: NodeFailure): NodeWithout => ({
  nodeId: failure.node.nodeId,
  isUnknown: !isUnable(failure),
  problem: failure.error.message,
});

function notThere(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'NOT_FOUND') return null;
  throw error;
}
