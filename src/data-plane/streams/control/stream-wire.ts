import { isDeepStrictEqual } from 'node:util';
import { NO_END } from '../../../protocol/apis/license.ts';
import { type Fields, fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { TimeBounds } from '../../log/log-message.ts';
import { MAX_TTL } from '../definition/definition-issues.ts';
import {
  DEFAULT_DEFINITION,
  NULLABLE_FIELDS,
  type StreamDefinition,
  type StreamQos,
} from '../model/stream-definition.ts';
import type { StreamOnNode } from '../model/stream-nodes.ts';
import type { StreamQuery } from '../model/stream-query.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';
import { readReport, readStreamNodes, reportObject } from './report-wire.ts';

export interface StreamEntry {
  readonly definition: StreamDefinition;
  readonly replaying: boolean;
  /** `null` if the API's server sends no report. */
  readonly report: StreamReport | null;
  /** State on each node by number, for a stream of a cluster whose nodes run their own streams. */
  readonly nodes?: readonly StreamOnNode[];
}

type Key = keyof Omit<StreamDefinition, 'name'>;

/** The field names of commands by those of the model. */
const SPELLINGS = {
  sourceTopic: 'sourcetopic',
  targetTopic: 'targettopic',
  targetQos: 'targetqos',
  ttl: 'ttl',
  active: 'active',
  process: 'process',
  persist: 'persist',
  key: 'key',
  query: 'query',
  textName: 'textname',
  textDescription: 'textdescription',
} as const satisfies Record<Key, string>;

const KEYS = Object.keys(SPELLINGS) as Key[];

const NAMES = Object.entries({ ...SPELLINGS, name: 'streamname', topic: 'replaytopic', from: 'gte', to: 'lte' });
const WIRE_NAMES = new Map<string, string>(NAMES);
const MODEL_NAMES = new Map<string, string>(NAMES.map(([name, spelled]) => [spelled, name]));

const placeWith = (names: ReadonlyMap<string, string>) => (pointer: string) =>
  pointer.replace(/^\/([^/]+)/, (_, field: string) => `/${names.get(field) ?? field}`);

/** Converts the path of an issue from a command to the model (`/replaytopic` is `/topic`), and back. */
export const modelPlace = placeWith(MODEL_NAMES);
export const wirePlace = placeWith(WIRE_NAMES);

const LAST_SECOND = 8_640_000_000_000;

/** Returns the command fields of the given values. `null` clears a field, which the API writes as an empty string. */
export function commandFields(given: Partial<Omit<StreamDefinition, 'name'>>): Fields {
  const keys = KEYS.filter((key) => given[key] !== undefined);
  return Object.fromEntries(keys.map((key) => [SPELLINGS[key], given[key] ?? '']));
}

export const differencesBetween = (one: StreamDefinition, other: StreamDefinition): string[] =>
  KEYS.filter((key) => !isDeepStrictEqual(one[key], other[key]));

/** Returns the unchecked fields of a command. An empty string is `null` in nullable fields; `null` counts as absent. */
export function givenFields(command: Fields): Readonly<Partial<Record<Key, unknown>>> {
  const entries = KEYS.map((key) => [key, fieldOf(command, SPELLINGS[key])] as const);
  return Object.fromEntries(
    entries
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([key, value]) => [key, value === '' && NULLABLE_FIELDS.has(key) ? null : value]),
  );
}

/** Reads time bounds. Numbers may be strings, and an empty string means unbounded. Errors: ControlRefusal. */
export function boundsOf(command: Fields): TimeBounds {
  const bound = (name: 'gte' | 'lte') => {
    const value = fieldOf(command, name) ?? '';
    if (value === '') return null;
    const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof seconds !== 'number' || !(Math.abs(seconds) <= LAST_SECOND)) throw new ControlRefusal(`Invalid ${name}`);
    return Math.round(seconds * 1_000);
  };
  return { from: bound('gte'), to: bound('lte') };
}

