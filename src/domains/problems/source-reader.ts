import type { Logger } from 'pino';
import { Outages } from '../../platform/outages.ts';
import { type FactScope, keyOf, type ProblemFact } from './model/problem-fact.ts';
import { type Facts, MAX_FACTS, type ProblemSubject, type Source } from './model/problem-source.ts';

export interface Reading {
  readonly scope: FactScope;
  readonly facts: ReadonlyMap<string, ProblemFact>;
  /** Whether it is not known now if there are facts about a subject. */
  readonly isUnknown: (subject: ProblemSubject) => boolean;
}

const NOTHING_KNOWN = { facts: [], isUnknown: () => true };

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

  read<One extends Source>(scope: FactScope, sources: readonly One[], factsOf: (source: One) => Facts): Reading {
    const facts = new Map<string, ProblemFact>();
    const unknown: Reading['isUnknown'][] = [];
    for (const source of sources) {
      const found = this.#factsOf(source, factsOf) ?? NOTHING_KNOWN;
      const known = 'facts' in found ? found.facts : found;
      for (const fact of known.slice(0, MAX_FACTS)) facts.set(keyOf(fact, scope), fact);
      if ('isUnknown' in found)
        unknown.push((subject) => source.kinds.includes(subject.kind) && found.isUnknown(subject));
    }
    return { scope, facts, isUnknown: (subject) => unknown.some((isUnknown) => isUnknown(subject)) };
  }

  /** Called for each source and broker every two seconds. */
  #factsOf<One extends Source>(source: One, factsOf: (source: One) => Facts): Facts {
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
