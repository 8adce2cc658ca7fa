import { expect, test } from 'vitest';
import { meaningOf, refusalOf } from '../../../src/protocol/control/refusals.ts';

test.each([
  ['Client not found', 'NOT_FOUND'],
  ['Role does not exist', 'NOT_FOUND'],
  ['ACL not found', 'NOT_FOUND'],
  ['Client already exists', 'ALREADY_EXISTS'],
  ['Client is already in this group', 'ALREADY_EXISTS'],
  ['Group is already in this role', 'ALREADY_EXISTS'],
  ['ACL with this topic already exists', 'ALREADY_EXISTS'],
  ['Invalid/missing username', 'INVALID'],
  ['Missing/invalid actions array', 'INVALID'],
  ['Username not valid UTF-8', 'INVALID'],
  ['Empty username', 'INVALID'],
  ['Empty password is not allowed', 'INVALID'],
  ['Unknown acltype', 'INVALID'],
  ["'roles' not an array or missing/invalid rolename", 'INVALID'],
  ["'groups' contains an object with a 'groupname' that does not exist", 'INVALID'],
  ['Unknown command', 'NOT_SUPPORTED_BY_BROKER'],
  ['endpoint not available', 'NOT_SUPPORTED_BY_BROKER'],
  ['Internal error', 'BROKER_REJECTED'],
  ['Deleting the anonymous group is forbidden', 'BROKER_REJECTED'],
  ['Persistence not configured for this stream', 'BROKER_REJECTED'],
])('"%s" means %s', (text, code) => {
  expect(meaningOf(text)).toBe(code);
});

test.each([
  ['addClientRole', 'Role not found', { username: 'u', rolename: 'r' }, 'r'],
  ['addClientRole', 'Client not found', { username: 'u', rolename: 'r' }, 'u'],
  ['addClientRole', 'Internal error', { username: 'u', rolename: 'r' }, 'u'],
  ['addGroupClient', 'Group not found', { username: 'u', groupname: 'g' }, 'g'],
  ['addGroupClient', 'Client is already in this group', { username: 'u', groupname: 'g' }, 'u'],
  ['addGroupRole', 'Group is already in this role', { groupname: 'g', rolename: 'r' }, 'g'],
  ['addRoleACL', 'ACL with this topic already exists', { rolename: 'r', topic: 'a/#' }, 'a/#'],
  ['addRoleACL', 'Invalid ACL topic', { rolename: 'r', topic: 'a/#/b' }, 'a/#/b'],
  ['addRoleACL', 'Unknown acltype', { rolename: 'r', acltype: 'x', topic: 't' }, 'x'],
  ['setClientId', 'Client ID not valid UTF-8', { username: 'u', clientid: 'c' }, 'c'],
  ['createClient', 'Role not found', { username: 'u', roles: [{ rolename: 'r' }] }, 'r'],
  ['createClient', 'Role not found', { username: 'u', roles: [{ rolename: 'r' }, { rolename: 's' }] }, undefined],
  ['disconnectClient', 'Client not found', { clientid: 'c' }, 'c'],
  ['getStream', 'Stream not found', { streamname: 's' }, 's'],
])('%s: "%s" of %o names %s', (command, text, fields, name) => {
  const error = refusalOf('dynamic-security', command, text, fields);
  expect(error.info?.name).toBe(name);
  expect(error.message).toBe(name === undefined ? text : `${text}: "${name}"`);
});