export function replayOf(command: Fields): Readonly<Record<keyof ReplayRequest, unknown>> {
  const limit = fieldOf(command, 'limit') ?? -1;
  const speed = fieldOf(command, 'speed') ?? 'original';
  return {
    ...boundsOf(command),
    topic: fieldOf(command, 'replaytopic') ?? undefined,
    limit: limit === -1 ? null : limit,
    speed: speed === 'original' ? 1 : speed,
    reverse: fieldOf(command, 'reverse') ?? false,
  };
}

/** Writes the object of `getStream` and of a verbose list. `key` is not documented there and is sent only if set. */
export function streamObject({ definition, replaying, report, nodes }: StreamEntry): Fields {
  const { key, ...rest } = definition;
  return {
    streamname: definition.name,
    ...commandFields(rest),
    ...(key === null ? {} : { key }),
    replaying,
    ...(report === null ? {} : { report: reportObject(report) }),
    ...(nodes === undefined ? {} : { nodes }),
  };
}

const MAX_TEXT = 65_535;
const MAX_QUERY_TEXT = 100_000;

/** Reads a stream of any broker. Invalid values are replaced by defaults. `null` if name or source are missing. */
export function readStream(value: unknown): StreamEntry | null {
  if (!isFields(value)) return null;
  const text = (name: string) => {
    const found = fieldOf(value, name);
    return typeof found === 'string' && found !== '' ? found.slice(0, MAX_TEXT) : null;
  };
  const flag = (name: 'active' | 'process' | 'persist') => {
    const found = fieldOf(value, name);
    return typeof found === 'boolean' ? found : DEFAULT_DEFINITION[name];
  };
  const name = text('streamname');
  const sourceTopic = text(SPELLINGS.sourceTopic);
  if (name === null || sourceTopic === null) return null;
  const report = readReport(fieldOf(value, 'report'));
  const nodes = readStreamNodes(fieldOf(value, 'nodes'));
  return {
    definition: {
      name,
      sourceTopic,
      targetTopic: text(SPELLINGS.targetTopic),
      targetQos: qosOf(fieldOf(value, SPELLINGS.targetQos)),
      ttl: ttlOf(fieldOf(value, SPELLINGS.ttl)),
      active: flag('active'),
      process: flag('process'),
      persist: flag('persist'),
      key: text(SPELLINGS.key),
      query: queryOf(fieldOf(value, SPELLINGS.query)),
      textName: text(SPELLINGS.textName),
      textDescription: text(SPELLINGS.textDescription),
    },
    replaying: fieldOf(value, 'replaying') === true,
    report,
    ...(nodes === null ? {} : { nodes }),
  };
}

/** Reads a name of a list that is not verbose. If the broker sends objects all the same, their names are read. */
export function readName(value: unknown): string | null {
  const name = isFields(value) ? fieldOf(value, 'streamname') : value;
  return typeof name === 'string' && name !== '' ? name.slice(0, MAX_TEXT) : null;
}

const qosOf = (value: unknown): StreamQos =>
  value === 0 || value === 1 || value === 2 ? value : DEFAULT_DEFINITION.targetQos;

const ttlOf = (value: unknown): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0
    ? Math.min(value, MAX_TTL)
    : DEFAULT_DEFINITION.ttl;

/** Returns a broker's query unchanged, including undocumented fields, if it can be written as JSON. */
function queryOf(value: unknown): StreamQuery {
  if (!isFields(value)) return {};
  try {
    return JSON.stringify(value).length <= MAX_QUERY_TEXT ? value : {};
  } catch {
    return {};
  }
}

/** Response to `getLicense` of `stream-processing`: without limits and without expiry. */
export const STREAM_LICENSE = {
  issuedBy: 'Brokergraph',
  issuedTo: 'everyone',
  comment: '',
  serial: '',
  features: ['stream-count', 'stream-processing', 'stream-persistence'].map((name) => ({
    name,
    version: '1',
    validSince: 0,
    validUntil: NO_END,
    count: -1,
  })),
} as const;
