import { expect, test } from 'vitest';
import { type Part, problemWords } from '../../console/problems/problem-words.ts';
import { PROBLEM_KINDS, type ProblemKind, problemKinds } from '../../src/domains/problems/model/problem-kinds.ts';
import {
  errorStatements,
  type Statement,
  statement,
  statementCodes,
  textOf,
} from '../../src/protocol/problems/problem-statements.ts';
import { translatedLanguages, translationsOf } from './catalogues.ts';

/** A text of a broker or a target. */
const ERROR = 'socket hang up';
const error = { error: ERROR };
const named = { name: 'press', bridge: 'mqtt-bridge' };
const host = { host: 'machine' };
const REFUSED = { reason: 'UNKNOWN_ACCOUNT', username: 'dev-17', clientId: 'c', address: '10.0.0.1' };
const DENIED = { reason: 'ACCESS_DENIED', username: 'dev-17', roleName: 'role', ruleTopic: 'a/#', rulePriority: 3 };

/** What the details of each kind state. */
const STATED: Readonly<Record<ProblemKind, readonly (readonly Statement[])[]>> = {
  BROKER_UNREACHABLE: [errorStatements(ERROR), [statement('REASON_UNKNOWN', {})]],
  BROKER_UNAUTHORIZED: [errorStatements(ERROR)],
  BROKER_RIGHTS_MISSING: [
    [statement('SYS_NOT_READABLE', error, { commands: 'mosquitto_ctrl dynsec' })],
    [statement('CAPABILITY', { api: 'cedalo/inspect', ...error }, { reasonCode: 'LOG_PERMISSION_MISSING' })],
  ],
  CAPABILITY_MISSING: [[statement('CAPABILITY', { api: 'cedalo/inspect', ...error }, { reasonCode: 'LOG_MISSING' })]],
  LOG_NOT_UNDERSTOOD: [
    [statement('CAPABILITY', { api: 'cedalo/inspect', ...error }, { reasonCode: 'LOG_NOT_UNDERSTOOD' })],
  ],
  LIST_INCOMPLETE: [[statement('CLIENTS_UNKNOWN', error)]],
  BRIDGE_DOWN: [
    [statement('CONNECTION_UNREACHABLE', named), ...errorStatements(ERROR)],
    [statement('CONNECTION_UNAUTHORISED', named)],
    [statement('CONNECTION_FAILED', named)],
    [statement('BRIDGE_OF_FILE_DOWN', { name: 'press' })],
  ],
  BRIDGE_QUEUE_FILLING: [[statement('CONNECTION_QUEUES', { ...named, count: 20_000 })]],
  BRIDGE_DROPPING: [
    [statement('CONNECTION_DROPS', { ...named, seconds: 10, count: 5 }), statement('LAST_REJECTION', error)],
  ],
  BRIDGE_LOOP: [[statement('CONNECTION_LOOPS', { ...named, topic: 'a/b' })]],
  STREAM_FAILING: [
    [statement('STREAM_FAILED', { name: 'press' }), ...errorStatements(ERROR)],
    [statement('STREAM_REFUSED', { name: 'press' })],
    [statement('STREAM_FAILS', { percent: 30, name: 'press' }), statement('LAST_REASON', error)],
    [statement('STREAM_FAILS_ALWAYS', { name: 'press' })],
  ],
  STREAM_NOT_STORING: [[statement('STREAM_NOT_STORING', { name: 'press' }), ...errorStatements(ERROR)]],
  REFUSALS_RISING: [REFUSED, DENIED].map((refusal) => [
    statement('ATTEMPTS_DENIED', { times: 70, action: 'CONNECT', reason: refusal.reason }, refusal),
    statement('ACCOUNT', { name: 'dev-17' }),
    statement('CLIENT', { name: 'c' }),
    statement('ADDRESS', { name: '10.0.0.1' }),
  ]),
  CLIENT_ID_CONFLICT: [
    [
      statement(
        'CLIENT_ID_SHARED',
        { name: 'c', times: 4 },
        { ...REFUSED, reason: 'TAKEN_OVER', otherAddress: '10.0.0.2' },
      ),
    ],
  ],
  CLIENT_FLOODING: [[statement('CLIENT_FLOODS', { name: 'c', count: 2_000 })]],
  QUEUES_DROPPING: [[statement('MESSAGES_DROPPED', { count: 61 })], [statement('MESSAGES_DROPPED', { count: 1 })]],
  RETAINED_LIMIT: [[statement('RETAINED_DENIED', {})]],
  CERTIFICATE_EXPIRING: [
    [statement('CERTIFICATE_EXPIRED', { name: 'press' }), statement('DEPLOYED', {})],
    [statement('CERTIFICATE_EXPIRES', { name: 'press', days: 3 }), statement('NOT_DEPLOYED', {})],
    [statement('CERTIFICATE_EXPIRES_TODAY', { name: 'press' })],
  ],
  TOKEN_EXPIRING: [
    [statement('TOKEN_EXPIRES', { name: 'press', days: 1 })],
    [statement('TOKEN_EXPIRES_TODAY', { name: 'press' })],
    [statement('TOKEN_EXPIRED', { name: 'press' })],
  ],
  CLUSTER_NODE_DOWN: [[statement('NODE_UNREACHABLE', { name: 'press', cluster: 'two' })]],
  CLUSTER_DRIFTED: [[statement('NODE_DRIFTED', { name: 'press', cluster: 'two', count: 2 })]],
  CLOUD_BROKER_ERROR: [
    [statement('BROKER_PROCESS_AWAY', { name: 'press', ...host })],
    [statement('BROKER_DELETED', {}), statement('BROKER_CANNOT_RUN', { name: 'press' })],
    errorStatements(ERROR),
  ],
  PROCESS_AWAY: [[statement('PROCESS_ENDED', { id: 'one', role: 'api', ...host })]],
  DATABASE_SLOW: [[statement('DATABASE_SLOW', host)]],
  DATABASE_AWAY: [[statement('DATABASE_AWAY', host)]],
  DISK_LOW: [
    [statement('DISK_FULL', { ...host, megabytes: 100 })],
    [statement('DISK_LOW', { ...host, megabytes: 200 })],
    [statement('DISK_NOT_WRITABLE', { ...host, ...error })],
  ],
  AUDIT_WAITING: [[statement('AUDIT_WAITS', { ...host, count: 3 })]],
  LINK_LIMIT: [[statement('LINKS_USED', { ...host, count: 1_000 })]],
};

