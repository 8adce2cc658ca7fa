import type { Logger } from 'pino';
import { Outages } from '../../platform/outages.ts';
import { type FactScope, keyOf, type ProblemFact } from './model/problem-fact.ts';
import type { ProblemKind } from './model/problem-kinds.ts';
import { MAX_FACTS, type Source } from './model/problem-source.ts';

/** The facts of a scope by their keys. */
export interface Reading {
  readonly scope: FactScope;
  readonly facts: ReadonlyMap<string, ProblemFact>;
  /** Kinds whose facts are not known now. */
  readonly unknown: ReadonlySet<ProblemKind>;
}

/** Reads sources. What one that throws would find is not known, and the others are read nevertheless. */
export class SourceReader {
  readonly #refreshing = new Set<Source>();
  readonly #outages: Outages;

  constructor(log: Logger) {
    this.#outages = new Outages({ what: 'a source of problems', log });
  }

  /** Not while an earlier call for the same source is running. Never rejects. */
  async refresh(source: Source): Promise<void> {
    if (source.refresh === undefined || this.#refreshing.has(source)) return;
    const { kinds } = source;
    const key = `refresh ${kinds[0]}`;
    this.#refreshing.add(source);
    try {
      await source.refresh();
      this.#outages.up(key, { kinds });
    } catch (error) {
      this.#outages.down(key, { kinds, err: error });
    } finally {
      this.#refreshing.delete(source);
    }
  }

  read<One extends Source>(
    scope: FactScope,
    sources: readonly One[],
    factsOf: (source: One) => readonly ProblemFact[] | null,
  ): Reading {
    const facts = new Map<string, ProblemFact>();
    const unknown = new Set<ProblemKind>();
    for (const source of sources) {
      const found = this.#factsOf(source, factsOf);
      if (found === null) for (const kind of source.kinds) unknown.add(kind);
      else for (const fact of found.slice(0, MAX_FACTS)) facts.set(keyOf(fact, scope), fact);
    }
    return { scope, facts, unknown };
  }

  /** Called for each source and broker every two seconds. */
  #factsOf<One extends Source>(
    source: One,
    factsOf: (source: One) => readonly ProblemFact[] | null,
  ): readonly ProblemFact[] | null {
    // A kind belongs to one source.
    const key = source.kinds[0] ?? '';
    try {
      const found = factsOf(source);
      this.#outages.up(key, { kinds: source.kinds });
      return found;
    } catch (error) {
      this.#outages.down(key, { kinds: source.kinds, err: error });
      return null;
    }
  }
}
