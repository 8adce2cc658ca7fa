/**
 * What the detail of a problem states, in English, by codes. `{name}` is the place of a parameter, and
 * `{name:word|words}` a word for one and for other numbers. The parameter `error` is a text of a broker, of a target or
 * of this service, which has no translation. docs/problems.md has this table.
 */
export const STATEMENTS = {
  ACCOUNT: 'Account: "{name}".',
  ADDRESS: 'Address: {name}.',
  ATTEMPTS_DENIED: 'The broker denied attempts in the last 10 s: {times}. Most often: {action}, {reason}.',
  AUDIT_WAITS: 'Entries that wait on {host}: {count}.',
  BRIDGE_OF_FILE_DOWN: 'The bridge "{name}" of the configuration file of the broker is not connected.',
  BROKER_CANNOT_RUN: 'The broker "{name}" cannot run.',
  BROKER_DELETED: 'The broker was deleted. Before:',
  BROKER_PROCESS_AWAY: 'The broker "{name}" runs in a process on {host}, which is not there.',
  CAPABILITY: '{api}: {error}',
  CERTIFICATE_EXPIRED: 'The certificate "{name}" has expired.',
  CERTIFICATE_EXPIRES: 'The certificate "{name}" expires in {days} {days:day|days}.',
  CERTIFICATE_EXPIRES_TODAY: 'The certificate "{name}" expires within a day.',
  CLIENT: 'Client: "{name}".',
  CLIENT_FLOODS: 'The client "{name}" sends {count} {count:message|messages} per second.',
  CLIENT_ID_SHARED: 'Several clients connect with the client id "{name}" and disconnect each other: {times} times.',
  CLIENTS_UNKNOWN: 'Clients may be missing in the list. {error}',
  CONNECTION_DROPS: 'The connection "{name}" of {bridge} lost messages in the last {seconds} s: {count}.',
  CONNECTION_FAILED: 'The connection "{name}" of {bridge} has failed.',
  CONNECTION_LOOPS: 'The connection "{name}" of {bridge} gets its own messages back, on "{topic}".',
  CONNECTION_QUEUES: 'The connection "{name}" of {bridge} has {count} messages in its queue.',
  CONNECTION_UNAUTHORISED: 'The other side of the connection "{name}" of {bridge} does not accept its credentials.',
  CONNECTION_UNREACHABLE: 'The other side of the connection "{name}" of {bridge} cannot be reached.',
  DATABASE_AWAY: 'The database did not respond to {host} within 2 s.',
  DATABASE_SLOW: 'Statements of {host} on the database take longer than 500 ms.',
  DEPLOYED: 'It is deployed on a listener.',
  DISK_FULL:
    'The data folder on {host} has less free space than MIN_FREE_MB ({megabytes} MB), so the process is not ready.',
  DISK_LOW: 'The data folder on {host} has less free space than {megabytes} MB.',
  DISK_NOT_WRITABLE: 'The database of {host} cannot store changes: {error}.',
  ERROR: '{error}',
  LAST_REASON: 'The last reason: {error}',
  LAST_REJECTION: 'The last one was rejected: {error}',
  LINKS_USED: '{host} has {count} connections to brokers, and further brokers wait.',
  MESSAGES_DROPPED: 'The broker dropped {count} {count:message|messages} in the last minute.',
  NODE_DRIFTED:
    'The node "{name}" of the cluster "{cluster}" has other access control than the cluster. Differences: {count}.',
  NODE_UNREACHABLE: 'The node "{name}" of the cluster "{cluster}" cannot be reached.',
  NOT_DEPLOYED: 'It is not deployed.',
  PROCESS_ENDED: 'The process {id} ({role}) on {host} has ended without a shutdown.',
  REASON_UNKNOWN: 'The reason is not known.',
  RETAINED_DENIED: 'A retained message was denied.',
  STREAM_FAILED: 'The stream "{name}" has failed.',
  STREAM_FAILS: '{percent} % of the messages of the stream "{name}" fail.',
  STREAM_FAILS_ALWAYS: 'All messages of the stream "{name}" fail.',
  STREAM_NOT_STORING: 'The stream "{name}" does not store messages.',
  STREAM_REFUSED: 'This service does not run the stream "{name}".',
  SYS_NOT_READABLE: '$SYS: this service may not read all numbers of the broker. {error}',
  TOKEN_EXPIRED: 'The token "{name}" has expired.',
  TOKEN_EXPIRES: 'The token "{name}" expires in {days} {days:day|days}.',
  TOKEN_EXPIRES_TODAY: 'The token "{name}" expires within a day.',
} as const;

export type StatementCode = keyof typeof STATEMENTS;

export const statementCodes = Object.keys(STATEMENTS) as readonly StatementCode[];

export interface Statement {
  readonly code: StatementCode;
  readonly parameters: Readonly<Record<string, string>>;
}

type PlacesOf<Text> = Text extends `${string}{${infer Place}}${infer Rest}`
  ? (Place extends `${string}:${string}` ? never : Place) | PlacesOf<Rest>
  : never;

type Values = Readonly<Record<string, string | number | null | undefined>>;

const MAX_PARAMETER = 2_000;

/** Texts of clients and brokers may have characters that PostgreSQL cannot store. */
export const storable = (text: string, most: number): string =>
  text.slice(0, most).toWellFormed().replaceAll('\0', '\u{FFFD}');

/** `further`: parameters without a place in the text, for the remedy. Those without a value are left out. */
export function statement<Code extends StatementCode>(
  code: Code,
  values: Readonly<Record<PlacesOf<(typeof STATEMENTS)[Code]>, string | number>>,
  further: Values = {},
): Statement {
  const entries = Object.entries<Values[string]>({ ...values, ...further }).flatMap(([name, value]) =>
    value == null || value === '' ? [] : [[name, storable(String(value), MAX_PARAMETER)] as const],
  );
  return { code, parameters: Object.fromEntries(entries) };
}

/** What an error states. Empty without an error. */
export const errorStatements = (error: string | null | undefined): Statement[] =>
  error ? [statement('ERROR', { error })] : [];

const PLACE = /\{(\w+)(?::(\w+)\|(\w+))?\}/g;

/** The statements in English. */
export const textOf = (statements: readonly Statement[]): string =>
  statements
    .map(({ code, parameters }) =>
      STATEMENTS[code].replaceAll(PLACE, (_all, name: string, one?: string, others?: string) => {
        const value = parameters[name] ?? '';
        return (value === '1' ? one : others) ?? value;
      }),
    )
    .join(' ');

/**
 * Those of a stored problem. Empty unless they state its `detail`: an earlier version writes only that, and a later one
 * may know further codes.
 */
export function statementsOf(problem: { readonly statements: string | null; readonly detail: string }): Statement[] {
  const { statements, detail } = problem;
  // Rows have what `statement` returned.
  const stored = JSON.parse(statements ?? '[]') as Statement[];
  const isKnown = stored.every(({ code }) => Object.hasOwn(STATEMENTS, code));
  return isKnown && textOf(stored).slice(0, detail.length).toWellFormed() === detail ? stored : [];
}