/** As the graph lists it. */
const problemOf = (kind: ProblemKind, statements: readonly Statement[]) => ({
  kind,
  detail: textOf(statements),
  whatWouldHelp: `${PROBLEM_KINDS[kind].whatWouldHelp}`,
  statements,
});

/** French has spaces that do not break. */
const plain = (parts: readonly Part[]) =>
  parts
    .map(({ text }) => text)
    .join('')
    .replaceAll('\u00a0', ' ');
const sent = (parts: readonly Part[]) => parts.filter(({ isAsSent }) => isAsSent).map(({ text }) => text);

test('each kind has examples, and each statement belongs to one', () => {
  const stated = new Set(Object.values(STATED).flatMap((all) => all.flat().map(({ code }) => code)));
  expect([...stated].sort()).toEqual([...statementCodes].sort());
});

test.each(translatedLanguages())('all problems are said in another language than English: %s', (tag) => {
  const language = { tag, translations: translationsOf(tag) };
  const english = { tag: 'en', translations: {} };
  for (const kind of problemKinds)
    for (const statements of STATED[kind]) {
      const problem = problemOf(kind, statements);
      const [words, inEnglish] = [problemWords(problem, language), problemWords(problem, english)];
      const place = { kind, statements };
      expect({ place, title: words.title }).not.toEqual({ place, title: inEnglish.title });
      expect({ place, help: plain(words.help) }).not.toEqual({ place, help: plain(inEnglish.help) });
      expect({ place, sent: sent(words.help) }).toEqual({ place, sent: [] });
      expect({ place, sent: sent(words.detail).filter((text) => text !== ERROR) }).toEqual({ place, sent: [] });
      // An error alone, or with the name of an API, has no words of the console.
      const isWords = /\p{L}/u.test(plain(words.detail).replace(ERROR, '').replace('cedalo/inspect', ''));
      if (isWords) expect(plain(words.detail)).not.toBe(plain(inEnglish.detail));
      for (const text of [words.title, plain(words.detail), plain(words.help)]) expect(text).not.toMatch(/[{}\0]/);
    }
});

test('what has no translation, and what no statements say, are marked as sent', () => {
  const language = { tag: 'de', translations: translationsOf('de') };
  const failing = problemOf('STREAM_FAILING', STATED.STREAM_FAILING[2] ?? []);
  expect(problemWords(failing, language).detail).toEqual([
    { text: '30 % der Nachrichten des Streams „press“ schlagen fehl.', isAsSent: false },
    { text: ' ', isAsSent: false },
    { text: 'Der letzte Grund: ', isAsSent: false },
    { text: ERROR, isAsSent: true },
  ]);
  const earlier = { ...failing, statements: [], whatWouldHelp: 'Turn it off and on.' };
  const { detail, help } = problemWords(earlier, language);
  expect([sent(detail), sent(help)]).toEqual([[failing.detail], ['Turn it off and on.']]);
});

test('remedies follow from what is stated', () => {
  const language = { tag: 'fr', translations: translationsOf('fr') };
  const helpOf = (kind: ProblemKind, nth = 0) =>
    plain(problemWords(problemOf(kind, STATED[kind][nth] ?? []), language).help);
  expect(helpOf('REFUSALS_RISING')).toContain('Créez le compte « dev-17 »');
  expect(helpOf('REFUSALS_RISING', 1)).toContain('« role » a une règle de priorité 3 qui refuse « a/# »');
  expect(helpOf('CLIENT_ID_CONFLICT')).toContain('depuis 10.0.0.1 (dev-17) et depuis 10.0.0.2');
  expect(helpOf('BROKER_RIGHTS_MISSING')).toMatch(/Dynamic Security.*\nmosquitto_ctrl dynsec$/);
  expect(helpOf('DISK_LOW', 2)).toContain('réparez le disque');
});
