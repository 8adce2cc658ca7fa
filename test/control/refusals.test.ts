import { expect, test } from 'vitest';
import { meaningOf } from '../../src/control/refusals.ts';

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
