import { namedNodeId } from '../../gateway/named-node-id.ts';
import { kindOfId } from '../../platform/ids.ts';
import type { AuditTarget } from './audit-event.ts';

export type AuditInput = Readonly<Record<string, unknown>>;

/** By the input field with the name. The first present field counts. */
const NAMED = [
  ['username', 'accessClient'],
  ['groupname', 'accessGroup'],
  ['rolename', 'accessRole'],
] as const;

const OF_BROKER = [
  [/TopicT(?:ree|tl)/, 'topicTree'],
  [/AccessControl|DefaultAcl/, 'accessControl'],
] as const;

const SCOPES = new Set(['projectId', 'brokerId', 'organisationId', 'organizationId', 'clientId', 'nodeId']);

const KINDS: Readonly<Record<string, string>> = { ruleId: 'signInRule' };

const CREATES =
  /^(?:create|add)(?:Cloud)?(Project|Organisation|User|Token|Certificate|Cluster|Broker|SignInRule|Session)$/;

/** `tokenId` means a token, `username` with a broker an account. `null` if the caller is the target. */
export function targetOf(operation: string, input: AuditInput): AuditTarget | null {
  const created = CREATES.exec(operation)?.[1];
  if (created !== undefined) return { kind: created.charAt(0).toLowerCase() + created.slice(1), id: null };
  const brokerId = textOf(input.brokerId);
  if (brokerId !== null && !('clusterId' in input)) return onBroker(operation, brokerId, input);
  for (const [name, value] of Object.entries(input)) {
    if (name.endsWith('Id') && !SCOPES.has(name)) return { kind: KINDS[name] ?? name.slice(0, -2), id: textOf(value) };
  }
  if ('projectId' in input) return { kind: 'project', id: textOf(input.projectId) };
  if ('organisationId' in input) return { kind: 'organisation', id: textOf(input.organisationId) };
  return 'email' in input ? { kind: 'user', id: null } : null;
}

/** The target of a read: the object of the argument `id` or of another argument, otherwise the owner of the field. */
export function targetOfRead(operation: string, input: AuditInput, owner: unknown): AuditTarget | null {
  const requested = targetById(input) ?? targetOf(operation, input);
  return requested ?? (typeof owner === 'object' && owner !== null ? targetById(owner as AuditInput) : null);
}

function targetById({ id }: AuditInput): AuditTarget | null {
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

/** The id of the object in a payload: of the member with the name of the kind, or by the prefix of the id. */
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
