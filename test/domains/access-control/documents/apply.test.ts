import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AccessDocument } from '../../../../src/domains/access-control/documents/access-document.ts';
import type { ImportSource } from '../../../../src/domains/access-control/documents/access-import.ts';
import type { WriteReport } from '../../../../src/domains/access-control/writing/access-report.ts';
import { ADMIN, type Mosquitto, startMosquitto } from '../../../support/mosquitto.ts';
import { runs } from '../../../support/suite.ts';
import { documentOf, parseDocument, planImport } from '../at-once.ts';
import { openAccess } from './opened-access.ts';
import { anyDocument } from './random-documents.ts';

const REQUEST = '$CONTROL/dynamic-security/v1';

/** A real broker, with what can be done with its access control as a whole. */
async function startBroker() {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { index, writer, queue } = await openAccess(broker);
  const apply = async (source: ImportSource, { deleteOthers = true, dryRun = false } = {}) => {
    const { policy, dialect } = await index.current();
    const passwords = new Map([['ann', 'secret']]);
    const options = { deleteOthers, passwords, setPasswords: false, gatewayUsername: ADMIN.username };
    const { changes, ...plan } = planImport(policy, dialect, source, options);
    const write = { changes, mayControl: true };
    return { ...plan, report: await (dryRun ? writer.dryRun(write) : queue.write(write)) };
  };
  return { broker, apply, exported: async () => documentOf((await index.current()).policy) };
}

/** The commands that the broker responds to while `work` runs. */
async function answeredDuring(broker: Mosquitto, work: () => Promise<unknown>): Promise<string[]> {
  const observer = await broker.client();
  await observer.subscribeAsync(`${REQUEST}/response`);
  const commands: string[] = [];
  const isOver = new Promise<void>((resolve) => {
    observer.on('message', (_topic, payload) => {
      for (const { command, correlationData } of JSON.parse(payload.toString()).responses) {
        if (correlationData === 'over') resolve();
        else commands.push(command);
      }
    });
  });
  await work();
  await observer.publishAsync(
    REQUEST,
    JSON.stringify({ commands: [{ command: 'listRoles', correlationData: 'over' }] }),
  );
  await isOver;
  return commands;
}

const writes = (commands: readonly string[]) => commands.filter((command) => !/^(get|list)/.test(command));

const WANTED = {
  defaultAcl: { publishClientSend: true, publishClientReceive: false, subscribe: true, unsubscribe: false },
  anonymousGroup: 'guests',
  roles: [
    {
      rolename: 'ordered',
      textDescription: 'the first rule decides',
      acls: [
        { aclType: 'publishClientSend', topic: 'z/secret', allow: false },
        { aclType: 'publishClientSend', topic: 'a/#', allow: true },
        { aclType: 'publishClientSend', topic: 'm', priority: -3, allow: true },
        { aclType: 'subscribeLiteral', topic: '#', allow: false },
      ],
    },
    { rolename: 'ä/+#% 🜁' },
  ],
  groups: [
    { groupname: 'guests', roles: [{ name: 'ordered', priority: 5 }] },
    { groupname: 'plants', textName: 'Plants' },
  ],
  clients: [
    { username: 'ann', clientId: 'c1', roles: [{ name: 'ordered' }, { name: 'ä/+#% 🜁', priority: 9 }] },
    { username: 'bob', disabled: true, groups: [{ name: 'guests', priority: 1 }, { name: 'plants' }] },
  ],
} as const;

const wantedOn = (own: AccessDocument): AccessDocument =>
  parseDocument({
    ...own,
    ...WANTED,
    roles: [...own.roles, ...WANTED.roles],
    clients: [...own.clients, ...WANTED.clients],
  });

