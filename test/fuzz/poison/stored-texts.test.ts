import { expect, test } from 'vitest';
import { ERROR_STATUS } from '../../../src/platform/errors.ts';
import { createChannel, openProblems, startReceiver } from '../../domains/notifications/notification-world.ts';
import { usePostgres } from '../../support/postgres.ts';
import {
  bearer,
  type GraphqlAnswer,
  sharedDatabase,
  startTestService,
  type TestService,
} from '../../support/service.ts';
import { TEXTS } from '../requests/hostile-values.ts';
import { errorLog } from '../requests/request-fuzz.ts';

/** Each odd text as a name, in the audit and its search, and in notifications, with an ordinary one behind it. */

const postgres = usePostgres();
const CREATE = 'mutation ($name: String!) { createProject(input: { name: $name }) { project { id name } } }';
const SEARCH = `query ($search: String!) {
  auditEvents(first: 100, filter: { operation: "createProject", result: DONE, search: $search }) { nodes { after } } }`;
const TIMES = [
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-14:00',
  '+275760-09-13T00:00:00.000Z',
  '2026-02-31T12:00:00Z',
];
const AT = 'query ($at: DateTime!) { auditEvents(filter: { from: $at }) { nodes { id } } }';
const TEMPLATE = '{"title":"{{problem.title}}","subject":"{{problem.subject.name}}"}';

/** Why a response is not as documented: a wrong code, or an error without a path and a reason. */
function faultOf({ errors }: GraphqlAnswer): string | null {
  const [error] = errors ?? [];
  if (error === undefined) return null;
  const { code, info } = error.extensions;
  const issues = (info as { issues?: { path: string; reason: string }[] } | undefined)?.issues ?? [];
  const isDocumented = Object.hasOwn(ERROR_STATUS, code) && code !== 'INTERNAL_ERROR';
  if (isDocumented && issues[0]?.path && issues[0].reason) return null;
  return JSON.stringify(error).slice(0, 500);
}

async function namesBy({ graphql }: TestService, search: string): Promise<string[]> {
  const answer = await graphql(SEARCH, { search });
  expect(answer.errors, JSON.stringify(search.slice(0, 100))).toBeUndefined();
  return answer.data.auditEvents.nodes.map(({ after }: { after: { name: string } }) => after.name);
}

test.each(['SQLite', 'PostgreSQL'])(
  'odd texts are stored, found and sent, or refused with a reason: %s',
  async (engine) => {
    if (engine === 'PostgreSQL' && !postgres.available) return;
    const faults: string[] = [];
    const env = engine === 'PostgreSQL' ? { DATABASE_URL: await sharedDatabase(postgres) } : {};
    const service = await startTestService({ env, log: errorLog((text) => void faults.push(text)) });
    const { graphql, storage, url, root } = service;

    // Names of projects, and the audit.
    const names = async (): Promise<string[]> =>
      (await graphql('{ projects(first: 200) { nodes { name } } }')).data.projects.nodes.map(
        ({ name }: { name: string }) => name,
      );
    const before = await names();
    const created: string[] = [];
    for (const text of TEXTS) {
      const answer = await graphql(CREATE, { name: text });
      const fault = faultOf(answer);
      if (fault !== null) faults.push(`createProject ${JSON.stringify(text.slice(0, 100))}: ${fault}`);
      if (answer.errors === undefined) created.push(text);
    }
    expect((await graphql(CREATE, { name: 'ordinary' })).errors).toBeUndefined();
    expect((await names()).sort()).toEqual([...before, ...created.map((text) => text.trim()), 'ordinary'].sort());
    for (const text of created) {
      const found = await namesBy(service, text);
      // A pattern finds more, and `a` finds the name of the member.
      const others = found.filter((name) => !name.toLowerCase().includes(text.toLowerCase()));
      if (!/[%_]|^a$/.test(text) && others.length > 0) faults.push(`${text}: also found ${others}`);
      // A password is masked.
      if (!text.includes(':p@') && !found.includes(text)) faults.push(`${JSON.stringify(text)} was not found`);
    }
    for (const at of TIMES) {
      const fault = faultOf(await graphql(AT, { at }));
      if (fault !== null) faults.push(`${at}: ${fault}`);
      const { status } = await fetch(`${url}/audit.jsonl?from=${encodeURIComponent(at)}`, { headers: bearer(root) });
      if (status !== 400 && status !== 200) faults.push(`audit.jsonl from ${at}: ${status}`);
    }
    const lines = await (await fetch(`${url}/audit.jsonl`, { headers: bearer(root) })).text();
    const entries = lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries).toHaveLength(await storage.db.auditEntry.count());
    const { data: audit } = await graphql('{ verifyAudit { isIntact } }');
    expect(audit.verifyAudit.isIntact).toBe(true);

    expect(faults).toEqual([]);

    // Notifications, which the other database does not change.
    if (engine === 'PostgreSQL') return;
    const receiver = await startReceiver();
    for (const target of [{}, { template: TEMPLATE }])
      await createChannel(service, { target: { webhook: { url: receiver.url, ...target } } });
    const subjects = TEXTS.filter((text, nth) => text.length < 1_000 && nth % 2 === 0);
    await openProblems(service, [...subjects, 'ordinary']);
    await expect.poll(() => receiver.requests.length).toBe(2 * (subjects.length + 1));
    const sent = receiver.requests.map(({ body }) => body.subject ?? body.data.subject.name);
    const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd');
    expect(sent.sort()).toEqual([...subjects, ...subjects, 'ordinary', 'ordinary'].map(storable).sort());
    expect(faults).toEqual([]);
  },
);
