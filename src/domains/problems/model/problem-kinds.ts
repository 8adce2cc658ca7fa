export const PROBLEM_SEVERITIES = ['CRITICAL', 'WARNING', 'NOTICE'] as const;
export type ProblemSeverity = (typeof PROBLEM_SEVERITIES)[number];

export const severityRank = (severity: ProblemSeverity): number => -PROBLEM_SEVERITIES.indexOf(severity);

/** BROKER: a broker, or a part of it. PROJECT: another object of a project. SERVICE: only for root administrators. */
type ProblemScope = 'BROKER' | 'PROJECT' | 'SERVICE';

interface KindFacts {
  readonly scope: ProblemScope;
  /** A fact may have a higher severity. */
  readonly severity: ProblemSeverity;
  /** What is wrong, as the title of each problem of the kind. */
  readonly title: string;
  /** Used if a fact does not say what would help. */
  readonly whatWouldHelp: string;
  /** How long the fact lasts before the problem opens, in seconds. Default: OPENS_AFTER_S. */
  readonly opensAfterS?: number;
  /** How long the fact is gone before the problem closes, in seconds. Default: CLOSES_AFTER_S. */
  readonly closesAfterS?: number;
  /** How often the fact is read, in seconds: a multiple of CHECK_MS, the default. */
  readonly readEveryS?: number;
  /** How long its source has to see the fact before it is one, in seconds. Default: 0. */
  readonly certainAfterS?: number;
}

/** How often facts are compared with the open problems. */
export const CHECK_MS = 2_000;
/** A check may come so much earlier. */
const EARLY_MS = 500;
const OPENS_AFTER_S = 4;
const CLOSES_AFTER_S = 15;

const kinds = <Kind extends string>(table: Readonly<Record<Kind, KindFacts>>) => table;

