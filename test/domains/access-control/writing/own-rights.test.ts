import { expect, test } from 'vitest';
import { ADMIN, startMosquitto } from '../../../support/mosquitto.ts';
import { accessWorld } from '../access-service.ts';
import { documentOf } from '../at-once.ts';
import { openAccess } from '../documents/opened-access.ts';

const CLIENTS = 'query ($b: ID!) { broker(id: $b) { connectedClients { totalCount } } }';
const APPLY = `mutation ($b: ID!, $document: JSON, $file: String) {
  applyAccessControl(input: { brokerId: $b, document: $document, mosquittoFile: $file, deleteOthers: true }) {
    outcome
    notes
  }
}`;
const CHANGE = `mutation ($b: ID!, $change: AccessChangeInput!) {
  changeAccessControl(input: { brokerId: $b, changes: [$change] }) { changes { outcome error { code message } } }
}`;

test("a Mosquitto's access control applied to the embedded broker takes nothing from this service", async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const document = documentOf((await (await openAccess(mosquitto)).index.current()).policy);
  await mosquitto.stop();
  const world = await accessWorld('the embedded broker');
  const list = async () => (await world.graph(CLIENTS)).broker.connectedClients.totalCount;
  expect(await list()).toBeGreaterThan(0);

  const sources = [{ document }, { file: mosquitto.readAccessFile() }];
  for (const source of sources) {
    const { notes } = (await world.graph(APPLY, source)).applyAccessControl;
    expect(notes.join('\n')).toMatch(/has its permissions by.*stay unchanged.*role "admin"/);
    expect(await list()).toBeGreaterThan(0);
  }

  const { acls } = document.roles.find(({ rolename }) => rolename === ADMIN.username) ?? {};
  const rules = acls?.map(({ aclType, ...rule }) => ({ ...rule, aclType: SPELLING[aclType] }));
  const change = { updateAccessRole: { roleName: 'admin', acls: rules } };
  const [single] = (await world.graph(CHANGE, { change })).changeAccessControl.changes;
  expect(single).toMatchObject({ outcome: 'REJECTED', error: { code: 'IN_USE' } });
  const harmless = { updateAccessRole: { roleName: 'admin', textName: 'Mine' } };
  const [other] = (await world.graph(CHANGE, { change: harmless })).changeAccessControl.changes;
  expect(other).toMatchObject({ outcome: 'APPLIED', error: null });
  expect(await list()).toBeGreaterThan(0);
});

const SPELLING = {
  publishClientSend: 'PUBLISH_CLIENT_SEND',
  publishClientReceive: 'PUBLISH_CLIENT_RECEIVE',
  subscribeLiteral: 'SUBSCRIBE_LITERAL',
  subscribePattern: 'SUBSCRIBE_PATTERN',
  unsubscribeLiteral: 'UNSUBSCRIBE_LITERAL',
  unsubscribePattern: 'UNSUBSCRIBE_PATTERN',
} as const;
