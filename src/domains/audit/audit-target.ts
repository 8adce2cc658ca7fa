import { swapClusterId } from '../../gateway/cluster-id.ts';
import { namedNodeId, parseNamedNodeId } from '../../gateway/named-node-id.ts';
import { kindOfId } from '../../platform/ids.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import type { AuditTarget } from './audit-event.ts';
import { withoutOwnSecrets } from './secret-masking.ts';

export type AuditInput = Readonly<Record<string, unknown>>;

/** By the input field with the name. The first present field counts. */
const NAMED = [
  ['username', 'account'],
  ['groupName', 'accessGroup'],
  ['roleName', 'accessRole'],
  ['bridgeKey', 'bridge'],
  ['clientId', 'connectedClient'],
] as const;

const OF_BROKER = [
  [/TopicT(?:ree|tl)/, 'topicTree'],
  [/AccessControl|DefaultAcl|copyAccounts/, 'accessControl'],
  [/Message/, 'message'],
] as const;

const SCOPES = new Set(['projectId', 'brokerId', 'organizationId', 'clientId', 'nodeId']);

const KINDS: Readonly<Record<string, string>> = {
  ruleId: 'signInRule',
  silenceId: 'problemSilence',
  channelId: 'notificationChannel',
};

const CREATES =
  /^(?:create|add)(?:Cloud)?(Project|Organization|User|Token|Certificate|Cluster|Broker|SignInRule|Session|NotificationChannel)$/;

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
  if ('organizationId' in input) return { kind: 'organization', id: textOf(input.organizationId) };
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

