import { createHash } from 'node:crypto';
import type { Statement } from '../../../protocol/problems/problem-statements.ts';
import { PROBLEM_KINDS, type ProblemKind, type ProblemSeverity } from './problem-kinds.ts';

/** Something that is wrong now. */
export interface ProblemFact {
  readonly kind: ProblemKind;
  /** Global id of the object that has the problem. `null` if it is no object of the graph. */
  readonly subjectId: string | null;
  readonly subjectName: string;
  /** Distinguishes facts of one kind about one subject. Default: there is one. */
  readonly part?: string;
  /** The detail. */
  readonly statements: readonly Statement[];
  /** How often it appeared since the last reading. Default: once if the last reading was without it. */
  readonly times?: number;
  /** Default: the text of the kind. */
  readonly whatWouldHelp?: string;
  /** Default: the severity of the kind. */
  readonly severity?: ProblemSeverity;
}

export const severityOf = ({ kind, severity }: ProblemFact): ProblemSeverity =>
  severity ?? PROBLEM_KINDS[kind].severity;

/** What facts are about: a broker, a project, or, if both are `null`, the service. */
export interface FactScope {
  readonly projectId: string | null;
  readonly brokerId: string | null;
  readonly brokerName?: string | null;
}

const MAX_KEY = 300;
export const MAX_TEXT = 4_000;

/** Identifies a problem over its openings: names of clients may be long, so a long key is hashed. */
export function keyOf(
  { kind, subjectId, subjectName, part = '' }: Omit<ProblemFact, 'statements'>,
  { projectId, brokerId }: FactScope,
): string {
  const key = JSON.stringify([kind, brokerId ?? projectId, subjectId ?? subjectName, part]);
  return key.length <= MAX_KEY ? key : `${kind} ${createHash('sha256').update(key).digest('hex')}`;
}
