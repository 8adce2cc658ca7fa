import { expect, onTestFinished, test } from 'vitest';
import { AccessStore } from '../../../src/data-plane/broker/dynamic-security/access-store.ts';
import { DynamicSecurityPlugin } from '../../../src/data-plane/broker/dynamic-security/dynamic-security-plugin.ts';
import { ACCESS_LIMITS, type AccessLimits } from '../../../src/data-plane/broker/limits.ts';
import { Journal } from '../../../src/data-plane/broker/store/journal.ts';
import { serveControlRequest } from '../../../src/protocol/control/serve.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import type { Command } from './dynsec.ts';

/** Runs commands one after the other under these limits; the refusals' texts, null where done. */
function startLimited(limits: Partial<AccessLimits>) {
  const fail = (error: unknown) => {
    throw error;
  };
  const journal = new Journal(temporaryFolder(), { onBroken: fail });
  onTestFinished(() => journal.close());
  const store = new AccessStore(journal, { ...ACCESS_LIMITS, ...limits });
  const plugin = new DynamicSecurityPlugin(
    store,
    () => {},
    () => [],
  );
  return async (...commands: readonly Command[]): Promise<(string | null)[]> => {
    const answer = await serveControlRequest(Buffer.from(JSON.stringify({ commands })), plugin, fail);
    const { responses } = JSON.parse(answer) as { responses: { error?: string }[] };
    return responses.map(({ error }) => error ?? null);
  };
}

test('clients, groups and roles beyond the limit are refused, and a deletion makes room again', async () => {
  const run = startLimited({ clients: 1, groups: 1, roles: 1 });
  for (const [kind, key, text] of [
    ['Client', 'username', 'Too many clients'],
    ['Group', 'groupname', 'Too many groups'],
    ['Role', 'rolename', 'Too many roles'],
  ] as const) {
    const create = (name: string) => ({ command: `create${kind}`, [key]: name });
    expect(await run(create('a'), create('b'), { command: `delete${kind}`, [key]: 'a' }, create('b'))).toEqual([
      null,
      text,
      null,
      null,
    ]);
  }
});

test('rules and memberships beyond the limit are refused', async () => {
  const run = startLimited({ acls: 2, memberships: 1 });
  const acl = (topic: string) => ({ acltype: 'publishClientSend', topic, allow: true });
  const roles = [{ rolename: 'a' }, { rolename: 'b' }];
  const groups = [{ groupname: 'a' }, { groupname: 'b' }];
  expect(
    await run(
      { command: 'createRole', rolename: 'a', acls: [acl('1'), acl('2')] },
      { command: 'createRole', rolename: 'b', acls: [acl('1'), acl('2'), acl('3')] },
      { command: 'addRoleACL', rolename: 'a', ...acl('3') },
      { command: 'modifyRole', rolename: 'a', acls: [acl('1'), acl('2'), acl('3')] },
      { command: 'createRole', rolename: 'b' },
      { command: 'createGroup', groupname: 'a', roles },
      { command: 'createGroup', groupname: 'a' },
      { command: 'createGroup', groupname: 'b' },
      { command: 'addGroupRole', groupname: 'a', rolename: 'a' },
      { command: 'addGroupRole', groupname: 'a', rolename: 'b' },
      { command: 'createClient', username: 'a', groups },
      { command: 'createClient', username: 'a', groups: [{ groupname: 'a' }] },
      { command: 'addGroupClient', groupname: 'b', username: 'a' },
      { command: 'modifyGroup', groupname: 'b', clients: [{ username: 'a' }] },
      // Members stay within it.
      { command: 'modifyGroup', groupname: 'a', clients: [{ username: 'a', priority: 3 }] },
    ),
  ).toEqual([
    null,
    'Too many ACLs',
    'Too many ACLs',
    'Too many ACLs',
    null,
    'Too many roles or groups',
    null,
    null,
    null,
    'Too many roles or groups',
    'Too many roles or groups',
    null,
    'Too many roles or groups',
    'Too many roles or groups',
    null,
  ]);
});

test('rules with more levels than topics can have are refused in every command', async () => {
  const run = startLimited({});
  const acl = (levels: number) => ({ acltype: 'publishClientSend', topic: Array(levels).fill('%c').join('/') });
  expect(
    await run(
      { command: 'createRole', rolename: 'a', acls: [acl(201)] },
      { command: 'createRole', rolename: 'b', acls: [acl(1), acl(202)] },
      { command: 'modifyRole', rolename: 'a', acls: [acl(21_845)] },
      { command: 'addRoleACL', rolename: 'a', ...acl(202) },
    ),
  ).toEqual([null, 'Invalid ACL topic', 'Invalid ACL topic', 'Invalid ACL topic']);
});

test('the size of access control is limited, and changes that reduce it always succeed', async () => {
  const run = startLimited({ size: 1_000 });
  const text = 'x'.repeat(400);
  const full = 'Too much access control to keep';
  expect(
    await run(
      { command: 'createClient', username: 'a', textname: text },
      { command: 'createGroup', groupname: 'g', textname: text },
      { command: 'createRole', rolename: 'r', textname: text },
      { command: 'modifyClient', username: 'a', textdescription: text },
      { command: 'setClientId', username: 'a', clientid: text },
      { command: 'modifyGroup', groupname: 'g', clients: [{ username: 'a' }] },
      { command: 'modifyGroup', groupname: 'g', clients: [], textname: `${text}${text}` },
      { command: 'modifyClient', username: 'a', textname: '' },
      { command: 'createRole', rolename: 'r' },
      { command: 'addRoleACL', rolename: 'r', acltype: 'subscribePattern', topic: text },
    ),
  ).toEqual([null, null, full, full, full, null, full, null, null, full]);
});
