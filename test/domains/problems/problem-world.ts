import { expect } from 'vitest';
import { CHECK_MS } from '../../../src/domains/problems/model/problem-kinds.ts';
import { textOf } from '../../../src/protocol/problems/problem-statements.ts';
import type { TestService } from '../../support/service.ts';

const PROBLEM = `id kind severity title detail statements { code parameters } whatWouldHelp subjectId subjectName
  subject { __typename ... on Node { id } } broker { id } brokerName project { id }
  openedAt closedAt lastSeenAt count acknowledgement { by at note } isSilenced`;

const LIST = `query ($filter: ProblemFilter) { problems(filter: $filter, first: 200) { nodes { ${PROBLEM} } } }`;

/** A wait for an event of a busy machine, not a bound of the product. */
export const SLOW = { timeout: 90_000, interval: 250 };

// biome-ignore lint/suspicious/noExplicitAny: a problem of the graph.
type Problem = any;

export async function problemsOf(service: TestService, filter: object, token?: string): Promise<Problem[]> {
  const { data, errors } = await service.graphql(LIST, { filter }, token);
  expect(errors).toBeUndefined();
  return data.problems.nodes;
}

/** Waits until exactly one problem of the kind is open, and returns it. */
export async function opened(service: TestService, kind: string, filter: object = {}): Promise<Problem> {
  let found: Problem[] = [];
  const count = async () => {
    found = await problemsOf(service, { kinds: [kind], ...filter });
    return found.length;
  };
  await expect.poll(count, SLOW).toBe(1);
  const [problem] = found;
  expect({ kind, stated: textOf(problem.statements) }).toEqual({ kind, stated: problem.detail });
  return problem;
}

/** Waits until no problem of the kind is open. */
export async function closed(service: TestService, kind: string): Promise<void> {
  await expect.poll(() => problemsOf(service, { kinds: [kind] }), SLOW).toEqual([]);
}

/** As `closed`, at most half a minute after the repair at `repairedAt` by the problem's own time. */
export async function closedAfter(service: TestService, kind: string, repairedAt: number): Promise<void> {
  await closed(service, kind);
  const times = (await problemsOf(service, { kinds: [kind], isOpen: false })).map((one) => Date.parse(one.closedAt));
  const tookMs = Math.max(...times) - repairedAt;
  expect({ kind, tookMs: tookMs <= CLOSED_MS ? 'in time' : tookMs }).toEqual({ kind, tookMs: 'in time' });
}

/**
 * In milliseconds: how soon a problem opens, and one whose fact must last for a threshold. By the timers of the service
 * it takes 10 s at most, and one of them, a check, may be late.
 */
const SOON_MS = 10_000 + CHECK_MS;
export const LASTING_MS = 30_000;
const CLOSED_MS = 30_000;

interface Cause {
  readonly causedAt: number;
  readonly withinMs?: number;
  readonly brokerIds?: readonly string[];
  readonly isOpen?: null;
}

/** As `opened`, within `withinMs` after the cause at `causedAt` by the problem's own time, with a remedy. */
export async function openedAfter(
  service: TestService,
  kind: string,
  { causedAt, withinMs = SOON_MS, ...filter }: Cause,
): Promise<Problem> {
  const problem = await opened(service, kind, filter);
  const tookMs = Date.parse(problem.openedAt) - causedAt;
  expect({ kind, tookMs: tookMs > 0 && tookMs <= withinMs ? 'in time' : tookMs }).toEqual({ kind, tookMs: 'in time' });
  expect(problem.whatWouldHelp).not.toBe('');
  return problem;
}
