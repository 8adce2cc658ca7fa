import fc from 'fast-check';
import type { AccessDocument } from '../../../../src/domains/access-control/documents/access-document.ts';
import { ACL_TYPES } from '../../../../src/protocol/apis/access-control/access-model.ts';

/** Small pools of names, so that documents have much in common. */
const ROLES = ['admin', 'reader', 'writer', 'ä/+#% 🜁'];
const GROUPS = ['plants', 'people', 'guests'];
const CLIENTS = ['gateway', 'ann', 'bob', 'eve', 'mallory'];
const TOPICS = ['a', 'a/b', 'a/+', 'a/#', '#', '%c/a', '$CONTROL/#'];

const texts = {
  textName: fc.option(fc.constantFrom('one', 'two\nlines'), { nil: undefined }),
  textDescription: fc.option(fc.constantFrom('', 'long'), { nil: undefined }),
};
const priority = fc.option(fc.integer({ min: -3, max: 3 }), { nil: undefined });
const flag = fc.option(fc.boolean(), { nil: undefined });

const memberships = (names: readonly string[]) =>
  names.length === 0
    ? fc.constant([])
    : fc.uniqueArray(fc.record({ name: fc.constantFrom(...names), priority }), { selector: ({ name }) => name });

const acls = fc.uniqueArray(
  fc.record({
    aclType: fc.constantFrom(...ACL_TYPES),
    topic: fc.constantFrom(...TOPICS),
    priority,
    allow: fc.boolean(),
  }),
  { selector: ({ aclType, topic }) => `${aclType} ${topic}`, maxLength: 8 },
);

/** Any document that is valid, not yet in the order of `documentOf`. */
export const anyDocument: fc.Arbitrary<AccessDocument> = fc
  .tuple(fc.shuffledSubarray(ROLES), fc.shuffledSubarray(GROUPS), fc.shuffledSubarray(CLIENTS))
  .chain(([roles, groups, clients]) =>
    fc.record({
      format: fc.constant('brokergraph/access-control' as const),
      version: fc.constant(1 as const),
      defaultAcl: fc.record({
        publishClientSend: fc.boolean(),
        publishClientReceive: fc.boolean(),
        subscribe: fc.boolean(),
        unsubscribe: fc.boolean(),
      }),
      anonymousGroup:
        groups.length > 0 ? fc.option(fc.constantFrom(...groups), { nil: undefined }) : fc.constant(undefined),
      roles: fc.tuple(
        ...roles.map((rolename) =>
          fc.record({ rolename: fc.constant(rolename), ...texts, allowWildcardSubs: flag, acls }),
        ),
      ),
      groups: fc.tuple(
        ...groups.map((groupname) =>
          fc.record({ groupname: fc.constant(groupname), ...texts, roles: memberships(roles) }),
        ),
      ),
      clients: fc.tuple(
        ...clients.map((username) =>
          fc.record({
            username: fc.constant(username),
            clientId: fc.option(fc.constantFrom('', 'c1', 'c2'), { nil: undefined }),
            ...texts,
            disabled: flag,
            roles: memberships(roles),
            groups: memberships(groups),
          }),
        ),
      ),
    }),
  )
  // As it comes out of JSON: absent keys are not there.
  .map((document) => JSON.parse(JSON.stringify(document)) as AccessDocument);
