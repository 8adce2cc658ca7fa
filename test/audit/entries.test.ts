import { expect, test } from 'vitest';
import { PASSWORD, ROOT, startTestService, type TestService } from '../support/service.ts';

const EVENTS = `query ($filter: AuditFilter, $first: Int, $after: String) {
  auditEvents(filter: $filter, first: $first, after: $after) {
    totalCount
    nodes {
      id sequence at actorKind actorId actorName actorIssuer address requestId via operation projectId brokerId
      targetKind targetId before after result code previousHash hash
    }
    pageInfo { hasNextPage endCursor }
  }
}`;

// biome-ignore lint/suspicious/noExplicitAny: read as it was asked for.
type Event = any;

async function eventsOf(service: TestService, filter: Record<string, unknown> = {}): Promise<Event[]> {
  const { data } = await service.graphql(EVENTS, { filter, first: 1_000 });
  return data.auditEvents.nodes;
}

/** The entries that are new since. */
async function leftBy(service: TestService, work: () => Promise<unknown>): Promise<Event[]> {
  const { sequence } = await service.services.audit.head();
  await work();
  return (await eventsOf(service)).filter((event) => event.sequence > sequence).reverse();
}

test('each kind of change leaves who, what, from what to what', async () => {
  const service = await startTestService();
  const { projectId } = service;
  const admin = await service.person('ADMIN');
  const run = (document: string, token = service.root) => service.graphql(document, {}, token);

  const events = await leftBy(service, async () => {
    await run(
      `mutation { updateProject(input: { projectId: "${projectId}", description: "of tests" }) { project { id } } }`,
    );
    await run(
      `mutation { addBroker(input: { projectId: "${projectId}", name: "One", url: "mqtts://me:hidden@one.invalid", username: "me", password: "hidden-2" }) { broker { id } } }`,
      admin.token,
    );
    await run(
      `mutation { setProjectMember(input: { projectId: "${projectId}", email: "${admin.email}", role: EDITOR }) { member { role } } }`,
    );
  });
  expect(events.map(({ operation, result, actorName }) => [operation, result, actorName])).toEqual([
    ['updateProject', 'DONE', ROOT.email],
    ['addBroker', 'FAILED', admin.email],
    ['setProjectMember', 'DONE', ROOT.email],
  ]);
});
