import { type Fields, fieldsOf, isFields, timeOf } from '../../../protocol/control/fields.ts';
import { STREAM_NODE_STATES, type StreamOnNode } from '../model/stream-nodes.ts';
import type { ReplayProgress, ReplayRequest, ReplaySpeed, ReplayState } from '../model/stream-replay.ts';
import type {
  Reason,
  StorageState,
  StreamCounters,
  StreamReport,
  StreamState,
  StreamStorage,
} from '../model/stream-report.ts';

const STREAM_STATES: readonly StreamState[] = ['RUNNING', 'INACTIVE', 'WAITING', 'REFUSED', 'FAILED'];
const STORAGE_STATES: readonly StorageState[] = ['OFF', 'STORING', 'FULL', 'FAILED'];
const REPLAY_STATES: readonly ReplayState[] = ['RUNNING', 'PAUSED', 'DONE', 'STOPPED', 'FAILED'];

const MAX_TEXT = 1_000;
const MAX_NODES = 1_000;
const MAX_DIFFERENCES = 20;
const MAX_TOPIC = 65_535;

/** Writes a report. Where a replay would continue is known in its process only. */
export function reportObject(report: StreamReport): Fields {
  if (report.replay === null) return { ...report };
  const { checkpoint: _checkpoint, ...replay } = report.replay;
  return { ...report, replay };
}

/** Reads the report of a plugin of this service. `null` if there is no readable report. */
export function readReport(value: unknown): StreamReport | null {
  if (!isFields(value)) return null;
  const state = STREAM_STATES.find((known) => known === value.state);
  if (state === undefined) return null;
  return {
    state,
    problem: textOf(value.problem),
    counters: readCounters(fieldsOf(value.counters)),
    storage: readStorage(fieldsOf(value.storage)),
    replay: readReplay(value.replay),
  };
}

function readCounters(fields: Fields): StreamCounters {
  return {
    since: timeOf(fields.since) ?? 0,
    received: countOf(fields.received),
    published: countOf(fields.published),
    stored: countOf(fields.stored),
    filtered: countOf(fields.filtered),
    failed: countOf(fields.failed),
    notStored: countOf(fields.notStored),
    replayed: countOf(fields.replayed),
    lastReceived: timeOf(fields.lastReceived),
    lastError: readReason(fields.lastError),
    lastFiltered: readReason(fields.lastFiltered),
  };
}

function readReason(value: unknown): Reason | null {
  const { at, reason } = fieldsOf(value);
  const text = textOf(reason);
  return text === null ? null : { at: timeOf(at) ?? 0, reason: text };
}

function readStorage(fields: Fields): StreamStorage {
  return {
    state: STORAGE_STATES.find((known) => known === fields.state) ?? 'OFF',
    messages: countOf(fields.messages),
    bytes: countOf(fields.bytes),
    oldest: timeOf(fields.oldest),
    newest: timeOf(fields.newest),
    problem: textOf(fields.problem),
  };
}

function readReplay(value: unknown): ReplayProgress | null {
  if (!isFields(value)) return null;
  const state = REPLAY_STATES.find((known) => known === value.state);
  if (state === undefined) return null;
  return {
    id: countOf(value.id),
    jobId: textOf(value.jobId),
    state,
    request: readRequest(fieldsOf(value.request)),
    published: countOf(value.published),
    total: countOf(value.total),
    position: timeOf(value.position),
    startedAt: timeOf(value.startedAt) ?? 0,
    endedAt: timeOf(value.endedAt),
    problem: textOf(value.problem),
    checkpoint: null,
  };
}

function readRequest(fields: Fields): ReplayRequest {
  const limit = countOf(fields.limit);
  return {
    topic: typeof fields.topic === 'string' ? fields.topic.slice(0, MAX_TOPIC) : '',
    from: timeOf(fields.from),
    to: timeOf(fields.to),
    limit: limit === 0 ? null : limit,
    speed: speedOf(fields.speed),
    reverse: fields.reverse === true,
  };
}

/** Parses the states of a stream on the nodes of a cluster. Returns `null` if `value` is not an array. */
export function readStreamNodes(value: unknown): readonly StreamOnNode[] | null {
  if (!Array.isArray(value)) return null;
  return value.slice(0, MAX_NODES).flatMap((one: unknown) => {
    const node = isFields(one) ? readNode(one) : null;
    return node === null ? [] : [node];
  });
}

function readNode({ nodeId, state: given, differences, report, problem }: Fields): StreamOnNode | null {
  const state = STREAM_NODE_STATES.find((known) => known === given);
  if (state === undefined || typeof nodeId !== 'number') return null;
  const names: readonly unknown[] = Array.isArray(differences) ? differences.slice(0, MAX_DIFFERENCES) : [];
  return {
    nodeId,
    state,
    differences: names.filter((name) => typeof name === 'string').map((name) => name.slice(0, MAX_TEXT)),
    report: readReport(report),
    problem: typeof problem === 'string' ? problem.slice(0, MAX_TEXT) : null,
  };
}

export const countOf = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER) : 0;

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : null;

const speedOf = (value: unknown): ReplaySpeed => {
  if (value === 'fastest') return value;
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : 1;
};