function onBroker(operation: string, brokerId: string, { change, ...own }: AuditInput): AuditTarget {
  const input = { ...own, ...(isObject(change) ? change : {}) };
  const named = /Stream/.test(operation) ? ([['name', 'stream'], ...NAMED] as const) : NAMED;
  for (const [field, kind] of named) {
    const name = textOf(input[field]);
    // Callers may send a secret by mistake where a name belongs.
    if (name !== null) return { kind, id: namedNodeId({ kind, brokerId, name: withoutOwnSecrets(name) }) };
  }
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

const isObject = (value: unknown): value is AuditInput => typeof value === 'object' && value !== null;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

interface CachedRows<Row = object> {
  get(id: string): Row | null;
}

export interface TargetReaderParts {
  readonly db: Database;
  readonly sealer: Pick<Sealer, 'open'>;
  readonly projects: CachedRows<{ readonly id: string; readonly name: string }>;
  readonly brokers: CachedRows<{ readonly id: string; readonly projectId: string; readonly name: string }>;
  readonly certificates: CachedRows<{
    readonly id: string;
    readonly projectId: string;
    readonly name: string;
    readonly cert: string;
    readonly chain: unknown;
  }>;
}

type Row = Readonly<Record<string, unknown>>;
type Read = (parts: TargetReaderParts, id: string, input: AuditInput) => Row | null | Promise<Row | null>;

/** Each reader uses a cache or one query. */
const READ: Readonly<Record<string, Read>> = {
  project: ({ db, projects }, id, { email }) =>
    typeof email === 'string'
      ? db.projectMember.findFirst({
          where: { projectId: id, user: { email: accountOf(email) } },
          select: { role: true, createdAt: true },
        })
      : (projects.get(id) as Row | null),
  broker: ({ brokers }, id) => brokers.get(id) as Row | null,
  certificate: ({ certificates }, id) => {
    const known = certificates.get(id);
    if (known === null) return null;
    const { cert: _cert, chain: _chain, ...rest } = known;
    return rest as unknown as Row;
  },
  user: ({ db }, id, { email }) =>
    db.user.findUnique({ where: id === '' ? { email: accountOf(String(email)) } : { id } }),
  organization: ({ db }, id, { email }) =>
    typeof email === 'string'
      ? db.organizationMember.findFirst({
          where: { organizationId: id, user: { email: accountOf(email) } },
          select: { role: true, createdAt: true },
        })
      : db.organization.findUnique({ where: { id }, include: { members: { select: { userId: true, role: true } } } }),
  token: async ({ db }, id) => {
    const row = await db.projectToken.findUnique({ where: { id }, include: { brokers: true } });
    if (row === null) return null;
    const { brokers, ...token } = row;
    return { ...token, brokerIds: brokers.map(({ brokerId }) => brokerId) };
  },
  session: ({ db }, id) => db.session.findUnique({ where: { id } }),
  problem: ({ db }, id) => db.problem.findUnique({ where: { id } }),
  problemSilence: ({ db }, id) => db.problemSilence.findUnique({ where: { id } }),
  signInRule: ({ db }, id) => db.signInRule.findUnique({ where: { id } }),
  notificationChannel: async ({ db }, id) => {
    const row = await db.notificationChannel.findUnique({ where: { id }, omit: { sealedTarget: true } });
    return row && { ...row, rules: JSON.parse(row.rules) as unknown, target: JSON.parse(row.target) as unknown };
  },
  cluster: ({ db }, id) =>
    db.cluster.findUnique({
      where: { id: swapClusterId(id) },
      select: {
        name: true,
        mode: true,
        keeper: true,
        autoRepair: true,
        nodes: { select: { nodeId: true, brokerId: true, name: true, address: true, port: true } },
      },
    }),
  stream: ({ db }, id) => {
    const node = parseNamedNodeId(id);
    if (node === null) return null;
    const { brokerId, name } = node;
    return db.stream.findUnique({ where: { brokerId_name: { brokerId, name } } });
  },
  topicTree: async ({ db }, brokerId) => {
    const row = await db.topicTreeSettings.findUnique({ where: { brokerId } });
    return row && (JSON.parse(row.settings) as Row);
  },
  bridge: async ({ db, sealer }, id) => {
    const node = parseNamedNodeId(id);
    if (node === null) return null;
    const { brokerId, name: bridge } = node;
    const row = await db.bridgeConfig.findUnique({ where: { brokerId_bridge: { brokerId, bridge } } });
    return row && { config: JSON.parse(sealer.open(row.sealedConfig, `${brokerId}/${bridge}`)) as unknown };
  },
};

/** The current row of the target, with its secrets. `null` if it does not exist or is not in the database. */
export async function readTarget(
  parts: TargetReaderParts,
  target: AuditTarget,
  input: AuditInput,
): Promise<Row | null> {
  const read = Object.hasOwn(READ, target.kind) ? READ[target.kind] : undefined;
  const isFound = target.id !== null || (target.kind === 'user' && typeof input.email === 'string');
  return read === undefined || !isFound ? null : read(parts, target.id ?? '', input);
}

const DELETES = /^(?:delete|remove|revoke|end|leave|logout)/;

/** Names of columns that differ from those of the graph. */
const IN_GRAPH: Readonly<Record<string, string>> = {
  active: 'isActive',
  boundSessions: 'bindsSessionsToAccounts',
  clientTakeover: 'allowsClientTakeover',
  clusterPasswords: 'storesClusterPasswords',
  ha: 'isCluster',
  strictRoles: 'hasStrictRoles',
  topicPayloads: 'storesTopicPayloads',
  verified: 'isVerified',
};

/** The values of a row with a name of the input. All values if there is none, or for a deletion. */
export function changedValues(operation: string, row: Row, input: AuditInput): Row {
  const fields = Object.entries(row).map(([name, value]) => [IN_GRAPH[name] ?? name, value] as const);
  const entries = fields.filter(([, value]) => value !== null && value !== undefined);
  if (DELETES.test(operation)) return Object.fromEntries(entries);
  const named = fields.filter(([name]) => name in input && name !== 'id' && !name.endsWith('Id'));
  return Object.fromEntries(named.length > 0 ? named : entries);
}

const accountOf = (email: string): string => email.trim().toLowerCase();
