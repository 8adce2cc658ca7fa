import { graphql, httpSocket, requestText, send } from '../http-tools.ts';
import type { Group, Target } from '../input.ts';
import { closedWithin } from '../mqtt-tools.ts';
import { copies, previews, times } from './texts.ts';

const HOLD_MS = 5_000;

/** Requests server-sent events by POST and does not read them. */
async function unreadEvents(target: Target): Promise<string> {
  const query = 'subscription ($id: ID!) { topics(brokerId: $id) { kind sequence } }';
  const body = JSON.stringify({ query, variables: { id: target.brokerId } });
  const text = requestText('/graphql', { body, token: target.restricted });
  const results = times(10, () => {
    const socket = httpSocket(target).pause();
    socket.write(text.replace('Host:', 'Accept: text/event-stream\r\nHost:'));
    return closedWithin(socket, HOLD_MS);
  });
  return (await Promise.all(results)).at(-1) ?? '';
}

const mosquittoFile = JSON.stringify({
  clients: times(6_000, (i) => ({ username: `user-${i}`, roles: [{ rolename: `role-${i}` }] })),
  roles: times(4_000, (i) => ({ rolename: `role-${i}`, acls: [{ acltype: 'publishClientSend', topic: `a/${i}/#` }] })),
});

export const restrictedToken: Group = {
  who: 'restricted token',
  inputs: [
    {
      name: 'restricted-previews',
      what: 'previewStream under 30 names, 930 KB copied 66 times each',
      attack: (target) => graphql(target, previews(30), copies('x'.repeat(930_000)), target.restricted),
    },
    {
      name: 'preview-samples',
      what: 'a preview of 1,000 samples through 5,000 columns',
      attack: (target) =>
        graphql(
          target,
          previews(1),
          {
            query: { select: times(5_000, (i) => ({ source: '[a]', target: `[t${i}]` })) },
            samples: times(1_000, (i) => ({ a: i })),
          },
          target.restricted,
        ),
    },
    {
      name: 'many-conditions',
      what: 'a query of a stream with 15,000 conditions',
      attack: (target) =>
        graphql(
          target,
          previews(1),
          {
            query: { where: times(15_000, (i) => ({ operator: '>', left: `[a][b${i}]`, right: i })) },
            samples: [{ a: 1 }],
          },
          target.restricted,
        ),
    },
    { name: 'unread-events', what: '10 event streams that are not read, for 5 s', atOnce: 100, attack: unreadEvents },
    {
      name: 'import-plan',
      what: 'a plan for an import of 10,000 accounts and roles',
      attack: (target) =>
        graphql(
          target,
          'query ($i: AccessControlImportInput!) { planAccessControl(input: $i) { outcome needPassword notes } }',
          { i: { brokerId: target.brokerId, mosquittoFile } },
          target.restricted,
        ),
    },
    {
      name: 'explain-access',
      what: '20 explanations for topics of 65,000 characters',
      attack: async (target) => {
        const query = `query ($b: ID!, $t: String!) { explainAccess(brokerId: $b, action: PUBLISH, topic: $t, username: "device") { __typename } }`;
        const variables = { b: target.brokerId, t: 'a/'.repeat(32_000) };
        const results = times(20, () => graphql(target, query, variables, target.restricted));
        return (await Promise.all(results)).at(-1) ?? '';
      },
    },
    {
      name: 'foreign-ids',
      what: '50 REST requests for brokers that the token may not see',
      attack: async (target, run) => {
        const results = times(50, (i) =>
          send(target, { path: `/api/brokers/brk_${run}x${i}`, token: target.restricted }),
        );
        return (await Promise.all(results)).at(-1) ?? '';
      },
    },
  ],
};
