import { namedNodeId } from '../../gateway/named-node-id.ts';
import { kindOfId } from '../../platform/ids.ts';
import type { AuditTarget } from './audit-event.ts';

export type AuditInput = Readonly<Record<string, unknown>>;

/** What brokers know by names, by the field that has the name; of several the first is what is changed. */
const NAMED = [
  ['username', 'accessClient'],
  ['groupname', 'accessGroup'],
  ['rolename', 'accessRole'],
] as const;

/** What a broker has one of. */
const OF_BROKER = [
  [/TopicT(?:ree|tl)/, 'topicTree'],
  [/AccessControl|DefaultAcl/, 'accessControl'],
] as const;

/** Fields with ids that say where the target is, rather than what it is. */
const PLACES = new Set(['projectId', 'brokerId', 'organisationId', 'organizationId', 'clientId', 'nodeId']);

/** What fields name shortly. */
const KINDS: Readonly<Record<string, string>> = { ruleId: 'signInRule' };

const MAKES =
  /^(?:create|add)(?:Cloud)?(Project|Organisation|User|Token|Certificate|Cluster|Broker|SignInRule|Session)$/;

/**
 * What a mutation changes, found by the names of its input's fields: `tokenId` names a token, `username` on a broker an account there. A
 * name that is new names what it says, so a new mutation needs a word here only where that is not so. Null: the caller itself.
 */
export function targetOf(operation: string, input: AuditInput): AuditTarget | null {
  const made = MAKES.exec(operation)?.[1];
  if (made !== undefined) return { kind: made.charAt(0).toLowerCase() + made.slice(1), id: null };
  const brokerId = textOf(input.brokerId);
  if (brokerId !== null && !('clusterId' in input)) return onBroker(operation, brokerId, input);
  for (const [name, value] of Object.entries(input)) {
    if (name.endsWith('Id') && !PLACES.has(name)) return { kind: KINDS[name] ?? name.slice(0, -2), id: textOf(value) };
  }
  if ('projectId' in input) return { kind: 'project', id: textOf(input.projectId) };
  if ('organisationId' in input) return { kind: 'organisation', id: textOf(input.organisationId) };
  return 'email' in input ? { kind: 'user', id: null } : null;
}

/** What a read asks for: what `id` names, or what one of the other arguments does; else what the field belongs to. */
export function targetOfRead(operation: string, input: AuditInput, owner: unknown): AuditTarget | null {
  const asked = thingOf(input) ?? targetOf(operation, input);
  return asked ?? (typeof owner === 'object' && owner !== null ? thingOf(owner as AuditInput) : null);
}

function thingOf({ id }: AuditInput): AuditTarget | null {
  const known = textOf(id);
  const kind = known === null ? null : kindOfId(known);
  return kind === null ? null : { kind, id: known };
}

function onBroker(operation: string, brokerId: string, input: AuditInput): AuditTarget {
  const name = textOf(input.name);
  if (/Stream/.test(operation) && name !== null) {
    return { kind: 'stream', id: namedNodeId({ kind: 'stream', brokerId, name }) };
  }
  for (const [field, kind] of NAMED) {
    const known = textOf(input[field]);
    if (known !== null) return { kind, id: namedNodeId({ kind, brokerId, name: known }) };
  }
  if ('bridgeId' in input) return { kind: 'bridge', id: textOf(input.bridgeId) };
  if ('clientId' in input) return { kind: 'client', id: textOf(input.clientId) };
  const part = OF_BROKER.find(([pattern]) => pattern.test(operation));
  return { kind: part?.[1] ?? 'broker', id: brokerId };
}

/** The id of what a mutation made or changed, as its payload tells: of an object of that name, or by what ids of the kind begin with. */
export function idInPayload(kind: string, payload: unknown): string | null {
  if (typeof payload !== 'object' || payload === null) return null;
  const values = payload as AuditInput;
  const own = values[kind];
  if (typeof own === 'object' && own !== null && 'id' in own) return textOf(own.id);
  const named = textOf(values[`${kind}Id`]);
  if (named !== null) return named;
  return (
    Object.values(values).find((value): value is string => typeof value === 'string' && kindOfId(value) === kind) ??
    null
  );
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
