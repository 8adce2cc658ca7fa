import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServiceError } from '../../../../src/platform/errors.ts';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';
import { busyMs } from '../../../support/busy-time.ts';
import { runs } from '../../../support/suite.ts';
import { documentOf, parseDocument, policyOf } from '../at-once.ts';
import { anyDocument } from './random-documents.ts';

const EMPTY = {
  format: 'brokergraph/access-control',
  version: 1,
  defaultAcl: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
  roles: [],
  groups: [],
  clients: [],
};

const NO_TEXTS = { textName: null, textDescription: null };
const POLICY: AccessPolicy = {
  defaultAcl: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
  anonymousGroup: 'guests',
  roles: new Map([
    [
      'writer',
      {
        rolename: 'writer',
        ...NO_TEXTS,
        allowWildcardSubs: null,
        acls: [
          { aclType: 'subscribePattern', topic: 'b/#', priority: 0, allow: true },
          { aclType: 'publishClientSend', topic: 'b', priority: 0, allow: false },
          { aclType: 'publishClientSend', topic: 'a', priority: 0, allow: true },
          { aclType: 'publishClientSend', topic: 'c', priority: 7, allow: true },
        ],
      },
    ],
    ['admin', { rolename: 'admin', textName: 'A', textDescription: '', allowWildcardSubs: false, acls: [] }],
  ]),
  groups: new Map([['guests', { groupname: 'guests', ...NO_TEXTS, roles: [{ name: 'gone', priority: 1 }] }]]),
  clients: new Map([
    [
      'bob',
      {
        username: 'bob',
        clientId: null,
        ...NO_TEXTS,
        disabled: true,
        roles: [
          { name: 'writer', priority: 3 },
          { name: 'admin', priority: -1 },
        ],
        groups: [{ name: 'guests', priority: 2 }],
      },
    ],
    ['ann', { username: 'ann', clientId: 'c1', ...NO_TEXTS, disabled: false, roles: [], groups: [] }],
  ]),
};

test('a document is sorted, leaves out what says nothing, and keeps the order of rules that decides', () => {
  expect(documentOf(POLICY)).toEqual({
    ...EMPTY,
    anonymousGroup: 'guests',
    roles: [
      { rolename: 'admin', textName: 'A', allowWildcardSubs: false },
      {
        rolename: 'writer',
        acls: [
          { aclType: 'publishClientSend', topic: 'c', priority: 7, allow: true },
          { aclType: 'publishClientSend', topic: 'b', allow: false },
          { aclType: 'publishClientSend', topic: 'a', allow: true },
          { aclType: 'subscribePattern', topic: 'b/#', allow: true },
        ],
      },
    ],
    groups: [{ groupname: 'guests' }],
    clients: [
      { username: 'ann', clientId: 'c1' },
      {
        username: 'bob',
        disabled: true,
        roles: [{ name: 'admin' }, { name: 'writer', priority: 3 }],
        groups: [{ name: 'guests', priority: 2 }],
      },
    ],
  });
});

test('of several rules for one topic the one that the broker finds is written', () => {
  const rules = (aclType: 'publishClientSend' | 'subscribeLiteral') =>
    [true, false].map((allow) => ({ aclType, topic: 'a', priority: 0, allow }));
  const role = { rolename: 'r', ...NO_TEXTS, allowWildcardSubs: null };
  const policy = {
    ...policyOf(parseDocument(EMPTY)),
    roles: new Map([['r', { ...role, acls: [...rules('publishClientSend'), ...rules('subscribeLiteral')] }]]),
  };
  expect(documentOf(policy).roles[0]?.acls).toEqual([
    { aclType: 'publishClientSend', topic: 'a', allow: true },
    { aclType: 'subscribeLiteral', topic: 'a', allow: false },
  ]);
});

test('reading a document and writing it again changes nothing', () => {
  fc.assert(
    fc.property(anyDocument, (document) => {
      const parsed = parseDocument(document);
      expect(documentOf(policyOf(parsed))).toEqual(parsed);
      expect(parseDocument(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed);
    }),
  );
});

function issuesOf(value: unknown): unknown {
  try {
    parseDocument(value);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'INVALID') return error.info?.issues;
    throw error;
  }
  return [];
}