test('what one Mosquitto exports another one holds after an apply, and a second apply sends nothing', async () => {
  const [one, other] = [await startBroker(), await startBroker()];
  const wanted = wantedOn(await one.exported());
  const first = await one.apply({ document: wanted });
  expect(first).toMatchObject({ needPassword: ['bob'], report: { outcome: 'APPLIED' } });
  const exported = await one.exported();
  expect(exported).toEqual(wanted);

  // Over the wire and back: a document is JSON.
  const document = JSON.parse(JSON.stringify(exported));
  expect((await other.apply({ document })).report.outcome).toBe('APPLIED');
  expect(await other.exported()).toEqual(exported);

  let again: WriteReport | undefined;
  const commands = await answeredDuring(other.broker, async () => {
    again = (await other.apply({ document })).report;
  });
  expect(again).toMatchObject({ outcome: 'UNCHANGED', changes: [] });
  expect(writes(commands)).toEqual([]);
  // Only accounts that were made got the password that was given.
  const ann = await other.broker.client({ username: 'ann', password: 'secret', clientId: 'c1' });
  expect(ann.connected).toBe(true);
});

test('a plan names what an apply then sends, and sends nothing itself', async () => {
  const { broker, apply, exported } = await startBroker();
  const before = await exported();
  const document = wantedOn(before);
  let planned: WriteReport | undefined;
  const commands = await answeredDuring(broker, async () => {
    planned = (await apply({ document }, { dryRun: true })).report;
  });
  expect(planned?.outcome).toBe('PLANNED');
  expect(writes(commands)).toEqual([]);
  expect(await exported()).toEqual(before);

  const sent = await answeredDuring(broker, () => apply({ document }));
  const planNames = planned?.changes.flatMap((change) => change.commands.map(({ command }) => command)) ?? [];
  expect(planNames.length).toBeGreaterThan(10);
  expect(writes(sent)).toEqual(planNames);
});

test('a document without deleteOthers leaves others alone, with it they go, and this service stays in', async () => {
  const { apply, exported } = await startBroker();
  const own = await exported();
  await apply({ document: wantedOn(own) });
  const less = parseDocument({ ...own, anonymousGroup: undefined, roles: [], clients: [] });
  const kept = await apply({ document: JSON.parse(JSON.stringify(less)) }, { deleteOthers: false });
  expect(kept.report.changes).toHaveLength(1);
  expect((await exported()).clients).toHaveLength(3);

  const gone = await apply({ document: JSON.parse(JSON.stringify(less)) });
  expect(gone.report.outcome).toBe('APPLIED');
  expect(gone.notes.join('\n')).toMatch(/account "admin"/);
  // No command removes the anonymous group of Mosquitto.
  expect(await exported()).toEqual({ ...own, anonymousGroup: 'guests', groups: [{ groupname: 'guests' }] });
});

test('the file of one Mosquitto is applied to another', async () => {
  const [one, other] = [await startBroker(), await startBroker()];
  await one.apply({ document: wantedOn(await one.exported()) });
  const exported = await one.exported();
  await one.broker.stop();
  const { notes, needPassword, report } = await other.apply({ mosquittoFile: one.broker.readAccessFile() });
  expect(report.outcome).toBe('APPLIED');
  expect(needPassword).toEqual(['bob']);
  expect(notes.join('\n')).toMatch(/hashes/);
  expect(await other.exported()).toEqual(exported);
});

test('from whatever a Mosquitto has to whatever a document says, and the second time nothing is sent', async () => {
  const { apply, exported } = await startBroker();
  const own = await exported();
  await fc.assert(
    fc.asyncProperty(anyDocument, async (document) => {
      const wanted = parseDocument(onTop(own, document));
      const { report } = await apply({ document: wanted });
      expect(['APPLIED', 'UNCHANGED']).toContain(report.outcome);
      const held = await exported();
      if (wanted.anonymousGroup !== undefined) expect(held).toEqual(wanted);
      expect(held.clients).toEqual(wanted.clients);
      expect(held.roles).toEqual(wanted.roles);
      expect((await apply({ document: wanted })).report).toMatchObject({ outcome: 'UNCHANGED', changes: [] });
    }),
    { numRuns: runs(15), endOnFailure: true },
  );
});

/** The random document without features that Mosquitto 2.0 lacks, and with the account of this service. */
function onTop(own: AccessDocument, document: AccessDocument): object {
  const roles = document.roles
    .filter(({ rolename }) => rolename !== 'admin')
    .map(({ allowWildcardSubs: _, ...role }) => ({
      ...role,
      acls: (role.acls ?? []).filter(({ topic }) => !topic.includes('%c')),
    }));
  return { ...document, roles: [...own.roles, ...roles], clients: [...own.clients, ...document.clients] };
}
