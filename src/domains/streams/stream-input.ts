import type { TimeBounds } from '../../data-plane/log/log-message.ts';
import { definitionIssues, NOT_BEFORE, replayIssues } from '../../data-plane/streams/definition/definition-issues.ts';
import {
  DEFAULT_DEFINITION,
  NULLABLE_FIELDS,
  type StreamDefinition,
} from '../../data-plane/streams/model/stream-definition.ts';
import type { ReplayRequest } from '../../data-plane/streams/model/stream-replay.ts';
import { type InputIssue, invalid, ServiceError } from '../../platform/errors.ts';
import { withWrittenNumbers } from '../../platform/text/exact-number.ts';

/* Checks of input. Errors: INVALID, with paths in `input` and the field names of the graph. */

type Given<T> = { readonly [Key in keyof T]?: unknown };

export interface NewStreamInput extends Given<Omit<StreamDefinition, 'name' | 'sourceTopic'>> {
  readonly name: string;
  readonly sourceTopic: string;
}

export type StreamChangesInput = Given<Omit<StreamDefinition, 'name'>>;

export interface ClearInput {
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
}

export interface ReplayInput extends ClearInput {
  readonly topic: string;
  readonly limit?: number | null | undefined;
  readonly speed?: number | null | undefined;
  readonly fastest?: boolean | null | undefined;
  readonly reverse?: boolean | null | undefined;
}

const withoutEmpty = (input: object): [string, unknown][] =>
  Object.entries(input).map(([key, value]) => {
    if (key === 'query') return [key, withWrittenNumbers(value)];
    return [key, value === '' && NULLABLE_FIELDS.has(key) ? null : value];
  });

export function checkedStream(input: NewStreamInput): StreamDefinition {
  const given = withoutEmpty(input).filter(([, value]) => value !== null && value !== undefined);
  const candidate = { ...DEFAULT_DEFINITION, ...Object.fromEntries(given) };
  refuse(definitionIssues(candidate));
  return candidate as StreamDefinition;
}

export function checkedChanges(input: StreamChangesInput): Partial<Omit<StreamDefinition, 'name'>> {
  const changes = Object.fromEntries(withoutEmpty(input).filter(([, value]) => value !== undefined));
  refuse(definitionIssues(changes, { partial: true }));
  return changes;
}

export function checkedBounds({ from, to }: ClearInput): TimeBounds {
  const bounds = { from: from?.getTime() ?? null, to: to?.getTime() ?? null };
  if (bounds.from !== null && bounds.to !== null && bounds.to < bounds.from) {
    refuse([{ path: '/to', reason: NOT_BEFORE }]);
  }
  return bounds;
}

export function checkedReplay({ topic, limit, speed, fastest, reverse, ...bounds }: ReplayInput): ReplayRequest {
  if (fastest === true && speed != null) refuse([{ path: '/speed', reason: 'means nothing together with `fastest`' }]);
  const candidate = {
    topic,
    from: bounds.from?.getTime() ?? null,
    to: bounds.to?.getTime() ?? null,
    limit: limit ?? null,
    speed: fastest === true ? ('fastest' as const) : (speed ?? 1),
    reverse: reverse ?? false,
  };
  refuse(replayIssues(candidate));
  return candidate;
}

export async function placed<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const issues = error instanceof ServiceError && error.code === 'INVALID' ? error.info?.issues : undefined;
    if (Array.isArray(issues)) refuse(issues);
    throw error;
  }
}

/** Throws INVALID if there are issues. Their paths are JSON pointers into a stream or a replay. */
function refuse(issues: readonly InputIssue[]): void {
  if (issues.length === 0) return;
  throw invalid(issues.map(({ path, reason }) => ({ path: placeInInput(path), reason })));
}

const placeInInput = (path: string): string => (path.startsWith('/') ? `input${path.replaceAll('/', '.')}` : path);
