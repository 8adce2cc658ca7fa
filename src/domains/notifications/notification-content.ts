import { PROBLEM_KINDS, type ProblemSeverity } from '../problems/model/problem-kinds.ts';
import type { ProblemChange } from '../problems/storage/problem-changes.ts';

/** A change of a problem as plain JSON, with times in ISO 8601. Other objects are `null` if the problem has none. */
export interface ProblemNotice {
  readonly change: ProblemChange['change'];
  readonly id: string;
  readonly kind: string;
  readonly severity: ProblemSeverity;
  readonly title: string;
  readonly detail: string;
  readonly whatWouldHelp: string;
  readonly project: NamedObject | null;
  readonly broker: NamedObject | null;
  /** The object that has the problem. */
  readonly subject: { readonly id: string | null; readonly name: string };
  readonly openedAt: string;
  readonly closedAt: string | null;
  readonly count: number;
}

interface NamedObject {
  readonly id: string;
  readonly name: string;
}

/** What one message of a channel is about. */
export interface NotificationContent {
  readonly type: 'problem.opened' | 'problem.closed' | 'problem.digest' | 'test';
  /** ISO 8601: when the message was created. */
  readonly timestamp: string;
  /** At least one. Several only in a digest. */
  readonly notices: readonly ProblemNotice[];
}

interface NameCache {
  get(id: string): { readonly name: string } | null;
}

export interface Names {
  readonly projects: NameCache;
  readonly brokers: NameCache;
}

const MAX_TEXT = 1_000;

export function noticeOf({ change, at, problem }: ProblemChange, { projects, brokers }: Names): ProblemNotice {
  const { id, kind, severity, subjectId, subjectName, detail, openedAt, count } = problem;
  const { title, whatWouldHelp } = PROBLEM_KINDS[kind];
  return {
    change,
    id,
    kind,
    severity,
    title,
    detail: detail.slice(0, MAX_TEXT),
    whatWouldHelp: (problem.whatWouldHelp ?? whatWouldHelp).slice(0, MAX_TEXT),
    project: named(problem.projectId, projects, null),
    broker: named(problem.brokerId, brokers, problem.brokerName),
    subject: { id: subjectId, name: subjectName.slice(0, MAX_TEXT) },
    openedAt: openedAt.toISOString(),
    closedAt: change === 'CLOSED' ? at.toISOString() : null,
    count,
  };
}

/** `before`: its name while it was there. */
const named = (id: string | null, cache: NameCache, before: string | null): NamedObject | null =>
  id === null ? null : { id, name: cache.get(id)?.name ?? before ?? id };

/** Notices that are sent together; more than one makes a digest. */
export function contentOf(notices: readonly [ProblemNotice, ...ProblemNotice[]], at: Date): NotificationContent {
  const [{ change }] = notices;
  const single = change === 'OPENED' ? 'problem.opened' : 'problem.closed';
  return { type: notices.length === 1 ? single : 'problem.digest', timestamp: at.toISOString(), notices };
}

/** The message of `testNotificationChannel`. `id`: of its problem. */
export function testContent(project: NamedObject | null, at: Date, id = 'test'): NotificationContent {
  const timestamp = at.toISOString();
  const notice: ProblemNotice = {
    change: 'OPENED',
    id,
    kind: 'BROKER_UNREACHABLE',
    severity: 'NOTICE',
    title: 'This is a test of a notification channel',
    detail: 'No problem was found.',
    whatWouldHelp: 'Nothing needs to be done.',
    project,
    broker: null,
    subject: { id: null, name: 'the channel' },
    openedAt: timestamp,
    closedAt: null,
    count: 1,
  };
  return { type: 'test', timestamp, notices: [notice] };
}

/** The closing of the problem of a test. */
export const closedTest = ({ type, timestamp, notices }: NotificationContent): NotificationContent => ({
  type,
  timestamp,
  notices: notices.map((notice) => ({ ...notice, change: 'CLOSED', closedAt: timestamp })),
});
