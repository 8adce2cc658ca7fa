import type { TopicKind } from '../../data-plane/topic-tree/model/topic-recorder.ts';
import { invalid } from '../../platform/errors.ts';
import { filterProblem } from '../../protocol/mqtt/topics.ts';

export interface SelectionInput {
  readonly kind?: TopicKind | null | undefined;
  readonly prefix?: string | null | undefined;
  readonly search?: string | null | undefined;
  readonly filter?: string | null | undefined;
}

/** Validates a selection. Errors: INVALID, with an issue for each argument that is not valid. */
export function checkedSelection({ kind, prefix, search, filter }: SelectionInput) {
  const known = kind ?? 'PUBLISHED';
  const problems = {
    prefix: prefix == null ? null : prefixProblem(prefix, known),
    search: search == null ? null : textProblem(search),
    filter: filter == null ? null : filterProblem(filter),
  };
  const issues = Object.entries(problems).flatMap(([path, reason]) => (reason === null ? [] : [{ path, reason }]));
  if (issues.length > 0) throw invalid(issues);
  return { kind: known, prefix: prefix ?? undefined, search: search ?? undefined, filter: filter ?? undefined };
}

/** Maximum length of a topic, in bytes. */
const MAX_LENGTH = 65_535;

/** Errors: INVALID for texts that are longer than any topic, so that no request is sent to a broker. */
export function checkedLengths(texts: Readonly<Record<string, string | null | undefined>>): void {
  const issues = Object.entries(texts).flatMap(([path, text]) =>
    text != null && text.length > MAX_LENGTH ? [{ path, reason: TOO_LONG }] : [],
  );
  if (issues.length > 0) throw invalid(issues);
}

const TOO_LONG = `must not exceed ${MAX_LENGTH} characters`;

function textProblem(text: string): string | null {
  if (text === '') return 'must not be empty: leave it out for all topics';
  if (text.length > MAX_LENGTH) return TOO_LONG;
  return text.includes('\0') ? 'must not contain NUL' : null;
}

/** A trailing `/` or `/#` is accepted, because many users write it for everything below a level. */
function prefixProblem(prefix: string, kind: TopicKind): string | null {
  const problem = textProblem(prefix);
  if (problem !== null) return problem;
  const levels = prefix.replace(/\/#?$/, '');
  if (levels === '') return `must name a level: for topics that begin with "/" use the filter "/#"`;
  if (kind === 'PUBLISHED' && /[+#]/.test(levels)) return 'must not contain + or #: use filter for those that match';
  return null;
}
