import type { LookedAtRule } from '../../protocol/apis/access-control/access-explanation.ts';
import { ACL_TYPES, type AclRule } from '../../protocol/apis/access-control/access-model.ts';
import type { Rival } from '../../protocol/apis/refusals/client-id-fights.ts';
import {
  type Denial,
  MAX_REFUSALS,
  REFUSAL_KINDS,
  REFUSAL_REASONS,
  type Refusal,
  type RefusalKind,
} from '../../protocol/apis/refusals/refusal.ts';
import { MAX_REFUSALS_PAGE, REFUSALS_API } from '../../protocol/apis/refusals/refusal-control.ts';
import { truncate } from '../../protocol/apis/refusals/refusal-log.ts';
import { type CapabilityReasonCode, isCapabilityReason } from '../../protocol/control/capability-reason.ts';
import { countOf, fieldsOf, intOf, isFields, timeOf } from '../../protocol/control/fields.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';

/** The refusals of a broker, newest first. */
export interface RefusalList {
  /** Identifies the run of the log; another one starts empty. */
  readonly log: string;
  readonly sequence: number;
  /** Epoch milliseconds since when refusals are followed. */
  readonly since: number;
  readonly dropped: number;
  readonly kinds: readonly RefusalKind[];
  readonly limit: string | null;
  /** Of `limit`. */
  readonly limitCode: CapabilityReasonCode | null;
  readonly refusals: readonly Refusal[];
}

export const NO_REFUSALS: RefusalList = {
  log: '',
  sequence: 0,
  since: 0,
  dropped: 0,
  kinds: REFUSAL_KINDS,
  limit: null,
  limitCode: null,
  refusals: [],
};

/** Reads what changed since `known` was read. Errors: as `ControlCaller`. */
export async function readRefusals(caller: ControlCaller, known: RefusalList): Promise<RefusalList> {
  const first = await readPage(caller, { after: known.sequence });
  if (first.log !== known.log && known.sequence > 0) return readRefusals(caller, NO_REFUSALS);
  const changed = [...first.refusals];
  for (let page = first; page.refusals.length === MAX_REFUSALS_PAGE && changed.length < MAX_REFUSALS; ) {
    const before = changed.at(-1)?.sequence ?? 0;
    page = await readPage(caller, { after: known.sequence, before });
    // The provider ignores `before`.
    if ((page.refusals[0]?.sequence ?? 0) >= before) break;
    changed.push(...page.refusals);
  }
  const { totalCount, ...state } = first;
  const ids = new Set(changed.map(({ id }) => id));
  const refusals = [...changed, ...known.refusals.filter(({ id }) => !ids.has(id))];
  return { ...state, refusals: refusals.slice(0, Math.min(totalCount, MAX_REFUSALS)) };
}

interface Page extends RefusalList {
  readonly totalCount: number;
}

const MAX_NAME = 512;
const MAX_TEXT = 4_000;

async function readPage(caller: ControlCaller, range: { after: number; before?: number }): Promise<Page> {
  const data: unknown = await caller.call(REFUSALS_API, 'listRefusals', { ...range, count: MAX_REFUSALS_PAGE });
  const fields = fieldsOf(data);
  const list: readonly unknown[] = Array.isArray(fields.refusals) ? fields.refusals.slice(0, MAX_REFUSALS_PAGE) : [];
  return {
    log: textOf(fields.log, MAX_NAME) ?? '',
    sequence: numberOf(fields.sequence) ?? 0,
    since: timeOf(fields.since) ?? 0,
    totalCount: numberOf(fields.totalCount) ?? 0,
    dropped: numberOf(fields.dropped) ?? 0,
    kinds: REFUSAL_KINDS.filter((kind) => Array.isArray(fields.kinds) && fields.kinds.includes(kind)),
    limit: textOf(fields.limit, MAX_TEXT),
    limitCode: isCapabilityReason(fields.limitCode) ? fields.limitCode : null,
    refusals: list.map(parseRefusal).filter((refusal) => refusal !== null),
  };
}

/** A value of a wrong type counts as missing. Returns `null` if a required field is missing. */
function parseRefusal(value: unknown): Refusal | null {
  if (!isFields(value)) return null;
  const id = textOf(value.id, MAX_NAME);
  const kind = REFUSAL_KINDS.find((known) => known === value.kind);
  const [firstAt, lastAt] = [timeOf(value.firstAt), timeOf(value.lastAt)];
  const [sequence, count] = [numberOf(value.sequence), countOf(value.count)];
  if (id === null || !kind || sequence === null || firstAt === null || lastAt === null || count === null) return null;
  return {
    id,
    sequence,
    kind,
    reason: REFUSAL_REASONS.find((known) => known === value.reason) ?? 'OTHER',
    firstAt,
    lastAt,
    count,
    isMerged: value.isMerged === true,
    clientId: textOf(value.clientId, MAX_NAME),
    username: textOf(value.username, MAX_NAME),
    address: textOf(value.address, MAX_NAME),
    listenerPort: intOf(value.listenerPort),
    topic: textOf(value.topic, MAX_NAME),
    reasonCode: intOf(value.reasonCode),
    detail: textOf(value.detail, MAX_NAME),
    takenOverBy: parseRival(value.takenOverBy),
    denial: parseDenial(value.denial),
  };
}

const parseRival = (value: unknown): Rival | null =>
  isFields(value) ? { username: textOf(value.username, MAX_NAME), address: textOf(value.address, MAX_NAME) } : null;

function parseDenial(value: unknown): Denial | null {
  if (!isFields(value)) return null;
  const decision = DECISIONS.find((known) => known === value.decision);
  return decision ? { decision, decidedBy: parseDecidedBy(value.decidedBy) } : null;
}

const DECISIONS = ['BROKER', 'RULE', 'DEFAULT', 'CONTROL_TOPIC', 'UNKNOWN_USER', 'DISABLED', 'CLIENT_ID'] as const;

function parseDecidedBy(value: unknown): LookedAtRule | null {
  if (!isFields(value) || typeof value.rolename !== 'string') return null;
  const { rolename, group, priority, rule, verdict } = value;
  return {
    rolename,
    group: typeof group === 'string' ? group : null,
    priority: intOf(priority) ?? 0,
    rule: parseRule(rule),
    verdict: verdict === 'WILDCARD_DENIED' ? 'WILDCARD_DENIED' : 'MATCHED',
  };
}

function parseRule(value: unknown): AclRule | null {
  if (!isFields(value) || typeof value.topic !== 'string') return null;
  const aclType = ACL_TYPES.find((known) => known === value.aclType);
  if (!aclType) return null;
  return { aclType, topic: value.topic, priority: intOf(value.priority) ?? 0, allow: value.allow === true };
}

const textOf = (value: unknown, length: number): string | null =>
  typeof value === 'string' ? truncate(value, length) : null;

const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