test('each issue is reported with its path, and the document without it is accepted', () => {
  const role = { rolename: 'r', acls: [{ aclType: 'publishClientSend', topic: 'a/#', allow: true }] };
  const good = {
    ...EMPTY,
    anonymousGroup: 'g',
    roles: [role],
    groups: [{ groupname: 'g', roles: [{ name: 'r', priority: -100_000 }] }],
    clients: [{ username: 'a/b', textName: 'two\nlines', roles: [{ name: 'r' }], groups: [{ name: 'g' }] }],
  };
  expect(issuesOf(good)).toEqual([]);
  const cases: [unknown, string][] = [
    [null, '/'],
    [[], '/'],
    [{ ...good, format: 'other' }, '/format'],
    [{ ...good, version: 2 }, '/version'],
    [{ ...good, more: 1 }, '/more'],
    [{ ...good, defaultAcl: {} }, '/defaultAcl/subscribe'],
    [{ ...good, clients: undefined }, '/clients'],
    [{ ...good, clients: [{ username: 'a', password: 'secret' }] }, '/clients/0/password'],
    [{ ...good, clients: [{ username: '' }] }, '/clients/0/username'],
    [{ ...good, clients: [{ username: 'a\n' }] }, '/clients/0/username'],
    [{ ...good, clients: [{ username: '\ud800' }] }, '/clients/0/username'],
    [{ ...good, clients: [{ username: 'ä'.repeat(40_000) }] }, '/clients/0/username'],
    [{ ...good, clients: [{ username: 'a' }, { username: 'a' }] }, '/clients/1/username'],
    [{ ...good, clients: [{ username: 'a', roles: [{ name: 'none' }] }] }, '/clients/0/roles/0/name'],
    [{ ...good, clients: [{ username: 'a', groups: [{ name: 'g' }, { name: 'g' }] }] }, '/clients/0/groups/1/name'],
    [{ ...good, clients: [{ username: 'a', textName: 'a\0' }] }, '/clients/0/textName'],
    [{ ...good, clients: [{ username: 'a', clientId: 'a\0' }] }, '/clients/0/clientId'],
    [{ ...good, groups: [], clients: [] }, '/anonymousGroup'],
    [{ ...good, groups: [{ groupname: 'g', roles: [{ name: 'none' }] }] }, '/groups/0/roles/0/name'],
    [{ ...good, roles: [role, role] }, '/roles/1/rolename'],
    [{ ...good, roles: [{ ...role, acls: [{ ...role.acls[0], topic: 'a/#/b' }] }] }, '/roles/0/acls/0/topic'],
    [{ ...good, roles: [{ ...role, acls: [{ ...role.acls[0], aclType: 'x' }] }] }, '/roles/0/acls/0/aclType'],
    [{ ...good, roles: [{ ...role, acls: [{ ...role.acls[0], priority: 1.5 }] }] }, '/roles/0/acls/0/priority'],
    [{ ...good, roles: [{ ...role, acls: [{ ...role.acls[0], priority: 100_001 }] }] }, '/roles/0/acls/0/priority'],
    [
      { ...good, roles: [{ ...role, acls: [...role.acls, { ...role.acls[0], allow: false }] }] },
      '/roles/0/acls/1/topic',
    ],
  ];
  for (const [value, path] of cases) {
    expect(issuesOf(value), path).toContainEqual({ path, reason: expect.any(String) });
  }
});

test('whatever is not a document is INVALID and nothing else', () => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.tuple(anyDocument, fc.jsonValue(), fc.nat()).map(([document, other, at]) => spoil(document, other, at)),
  );
  fc.assert(
    fc.property(value, (spoilt) => {
      issuesOf(spoilt);
    }),
    { numRuns: runs(500) },
  );
});

/** Puts `other` at one of the places of the value. */
function spoil(value: unknown, other: unknown, at: number): unknown {
  let left = at % 60;
  const walk = (part: unknown): unknown => {
    left -= 1;
    if (left < 0 && left > -2) return other;
    if (Array.isArray(part)) return part.map(walk);
    if (typeof part === 'object' && part !== null) {
      return Object.fromEntries(Object.entries(part).map(([key, entry]) => [key, walk(entry)]));
    }
    return part;
  };
  return walk(value);
}

test('reading a document of 20,000 accounts takes no work that grows with its square', () => {
  const clients = Array.from({ length: 20_000 }, (_, i) => ({ username: `client-${i}`, roles: [{ name: 'r' }] }));
  const started = busyMs();
  expect(parseDocument({ ...EMPTY, roles: [{ rolename: 'r' }], clients }).clients).toHaveLength(20_000);
  expect(busyMs() - started).toBeLessThan(5_000);
});