/** Every kind of problem. docs/problems.md has this table. */
export const PROBLEM_KINDS = kinds({
  BROKER_UNREACHABLE: {
    scope: 'BROKER',
    severity: 'CRITICAL',
    title: 'The broker cannot be reached',
    whatWouldHelp:
      'Check that the broker runs, and that its address and port are correct and reachable from this service.',
    closesAfterS: 10,
  },
  BROKER_UNAUTHORIZED: {
    scope: 'BROKER',
    severity: 'CRITICAL',
    title: 'The broker does not accept the credentials of this service',
    whatWouldHelp: 'Correct the user name and the password in the settings of the broker, or enable the account.',
    closesAfterS: 10,
  },
  BROKER_RIGHTS_MISSING: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'The account of this service lacks rights',
    whatWouldHelp: 'Give the missing rights to the account with which this service connects.',
    closesAfterS: 10,
  },
  CAPABILITY_MISSING: {
    scope: 'BROKER',
    severity: 'NOTICE',
    title: 'A function of the broker is not available',
    whatWouldHelp: 'The capabilities of the broker describe what is missing.',
    opensAfterS: 8,
    closesAfterS: 10,
  },
  LOG_NOT_UNDERSTOOD: {
    scope: 'BROKER',
    severity: 'NOTICE',
    title: 'The log of the broker has lines that this service does not understand',
    whatWouldHelp: 'Update this service. Until then, lists of clients may be incomplete.',
  },
  LIST_INCOMPLETE: {
    scope: 'BROKER',
    severity: 'NOTICE',
    title: 'The list of clients is incomplete',
    whatWouldHelp: 'Clients that connected before this service are listed when they connect again.',
    opensAfterS: 2,
    closesAfterS: 10,
    readEveryS: 4,
    // A broker that counts its connections while one is being opened counts again ten seconds later.
    certainAfterS: 16,
  },
  BRIDGE_DOWN: {
    scope: 'BROKER',
    severity: 'CRITICAL',
    title: 'A bridge is not connected',
    whatWouldHelp: 'Check that the other side of the bridge runs, and the address and the credentials of the bridge.',
    readEveryS: 4,
  },
  BRIDGE_QUEUE_FILLING: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'The queue of a bridge is filling',
    whatWouldHelp: 'Check why the other side of the bridge is slow or not connected, or forward fewer topics.',
    opensAfterS: 6,
    readEveryS: 4,
  },
  BRIDGE_DROPPING: {
    scope: 'BROKER',
    severity: 'CRITICAL',
    title: 'A bridge loses messages',
    whatWouldHelp:
      'Check the queue and the rejected messages of the bridge: messages were dropped or cannot be delivered.',
    opensAfterS: 0,
    closesAfterS: 10,
    readEveryS: 4,
  },
  BRIDGE_LOOP: {
    scope: 'BROKER',
    severity: 'CRITICAL',
    title: 'Messages of a bridge go in a circle',
    whatWouldHelp: 'Remove the topic from one direction of the bridges, or give the directions different prefixes.',
    opensAfterS: 0,
    closesAfterS: 10,
    readEveryS: 4,
  },
  STREAM_FAILING: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'A stream cannot process messages',
    whatWouldHelp: 'Compare the query of the stream with the messages: they may not be JSON, or lack a number.',
    closesAfterS: 10,
    readEveryS: 4,
  },
  STREAM_NOT_STORING: {
    scope: 'BROKER',
    severity: 'CRITICAL',
    title: 'A stream does not store messages',
    whatWouldHelp: 'Free disk space, raise STREAM_STORAGE_MAX_MB, or shorten how long messages are stored.',
    closesAfterS: 10,
    readEveryS: 4,
  },
  REFUSALS_RISING: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'Many attempts of clients are denied',
    whatWouldHelp: 'The list of what the broker denied has each reason, and what would help.',
  },
  CLIENT_ID_CONFLICT: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'Several clients use one client id',
    whatWouldHelp: 'Configure another client id in all of these clients but one.',
    opensAfterS: 0,
  },
  CLIENT_FLOODING: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'A client sends very many messages',
    whatWouldHelp: 'Check the program of the client, disconnect it or disable its account, or raise the threshold.',
    readEveryS: 4,
  },
  QUEUES_DROPPING: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'The broker drops messages for slow clients',
    whatWouldHelp:
      'Check clients with long queues: they are slow or not connected. Delete their sessions, set a session expiry, or raise the limit of queued messages.',
    opensAfterS: 0,
    closesAfterS: 5,
  },
  RETAINED_LIMIT: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'The broker stores no further retained messages',
    whatWouldHelp: 'Delete retained messages that are not used: the limit of retained messages is reached.',
    opensAfterS: 0,
  },
  CERTIFICATE_EXPIRING: {
    scope: 'PROJECT',
    severity: 'WARNING',
    title: 'A certificate expires soon, or has expired',
    whatWouldHelp: 'Upload a new certificate in its place, and deploy it to the listeners.',
    opensAfterS: 0,
    closesAfterS: 0,
  },
  TOKEN_EXPIRING: {
    scope: 'PROJECT',
    severity: 'WARNING',
    title: 'A token expires soon, or has expired',
    whatWouldHelp: 'Rotate the token, and configure the new secret in the programs that use it.',
    opensAfterS: 0,
    closesAfterS: 0,
    readEveryS: 8,
  },
  CLUSTER_NODE_DOWN: {
    scope: 'BROKER',
    severity: 'CRITICAL',
    title: 'A node of a cluster cannot be reached',
    whatWouldHelp: 'Start the node, or check the network between this service and the node.',
    opensAfterS: 2,
    readEveryS: 4,
  },
  CLUSTER_DRIFTED: {
    scope: 'BROKER',
    severity: 'WARNING',
    title: 'A node of a cluster has other access control than the cluster',
    whatWouldHelp: 'Repair the node: this writes the access control of the cluster to it, or adopts that of the node.',
    readEveryS: 4,
  },
  CLOUD_BROKER_ERROR: {
    scope: 'BROKER',
    severity: 'CRITICAL',
    title: 'A broker of this service does not run as it should',
    whatWouldHelp: 'Correct the cause that is named, then start the broker again.',
    opensAfterS: 2,
  },
  PROCESS_AWAY: {
    scope: 'SERVICE',
    severity: 'WARNING',
    title: 'A process of the service is not there',
    whatWouldHelp:
      'Start the process again. If it was removed on purpose, acknowledge the problem, which closes after a day.',
    opensAfterS: 0,
    readEveryS: 4,
  },
  DATABASE_SLOW: {
    scope: 'SERVICE',
    severity: 'WARNING',
    title: 'The database is slow',
    whatWouldHelp: 'Check the load and the disk of the database, and the network to it.',
    opensAfterS: 2,
  },
  DATABASE_AWAY: {
    scope: 'SERVICE',
    severity: 'CRITICAL',
    title: 'The database does not respond',
    whatWouldHelp: 'Start the database, or check the network to it. Nothing can be changed until then.',
    opensAfterS: 2,
    closesAfterS: 5,
    readEveryS: 4,
    // A database that takes longer to respond is away.
    certainAfterS: 2,
  },
  DISK_LOW: {
    scope: 'SERVICE',
    severity: 'WARNING',
    title: 'A disk has little free space, or cannot be written',
    whatWouldHelp: 'Free space on the disk of the data folder, or shorten how long messages are stored.',
    opensAfterS: 2,
    closesAfterS: 10,
  },
  AUDIT_WAITING: {
    scope: 'SERVICE',
    severity: 'CRITICAL',
    title: 'Audit entries cannot be written',
    whatWouldHelp: 'Check the database and its disk. If too many entries wait, all changes are denied.',
  },
  LINK_LIMIT: {
    scope: 'SERVICE',
    severity: 'WARNING',
    title: 'The service has no connection for further brokers',
    whatWouldHelp: 'Raise MAX_BROKER_LINKS, or remove brokers that are not used.',
  },
});

export type ProblemKind = keyof typeof PROBLEM_KINDS;

export const problemKinds = Object.keys(PROBLEM_KINDS) as readonly ProblemKind[];

const factsOf = (kind: ProblemKind): KindFacts => PROBLEM_KINDS[kind];

/** How long a fact lasts before the problem opens, in milliseconds. */
export const opensAfterMs = (kind: ProblemKind): number => (factsOf(kind).opensAfterS ?? OPENS_AFTER_S) * 1_000;

/** How long a fact is gone before the problem closes, in milliseconds. */
export const closesAfterMs = (kind: ProblemKind): number => (factsOf(kind).closesAfterS ?? CLOSES_AFTER_S) * 1_000;

/** In milliseconds. */
export function readEveryMs(kind: ProblemKind): number {
  const { readEveryS } = factsOf(kind);
  return readEveryS === undefined ? CHECK_MS : readEveryS * 1_000;
}

/** In milliseconds. */
export const certainAfterMs = (kind: ProblemKind): number => (factsOf(kind).certainAfterS ?? 0) * 1_000;

/** Whether a time has passed at a check since another one, both by `performance.now()`. */
export const isDue = (afterMs: number, since: number, now = performance.now()): boolean =>
  now - since >= afterMs - EARLY_MS;
